"""Token ids as text, and the way back from its words to exactly their tokens."""

from pathlib import Path

import pytest

from docaps.config import PreparationSettings
from docaps.corpus.mining.sentences import Words
from docaps.corpus.mining.token_texts import TokenDocuments, read_tokens, write_text
from docaps.corpus.preparation import CorpusFiles, prepare
from docaps.corpus.store import Store

SENTENCES = ["Er war es, der's sagte: Er-Form & <mehr>!", "Sie war es - ja, sie.", "das Nord-Süd-Gefälle stieg"] * 8
ENGLISH = ["He was it, who's said it: he-form & <more>!", "She was it - yes, she.", "the north-south gap rose"] * 8


def make(folder: Path, **settings: object) -> Store:
    for name, lines in (("a.en", ENGLISH), ("a.de", SENTENCES)):
        text = "".join("<d>\n" * (number % 3 == 0) + line + "\n" for number, line in enumerate(lines))
        (folder / name).write_text(text, encoding="utf-8")
    pair = folder / "a.en", folder / "a.de"
    preparation = PreparationSettings.model_validate(settings)
    return prepare(CorpusFiles({"train": pair, "dev": pair}), preparation, folder / "prepared", workers=1)[0]


@pytest.fixture(scope="module", params=["bpe", "few-merges", "sentencepiece"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Store:
    settings: dict[str, dict[str, object]] = {
        "bpe": {"merges": 500},
        "few-merges": {"merges": 5},
        "sentencepiece": {"subwords": "sentencepiece", "pieces": 330},
    }
    return make(tmp_path_factory.mktemp("corpus"), **settings[request.param])


@pytest.mark.parametrize("number", [0, 1, 2])
def test_every_token_but_the_end_mark_is_in_the_text(store: Store, number: int) -> None:
    ids = store.split("train").target[number].tolist()
    found = read_tokens(store.codec, ids)
    assert len(found.spans) == len(ids) - 1
    covered = {place for start, end in found.spans for place in range(start, end)}
    assert covered >= {place for place, sign in enumerate(found.text) if sign != " "}


@pytest.mark.parametrize("number", [0, 1, 2])
def test_the_text_has_the_words_of_the_sentence(store: Store, number: int) -> None:
    found = read_tokens(store.codec, store.split("train").target[number].tolist())
    assert Words(found.text).lower == Words(SENTENCES[number]).lower
    decoded = store.codec.decode_target(store.split("train").target[number].tolist())
    assert write_text(store.codec, found.text, target=True) == decoded


@pytest.mark.parametrize("number", [0, 1, 2])
def test_the_tokens_of_a_word_are_its_spelling(store: Store, number: int) -> None:
    """The oracle decodes the tokens: they spell the word, and no other token of the sentence does."""
    ids = store.split("train").target[number].tolist()
    found = read_tokens(store.codec, ids)
    words = Words(found.text)
    for place, form in enumerate(words.forms):
        around = found.text[max(0, words.spans[place][0] - 1) : words.spans[place][1] + 1]
        if not form.isalpha() or {"'", "-"} & {*around}:
            continue  # these marks stay with their words, and a piece may hold all of it
        tokens = found.tokens_of(words, [place])
        pieces = store.codec.pieces([ids[token] for token in tokens])
        spelt = "".join(piece.removesuffix("@@").replace("▁", "") for piece in pieces)
        assert form in spelt
        assert len(spelt) <= len(form) + 1  # a piece may hold a mark beside the word


def test_documents_are_those_of_the_part(store: Store) -> None:
    documents = TokenDocuments(store.codec, store.split("train"))
    assert len(documents) == 8
    source, target = documents.document(3)
    assert [Words(text).lower for text in target] == [Words(text).lower for text in SENTENCES[9:12]]
    assert [Words(text).lower for text in source] == [Words(text).lower for text in ENGLISH[9:12]]
