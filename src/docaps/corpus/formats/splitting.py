"""Splitting running text into paragraphs and sentences."""

import re
from collections.abc import Sequence
from itertools import pairwise

SENTENCE_END = re.compile(r"[.!?:;…。！？][\"'”’“»«)\]]*$")
BEFORE_ORDINAL = "[Ii]m|[Aa]m|[Zz]um|[Vv]om|[Bb]eim|[Dd](?:er|ie|as|em|en|es)|[Ss]eit|[Bb]is|[Jj]ede[rnms]?"
GERMAN_ORDINAL = re.compile(rf"(?:^|\s)(?:{BEFORE_ORDINAL}) \d{{1,2}}\.\s*$")


def split_sentences(paragraph: str, language: str) -> list[str]:
    """Split a paragraph into sentences, each with the space after it."""
    import sentencex

    pieces: list[str] = []
    for piece in sentencex.segment(language, paragraph):
        if pieces and language == "de" and GERMAN_ORDINAL.search(pieces[-1]):
            pieces[-1] += piece  # "Im 19. | Jahrhundert" is one sentence
        elif piece.strip():
            pieces.append(piece)
        elif pieces:
            pieces[-1] += piece
    return pieces


def split_paragraphs(block: Sequence[str]) -> list[str]:
    """Make paragraphs of lines without a blank line between them: one if they are hard-wrapped, else one a line."""
    return [" ".join(block)] if is_wrapped(block) else list(block)


def is_wrapped(block: Sequence[str]) -> bool:
    """Say whether lines were broken at a width: each is full, and a break falls within a sentence.

    Two lines may be a title and a name below it; there the second has to begin with a small letter.
    """
    width = max(map(len, block))
    breaks = list(pairwise(block))
    full = all(len(line) + 1 + len(following.split(" ", 1)[0]) > width for line, following in breaks)
    return full and any(
        not SENTENCE_END.search(line) and (len(block) > 2 or following[0].islower()) for line, following in breaks
    )
