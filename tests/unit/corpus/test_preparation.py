"""Preparation: what is stored spells the text, nothing is done twice, and an interruption leaves no trace."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from docaps.config import PreparationSettings
from docaps.corpus import building
from docaps.corpus import preparation as module
from docaps.corpus.documents import Document
from docaps.corpus.formats import read_parallel, write_documents, write_parallel
from docaps.corpus.preparation import CorpusFiles, prepare
from docaps.corpus.store import Store
from docaps.corpus.text.vocabulary import EOS, UNK
from docaps.errors import ConfigError, CorpusError
from docaps.files import sha256

SOURCE = "<d>\nA man saw a house.\nIt was old.\n\n<d>\nA dog ran.\n"
TARGET = "<d>\nEin Mann sah ein Haus.\nEs war alt.\nSo.\n<d>\nEin Hund lief.\n"
DEV_SOURCE, DEV_TARGET = "It was a dog.\n", "Es war ein Hund.\n"
SETTINGS = PreparationSettings(merges=20)


@pytest.fixture
def inputs(tmp_path: Path) -> CorpusFiles:
    texts = {"train.en": SOURCE, "train.de": TARGET, "dev.en": DEV_SOURCE, "dev.de": DEV_TARGET}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    parts = {part: (tmp_path / f"{part}.en", tmp_path / f"{part}.de") for part in ("train", "dev")}
    return CorpusFiles(parts)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "store"


def snapshot(out: Path) -> dict[str, bytes]:
    return {str(path.relative_to(out.parent)): path.read_bytes() for path in out.parent.rglob("*") if path.is_file()}


def test_token_ids_spell_the_text(inputs: CorpusFiles, out: Path) -> None:
    store, built = prepare(inputs, SETTINGS, out)
    assert built
    train = store.split("train")
    assert train.documents.tolist() == [0, 3, 4]
    assert train.document_starts.tolist() == [0, 0, 0, 3]
    lines = [line for line in TARGET.splitlines() if line != "<d>"]
    assert [store.codec.decode_target(train.target[number].tolist()) for number in range(4)] == lines
    assert [train.source[number][-1] for number in range(4)] == [EOS] * 4
    assert train.source[2].tolist() == [EOS]  # the empty sentence
    assert train.source[1].tolist() == store.codec.encode_source("It was old.")
    assert UNK not in train.source.tokens
    assert UNK not in train.target.tokens


def test_the_manifest_describes_the_store(inputs: CorpusFiles, out: Path) -> None:
    store, _ = prepare(inputs, SETTINGS, out)
    assert store.manifest["counts"] == {
        "train": {"documents": 2, "sentences": 4, "usable": 3},
        "dev": {"documents": 1, "sentences": 1, "usable": 1},
    }
    assert store.manifest["filters"] == {"empty on one side or both": {"train": 1}}
    assert store.manifest["settings"] == SETTINGS.model_dump()
    assert store.manifest["inputs"]["train.source"] == sha256(inputs.parts["train"][0])
    assert store.manifest["vocabulary"] == len(store.codec.vocabulary)
    assert [pair.source for pair in store.raw("dev")] == [("It was a dog.",)]
    assert (store.has("dev"), store.has("test"), store.contrastive) == (True, False, None)
    assert not (out / "train.source.txt").exists()


def test_the_manifest_holds_the_true_hash_of_every_file(inputs: CorpusFiles, out: Path) -> None:
    store, _ = prepare(inputs, SETTINGS, out)
    found = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    assert store.manifest["files"].keys() == found - {"manifest.json"}
    assert all(sha256(out / name) == value for name, value in store.manifest["files"].items())
    assert len(store.hash) == 64


def test_the_identity_depends_on_the_data_alone(inputs: CorpusFiles, out: Path) -> None:
    first, _ = prepare(inputs, SETTINGS, out)
    second, _ = prepare(inputs, SETTINGS, out.with_name("other"))
    third, _ = prepare(inputs, with_merges(2), out.with_name("third"))
    assert first.hash == second.hash != third.hash


def test_a_command_is_stored_but_not_part_of_the_identity(inputs: CorpusFiles, out: Path) -> None:
    plain, _ = prepare(inputs, SETTINGS, out.with_name("plain"))
    first, _ = prepare(inputs, SETTINGS, out, command="docaps prepare --out mine")
    assert first.manifest == plain.manifest | {"command": "docaps prepare --out mine"}
    again, built = prepare(inputs, SETTINGS, out, command="docaps prepare --out other")
    assert (built, again.manifest) == (False, first.manifest)


def test_an_earlier_corpus_learns_its_command_if_it_may_be_written(
    inputs: CorpusFiles, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier, _ = prepare(inputs, SETTINGS, out)

    def refuse(*_: object) -> None:
        raise PermissionError("read only")

    with monkeypatch.context() as patch:
        patch.setattr(module, "write_json", refuse)
        same, built = prepare(inputs, SETTINGS, out, command="docaps prepare")
    assert (built, same.manifest) == (False, earlier.manifest)
    later, built = prepare(inputs, SETTINGS, out, command="docaps prepare")
    assert (built, later.manifest) == (False, earlier.manifest | {"command": "docaps prepare"})
    assert later.hash == earlier.hash


def with_merges(merges: int) -> PreparationSettings:
    return SETTINGS.model_copy(update={"merges": merges})


def test_the_same_request_is_not_prepared_twice(
    inputs: CorpusFiles, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(inputs, SETTINGS, out)
    before = snapshot(out)
    monkeypatch.setattr(module, "build", lambda *_, **__: pytest.fail("worked twice"))
    store, built = prepare(inputs, SETTINGS, out)
    assert not built
    assert snapshot(out) == before
    assert store.path == out


def test_changed_settings_or_inputs_rebuild(inputs: CorpusFiles, out: Path) -> None:
    first = prepare(inputs, SETTINGS, out)[0].hash
    second, built = prepare(inputs, with_merges(2), out)
    assert built
    assert second.hash != first
    inputs.parts["dev"][1].write_text("Es war der Hund.\n")
    third, built = prepare(inputs, with_merges(2), out)
    assert built
    assert third.raw("dev")[0].target == ("Es war der Hund.",)
    assert [path.name for path in out.parent.iterdir()] == ["store"]


@pytest.mark.parametrize("damage", ["missing", "changed"])
def test_a_damaged_store_is_built_again(inputs: CorpusFiles, out: Path, damage: str) -> None:
    prepare(inputs, SETTINGS, out)
    before = snapshot(out)
    file = out / "train.source.npy"
    file.unlink() if damage == "missing" else file.write_bytes(file.read_bytes()[:-1] + b"\7")
    assert prepare(inputs, SETTINGS, out)[1]
    assert snapshot(out) == before


def test_an_empty_directory_may_be_used(inputs: CorpusFiles, out: Path) -> None:
    out.mkdir(parents=True)
    assert prepare(inputs, SETTINGS, out)[1]


@pytest.mark.parametrize("kind", ["directory", "file", "foreign manifest", "broken manifest"])
def test_what_is_not_a_prepared_corpus_is_never_replaced(inputs: CorpusFiles, out: Path, kind: str) -> None:
    out.parent.mkdir()
    if kind == "file":
        out.write_text("mine")
    else:
        out.mkdir()
        (out / "mine").write_text("mine")
    if "manifest" in kind:
        (out / "manifest.json").write_text('{"name": "mine"}' if kind == "foreign manifest" else "[]")
    before = snapshot(out)
    with pytest.raises(CorpusError, match=r"not a prepared corpus|does not describe a prepared corpus"):
        prepare(inputs, SETTINGS, out)
    assert snapshot(out) == before


@pytest.mark.parametrize("stage", ["_tokenise_parts", "_truecase", "_clean_parts", "_learn", "_write", "write_json"])
@pytest.mark.parametrize("there", [True, False])
def test_an_interruption_leaves_what_was_there_and_nothing_else(
    inputs: CorpusFiles, out: Path, monkeypatch: pytest.MonkeyPatch, stage: str, there: bool
) -> None:
    if there:
        prepare(inputs, with_merges(2), out)
    before = snapshot(out)

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module if stage == "write_json" else building, stage, interrupt)
    with pytest.raises(KeyboardInterrupt):
        prepare(inputs, SETTINGS, out)
    assert snapshot(out) == before
    assert [path.name for path in out.parent.iterdir()] == ["store"] * there


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("train.de", None, r"train\.de: no such file"),
        ("dev.en", "", r"dev\.en: the file is empty"),
        ("train.de", TARGET + "Noch.\n", r"train\.de:5: document 2"),
        ("train.de", "<d>\n\n\n\n<d>\n\n", "no words"),
    ],
)
def test_bad_inputs_are_refused_and_nothing_is_written(
    inputs: CorpusFiles, out: Path, tmp_path: Path, name: str, text: str | None, message: str
) -> None:
    (tmp_path / name).unlink() if text is None else (tmp_path / name).write_text(text)
    if message == "no words":
        (tmp_path / "train.en").write_text(str(text))
    with pytest.raises(CorpusError, match=message):
        prepare(inputs, SETTINGS, out)
    assert not out.parent.exists() or not list(out.parent.iterdir())


def test_contrastive_items_are_checked_and_kept(inputs: CorpusFiles, out: Path, tmp_path: Path) -> None:
    item = {"id": "1", "phenomenon": "p", "form": "f", "distance": 1, "source": "It.", "right": "Er.", "wrong": ["Es."]}
    path = tmp_path / "items.jsonl"
    path.write_text(json.dumps(item | {"history": ["A."], "target_history": ["B."]}) + "\n")
    store, _ = prepare(replace(inputs, contrastive=path), SETTINGS, out)
    assert store.contrastive == out / "contrastive.jsonl"
    assert store.contrastive.read_bytes() == path.read_bytes()
    path.write_text(json.dumps(item | {"right": None}) + "\n")
    with pytest.raises(CorpusError, match=r"items\.jsonl:1: the field 'right' is missing"):
        prepare(replace(inputs, contrastive=path), SETTINGS, out)
    assert Store(out).contrastive is not None


def test_parts_are_numbered_by_the_training_vocabulary(inputs: CorpusFiles, out: Path) -> None:
    inputs.parts["dev"][0].write_text("It was 漢.\n")
    store, _ = prepare(inputs, SETTINGS, out)
    assert UNK in np.asarray(store.split("dev").source[0])


def test_a_corpus_is_prepared_from_any_format(inputs: CorpusFiles, out: Path, tmp_path: Path) -> None:
    usual, _ = prepare(inputs, SETTINGS, out)
    for name in ("jsonl", "tsv", "xml"):
        parts = {part: (tmp_path / f"{part}.{name}",) * 2 for part in ("train", "dev")}
        for part, pair in inputs.parts.items():
            write_parallel(*parts[part], read_parallel(*pair), name)
        store, _ = prepare(CorpusFiles(parts), SETTINGS, tmp_path / "stores" / name)
        assert store.manifest["files"] == usual.manifest["files"]


def test_another_format_or_other_document_starts_are_another_corpus(inputs: CorpusFiles, out: Path) -> None:
    assert prepare(inputs, SETTINGS, out)[1]
    named = replace(inputs, format="lines")
    assert prepare(named, SETTINGS, out)[1]
    assert not prepare(named, SETTINGS, out)[1]
    for path in inputs.parts["dev"]:
        path.write_text("One.\nTwo.\n")
    starts = inputs.parts["dev"][0].with_suffix(".starts")
    for text, documents in (("0\n", 1), ("0\n1\n", 2)):
        starts.write_text(text)
        store, built = prepare(inputs, SETTINGS, out)
        assert built
        assert store.manifest["counts"]["dev"] == {"documents": documents, "sentences": 2, "usable": 2}


def test_directories_are_prepared_and_a_changed_file_is_noticed(inputs: CorpusFiles, out: Path, tmp_path: Path) -> None:
    folders = (tmp_path / "source", tmp_path / "target")
    for folder in folders:
        write_documents(folder, [Document(("One.",), "a"), Document(("Two.",), "b")], "directory")
    found = replace(inputs, parts={**inputs.parts, "dev": folders})
    assert prepare(found, SETTINGS, out)[0].manifest["counts"]["dev"] == {"documents": 2, "sentences": 2, "usable": 2}
    assert not prepare(found, SETTINGS, out)[1]
    (folders[0] / "b.txt").write_text("Three.\n")
    assert prepare(found, SETTINGS, out)[1]


def test_a_language_without_abbreviations_of_its_own_is_reported(
    inputs: CorpusFiles, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(module.progress, "say", said.append)
    prepare(inputs, SETTINGS.model_copy(update={"target_language": "sw"}), out)
    assert "no list of abbreviations for 'sw': full stops are tokenised as in English" in said
    assert not any("'en'" in line for line in said)


@pytest.mark.parametrize("subwords", ["bpe", "sentencepiece"])
def test_what_is_no_language_is_refused(inputs: CorpusFiles, out: Path, subwords: str) -> None:
    with pytest.raises(ConfigError, match="'english' is not a language code"):
        prepare(inputs, SETTINGS.model_copy(update={"source_language": "english", "subwords": subwords}), out)
    assert not out.exists()
