"""Numbers and systems in words, for the model card and the report."""

import math
from collections import Counter
from collections.abc import Sequence

from docaps.config import SYSTEMS
from docaps.runs.results import HistoryRouting, RunResults

MISSING = "–"
_NARROW_SPACE = "\u202f"

# What the paper calls the systems of its Table 2.
_OTHER_TITLES = {
    "concat": "Transformer on joined sentences",
    "zhang": "Transformer-DocNMT (Zhang et al. 2018)",
    "han": "HAN-DocNMT (Miculicich et al. 2018)",
    "san": "SAN-DocNMT (Maruf et al. 2019)",
}
_REGULARISED = "+reg"
_SMALL_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def describe_system(system: str) -> str:
    """Describe a system in words; an unknown name is returned as it is."""
    base = system.removesuffix(_REGULARISED)
    titles = {name: SYSTEMS[name].title for name in (system, base) if name in SYSTEMS} | _OTHER_TITLES
    if system in titles or base not in titles:
        return titles.get(system, system)
    return f"{titles[base]} + regularisation"


def sees_context(system: str) -> bool:
    """Return whether a system sees the previous sentences."""
    return system.removesuffix(_REGULARISED) != "transformer"


def is_regularised(system: str) -> bool:
    """Return whether a system is trained with the regularisation term."""
    return system.endswith(_REGULARISED)


def is_control(system: str) -> bool:
    """Return whether a system is a control, only meant for comparison."""
    return system in SYSTEMS and SYSTEMS[system].control


def label_runs(results: Sequence[RunResults]) -> list[str]:
    """Give each run a unique short label: its system or name, with its seed or a number if needed."""
    systems = Counter(run.system for run in results)
    labels = [run.system if systems[run.system] == 1 else run.name for run in results]
    names = Counter(labels)
    seeds = [run.description.get("seed") for run in results]
    if len(set(seeds)) > 1:
        pairs = zip(labels, seeds, strict=True)
        labels = [label if names[label] == 1 else f"{label}, seed {seed}" for label, seed in pairs]
    return number_equals(labels)


def number_equals(labels: Sequence[str]) -> list[str]:
    """Number labels that occur more than once by their position."""
    counts = Counter(labels)
    return [label if counts[label] == 1 else f"{label} #{position}" for position, label in enumerate(labels, start=1)]


def name_seeds(results: Sequence[RunResults], shown: Sequence[RunResults]) -> str:
    """Name the seeds of the shown runs if the page has several: ", seed 1"; empty otherwise."""
    if len({run.description.get("seed") for run in results}) < 2:
        return ""
    seeds = list(dict.fromkeys(str(run.description.get("seed")) for run in shown))
    return f", seed{'s' if len(seeds) > 1 else ''} {listing(seeds)}"


def percent(share: float | None) -> str:
    """Format a share as percentage without sign: 0.981 -> 98.1."""
    return MISSING if share is None or not math.isfinite(share) else f"{100 * share:.1f}"


def percent_with_sign(share: float) -> str:
    """Format a share as percentage with sign: 0.981 -> 98.1 %."""
    return f"{percent(share)}{_NARROW_SPACE}%"


def decimal(value: float | None, places: int = 1) -> str:
    """Format a number with fixed decimals."""
    return MISSING if value is None or not math.isfinite(value) else f"{value:.{places}f}"


def thousands(value: float | None) -> str:
    """Group digits with narrow no-break spaces: 1234567 -> 1 234 567."""
    return MISSING if value is None else f"{round(value):,}".replace(",", _NARROW_SPACE)


def duration(seconds: float | None) -> str:
    """Format a duration with its two largest units: 121.3 -> 2 min 1 s."""
    if seconds is None or not math.isfinite(seconds):
        return MISSING
    minutes, rest = divmod(round(seconds), 60)
    parts = ((minutes // 60, "h"), (minutes % 60, "min"), (rest, "s"))
    shown = [part for part in parts if part[0]][:2] or [(rest, "s")]
    return " ".join(f"{count}{_NARROW_SPACE}{unit}" for count, unit in shown)


def count(number: int, noun: str) -> str:
    """Format a count with its noun: 2, document -> 2 documents."""
    return f"{thousands(number)} {noun}{'' if number == 1 else 's'}"


def sentence_case(text: str) -> str:
    """Capitalise the first letter only, to keep names such as QCN."""
    return text[:1].upper() + text[1:]


def small_number(number: int) -> str:
    """Spell out numbers up to ten."""
    return _SMALL_NUMBERS[number] if 0 <= number < len(_SMALL_NUMBERS) else str(number)


def distance_words(distance: int | str | None) -> str:
    """Describe the distance of a history sentence."""
    if distance is None:
        return "all history sentences together"
    if distance == 0:
        return "the sentence itself"
    text = str(distance)
    return f"{small_number(int(text))} sentence{'' if text == '1' else 's'} back" if text.isdigit() else text


def routed_sentence(part: HistoryRouting) -> str:
    """Say whose words were routed."""
    return distance_words(part.distance) + (", its translation" if part.side == "target" else "")


def listing(words: Sequence[str]) -> str:
    """Join words: a, b and c."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
