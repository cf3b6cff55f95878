"""`docaps translate` with a glossary, a form of address and consistency."""

import json
from pathlib import Path

import pytest
from tests.cli.calling import docaps, succeed
from tests.cli.conftest import Chain

from docaps import load

STORY = "<d>\nAnna bought a coat in Rostock.\nIt was warm.\nThe bank in Rostock was steep.\n"


@pytest.fixture
def terms(tmp_path: Path) -> Path:
    path = tmp_path / "terms.tsv"
    path.write_text("# terms\nAnna\tLena\ncoat|coats\tMantel\tMäntel\nbank\t漢字\n", encoding="utf-8")
    return path


def test_a_glossary_is_kept_to_and_what_is_missing_is_said(chain: Chain, terms: Path) -> None:
    result = succeed("translate", chain.document, "--glossary", terms, "--json", stdin=STORY)
    (document,) = json.loads(result.out)["documents"]
    uses = [[(use["source"], use["target"]) for use in one.get("terms", [])] for one in document["sentences"]]
    assert uses[1:] == [[], [("bank", "漢字")]]
    assert [source for source, _ in uses[0]] == ["Anna", "coat"]
    states = [use["state"] for one in document["sentences"] for use in one.get("terms", [])]
    assert "missing" not in states[:2]
    assert states[2] == "missing"
    assert all(use["target"] in document["sentences"][0]["translation"] for use in document["sentences"][0]["terms"])
    assert "document 1, sentence 3: the translation of 'bank' could not be written as '漢字'" in result.err
    text = succeed("translate", chain.document, "--glossary", terms, stdin=STORY).out
    assert text.splitlines()[1:] == [one["translation"] for one in document["sentences"]]


def test_a_glossary_without_terms_in_the_text_changes_nothing(chain: Chain, tmp_path: Path) -> None:
    path = tmp_path / "other.tsv"
    path.write_text("nowhere\tnirgends\n")
    options = ("translate", chain.document, "--scores")
    plain = succeed(*options, stdin=STORY).out
    assert succeed(*options, "--glossary", path, stdin=STORY).out == plain
    path.write_text("# none\n")
    empty = succeed(*options, "--glossary", path, stdin=STORY)
    assert empty.out == plain
    assert f"{path}: no terms: the glossary changes nothing" in empty.err


@pytest.mark.filterwarnings("ignore:.*was forced|.*were missing or forced")
def test_sentences_without_terms_are_translated_as_without_a_glossary(chain: Chain) -> None:
    """In the same documents as sentences with terms, which are searched in batches of their own."""
    model = load(chain.document)
    sentences = (chain.text / "test.en").read_text(encoding="utf-8").replace("<d>\n", "").splitlines()[:40]
    plain = model.translate(sentences)
    kept = model.translate(sentences, glossary={"it": "Katze", "was": "Hund"})
    free = [number for number, one in enumerate(kept) if not one.terms]
    assert 5 < len(free) < 35
    assert [kept[number].text for number in free] == [plain[number].text for number in free]
    assert [kept[number].score for number in free] == pytest.approx([plain[number].score for number in free], abs=1e-5)
    assert any(one.text != other.text for one, other in zip(kept, plain, strict=True))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--formality", "formal"), "this model cannot choose the form of address: its corpus has no marks"),
        (("--glossary", "broken.tsv"), "broken.tsv:2: expected SOURCE, a tab and TARGET"),
        (("--glossary", "missing.tsv"), "missing.tsv: no such file"),
        (("--consistency", "report", "--jobs", "2"), "--consistency compares whole documents in one process"),
    ],
)
def test_what_cannot_be_done_is_refused(
    chain: Chain, tmp_path: Path, options: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("broken.tsv").write_text("a\tb\nc d\n")
    result = docaps("translate", chain.document, *options, stdin=STORY)
    assert result.code == 1
    assert message in result.err
    assert result.out == ""


def test_another_glossary_is_another_job(chain: Chain, terms: Path, tmp_path: Path) -> None:
    from docaps.translation.jobs import FileOutput

    story = tmp_path / "story.en"
    story.write_text(STORY)
    job = ("translate", chain.document, story, "-o", tmp_path / "story.de")
    succeed(*job, "--glossary", terms)
    request = {"glossary": "another"}
    output = FileOutput(tmp_path / "story.de", request, directory=False)
    output.start()
    assert docaps(*job, "--glossary", terms, "--resume").err.count("begun with other") == 1


@pytest.mark.parametrize("mode", ["report", "enforce"])
def test_consistency_reads_whole_documents(chain: Chain, mode: str) -> None:
    plain = succeed("translate", chain.document, stdin=STORY).out
    result = succeed("translate", chain.document, "--consistency", mode, stdin=STORY)
    assert result.out.count("\n") == plain.count("\n")
    if mode == "report":
        assert result.out == plain
