"""The model card of a run, as Markdown: what it is, what it learnt from, how good it is, what it cannot do."""

from collections.abc import Mapping, Sequence
from typing import Any

from docaps.config import SYSTEMS
from docaps.files import write_text_atomically
from docaps.runs.contrastive_results import HISTORIES, Kept
from docaps.runs.directory import Run
from docaps.runs.results import RunResults, read_results
from docaps.runs.wording import describe_system, duration, is_control, percent_with_sign, sentence_case, thousands

_KEPT = ("model.", "history.", "stage.steps", "stage.batch_tokens", "stage.accumulate", "stage.learning_rate")
_KEPT_TOO = ("stage.schedule", "stage.warmup", "stage.dropout", "stage.label_smoothing", "decoding.")


def as_card(run: RunResults) -> str:
    """Write the card from the files of the run, and from nothing else."""
    parts = [
        f"# {sentence_case(describe_system(run.system))}",
        _what(run),
        "## Data",
        _data(run),
        "## Measured",
        _measured(run),
        "## Settings",
        _settings(run),
        "## Limits",
        _limits(run),
        "## Made with",
        _made(run),
    ]
    return "\n\n".join(parts) + "\n"


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write a table; what would end a cell is escaped."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def _what(run: RunResults) -> str:
    description = run.description
    system = SYSTEMS.get(run.system)
    sees = "–" if system is None else system.sees
    facts = [
        ("system", f"`{run.system}`"),
        ("looks at", "the sentence alone" if sees == "–" else f"the sentence and {sees}"),
        ("parameters", thousands(description.get("parameters"))),
        ("trained", f"{thousands(description.get('steps'))} steps, {duration(description.get('seconds'))}"),
        ("weights", str(description.get("weights", "of the last step"))),
        ("started from", _beginning(description)),
        ("seed", str(description.get("seed"))),
        ("created", str(description.get("created"))),
    ]
    return markdown_table(["", ""], facts)


def _beginning(description: Mapping[str, Any]) -> str:
    begun = description.get("begun_from")
    return f"the run `{begun['run']}` of {begun['created']}" if isinstance(begun, Mapping) else "random weights"


def _data(run: RunResults) -> str:
    lines = [f"Prepared corpus `{run.corpus.get('hash')}`."]
    data = run.measured.get("data") if run.measured else None
    if data:
        lines[0] = f"From `{data['source_language']}` to `{data['target_language']}`. " + lines[0]
        rows = [
            [name, thousands(part["documents"]), thousands(part["sentences"]), f"{part['average']:.2f}"]
            for name, part in data["parts"].items()
        ]
        lines.append(markdown_table(["part", "documents", "sentence pairs", "average length"], rows))
    return "\n\n".join(lines)


def _measured(run: RunResults) -> str:
    rows = [*_scores(run)]
    losses = [row["dev_perplexity"] for row in run.validation if "dev_perplexity" in row]
    if losses:
        rows.append(["dev", "perplexity, the lowest of training", f"{min(losses):.2f}", ""])
    if run.contrastive:
        chance = percent_with_sign(run.contrastive.chance.all)
        name = f"right choices of {thousands(run.contrastive.items)} (chance {chance})"
        rows.append(["contrastive", name, percent_with_sign(run.contrastive.accuracy.all), f"`{run.contrastive.file}`"])
    rows += [_choices(kept) for kept in run.kept]
    if not rows:
        return "Nothing yet: `docaps report` or `docaps evaluate` measures it."
    return markdown_table(["on", "what", "value", "signature"], rows)


def _choices(kept: Kept) -> list[str]:
    """Write what a run chose in a contrastive set."""
    chance = percent_with_sign(kept.whole.chance)
    name = f"right choices of {thousands(kept.whole.items)}, {HISTORIES[kept.history]} (chance {chance})"
    return [kept.name, name, percent_with_sign(kept.whole.accuracy), f"`{kept.signature}`"]


def _scores(run: RunResults) -> list[list[str]]:
    if run.measured:
        return [
            [part, score["name"], f"{score['score']:.2f}", f"`{score['signature']}`"]
            for part, found in run.measured["parts"].items()
            for score in found["scores"].values()
        ]
    return [[run.scores.set, "BLEU", f"{run.scores.bleu:.2f}", f"`{run.scores.signature}`"]] if run.scores else []


def _settings(run: RunResults) -> str:
    flat = flatten(run.settings)
    shown = {name: value for name, value in flat.items() if name.removeprefix("system.").startswith(_KEPT + _KEPT_TOO)}
    rows = [[f"`{name}`", f"`{value}`"] for name, value in shown.items()]
    return "All of them are in `run.json`; the main ones:\n\n" + markdown_table(["setting", "value"], rows)


def _limits(run: RunResults) -> str:
    limits = [
        "The numbers above hold for the held-out parts of the same corpus; other text will be translated worse.",
        "The model knows the words and constructions of its training text and nothing else.",
        "It can be wrong fluently: do not use its output unread where a mistake can hurt.",
    ]
    if is_control(run.system):
        limits.insert(0, "It is a control: it was trained with a wrong history, and is not meant to be used.")
    if run.status != "finished":
        limits.insert(0, f"Its training has not come to its end (status: {run.status}).")
    return "\n".join(f"- {limit}" for limit in limits)


def _made(run: RunResults) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in run.versions.items())
    command = run.description.get("command")
    lines = [f"{versions}; {run.description.get('precision')} on {run.description.get('device')}."]
    return "\n\n".join([*lines, *([f"```bash\n{command}\n```"] if command else [])])


def flatten(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Write nested settings with dotted names, as `--set` takes them."""
    flat: dict[str, Any] = {}
    for key, value in settings.items():
        flat |= flatten(value, f"{prefix}{key}.") if isinstance(value, Mapping) and value else {f"{prefix}{key}": value}
    return flat


def write_card(run: Run, *, command: str = "") -> None:
    """Write the model card of a finished run; the command that made it is kept with the run, for later cards."""
    description = run.read()
    if command and not description.get("command"):
        run.write({**description, "command": command})
    text = as_card(read_results(run.path))
    if not run.card.exists() or run.card.read_text(encoding="utf-8") != text:
        write_text_atomically(run.card, text)


def write_cards(runs: Sequence[Run], command: str) -> None:
    """Write the cards of runs that one command made."""
    for run in runs:
        write_card(run, command=command)
