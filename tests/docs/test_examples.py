"""Documented examples: sentences that the demo's models know, with the translations that they give."""

import ast
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.calling import finish
from tests.docs import grammar
from tests.docs.examples import BLOUSE, CHURCH, DOCUMENTS, PAGE, SENTENCES, TABLE, Pair

import docaps
from docaps.corpus.formats.text import split_sentences
from docaps.corpus.minidocs import generate_documents
from docaps.corpus.minidocs.lexicon import GENDERS
from docaps.corpus.minidocs.phenomena import choose_phenomena

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "docaps"
README = (ROOT / "README.md").read_text(encoding="utf-8")
NOTEBOOK = json.loads((ROOT / "docs" / "tutorial" / "context.ipynb").read_text(encoding="utf-8"))
LAYOUTS = {"file-formats.md", "contrastive-sets.md", "add-a-format.md", "add-a-phenomenon.md", "add-a-system.md"}
"""Pages whose sentences show how files are laid out; no model translates them."""
PAGES = [page for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))) if page.name not in LAYOUTS]
CODE = re.compile(r"```.*?```|^    .*?$", flags=re.DOTALL | re.MULTILINE)
QUOTED = re.compile(r'"((?:[^"\\\n]|\\.)*)"|\'((?:[^\'\\\n]|\\.)*)\'')
SENTENCE = re.compile(r"[A-ZÄÖÜ][\w ,'-]* [\w ,'-]*[.!?]")


def quoted_sentences(code: str) -> Iterator[str]:
    """Iterate over the sentences in quotes, also those in JSON in the quotes of a shell."""
    for one, other in QUOTED.findall(code):
        if '"' in other:
            yield from quoted_sentences(other)
        for piece in re.split(r"\\+n|(?<=[.!?]) (?=[A-Z])", one or other):
            if SENTENCE.fullmatch(piece):
                yield piece


def documented() -> Iterator[tuple[str, str]]:
    """Iterate over the code of the documentation, by the file that it is in."""
    for page in PAGES:
        yield from ((page.name, code) for code in CODE.findall(page.read_text(encoding="utf-8")))
    for cell in NOTEBOOK["cells"]:
        if cell["cell_type"] == "code":
            yield "context.ipynb", "".join(cell["source"])
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node)):
                yield from ((path.name, quoted) for quoted in text.splitlines() if '"' in quoted)
            elif isinstance(node, ast.Constant) and "printf" in str(node.value):
                yield path.name, str(node.value)


def sentences_in(code: str) -> Iterator[str]:
    """Iterate over the sentences in quotes, and over lines that are a sentence."""
    yield from quoted_sentences(code)
    yield from (line for line in code.splitlines() if SENTENCE.fullmatch(line))


FOUND = [(name, sentence) for name, code in documented() for sentence in sentences_in(code)]


def test_documented_sentences_are_found() -> None:
    places = {name for name, _ in FOUND}
    assert places >= {"README.md", "first-model.md", "serve.md", "translate.md", "context.ipynb"}
    assert places >= {"__init__.py", "document_translator.py", "client.py", "demo.py"}
    assert list(quoted_sentences("""-d '{"text": "It ran. It fell."}' 'He ran.\\nHe fell.\\n'""")) == [
        "It ran.",
        "It fell.",
        "He ran.",
        "He fell.",
    ]


def test_every_documented_sentence_is_of_a_listed_example() -> None:
    own = {"lexicon.py"}  # describes the grammar's tables
    assert [(name, text) for name, text in FOUND if text not in SENTENCES and name not in own] == []


def test_the_grammar_is_read_as_it_is_written() -> None:
    for document in generate_documents(20, 5, choose_phenomena("pronoun,ambiguity,address,profession")):
        assert grammar.translate(document.source) == [{sentence} for sentence in document.target]
    assert grammar.translate(["Anna bought a coat.", "It was warm."]) == [set(), set()]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_translations_of_an_example_are_those_of_the_grammar(name: str) -> None:
    sources, targets = zip(*DOCUMENTS[name], strict=True)
    assert grammar.translate(sources) == [{sentence} for sentence in targets]


def test_the_page_of_the_service_opens_with_its_example() -> None:
    text = (SOURCE / "web" / "static" / "example.txt").read_text(encoding="utf-8")
    sentences = [one.strip() for paragraph in text.split("\n\n") for one in split_sentences(paragraph, "en")]
    assert sentences == [source for source, _ in PAGE]


def test_the_examples_of_the_service_are_listed() -> None:
    from docaps.web.schemas import REQUEST_EXAMPLE, RESPONSE_EXAMPLE

    (history, _), (source, target) = CHURCH
    assert {"sentences": [source], "history": [history]} == REQUEST_EXAMPLE
    (translation,) = RESPONSE_EXAMPLE["translations"]  # type: ignore[misc,union-attr]
    assert (translation["source"], translation["translation"]) == (source, target)  # type: ignore[index,call-overload]


def table_of_the_readme() -> list[tuple[str, str, str]]:
    """Return source, translation without and with context of each row of the README's first table."""
    _, _, *rows = re.findall(r"^\|(.*)\|(.*)\|(.*)\|$", README.partition("## Start")[0], flags=re.MULTILINE)
    return [tuple(cell.replace("**", "").strip() for cell in row) for row in rows]  # type: ignore[misc]


def guesses(sentence: str) -> set[str]:
    """Return all that the grammar may make of a sentence whose context is unknown."""
    lexicon = grammar.LEXICON
    pairs = [(sense.noun for sense in senses) for senses in lexicon.ambiguous] + [*lexicon.professions.people]
    states = [grammar.Settled(thing=gender) for gender in GENDERS] + [grammar.Settled(way=way) for way in (0, 1)]
    states += [grammar.Settled(nouns={noun.english: noun}) for pair in pairs for noun in pair]
    return {reading.translation for settled in states for reading in grammar.read(sentence, settled)}


def test_the_table_of_the_readme_has_the_listed_translations() -> None:
    rows = table_of_the_readme()
    assert [(source, after) for source, _, after in rows] == list(TABLE)
    assert any("✗" in before for _, before, _ in rows)
    for source, before, after in rows:
        assert ("✗" in before) == (before.removesuffix(" ✗") != after)
        assert before.removesuffix(" ✗") in guesses(source)


def outputs_of_the_notebook() -> list[list[Pair]]:
    """Return sources and translations of each document that the notebook shows."""
    outputs = [output for cell in NOTEBOOK["cells"] for output in cell.get("outputs", ())]
    shown = ["".join(output["data"]["text/plain"]) for output in outputs if "data" in output]
    pairs = [re.findall(r"^\d+  (.*)\n   (.*)  \(-", text, flags=re.MULTILINE) for text in shown]
    return [found for found in pairs if found]


def test_the_notebook_has_the_listed_translations() -> None:
    with_context, without = outputs_of_the_notebook()
    assert with_context == list(BLOUSE)
    assert [source for source, _ in without] == [source for source, _ in BLOUSE]
    assert all(target in guesses(source) for source, target in without)


@pytest.fixture(scope="module")
def trained_demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a finished demo: `DOCAPS_DEMO` names one, or else it is trained, which takes minutes."""
    if "DOCAPS_DEMO" in os.environ:
        return Path(os.environ["DOCAPS_DEMO"])
    folder = tmp_path_factory.mktemp("examples") / "demo"
    result = finish("demo", "--dir", folder, threads=None)
    assert result.code == 0, result.err
    return folder


@pytest.mark.stress
@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_trained_demo_translates_as_documented(trained_demo: Path, name: str) -> None:
    model = docaps.load(trained_demo / "runs" / "document", precision="auto")
    sources, targets = zip(*DOCUMENTS[name], strict=True)
    assert model.translate(sources).texts == list(targets)


@pytest.mark.stress
def test_a_trained_demo_guesses_as_documented(trained_demo: Path) -> None:
    """The README shows the sentence model, the notebook the document model without context."""
    runs = trained_demo / "runs"
    sentence, document = (docaps.load(runs / stage, precision="auto") for stage in ("sentence", "document"))
    sources, before, _ = zip(*table_of_the_readme(), strict=True)
    assert sentence.translate(sources).texts == [text.removesuffix(" ✗") for text in before]
    _, without = outputs_of_the_notebook()
    sources, targets = zip(*without, strict=True)
    assert document.translate(sources, use_context=False).texts == list(targets)
