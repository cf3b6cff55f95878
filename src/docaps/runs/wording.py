"""How numbers and systems are put into words: the same everywhere on the page."""

import math
from collections import Counter
from collections.abc import Sequence

from docaps.config import SYSTEMS
from docaps.runs.results import RunResults

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
    """Say in words what a system is; an unknown name stands for itself."""
    base = system.removesuffix(_REGULARISED)
    titles = {name: SYSTEMS[name].title for name in (system, base) if name in SYSTEMS} | _OTHER_TITLES
    if system in titles or base not in titles:
        return titles.get(system, system)
    return f"{titles[base]} + regularisation"


def sees_context(system: str) -> bool:
    """Tell whether a system looks at the sentences before."""
    return system.removesuffix(_REGULARISED) != "transformer"


def is_regularised(system: str) -> bool:
    """Tell whether the capsules of source and target are pulled together in training."""
    return system.endswith(_REGULARISED)


def is_control(system: str) -> bool:
    """Tell whether a system is there only to be compared with."""
    return system in SYSTEMS and SYSTEMS[system].control


def label_runs(results: Sequence[RunResults]) -> list[str]:
    """Give each run a short label: its system, or its name, with the seed if need be; at worst, with a number."""
    systems = Counter(run.system for run in results)
    labels = [run.system if systems[run.system] == 1 else run.name for run in results]
    names = Counter(labels)
    seeds = [run.description.get("seed") for run in results]
    if len(set(seeds)) > 1:
        pairs = zip(labels, seeds, strict=True)
        labels = [label if names[label] == 1 else f"{label}, seed {seed}" for label, seed in pairs]
    return number_equals(labels)


def number_equals(labels: Sequence[str]) -> list[str]:
    """Give labels that occur more than once their place in the list."""
    counts = Counter(labels)
    return [label if counts[label] == 1 else f"{label} #{place}" for place, label in enumerate(labels, start=1)]


def name_seeds(results: Sequence[RunResults], shown: Sequence[RunResults]) -> str:
    """Name the seeds of the runs that are shown, if the page has several: ", seed 1"; empty otherwise."""
    if len({run.description.get("seed") for run in results}) < 2:
        return ""
    seeds = list(dict.fromkeys(str(run.description.get("seed")) for run in shown))
    return f", seed{'s' if len(seeds) > 1 else ''} {listing(seeds)}"


def percent(share: float | None) -> str:
    """0.981 -> 98.1 (the column says per cent)."""
    return MISSING if share is None or not math.isfinite(share) else f"{100 * share:.1f}"


def percent_with_sign(share: float) -> str:
    """0.981 -> 98.1 %."""
    return f"{percent(share)}{_NARROW_SPACE}%"


def decimal(value: float | None, places: int = 1) -> str:
    """Write a score with fixed decimals, so that a column lines up."""
    return MISSING if value is None or not math.isfinite(value) else f"{value:.{places}f}"


def thousands(value: float | None) -> str:
    """1234567 -> 1 234 567, with spaces that do not break."""
    return MISSING if value is None else f"{round(value):,}".replace(",", _NARROW_SPACE)


def duration(seconds: float | None) -> str:
    """121.3 -> 2 min 1 s; the two largest units are enough."""
    if seconds is None or not math.isfinite(seconds):
        return MISSING
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [(hours, "h"), (minutes, "min"), (rest, "s")]
    shown = [part for part in parts if part[0]][:2] or [(rest, "s")]
    return " ".join(f"{count}{_NARROW_SPACE}{unit}" for count, unit in shown)


def count(number: int, noun: str) -> str:
    """2, document -> 2 documents."""
    return f"{thousands(number)} {noun}{'' if number == 1 else 's'}"


def sentence_case(text: str) -> str:
    """Begin with a capital, and leave the other letters alone (QCN, Transformer)."""
    return text[:1].upper() + text[1:]


def small_number(number: int) -> str:
    """Spell out what a sentence would spell out."""
    return _SMALL_NUMBERS[number] if 0 <= number < len(_SMALL_NUMBERS) else str(number)


def distance_words(distance: int | str | None) -> str:
    """Say how far back a history sentence lies."""
    if distance is None:
        return "all history sentences together"
    text = str(distance)
    return f"{small_number(int(text))} sentence{'' if text == '1' else 's'} back" if text.isdigit() else text


def listing(words: Sequence[str]) -> str:
    """a, b and c."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
