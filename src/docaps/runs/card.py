"""The model card of a run, as Markdown: system, data, scores, settings, limits."""

from collections.abc import Mapping, Sequence
from typing import Any

from docaps.config import SYSTEMS
from docaps.errors import RunError
from docaps.files import read_text, write_text_atomically
from docaps.runs.contrastive_results import HISTORIES
from docaps.runs.directory import Run
from docaps.runs.results import RunResults, read_results
from docaps.runs.wording import describe_system, duration, is_control, percent_with_sign, sentence_case, thousands

_STAGE = ("steps", "batch_tokens", "accumulate", "learning_rate", "schedule", "warmup", "dropout", "label_smoothing")
_MAIN_SETTINGS = ("model.", "history.", "decoding.", *(f"stage.{name}" for name in _STAGE))


def as_card(run: RunResults) -> str:
    """Return the model card of a run."""
    sections = {"Data": _data, "Measured": _measured, "Settings": _settings, "Limits": _limits, "Made with": _made}
    parts = [part for title, write in sections.items() for part in (f"## {title}", write(run))]
    return "\n\n".join([f"# {sentence_case(describe_system(run.system))}", _what(run), *parts]) + "\n"


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: bool = False) -> str:
    """Format a Markdown table, escaping pipes; columns of numbers, all but the first, are aligned to the right."""
    lines = [header, ["---", *["---:" if numbers else "---"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def _what(run: RunResults) -> str:
    description, begun = run.description, run.description.get("begun_from")
    sees = SYSTEMS[run.system].sees if run.system in SYSTEMS else "–"
    started = f"the run `{begun['run']}` of {begun['created']}" if isinstance(begun, Mapping) else "random weights"
    facts = [
        ("system", f"`{run.system}`"),
        ("input", "the sentence alone" if sees == "–" else f"the sentence and {sees}"),
        ("parameters", thousands(description.get("parameters"))),
    ]
    if isinstance(imported := description.get("imported"), Mapping):
        facts.append(("imported from", f"`{imported.get('from')}`, a model in the form of {imported.get('form')}"))
    else:
        facts += [
            ("trained", f"{thousands(description.get('steps'))} steps, {duration(description.get('seconds'))}"),
            ("weights", str(description.get("weights", "of the last step"))),
            ("initialised from", started),
            ("seed", str(description.get("seed"))),
        ]
    return markdown_table(["", ""], [*facts, ("created", str(description.get("created")))])


def _data(run: RunResults) -> str:
    if run.description.get("imported"):
        return "It was trained elsewhere: its publisher says on what, and under which licence it may be used."
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
    rows = [
        [part, score["name"], f"{score['score']:.2f}", f"`{score['signature']}`"]
        for part, found in (run.measured["parts"] if run.measured else {}).items()
        for score in found["scores"].values()
    ]
    if run.scores and not run.measured:
        rows.append([run.scores.set, "BLEU", f"{run.scores.bleu:.2f}", f"`{run.scores.signature}`"])
    if run.perplexity is not None:
        rows.append(["dev", "lowest perplexity during training", f"{run.perplexity:.2f}", ""])
    if own := run.contrastive:
        rows.append(_right_choices("contrastive", own.items, "", own.chance.all, own.accuracy.all, own.file))
    for one in run.contrastive_sets:
        items, history = one.whole.items, f", {HISTORIES[one.history]}"
        rows.append(_right_choices(one.name, items, history, one.whole.chance, one.whole.accuracy, one.signature))
    if not rows:
        return "Not measured yet: run `docaps report` or `docaps evaluate`."
    return markdown_table(["on", "what", "value", "signature"], rows)


def _right_choices(on: str, items: int, history: str, chance: float, accuracy: float, signature: str) -> list[str]:
    what = f"right choices of {thousands(items)}{history} (chance {percent_with_sign(chance)})"
    return [on, what, percent_with_sign(accuracy), f"`{signature}`"]


def _settings(run: RunResults) -> str:
    flat, table = flatten(run.settings), SYSTEMS[run.system].table if run.system in SYSTEMS else None
    main = _MAIN_SETTINGS if table is None else (*_MAIN_SETTINGS, f"{table}.")
    shown = {name: value for name, value in flat.items() if name.removeprefix("system.").startswith(main)}
    rows = [[f"`{name}`", f"`{value}`"] for name, value in shown.items() if value is not None]
    return "The main ones; `run.json` has all:\n\n" + markdown_table(["setting", "value"], rows)


def _limits(run: RunResults) -> str:
    limits = [
        "The scores above are for held-out parts of the same corpus; other text will be translated worse.",
        "The model knows only the words and constructions of its training text.",
        "Its output can be fluent and wrong: have it checked where mistakes matter.",
    ]
    if run.description.get("imported"):
        limits[0] = "docaps did not measure it: text unlike that of its training will be translated worse."
    if is_control(run.system):
        limits.insert(0, "It is a control, trained with a wrong history, and not meant for use.")
    if run.status != "finished":
        limits.insert(0, f"Its training is not finished (status: {run.status}).")
    return "\n".join(f"- {limit}" for limit in limits)


def _made(run: RunResults) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in run.versions.items())
    command = run.description.get("command")
    made = f"{versions}; {run.description.get('precision')} on {run.description.get('device')}."
    return f"{made}\n\n```bash\n{command}\n```" if command else made


def flatten(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Flatten nested settings to dotted names, as `--set` takes them."""
    flat: dict[str, Any] = {}
    for key, value in settings.items():
        flat |= flatten(value, f"{prefix}{key}.") if isinstance(value, Mapping) and value else {f"{prefix}{key}": value}
    return flat


def write_card(run: Run, *, command: str = "") -> None:
    """Write the model card of a finished run, and store the command in `run.json` for later cards."""
    description = run.read()
    if command and not description.get("command"):
        run.write({**description, "command": command})
    text = as_card(read_results(run.path))
    try:
        written = read_text(run.card, error=RunError)
    except RunError:  # none, or something else in its place
        written = None
    if written != text:
        write_text_atomically(run.card, text)
