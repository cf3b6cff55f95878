"""Tokens and detokenised text equal those of the Moses scripts."""

import pickle
import random
import string
import tracemalloc
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sacremoses import MosesDetokenizer, MosesTokenizer
from tests.unit.corpus.text import moses

from docaps.corpus.text.bpe import HEADER, Subwords
from docaps.corpus.text.characters import CHARACTER_SIZE, ENTRY_SIZE, Memo, is_cjk, kinds
from docaps.corpus.text.tokenization import ChunkTokenizer, Detokenizer, Tokenizer, escape, unescape

CHARACTERS = "aesßÄZ195 ..'',,`-:·;?()[]<>|&\"„“%€@/½Ⅷⅷª中\u00a0\u200d\u0301😀"
WESTERN = "aesßÄZ195 ..'',,`-:;?()[]<>|&\"„“%€@/"
WORDS = (
    "Mr. No. z.B. U.S. etc. Nr. it's 'tis dogs' l'homme '99 1990's 1,000 3.5 5 ' '' \" ( ) , . ... foo. Foo .' @-@ a"
)


@pytest.mark.parametrize("language", moses.LANGUAGES)
def test_hard_sentences_are_cut_as_by_the_script(language: str) -> None:
    found = [*map(Tokenizer(language).tokenize, moses.lines("", language))]
    assert [" ".join(words) for words in found] == moses.lines("tok", language)


@pytest.mark.parametrize("language", moses.LANGUAGES)
def test_hard_sentences_are_joined_as_by_the_script(language: str) -> None:
    words = [line.split(" ") for line in moses.lines("dtc", language)]
    assert [*map(Tokenizer(language).detokenize, words)] == moses.lines("detok", language)


# Expected values: tokenizer.perl with the language's list of abbreviations.
@pytest.mark.parametrize(
    ("language", "sentence", "words"),
    [
        ("en", "'Tis the dogs' '99.", "'Tis the dogs ' ' 99 ."),
        ("en", "He said: 'Go.'", "He said : ' Go . '"),
        ("en", "' '5", "' ' 5"),
        ("en", "a ' '5 b", "a ' '5 b"),
        ("en", "a '5 b", "a ' 5 b"),
        ("en", ",5 and ,5 and 5,", ",5 and , 5 and 5 ,"),
        ("en", "No. ١ No. x", "No . ١ No. x"),
        ("en", "No. 5 No. A", "No. 5 No . A"),
        ("en", "the 1990's x'y'z", "the 1990 's x 'y'z"),
        ("en", "Wait..really... ok..", "Wait .. really ... ok .."),
        ("fr", "L'homme d'un 'mot' qu'", "L' homme d' un ' mot ' qu'"),
        ("it", "l'una", "l' una"),
        ("ca", "il·lusió·", "il·lusió·"),
        ("fi", "USA:n EU:N 20:een: a", "USA:n EU : N 20:een : a"),
        ("sv", "S:t", "S:t"),
        ("so", "go'aan 'a", "go'aan ' a"),
        ("tdt", "ne'ebé sa'A", "ne'ebé sa ' A"),
        ("de", "geht's z.B. am 3. Mai", "geht ' s z.B. am 3. Mai"),
        ("ja", "中文 No. 5.", "中文 No. 5 ."),
        ("en", "½ ⅷ,5 ⅷ, ª. b Ⅷ. ⅷ", "½ ⅷ,5 ⅷ , ª. b Ⅷ. ⅷ"),
        ("en", "a\u0301 b\u200dc 👨\u200d👩 {0} %s __x__", "a ́ b \u200d c 👨 \u200d 👩 { 0 } % s _ _ x _ _"),
        ("en", "a\x1cb\x00 \x01 c\td\u00a0e\u2028f", "ab c d e f"),
        ("en", "DOTMULTI. x", "DOTMULTI. x"),
    ],
)
def test_rules_of_languages_and_odd_characters(language: str, sentence: str, words: str) -> None:
    assert Tokenizer(language).tokenize(sentence) == [escape(word) for word in words.split(" ")]


# Expected values: detokenizer.perl.
@pytest.mark.parametrize(
    ("language", "words", "sentence"),
    [
        ("en", "the dogs ' ' bowl '", "the dogs' 'bowl'"),
        ("en", "( it &apos;s $ 5 ) !", "(it's $5)!"),
        ("en", "&quot; no &apos;s", "\"no's"),
        ("en", "no ! &apos;s", "no! 's"),
        ("en", "a @-@ b @-@ c", "a-b-c"),
        ("en", "&amp;lt; &bar; &#124; &bra; &ket;", "&lt; | | []"),
        ("fr", "c' est ( ? ) vrai :", "c'est ( ?) vrai :"),
        ("it", "l' una d' 5", "l'una d' 5"),
        ("cs", "5 , 3 e - mail je tu .", "5,3 e-mail je tu."),
        ("cs", "“ a „ b “ c", "“ a „b“ c"),
        ("fi", "EU : Ssakin on : talo", "EU:ssakin on: talo"),
        ("zh", "中 文 a 中", "中文 a 中"),
        ("ko", "한 국", "한 국"),
        ("de", "<unk> , a <unk>", "<unk>, a <unk>"),
        ("en", "", ""),
    ],
)
def test_rules_for_joining(language: str, words: str, sentence: str) -> None:
    assert Tokenizer(language).detokenize(words.split(" ")) == sentence


def texts(characters: str = CHARACTERS) -> st.SearchStrategy[str]:
    pieces = st.sampled_from(WORDS.split(" "))
    sentences = st.lists(st.tuples(pieces, st.sampled_from(["", " ", " ", "  "])))
    return st.text(st.sampled_from(characters)) | sentences.map(lambda found: "".join(a + b for a, b in found))


@given(texts(), st.sampled_from(["en", "de", "fr", "fi", "tdt", "ca"]))
@example("a ' '5 b' '", "en")
def test_cutting_chunk_by_chunk_is_cutting_the_sentence(text: str, language: str) -> None:
    rules = ChunkTokenizer(language)
    whole = rules.tokenize(" ".join(text.split()), first=True, last=True)
    tokenizer = Tokenizer(language)
    assert tokenizer.tokenize(text) == tokenizer.tokenize(text) == [*whole]


SACREMOSES = {language: MosesTokenizer(lang=language) for language in ("en", "de", "fr")}


@given(texts(WESTERN), st.sampled_from([*SACREMOSES]))
def test_western_sentences_without_a_last_full_stop_are_cut_as_by_sacremoses(text: str, language: str) -> None:
    text += " end"  # the library is older than the rule that the last full stop is always cut off
    assert Tokenizer(language).tokenize(text) == SACREMOSES[language].tokenize(text)


@given(texts(), st.sampled_from(["de", "fr", "it", "ko"]))
def test_words_are_joined_as_by_sacremoses(text: str, language: str) -> None:
    words = Tokenizer(language).tokenize(text)
    assert Detokenizer(language).join(words) == MosesDetokenizer(lang=language).detokenize(words)


@given(st.text())
def test_entities_come_back(text: str) -> None:
    assert unescape(escape(text)) == text


@given(st.text(), st.sampled_from(["en", "de"]))
def test_only_blanks_and_control_characters_are_lost(text: str, language: str) -> None:
    words = Tokenizer(language).tokenize(text)
    assert "".join(unescape(word) for word in words) == "".join(c for c in "".join(text.split()) if c >= " ")


def test_every_character_has_one_kind() -> None:
    assert kinds("aAsßª١5ⅷⅧ中ि½_😀.'`,-: ·") == "lLslo09iILL###.'`,-: ·"


@pytest.mark.parametrize(
    ("character", "expected"), [("中", True), ("ノ", True), ("한", True), ("a", False), ("", False)]
)
def test_cjk_is_known(character: str, expected: bool) -> None:
    assert is_cjk(character) is expected


def test_a_tokenizer_travels_between_processes() -> None:
    copied = pickle.loads(pickle.dumps(Tokenizer("de")))
    assert copied.tokenize("Geht's? Ja.") == Tokenizer("de").tokenize("Geht's? Ja.")


def test_a_memo_never_grows_beyond_its_limit() -> None:
    calls: list[str] = []
    make: Callable[[str], int] = lambda text: calls.append(text) or len(text)  # type: ignore[func-returns-value]  # noqa: E731
    memo = Memo(make, limit=2 * ENTRY_SIZE + 5 * CHARACTER_SIZE)
    assert [memo[text] for text in ("a", "a", "bb", "ccc", "a")] == [1, 1, 2, 3, 1]
    assert calls == ["a", "bb", "ccc", "a"]
    assert [*memo] == ["ccc", "a"]
    assert memo["ddddd"] == 5  # two entries have room, but not with so many characters
    assert [*memo] == ["ddddd"]


@pytest.mark.parametrize("length", [3, 12, 60])
def test_a_memo_of_any_words_takes_no_more_memory_than_it_says(length: int) -> None:
    draw, limit = random.Random(1), 1_000_000
    words = ["".join(draw.choices(string.ascii_letters, k=length)) for _ in range(6000)]
    subwords = Subwords(f"{HEADER}\n")  # every letter is a piece
    memo = Memo(subwords._cut, limit)
    tracemalloc.start()
    most = 0
    for word in words:
        assert memo["".join(word)]  # a word of its own, as text is read
        most = max(most, tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert limit / 5 < most < limit
