"""METEOR's tokens are those of the Java program."""

import pytest

from docaps.evaluation.meteor.normalization import Normalizer


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        ("en", "Hello, “World” (it's) U.S.A. e.g. Mr. Smith", 'hello , " world " ( it \'s ) usa eg mr. smith'),
        ("en", "pre-existing 3.14 1,000 $5 -- – …", "pre existing 3.14 1,000 $ 5 - - …"),
        ("en", "In Jan. No. 5 foo. Bar foo. bar x...", "in jan . no. 5 foo . bar foo. bar x ..."),
        ("en", "don't '90s 1's a''b a,,b", "don 't ' 90s 1 's a \" b a , ,b"),
        ("de", "„schön“ z.B. usw. am 3. Oktober, it's", "„ schön \" zb usw. am 3. oktober , it ' s"),
        ("de", " \u00a0 ", ""),
    ],
)
def test_words_are_the_programs(language: str, text: str, words: str) -> None:
    assert " ".join(Normalizer(language).words(text)) == words
