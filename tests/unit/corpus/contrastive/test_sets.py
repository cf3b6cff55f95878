"""Readers of contrastive sets: cases beyond the examples of the page."""

import dataclasses
import gzip
import json
from pathlib import Path

import pytest
from tests.unit.corpus.contrastive.page import BY_TITLE, Example

from docaps.corpus.contrastive import ContrastiveItem, GenerativeItem, SetOptions, read_set
from docaps.corpus.contrastive.contrastive_set import (
    AnyItem,
    find_pronoun,
    spread,
    with_other_histories,
    without_history,
)
from docaps.corpus.contrastive.records import same_sentence
from docaps.errors import CorpusError

PUBLISHED = BY_TITLE["ContraPro as published"]
EXTRACTED = BY_TITLE["ContraPro as extracted text"]
GENEVAL = BY_TITLE["MT-GenEval, contextual part"]
CTXPRO = BY_TITLE["ctxpro, generative"]
COAT, HOME = "Anna bought a coat.", "She went home."


def items_of(example: Example, folder: Path) -> list[AnyItem]:
    return list(example.read(folder).items)


def test_contrapro_is_read_with_its_documents(tmp_path: Path) -> None:
    first, second = items_of(PUBLISHED, tmp_path)
    assert first == ContrastiveItem(
        id="1",
        source="It was warm.",
        phenomenon="pronoun",
        distance=2,
        pronoun="er",
        document="1924_17_23.de",
        history=("Anna saw a coat and bought it.", HOME),
        target_history=("Anna sah einen Mantel und kaufte ihn.", "Sie ging nach Hause."),
        right="Er war warm.",
        wrong=("Sie war warm.", "Es war warm."),
    )
    assert (second.history, second.target_history) == ((), ())


def test_contrapro_takes_the_nearest_lines_asked_for(tmp_path: Path) -> None:
    path = PUBLISHED.place(tmp_path)
    options = SetOptions(context_dir=tmp_path / "documents", context_lines=1)
    assert [item.history for item in read_set("contrapro", path, options).items] == [(HOME,), ()]


def test_contrapro_needs_no_documents_without_context(tmp_path: Path) -> None:
    path = PUBLISHED.place(tmp_path)
    items = read_set("contrapro", path, SetOptions(without_history=True)).items
    assert [item.history for item in items] == [(), ()]


def test_documents_may_lie_in_one_folder_and_lack_the_target_side(tmp_path: Path) -> None:
    path = PUBLISHED.place(tmp_path)
    year = tmp_path / "documents" / "1924"
    (year / "1924_17_23.de").unlink()
    for options in (SetOptions(context_dir=year), SetOptions(context_dir=tmp_path / "documents")):
        first = read_set("contrapro", path, options).items[0]
        assert (len(first.history), first.target_history) == (2, ())


def test_a_compressed_list_on_one_line_is_read(tmp_path: Path) -> None:
    path = PUBLISHED.place(tmp_path)
    packed = tmp_path / "contrapro.json.gz"
    packed.write_bytes(gzip.compress(json.dumps(json.loads(path.read_text())).encode()))
    options = PUBLISHED.options(tmp_path)
    assert read_set("contrapro", packed, options).items == read_set("contrapro", path, options).items


def test_extracted_text_has_no_history_before_its_document(tmp_path: Path) -> None:
    first, second = items_of(EXTRACTED, tmp_path)
    assert first.history == (COAT, HOME)
    assert second.history == ("Tom found a blouse.",)
    assert second.target_history == ("Tom fand eine Bluse.",)
    assert isinstance(first, ContrastiveItem)
    assert (first.right, first.wrong) == ("Er war warm.", ("Sie war warm.", "Es war warm."))


def test_a_blank_line_within_a_context_keeps_its_place(tmp_path: Path) -> None:
    EXTRACTED.place(tmp_path)
    for language in ("en", "de"):
        path = tmp_path / f"contrapro.context.{language}"
        lines = path.read_text().split("\n")
        path.write_text("\n".join("" if number in (1, 3, 5) else line for number, line in enumerate(lines)))
    assert read_set("contrapro", tmp_path / "contrapro.text.en").items[0].history == (COAT, "")


def test_the_reference_again_begins_another_item(tmp_path: Path) -> None:
    texts = {"text.en": ["It was warm."] * 4, "text.de": ["Er war warm.", "Es war warm."] * 2}
    contexts = {"context.en": [COAT] * 4, "context.de": ["Anna kaufte einen Mantel."] * 4}
    for name, lines in (texts | contexts).items():
        (tmp_path / f"contrapro.{name}").write_text("\n".join(lines) + "\n")
    items = read_set("contrapro", tmp_path).items
    assert [item.wrong for item in items if isinstance(item, ContrastiveItem)] == [("Es war warm.",)] * 2


def test_the_published_file_labels_extracted_text(tmp_path: Path) -> None:
    plain = items_of(EXTRACTED, tmp_path)
    records = [
        {
            "src segment": item.source,
            "ref segment": item.right,
            "ref pronoun": "Er",
            "ante distance": 3,
            "document id": "film.de",
            "errors": [{"contrastive": text} for text in item.wrong],
        }
        for item in plain
        if isinstance(item, ContrastiveItem)
    ]
    (tmp_path / "contrapro.json").write_text(json.dumps(records))
    labelled = read_set("contrapro", tmp_path / "contrapro.text.de").items
    label = {"distance": 3, "document": "film.de", "pronoun": "er"}
    assert list(labelled) == [dataclasses.replace(item, **label) for item in plain]


def test_extracted_text_needs_no_contexts_without_context(tmp_path: Path) -> None:
    EXTRACTED.place(tmp_path)
    for path in tmp_path.glob("*.context.*"):
        path.unlink()
    items = read_set("contrapro", tmp_path, SetOptions(without_history=True)).items
    assert [item.history for item in items] == [(), ()]


def test_mt_geneval_contrasts_original_and_flipped(tmp_path: Path) -> None:
    first, _ = items_of(GENEVAL, tmp_path)
    assert first == ContrastiveItem(
        id="dev-1",
        source="Weber became a teacher in 1901.",
        phenomenon="gender",
        distance=1,
        history=("Her mother was a baker.",),
        right="Weber wurde 1901 Lehrerin.",
        wrong=("Weber wurde 1901 Lehrer.",),
    )


def test_a_directory_gives_all_parts_in_the_models_languages(tmp_path: Path) -> None:
    items = items_of(GENEVAL, tmp_path)
    for path in list(tmp_path.iterdir()):
        path.with_name(path.name.replace("-dev.", "-test.")).write_text(path.read_text())
        path.with_name(path.name.replace("en_de", "en_fr")).write_text("a line of another pair\n")
    found = read_set("mt-geneval", tmp_path)
    assert [item.id for item in found.items] == ["dev-1", "dev-2", "test-1", "test-2"]
    assert found.items[:2] == tuple(items)
    with pytest.raises(CorpusError, match=r"no en_it files of MT-GenEval here \(found: en_de, en_fr\)"):
        read_set("mt-geneval", tmp_path, SetOptions(target_language="it"))


def test_ctxpro_expects_a_word(tmp_path: Path) -> None:
    assert items_of(CTXPRO, tmp_path)[1] == GenerativeItem(
        id="gender-2",
        source="Was it warm?",
        phenomenon="gender",
        form="NOM.FEM.SING",
        distance=2,
        pronoun="sie",
        document="de-en/1924/1924_17_24",
        history=("Tom found a blouse.", "He put it on."),
        expected=("sie",),
    )


def test_ctxpro_is_found_in_its_authors_folders(tmp_path: Path) -> None:
    items = items_of(CTXPRO, tmp_path)
    for folder, ending, name in (
        ("jsons", ".json", "mini.gender.en-de.json"),
        ("inputs", ".inputs", "mini.gender.en-de"),
    ):
        (tmp_path / folder).mkdir()
        (file,) = tmp_path.glob(f"*{ending}")
        file.rename(tmp_path / folder / name)
    for path in (tmp_path / "jsons" / "mini.gender.en-de.json", tmp_path / "inputs" / "mini.gender.en-de"):
        assert list(read_set("ctxpro", path).items) == items


def test_a_directory_of_ctxpro_gives_all_its_files(tmp_path: Path) -> None:
    CTXPRO.place(tmp_path)
    for path in list(tmp_path.iterdir()):
        path.with_name(path.name.replace("gender", "animacy")).write_text(path.read_text())
    found = read_set("ctxpro", tmp_path)
    assert [item.phenomenon for item in found.items] == ["animacy", "animacy", "gender", "gender"]


@pytest.mark.parametrize(
    ("right", "wrong", "pronoun"),
    [
        ("Er kam.", ("Sie kam.", "Es kam."), "er"),
        ("Sah er ihn?", ("Sah er sie?",), "ihn"),
        ("Er sah ihn.", ("Sie sah sie.",), None),
        ("Er kam.", ("Sie kam an.",), None),
    ],
)
def test_the_pronoun_is_the_one_word_that_differs(right: str, wrong: tuple[str, ...], pronoun: str | None) -> None:
    assert find_pronoun(right, wrong) == pronoun


def test_editions_of_a_sentence_are_distinguished_from_other_sentences() -> None:
    assert same_sentence('"It\'s warm," she said.', "It 's warm , she said .")
    assert same_sentence("...", "...")
    assert not same_sentence("It was warm today.", "She went home.")
    assert not same_sentence("It was warm.", "")


def some_items(*documents: str | None) -> list[AnyItem]:
    return [
        ContrastiveItem(id=str(n), source="s", right="r", wrong=("w",), document=name, history=(f"history {n}",))
        for n, name in enumerate(documents)
    ]


def test_shuffled_histories_come_from_another_document() -> None:
    items = some_items(*"aaabbbccc")
    shuffled = with_other_histories(items)
    for item, other in zip(items, shuffled, strict=True):
        donor = items[int(other.history[0].split()[1])]
        assert donor.document != item.document
        assert dataclasses.replace(other, history=item.history) == item
    assert shuffled == with_other_histories(items)
    assert len({item.history for item in shuffled}) > 3


def test_without_documents_every_item_is_one() -> None:
    items = some_items(None, None)
    assert [item.history for item in with_other_histories(items)] == [("history 1",), ("history 0",)]
    with pytest.raises(CorpusError, match="at least two documents"):
        with_other_histories(some_items("a", "a"))


def test_histories_can_be_hidden() -> None:
    assert [item.history for item in without_history(some_items("a", "b"))] == [(), ()]


def test_a_limit_takes_items_from_the_whole_set() -> None:
    items = some_items(*[None] * 10)
    chosen = [int(item.id) for item in spread(items, 3)]
    assert [0 <= chosen[0] < 3, 3 <= chosen[1] < 6, 6 <= chosen[2] < 10] == [True] * 3
    assert spread(items, 3) == spread(items, 3)
    assert spread(items, None) == spread(items, 10) == spread(items, 99) == items


def test_a_limit_takes_items_of_every_kind_from_a_periodic_set() -> None:
    assert {number % 12 for number in spread(range(6000), 50)} == set(range(12))  # 6,000 / 50 is a multiple of 12
