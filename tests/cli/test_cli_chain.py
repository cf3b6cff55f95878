"""Every command does its work, for people and for programs."""

import gzip
import json
import re
import shutil
from pathlib import Path

import pytest
import sacrebleu
from tests.cli.calling import docaps, listing, settings, succeed
from tests.cli.conftest import Chain, parts

from docaps.batches.batch import Batch
from docaps.config import DecodingSettings
from docaps.corpus.minidocs.phenomena import NAMES
from docaps.model.interface import TranslationModel
from docaps.translation.search import Hypothesis, search

STORY = "<d>\nAnna bought a coat.\n\nIt was warm.\n<d>\nThe bank was steep.\n"


def test_minidocs_are_printed_the_same_every_time() -> None:
    first = succeed("minidocs", "--documents", "2", "--seed", "3").out
    assert first == succeed("minidocs", "--documents", "2", "--seed", "3").out
    assert first != succeed("minidocs", "--documents", "2", "--seed", "4").out
    assert first.count("Document ") == 2


def test_minidocs_as_json_are_the_same_documents() -> None:
    found = json.loads(succeed("minidocs", "--documents", "2", "--seed", "3", "--json").out)
    printed = succeed("minidocs", "--documents", "2", "--seed", "3").out
    assert (found["seed"], len(found["documents"])) == (3, 2)
    for document in found["documents"]:
        assert len(document["source"]) == len(document["target"]) > 2
        assert all(f"  {sentence}" in printed for sentence in (*document["source"], *document["target"]))
        assert all(int(place) < len(document["source"]) for place in document["labels"])


def test_minidocs_have_the_phenomena_asked_for() -> None:
    printed = succeed("minidocs", "--documents", "9", "--phenomena", "ellipsis, address").out
    assert set(re.findall(r"\[(\w+), needs", printed)) == {"address", "ellipsis"}
    every = succeed("minidocs", "--documents", "30").out
    assert set(re.findall(r"\[(\w+), needs", every)) == set(NAMES)


def test_minidocs_write_a_corpus_and_say_what_to_type_next(tmp_path: Path) -> None:
    out = tmp_path / "my corpus"
    result = succeed("minidocs", "--documents", "3", "-o", out)
    names = {"train.en", "train.de", "dev.en", "dev.de", "test.en", "test.de", "contrastive.jsonl"}
    assert {path.name for path in out.iterdir()} == names
    assert (out / "train.en").read_text().count("<d>\n") == 3
    assert f"prepare --recipe minidocs --train '{out}/train.en' '{out}/train.de'" in result.err
    assert f"--out '{out}-prepared'" in result.err
    found = json.loads(succeed("minidocs", "--documents", "4", "-o", out, "--overwrite", "--json").out)
    assert (found["path"], found["train documents"]) == (str(out), 4)


def test_prepare_reports_what_it_made_and_does_nothing_twice(chain: Chain, tmp_path: Path) -> None:
    options = [*parts(chain.text), "--merges", "50", "--out", tmp_path / "p"]
    first = json.loads(succeed("prepare", *options, "--json").out)
    assert first["built"]
    assert first["train"]["documents"] == 20
    before = listing(tmp_path)
    assert not json.loads(succeed("prepare", *options, "--json").out)["built"]
    assert "nothing to do" in succeed("prepare", *options).out
    assert listing(tmp_path) == before
    manifest = json.loads((tmp_path / "p" / "manifest.json").read_text())
    assert manifest["settings"]["merges"] == 50


def test_prepare_takes_settings_from_recipe_set_and_options(chain: Chain, tmp_path: Path) -> None:
    def prepared(*options: str) -> dict[str, object]:
        succeed("prepare", *parts(chain.text), "--out", tmp_path / "p", *options)
        found: dict[str, object] = json.loads((tmp_path / "p" / "manifest.json").read_text())["settings"]
        return found

    assert prepared("--set", "preparation.merges=9", "--source-language", "fr")["merges"] == 9
    found = prepared("--recipe", "minidocs", "--merges", "7", "--set", "preparation.minimum_frequency=3")
    chosen = {key: found[key] for key in ("source_language", "target_language", "merges", "minimum_frequency")}
    assert chosen == {"source_language": "en", "target_language": "de", "merges": 7, "minimum_frequency": 3}
    assert found["truecase"] is False


def test_prepare_takes_the_languages_of_the_names(chain: Chain, tmp_path: Path) -> None:
    for part in ("train", "dev"):
        for name, language in (("it", "en"), ("txt", "de")):
            shutil.copy(chain.text / f"{part}.{language}", tmp_path / f"{part}.{name}")
    sides = [word for part in ("train", "dev") for word in (f"--{part}", f"{part}.it", f"{part}.txt")]
    files = [tmp_path / word if "." in word else word for word in sides]
    result = succeed("prepare", *files, "--merges", "5", "--out", tmp_path / "prepared")
    settings = json.loads((tmp_path / "prepared" / "manifest.json").read_text(encoding="utf-8"))["settings"]
    assert (settings["source_language"], settings["target_language"]) == ("it", "de")
    assert "languages: source it, target de (default) (others: --source-language, --target-language)" in result.err
    result = succeed("prepare", *files, "--merges", "5", "--source-language", "fr", "--out", tmp_path / "other")
    settings = json.loads((tmp_path / "other" / "manifest.json").read_text(encoding="utf-8"))["settings"]
    assert settings["source_language"] == "fr"
    assert "languages: target de (default)" in result.err


def test_prepare_reads_gzip(chain: Chain, tmp_path: Path) -> None:
    for path in chain.text.glob("*.??"):
        (tmp_path / path.name).write_bytes(gzip.compress(path.read_bytes()))
    found = json.loads(succeed("prepare", *parts(tmp_path), "--merges", "9", "--out", tmp_path / "p", "--json").out)
    assert found["test"]["documents"] == 3


def test_training_leaves_runs_that_describe_themselves(chain: Chain) -> None:
    for path, system in ((chain.sentence, "transformer"), (chain.document, "qcn+reg")):
        description = json.loads((path / "run.json").read_text())
        assert (description["status"], description["system"], description["steps"]) == ("finished", system, 2)
        assert description["settings"]["system"]["model"]["size"] == 8
        names = {"run.json", "metrics.jsonl", "model.safetensors", "text", "MODEL_CARD.md"}
        assert names <= {file.name for file in path.iterdir()} <= names | {"assessment", "tensorboard"}


def test_finished_stages_are_kept(chain: Chain) -> None:
    before = listing(chain.folder / "runs")
    arguments = ["train", "minidocs", "--corpus", chain.corpus, "--out", chain.folder / "runs", *settings()]
    result = succeed(*arguments, "--json")
    rows = json.loads(result.out)["runs"]
    assert [Path(row["path"]).name for row in rows] == ["sentence", "document"]
    assert all(row["dev_perplexity"] > 1 and row["parameters"] > 100 for row in rows)
    assert result.err.count("finished already, kept") == 2
    assert "translate " in succeed(*arguments).err
    assert listing(chain.folder / "runs") == before


def test_only_the_stage_asked_for_is_trained_and_another_seed_is_another_model(chain: Chain, tmp_path: Path) -> None:
    arguments = ["train", "minidocs", "--corpus", chain.corpus, "--out", tmp_path, "--stage", "sentence", *settings()]
    succeed(*arguments, "--seed", "7")
    assert [path.name for path in tmp_path.iterdir()] == ["sentence"]
    seventh = (tmp_path / "sentence" / "model.safetensors").read_bytes()
    assert seventh != (chain.sentence / "model.safetensors").read_bytes()
    refused = docaps(*arguments)
    assert refused.code == 1
    assert "a finished run with other seed is here" in refused.err
    succeed(*arguments, "--overwrite")
    assert (tmp_path / "sentence" / "model.safetensors").read_bytes() == (
        chain.sentence / "model.safetensors"
    ).read_bytes()


def test_translation_keeps_lines_marks_and_empty_lines(chain: Chain) -> None:
    lines = succeed("translate", chain.document, "-", stdin=STORY).out.splitlines()
    assert [place for place, line in enumerate(lines) if line == "<d>"] == [0, 4]
    assert [place for place, line in enumerate(lines) if line == ""] == [2]
    assert len(lines) == 6


def test_translation_without_a_first_mark_has_none(chain: Chain) -> None:
    lines = succeed("translate", chain.document, stdin=STORY.removeprefix("<d>\n")).out.splitlines()
    assert [place for place, line in enumerate(lines) if line == "<d>"] == [3]
    assert lines[1] == ""
    assert len(lines) == 5


def test_a_file_is_translated_like_stdin(chain: Chain, tmp_path: Path) -> None:
    story = tmp_path / "story.en"
    story.write_bytes(STORY.replace("\n", "\r\n").encode())
    printed = succeed("translate", chain.document, stdin=STORY).out
    assert succeed("translate", chain.document, story).out == printed
    assert succeed("translate", chain.document, story, "-o", "-").out == printed
    result = succeed("translate", chain.document, story, "-o", tmp_path / "new" / "story.de")
    assert result.out == ""
    assert (tmp_path / "new" / "story.de").read_text() == printed
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "story.en"]


def test_translation_as_json(chain: Chain, tmp_path: Path) -> None:
    found = json.loads(succeed("translate", chain.document, "--json", stdin=STORY).out)
    sentences = [sentence for document in found["documents"] for sentence in document["sentences"]]
    plain = [line for line in succeed("translate", chain.document, stdin=STORY).out.splitlines() if line != "<d>"]
    assert [sentence["translation"] for sentence in sentences] == plain
    assert [sentence["source"] for sentence in sentences][1:3] == ["", "It was warm."]
    assert sentences[0]["score"] < 0
    assert len(found["documents"]) == 2
    result = succeed("translate", chain.document, "--json", "-o", tmp_path / "story.json", stdin=STORY)
    assert result.out == ""
    assert json.loads((tmp_path / "story.json").read_text()) == found


@pytest.mark.parametrize(("options", "beam"), [([], 2), (["--beam", "1"], 1), (["--beam", "5"], 5)])
def test_the_beam_is_the_one_asked_for(
    chain: Chain, monkeypatch: pytest.MonkeyPatch, options: list[str], beam: int
) -> None:
    asked = []

    def spy(
        model: TranslationModel, batch: Batch, decoding: DecodingSettings, *, scored: bool
    ) -> list[list[Hypothesis]]:
        asked.append(decoding.beam)
        return search(model, batch, decoding, scored=scored)

    monkeypatch.setattr("docaps.translation.search.search", spy)
    succeed("translate", chain.document, *options, stdin="A man.\n")
    assert asked == [beam]


def test_context_can_be_hidden(chain: Chain) -> None:
    def scores(*options: str) -> list[float]:
        found = json.loads(succeed("translate", chain.document, "--json", *options, stdin=STORY).out)
        return [sentence["score"] for document in found["documents"] for sentence in document["sentences"]]

    usual, hidden = scores(), scores("--no-context")
    assert usual[0] == pytest.approx(hidden[0])  # the first sentence of a document has no context
    assert usual[2] != pytest.approx(hidden[2], rel=1e-9)


def test_evaluation_is_sacrebleus(chain: Chain, tmp_path: Path) -> None:
    reference = chain.text / "test.de"
    worse = tmp_path / "[worse].de"
    worse.write_text(reference.read_text().replace("er", "sie"))
    options = ["--hypothesis", reference, "--hypothesis", worse, "--reference", reference]
    found = json.loads(succeed("evaluate", *options, "--json").out)
    sides = [[line for line in path.read_text().splitlines() if line != "<d>"] for path in (worse, reference)]
    assert [row["bleu"] for row in found["systems"]] == pytest.approx(
        [100, sacrebleu.corpus_bleu(sides[0], [sides[1]]).score]
    )
    table = succeed("evaluate", *options).out
    assert str(worse) in table
    assert "tok:13a" in table


def test_a_report_is_one_page_and_measures_nothing_twice(chain: Chain, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert str(page) in succeed("report", chain.sentence, chain.document, "--out", page).out
    assert page.read_text().startswith("<!")
    scores = json.loads((chain.document / "assessment" / "scores.json").read_text())
    assert (scores["set"], scores["documents"]) == ("test", 3)
    before = listing(chain.document)
    result = succeed("report", chain.sentence, chain.document, "-o", page, "--overwrite", "--json")
    assert json.loads(result.out)["report"] == str(page)
    assert "translate" not in result.err
    assert listing(chain.document) == before
