"""Whatever the input: a translation with as many lines, or a message that says what is wrong."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.cli.calling import docaps
from tests.cli.conftest import Chain

from docaps.corpus.documents import Document
from docaps.corpus.formats import NAMES
from docaps.translation.trained_model import TrainedModel, load_trained
from docaps.translation.translator import Translator

ODD = (
    *("", " ", "\t", "<d>", "< d>", "<unk>", "<s>", "</s>", "<pad>", "@@", "a@@", "@-@", "&lt;", "|||", "a ||| b"),
    *("\0", "\x01\x1b[31m", "\ufeff", "\u200b", "\u2028", "\x85", "\r", "\ufdd0", "\ue580\ue581▁", "\U0010ffff"),
    *(
        "שלום עולם",
        "مرحبا",
        "e\u0301\u0302\u0303",
        "👩‍👩‍👧‍👦🏽",
        "漢字かな交じり文。",
        "ß" * 300,
        "x" * 20_000,
        "漢" * 20_000,
    ),
    *("https://a.org/?b=1&c=%20#d", "a@b.org", "1,000.50", "<b>bold</b>", '{"source": ["a"]}', "[{", "<dataset>"),
    *("<doc><seg>a</seg></doc>", "<talkid>1</talkid>", "id\ttext", "." * 2000, "the cat, " * 800),
)
SENTENCE = st.one_of(st.sampled_from(ODD), st.text(max_size=40), st.sampled_from(["Anna bought a coat.", "It ran."]))
TEXT = st.lists(SENTENCE, max_size=6).map("\n".join)


def check_sentences(trained: TrainedModel, sentences: list[str]) -> None:
    """Translate a document of any strings."""
    (found,) = Translator(trained, warn=lambda _: None).translate([Document(tuple(sentences))])
    assert len(found) == len(sentences)
    for one in found:
        assert one.score <= 0
        assert "\n" not in one.text


def check_text(chain: Chain, text: str, name: str | None) -> None:
    """Translate a file of any text."""
    data = text.encode("utf-8", errors="surrogatepass")
    result = docaps("translate", chain.document, *(["--format", name] if name else []), stdin=data)
    if result.code:
        assert result.code == 1
        assert any(line.startswith("docaps: ") for line in result.err.splitlines()), result.err
        assert "Traceback" not in result.err
    elif name == "lines":
        lines = data.decode("utf-8-sig").replace("\r\n", "\n").removesuffix("\n").split("\n")
        assert len(result.out.removesuffix("\n").split("\n")) == len(lines)
        assert "<unk>" not in result.out


@pytest.fixture(scope="module")
def trained(chain: Chain) -> TrainedModel:
    return load_trained(chain.document)


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.lists(SENTENCE, max_size=4))
def test_any_sentences_are_translated(trained: TrainedModel, sentences: list[str]) -> None:
    check_sentences(trained, sentences)


@settings(max_examples=80, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(TEXT, st.sampled_from(["lines", "lines", None, *(name for name in NAMES if name != "directory")]))
def test_any_text_is_translated_or_refused(chain: Chain, text: str, name: str | None) -> None:
    check_text(chain, text, name)


@pytest.mark.stress
@settings(max_examples=5000, deadline=None, suppress_health_check=list(HealthCheck))
@given(TEXT, st.sampled_from(["lines", None, *(name for name in NAMES if name != "directory")]))
def test_very_many_texts_are_translated_or_refused(chain: Chain, text: str, name: str | None) -> None:
    check_text(chain, text, name)


@settings(max_examples=30, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.binary(max_size=60))
def test_any_bytes_are_translated_or_refused(
    chain: Chain, tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    path: Path = tmp_path_factory.mktemp("bytes") / "file"
    path.write_bytes(data)
    result = docaps("translate", chain.document, path)
    assert result.code in (0, 1)
    assert "Traceback" not in result.err


def test_thousands_of_accents_on_one_letter_lose_no_line(chain: Chain) -> None:
    lines = ["Anna bought a coat."] * 5 + ["Anna Z" + "\u0301" * 4000] + ["It ran."] * 5
    result = docaps("translate", chain.document, "--beam", "1", "--format", "lines", stdin="\n".join(lines).encode())
    assert result.code == 0, result.err
    assert len(result.out.splitlines()) == len(lines)
