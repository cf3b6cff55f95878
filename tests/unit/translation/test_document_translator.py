"""The Python API: load a run, translate, score, and show a translation in a notebook."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from tests.invariants import tiny

import docaps
from docaps.corpus.store import Store
from docaps.errors import DocapsError, RunError
from docaps.training.stages import train_recipe
from docaps.translation.document_translator import DocumentTranslator, Translation
from docaps.translation.translator import TranslatedSentence

STORY = ["the cat sat here", "it was old", "", "it slept"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    store: Store = tiny.prepared(folder)
    return train_recipe(tiny.recipe(), store, folder / "runs")[1].path


@pytest.fixture(scope="module")
def model(run: Path) -> DocumentTranslator:
    return docaps.load(str(run))


def test_importing_docaps_is_light() -> None:
    script = "import sys, docaps; print([name for name in ('torch', 'numpy', 'pydantic') if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"


def test_only_the_public_api_is_listed() -> None:
    assert dir(docaps) == ["__version__", "load"]


def test_a_document_is_translated_sentence_by_sentence(model: DocumentTranslator) -> None:
    found = model.translate(STORY)
    assert len(found) == 4
    assert found.texts == [sentence.text for sentence in found]
    assert found[2] == TranslatedSentence("", 0.0)
    assert found[1:3] == found.sentences[1:3]
    assert found.text == " ".join(text for text in found.texts if text)
    assert found.source == tuple(STORY)
    assert found[1].score != model.translate(STORY, use_context=False)[1].score
    assert found[3].score == pytest.approx(model.translate(STORY[3:], history=STORY[:3])[0].score, abs=1e-5)


def test_many_documents_are_translated_as_they_come(model: DocumentTranslator) -> None:
    found = list(model.translate_documents(iter([STORY, STORY[:1]])))
    assert [one.texts for one in found] == [model.translate(STORY).texts, model.translate(STORY[:1]).texts]


def test_a_text_is_split_into_sentences(model: DocumentTranslator) -> None:
    found = model.translate("The cat sat here. It was old.")
    assert found.source == ("The cat sat here.", "It was old.")


def test_alternatives_and_routing_are_returned_on_request(model: DocumentTranslator) -> None:
    found = model.translate(STORY, nbest=2, routing=True)
    assert 1 <= len(found[0].alternatives) <= 2
    assert [trace.distance for trace in found[3].routing] == [1, 2, 3]
    assert model.translate(STORY, beam=1)[0].alternatives == ()


def test_given_translations_are_scored(model: DocumentTranslator) -> None:
    target = ["die Katze saß", "sie war alt", "", "sie schlief"]
    found = model.score(STORY, target)
    assert [one.tokens for one in found] == [
        len(model._trained.codec.encode_target(text)) if text else 0 for text in target
    ]
    assert all(one.log_probability < 0 for one in found if one.tokens)
    assert found[1] != model.score(STORY, target, use_context=False)[1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda model: model.translate(STORY, history="text"), "expected a list of sentences, found one text"),
        (lambda model: model.translate(STORY, beam=1, nbest=2), "nbest=2 needs a beam as wide: found beam=1"),
        (lambda model: model.score(["a"], []), "1 source sentences, but 0 target sentences"),
    ],
)
def test_mistakes_are_refused(model: DocumentTranslator, call: object, message: str) -> None:
    with pytest.raises(DocapsError, match=message):
        call(model)  # type: ignore[operator]


def test_a_missing_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no such run"):
        docaps.load(tmp_path / "absent")


def test_a_split_sentence_is_a_python_warning(model: DocumentTranslator) -> None:
    with pytest.warns(UserWarning, match="document 1, sentence 1: more than 300 tokens"):
        model.translate(["the cat sat here " * 200], beam=1)


def test_notebook_representation_is_escaped(model: DocumentTranslator, run: Path) -> None:
    assert repr(model) == f"<docaps model {run}: en to de, 3 earlier sentences in view>"
    shown = Translation(("a <b> & c",), (TranslatedSentence("<script>x</script>", -1.234),))
    assert repr(shown) == "Translation of 1 sentence\n1  a <b> & c\n   <script>x</script>  (-1.23)"
    page = shown._repr_html_()
    assert "<script>" not in page
    assert "<td>a &lt;b&gt; &amp; c</td><td>&lt;script&gt;x&lt;/script&gt;</td><td>-1.23</td>" in page


def test_weights_are_not_changed_by_translating(model: DocumentTranslator) -> None:
    before = {name: weight.clone() for name, weight in model._trained.model.state_dict().items()}
    model.translate(STORY)
    assert all(torch.equal(weight, before[name]) for name, weight in model._trained.model.state_dict().items())


def test_a_glossary_is_a_file_or_pairs_and_may_be_read_once(model: DocumentTranslator, tmp_path: Path) -> None:
    file = tmp_path / "terms.tsv"
    file.write_text("cat\tHund\nit\tsie|er\n")
    pairs = {"cat": "Hund", "it": ["sie", "er"]}
    found = [model.translate(STORY, glossary=terms) for terms in (file, str(file), pairs, list(pairs.items()))]
    assert all(one == found[0] for one in found)
    assert "Hund" in found[0].texts[0]
    assert [use.source for use in found[0][1].terms] == ["it"]
    read = model.glossary(file)
    assert model.glossary(read) is read
    (stream,) = model.translate_documents([STORY], glossary=read)
    assert stream == found[0]
    assert model.translate(STORY)[0].terms == ()


def test_a_form_of_address_that_the_model_did_not_learn_is_refused(model: DocumentTranslator) -> None:
    with pytest.raises(DocapsError, match="cannot choose the form of address"):
        model.translate(STORY, formality="formal")
    with pytest.raises(DocapsError, match="cannot choose the form of address"):
        next(model.translate_documents([STORY], formality="formal"))
