"""The audit page holds every item with its history on both sides, escaped, and what is decided marked."""

from dataclasses import replace

from docaps.corpus.contrastive import ContrastiveItem
from docaps.report.audit_page import build_audit, draw_items

ITEM = ContrastiveItem(
    id="dev-1:3:pronoun:0",
    source="It was <warm> & dry.",
    phenomenon="pronoun",
    form="subject",
    pronoun="er",
    distance=2,
    history=("Anna bought a coat.", "It rained."),
    target_history=("Anna kaufte einen Mantel.", "Es regnete."),
    right="Er war <warm> & trocken.",
    wrong=("Sie war <warm> & trocken.", "Es war <warm> & trocken."),
)


def test_an_item_is_shown_with_its_history_and_what_is_decided() -> None:
    page = build_audit([ITEM], title="Mined items", subtitle="a.en, a.de")
    assert '<mark class="right">Er</mark> war &lt;warm&gt; &amp; trocken.' in page
    assert '<mark class="wrong">Sie</mark>' in page
    assert '<tr class="deciding"><th scope="row">-2</th><td>Anna bought a coat.</td>' in page
    assert "<td>It was &lt;warm&gt; &amp; dry.</td>" in page
    assert "0 of 1 judged" in page
    assert "https://" not in page
    assert "<script src" not in page


def test_translations_of_unlike_length_are_not_marked() -> None:
    page = build_audit([replace(ITEM, wrong=("Nein.",))], title="a")
    assert "<td>Nein.</td>" in page
    assert "<mark" not in page


def test_judgements_belong_to_these_items() -> None:
    def key(items: list[ContrastiveItem]) -> str:
        return build_audit(items, title="a").partition('data-key="')[2][:12]

    assert key([ITEM]) == key([ITEM])
    assert len({key([ITEM]), key([replace(ITEM, id="other")]), key([ITEM, ITEM])}) == 3


def test_items_of_each_phenomenon_are_drawn_by_the_seed_in_their_order() -> None:
    items = [replace(ITEM, id=str(number), phenomenon=name) for name in ("a", "b") for number in range(30)]
    drawn = draw_items(items, 10)
    assert [item.phenomenon for item in drawn] == ["a"] * 10 + ["b"] * 10
    numbers = [int(item.id) for item in drawn]
    assert numbers[:10] == sorted(set(numbers[:10]))
    assert draw_items(items, 10) == drawn != draw_items(items, 10, seed=2)
    assert len(draw_items(items, 100)) == 60
