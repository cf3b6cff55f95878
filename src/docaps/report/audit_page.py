"""The audit page: contrastive items to be judged by eye, as one self-contained HTML file."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from markupsafe import Markup

from docaps.corpus.contrastive import ContrastiveItem
from docaps.corpus.mining.sentences import Words
from docaps.report.page import read_asset
from docaps.report.templating import render


@dataclass(frozen=True, slots=True)
class AuditedItem:
    """An item as the page shows it."""

    item: ContrastiveItem
    history: Sequence[tuple[int, str, str]]
    """Distance, sentence and translation."""
    right: Markup
    """The right translation with what is decided marked."""
    wrong: Sequence[Markup]


def draw_items(items: Sequence[ContrastiveItem], count: int, seed: int = 1) -> list[ContrastiveItem]:
    """Draw up to `count` items of each phenomenon, in their order."""
    numbers: dict[str, list[int]] = {}
    for number, item in enumerate(items):
        numbers.setdefault(item.phenomenon, []).append(number)
    rng = Random(seed)
    drawn = [one for found in numbers.values() for one in sorted(rng.sample(found, min(count, len(found))))]
    return [items[number] for number in drawn]


def build_audit(items: Sequence[ContrastiveItem], *, title: str, subtitle: str = "") -> str:
    """Build the page; judgements are kept by the browser, under a key made of the items."""
    key = hashlib.sha256("\n".join(item.id + item.right for item in items).encode()).hexdigest()[:12]
    page = render(
        "audit.html",
        title=title,
        subtitle=subtitle,
        key=key,
        phenomena=list(dict.fromkeys(item.phenomenon for item in items)),
        items=[_show(item) for item in items],
        style=Markup(read_asset("page.css") + read_asset("audit.css")),
        script=Markup(read_asset("audit.js")),
    )
    return str(page)


def _show(item: ContrastiveItem) -> AuditedItem:
    """Return what the page shows of an item."""
    translations = item.target_history or ("",) * len(item.history)
    count = len(item.history)
    history = [(count - number, *pair) for number, pair in enumerate(zip(item.history, translations, strict=True))]
    wrong = [_mark(text, item.right, "wrong") for text in item.wrong]
    return AuditedItem(item, history, _mark(item.right, item.wrong[0], "right"), wrong)


def _mark(text: str, other: str, style: str) -> Markup:
    """Mark the words of a text that are not in the same place of another one, if both have as many."""
    words, others = Words(text), Words(other)
    if len(words) != len(others):
        return Markup("{}").format(text)
    parts, done = [], 0
    for (start, end), one, two in zip(words.spans, words.forms, others.forms, strict=True):
        if one != two:
            parts += [Markup("{}").format(text[done:start]), Markup('<mark class="{}">{}</mark>').format(style, one)]
            done = end
    return Markup("").join([*parts, Markup("{}").format(text[done:])])
