"""Sentences of running text: long paragraphs are split like short ones, in time that grows with their length."""

import pytest
import sentencex

from docaps.corpus.formats.text import LONGEST_PIECE, split_sentences

SENTENCES = [
    "Am 3. Mai kam Dr. Weber.",
    "„Wer ist da?“, fragte er.",
    "Niemand!",
    "Sie ging (so hieß es) um 7.30 Uhr heim.",
]


def test_a_long_paragraph_is_split_like_a_short_one() -> None:
    short, long = (" ".join(SENTENCES * times) for times in (1, 300))
    parts = split_sentences(short, "de")
    assert "".join(parts) == short
    assert len(long) > 5 * LONGEST_PIECE
    assert [part.strip() for part in split_sentences(long, "de")] == [part.strip() for part in parts] * 300


@pytest.mark.parametrize("text", ["« ", "![", "“! ", "word ", "x", "! "])
def test_each_character_is_read_a_few_times_at_most(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    segment = sentencex.segment

    def note(language: str, piece: str) -> list[str]:
        read.append(len(piece))
        return list(segment(language, piece))

    monkeypatch.setattr(sentencex, "segment", note)
    paragraph = text * 20_000
    parts = split_sentences(paragraph, "en")
    assert "".join(parts) == paragraph
    assert max(read) <= LONGEST_PIECE
    assert sum(read) <= 3 * len(paragraph)


def test_a_sentence_is_never_cut_however_long() -> None:
    long = "word " * 2000
    assert split_sentences(f"Hello there. {long}end. And on.", "en") == ["Hello there. ", f"{long}end. ", "And on."]
    assert split_sentences("x" * 10_000, "en") == ["x" * 10_000]
