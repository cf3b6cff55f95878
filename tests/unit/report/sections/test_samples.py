from collections.abc import Sequence
from pathlib import Path

from tests.unit.report.fake_runs import write_document_run, write_lines, write_sentence_run

from docaps.report import RunResults, read_results
from docaps.report.sections.samples import Stretch, choose_documents, compare_sentence


def marks(words: Sequence[Stretch]) -> list[tuple[str, str]]:
    return [(stretch.text, stretch.verdict) for stretch in words if stretch.verdict != "same"]


def test_a_differing_word_is_right_where_the_reference_agrees() -> None:
    plain, context = compare_sentence(["Es war warm.", "Er war warm."], "Er war warm.")
    assert marks(plain) == [("Es", "wrong")]
    assert marks(context) == [("Er", "right")]


def test_words_that_all_translations_share_are_not_marked_even_if_wrong() -> None:
    translations = compare_sentence(["Es war kalt.", "Es war kalt."], "Er war warm.")
    assert [marks(words) for words in translations] == [[], []]


def test_both_may_be_wrong() -> None:
    translations = compare_sentence(["Es war.", "Sie war."], "Er war.")
    assert [marks(words) for words in translations] == [[("Es", "wrong")], [("Sie", "wrong")]]


def test_neighbouring_words_become_one_mark_with_the_space_between_them() -> None:
    plain, _ = compare_sentence(["Siehst du den Schnitt?", "Sehen Sie den Schnitt?"], "Sehen Sie den Schnitt?")
    assert marks(plain) == [("Siehst du", "wrong")]


def test_one_of_three_that_differs_makes_the_word_marked_in_all() -> None:
    translations = compare_sentence(["Er ging.", "Er ging.", "Es ging."], "Er ging.")
    assert [marks(words) for words in translations] == [[("Er", "right")], [("Er", "right")], [("Es", "wrong")]]


def test_a_single_translation_is_compared_with_the_reference() -> None:
    (words,) = compare_sentence(["Es war warm."], "Er war warm.")
    assert marks(words) == [("Es", "wrong")]


def test_the_stretches_joined_are_the_sentence() -> None:
    for hypotheses in (["  Ein  Boot ,fuhr. ", "Boot"], ["", "Ein Boot"], ["Ein Boot", ""], ["…", "!"]):
        translations = compare_sentence(hypotheses, "Ein Schiff fuhr.")
        assert ["".join(stretch.text for stretch in words) for words in translations] == hypotheses


def test_documents_with_most_differences_come_first(tmp_path: Path) -> None:
    runs = [read_results(write_sentence_run(tmp_path)), read_results(write_document_run(tmp_path))]
    chosen = choose_documents(runs, documents=3)
    differences = [document.differences for document in chosen]
    assert [document.id for document in chosen] == ["2", "1", "3"]
    assert differences == sorted(differences, reverse=True)


def test_a_long_document_is_cut_to_the_part_with_most_differences(tmp_path: Path) -> None:
    runs = [long_run(write_sentence_run(tmp_path), changed=""), long_run(write_document_run(tmp_path), changed="x")]
    (document,) = choose_documents(runs, sentences=10)
    numbers = [sentence.number for sentence in document.sentences]
    assert document.length == 100
    assert len(numbers) == 10
    assert {71, 72} <= set(numbers)


def test_documents_that_a_run_lacks_are_not_compared(tmp_path: Path) -> None:
    runs = [read_results(write_sentence_run(tmp_path)), long_run(write_document_run(tmp_path), changed="")]
    assert choose_documents(runs) == []
    assert choose_documents([]) == []


def long_run(run: Path, *, changed: str) -> RunResults:
    hypothesis = [f"Satz {index}{changed if index in (70, 71) else ''}" for index in range(100)]
    document = {"id": "long", "source": ["s"] * 100, "reference": ["Satz"] * 100, "hypothesis": hypothesis}
    write_lines(run / "assessment" / "translations.jsonl", [document])
    return read_results(run)


def test_frequent_words_of_very_long_sentences_still_match() -> None:
    text = " ".join(["er ging und"] * 100)
    first, second = compare_sentence([text, f"sie {text}"], text)
    assert marks(first) == []
    assert marks(second) == [("sie", "wrong")]
