"""Tokenise, truecase, segment and back: the result equals that of the Moses scripts."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.corpus.text import moses

from docaps.corpus.text.bpe import Subwords, format_codes, learn_merges
from docaps.corpus.text.tokenization import Tokenizer
from docaps.corpus.text.truecasing import Truecaser


@pytest.mark.parametrize("language", moses.LANGUAGES)
def test_hard_sentences_come_back_as_from_the_scripts(language: str) -> None:
    tokenizer = Tokenizer(language)
    truecaser = Truecaser(Counter(" ".join(moses.lines("tc", language)).split()))
    words = [truecaser.truecase(tokenizer.tokenize(line)) for line in moses.lines("", language)]
    counts = Counter(word for sentence in words for word in sentence)
    subwords = Subwords(format_codes(learn_merges(counts, merges=100, minimum_frequency=2)))
    back = [truecaser.detruecase(subwords.join(pieces)) for pieces in map(subwords.split, words)]
    assert [tokenizer.detokenize(words) for words in back] == moses.lines("detok", language)


WORDS = "The old man's house ( really ) cost $ 5 , &amp; &lt; ; 😀 No. 7 [ x ] |"


@given(st.lists(st.sampled_from(WORDS.split()), min_size=1))
def test_words_survive_pieces_and_the_text_its_entities(words: list[str]) -> None:
    tokenizer, subwords = (
        Tokenizer("en"),
        Subwords(format_codes(learn_merges(Counter(), merges=1, minimum_frequency=1))),
    )
    tokens = tokenizer.tokenize(" ".join(words))
    assert subwords.join(subwords.split(tokens)) == tokens
    once = tokenizer.detokenize(tokens)
    assert once.replace(" ", "") == "".join(words)
    assert tokenizer.detokenize(tokenizer.tokenize(once)).replace(" ", "") == "".join(words)
