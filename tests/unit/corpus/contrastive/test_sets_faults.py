"""Errors in a contrastive set name the file, the line, what was found and what to do."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit.corpus.contrastive.page import BY_TITLE

from docaps.corpus.contrastive import SetOptions, read_set
from docaps.errors import CorpusError

PUBLISHED, EXTRACTED = "ContraPro as published", "ContraPro as extracted text"
GENEVAL, CTXPRO, MINE = "MT-GenEval, contextual part", "ctxpro, generative", "JSON Lines, for a set of your own"
TWO = "geneval-context-wikiprofessions-2to1-dev.en_de.en"
ORIGINAL = "geneval-context-wikiprofessions-original-dev.en_de.de"
FLIPPED = "geneval-context-wikiprofessions-flipped-dev.en_de.de"
ITEMS, INPUTS = "gender.opensubtitles.en-de.dev.json", "gender.opensubtitles.en-de.dev.inputs"
FILM, FILM_DE = "documents/1924/1924_17_23.en", "documents/1924/1924_17_23.de"
JSON, TEXT_DE, LINES = "contrapro.json", "contrapro.text.de", "mine.jsonl"
Change = Callable[[str], str]


def put(old: str, new: str) -> Change:
    def change(text: str) -> str:
        assert old in text
        return text.replace(old, new, 1)

    return change


def add(line: str) -> Change:
    return lambda text: text + line + "\n"


def cut(lines: int) -> Change:
    return lambda text: "".join(text.splitlines(keepends=True)[:-lines])


FAULTS = [
    (PUBLISHED, JSON, put('"segment id": 3', '"segment id": 9'), JSON, 2, "'segment id' is 9, but"),
    (PUBLISHED, JSON, put('"segment id": 3', '"segment id": 0'), JSON, 2, "'segment id' is 0, but"),
    (
        PUBLISHED,
        JSON,
        put('"ante distance": 0', '"ante distance": "x"'),
        JSON,
        10,
        "'ante distance' is \"x\", expected an integer",
    ),
    (PUBLISHED, JSON, put('"ref pronoun": "Er", ', ""), JSON, 2, "the field 'ref pronoun' is missing"),
    (PUBLISHED, JSON, put('{"contrastive": "Es war', '{"contrastiv": "Es war'), JSON, 2, "'contrastive' is missing"),
    (
        PUBLISHED,
        JSON,
        put('"errors": [{', '"errors": [], "x": [{'),
        JSON,
        10,
        "'errors' is [], expected a non-empty list of objects",
    ),
    (PUBLISHED, JSON, put("  },\n", "  }\n"), JSON, 10, "not one JSON list of objects: found '{"),
    (PUBLISHED, JSON, put('"ante distance": 2,', '"ante distance": 2'), JSON, 4, "not valid JSON"),
    (PUBLISHED, JSON, cut(1), JSON, 16, "not one JSON list of objects: the file ends too early"),
    (PUBLISHED, JSON, add("[]"), JSON, 17, "not one JSON list"),
    (PUBLISHED, JSON, lambda _: "[]", JSON, None, "the list is empty"),
    (PUBLISHED, JSON, lambda _: "[\n3]", JSON, 2, "found 3, expected a JSON object"),
    (PUBLISHED, JSON, put("1924_17_23.de", "1924_17_99.de"), JSON, 2, "no document '1924_17_99': looked for"),
    (
        PUBLISHED,
        FILM,
        put("It was warm.", "The bank was steep."),
        JSON,
        2,
        "1924_17_23.en:3, which is 'The bank was steep.'",
    ),
    (PUBLISHED, FILM_DE, add("Noch eins."), FILM_DE, 4, "no line 4 in"),
    (PUBLISHED, FILM_DE, cut(1), FILM, 3, "no line 3 in"),
    (EXTRACTED, TEXT_DE, cut(1), "contrapro.text.en", 5, "which has 4 lines and this file 5"),
    (EXTRACTED, TEXT_DE, put("Es war warm.", ""), TEXT_DE, 3, "a blank line, expected a sentence"),
    (EXTRACTED, "contrapro.context.de", cut(1), "contrapro.context.en", 10, "no line 10 in"),
    (
        EXTRACTED,
        TEXT_DE,
        put("War er warm?", "War sie warm?"),
        TEXT_DE,
        4,
        "no contrastive line after the reference 'War sie warm?'",
    ),
    (
        GENEVAL,
        TWO,
        put(" <sep> The painter", " The painter"),
        TWO,
        2,
        "found 0 times <sep>, expected: previous sentence <sep>",
    ),
    (GENEVAL, TWO, put("Weber became", "Weber <sep> became"), TWO, 1, "found 2 times <sep>"),
    (GENEVAL, TWO, put("The painter never married.", ""), TWO, 2, "expected: previous sentence <sep> sentence"),
    (GENEVAL, ORIGINAL, cut(1), TWO, 2, "no line 2 in"),
    (GENEVAL, FLIPPED, add("Noch eine."), FLIPPED, 3, "no line 3 in"),
    (GENEVAL, FLIPPED, lambda _: "", FLIPPED, None, "the file is empty"),
    (GENEVAL, FLIPPED, put("Weber", "W" * 20_001), FLIPPED, 1, "a sentence of 20,020 characters"),
    (CTXPRO, INPUTS, cut(1), ITEMS, 4, "item 2 of 2 has no input"),
    (CTXPRO, INPUTS, add("One more."), INPUTS, 3, "no item for this line"),
    (CTXPRO, INPUTS, put("It was warm.", "The bank was steep."), INPUTS, 1, "the files do not belong together"),
    (CTXPRO, INPUTS, put("It was warm.", " "), INPUTS, 1, "no sentence after the last <eos>"),
    (
        CTXPRO,
        ITEMS,
        put('"expected": "sie"', '"expected": ["sie"]'),
        ITEMS,
        4,
        "'expected' is [\"sie\"], expected a string",
    ),
    (CTXPRO, ITEMS, put('"expected": "sie"', '"expected": " "'), ITEMS, 4, "'expected' is blank"),
    (CTXPRO, ITEMS, put('"ante distance": 2', '"ante distance": -2'), ITEMS, 4, "'ante distance' is -2"),
    (
        MINE,
        LINES,
        put('"right": "Kommen Sie?"', '"right": "Kommst du?"'),
        LINES,
        2,
        "a wrong translation is the right one: 'Kommst du?'",
    ),
    (MINE, LINES, put('"distance": 2', '"distanc": 2'), LINES, 2, "unknown field 'distanc': did you mean 'distance'?"),
    (MINE, LINES, put('"expected"', '"right": "x", "expected"'), LINES, 3, "both 'expected' and 'right'"),
    (MINE, LINES, put('["gekauft", "erworben"]', "[]"), LINES, 3, "'expected' is [], expected a non-empty list"),
    (MINE, LINES, put('["gekauft", "erworben"]', "7"), LINES, 3, "'expected' is 7"),
    (MINE, LINES, put("It is late.", "It is \\ud800 late."), LINES, 2, "the character U+D800"),
    (MINE, LINES, put('["Die Bank war steil."]', '[" "]'), LINES, 4, "'wrong' is blank"),
]


@pytest.mark.parametrize(("title", "file", "change", "place", "line", "message"), FAULTS)
def test_a_fault_is_reported_with_its_place(
    tmp_path: Path, title: str, file: str, change: Change, place: str, line: int | None, message: str
) -> None:
    example = BY_TITLE[title]
    example.place(tmp_path)
    path = tmp_path / file
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(CorpusError) as caught:
        read_set(example.set, tmp_path / str(example.stated["path"]), example.options(tmp_path))
    assert message in str(caught.value)
    assert (caught.value.path, caught.value.line) == (tmp_path / place, line)


@pytest.mark.parametrize(
    ("title", "file"), [(EXTRACTED, "contrapro.context.en"), (GENEVAL, ORIGINAL), (CTXPRO, INPUTS), (PUBLISHED, FILM)]
)
def test_a_missing_file_is_named(tmp_path: Path, title: str, file: str) -> None:
    example = BY_TITLE[title]
    path = example.place(tmp_path)
    (tmp_path / file).unlink()
    with pytest.raises(CorpusError, match=Path(file).name):
        read_set(example.set, path, example.options(tmp_path))


@pytest.mark.parametrize(("wanted", "lines"), [(3, 10), (None, 9)])
def test_contexts_must_fit_the_lines(tmp_path: Path, wanted: int | None, lines: int) -> None:
    path = BY_TITLE[EXTRACTED].place(tmp_path)
    for context in tmp_path.glob("*.context.*"):
        context.write_text("".join(context.read_text().splitlines(keepends=True)[:lines]))
    with pytest.raises(CorpusError, match=rf"{lines} lines of context for the 5 lines of .*: extract them anew"):
        read_set("contrapro", path, SetOptions(context_lines=wanted))
    assert len(read_set("contrapro", BY_TITLE[EXTRACTED].place(tmp_path), SetOptions(context_lines=2)).items) == 2


RECORD = (
    '{"src segment": "It was warm.", "ref segment": "%s", "ref pronoun": "er", "errors": '
    '[{"contrastive": "Sie war warm."}, {"contrastive": "Es war warm."}]}'
)


@pytest.mark.parametrize(
    ("records", "place", "line", "message"),
    [
        ([RECORD % "Er war warm."], TEXT_DE, 4, "no item of"),
        ([RECORD % "Er war warm."] * 2, JSON, 1, "item 2 has 3 lines, but"),
        ([RECORD % "Der Hund lief."], TEXT_DE, 1, "the JSON file belongs to other lines"),
    ],
)
def test_labels_of_other_lines_are_refused(
    tmp_path: Path, records: list[str], place: str, line: int, message: str
) -> None:
    path = BY_TITLE[EXTRACTED].place(tmp_path)
    (tmp_path / JSON).write_text(f"[{', '.join(records)}]")
    with pytest.raises(CorpusError, match=message) as caught:
        read_set("contrapro", path)
    assert (caught.value.path, caught.value.line) == (tmp_path / place, line)


def test_what_goes_with_contrapro_only_is_refused_elsewhere(tmp_path: Path) -> None:
    path = BY_TITLE[MINE].place(tmp_path)
    for options in (SetOptions(context_dir=tmp_path), SetOptions(context_lines=1)):
        with pytest.raises(CorpusError, match="go with --set contrapro, not with jsonl"):
            read_set("jsonl", path, options)


def test_contrapro_says_what_it_needs(tmp_path: Path) -> None:
    path = BY_TITLE[PUBLISHED].place(tmp_path)
    with pytest.raises(CorpusError, match="give the folder of its documents with --context-dir, or --no-context"):
        read_set("contrapro", path)
    with pytest.raises(CorpusError, match="no such directory"):
        read_set("contrapro", path, SetOptions(context_dir=tmp_path / "absent"))
    with pytest.raises(CorpusError, match=r"expected one file \*\.text\.en here, found none"):
        read_set("contrapro", tmp_path)
    text = BY_TITLE[EXTRACTED].place(tmp_path)
    with pytest.raises(CorpusError, match="leave --context-dir out"):
        read_set("contrapro", text, SetOptions(context_dir=tmp_path))


@pytest.mark.parametrize("name", ["contrapro", "mt-geneval", "ctxpro", "minidocs", "jsonl"])
def test_nothing_is_nothing(tmp_path: Path, name: str) -> None:
    with pytest.raises(CorpusError, match="absent: no such file"):
        read_set(name, tmp_path / "absent")
    with pytest.raises(CorpusError):
        read_set(name, tmp_path)


def test_an_unknown_set_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no contrastive set 'bawden': choose contrapro, mt-geneval"):
        read_set("bawden", tmp_path)


def test_other_names_are_refused(tmp_path: Path) -> None:
    (tmp_path / "lines.en").write_text("One line.\n")
    with pytest.raises(CorpusError, match="not a file name of MT-GenEval: expected one such as geneval-context-"):
        read_set("mt-geneval", tmp_path / "lines.en")


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (b'[\n{"a": "\xff"}]', 2, "not UTF-8"),
        (gzip.compress(b"[{}]" * 99, mtime=0)[:-9], None, "the compressed file is damaged"),
    ],
)
def test_a_mangled_list_is_refused(tmp_path: Path, content: bytes, line: int | None, message: str) -> None:
    path = tmp_path / JSON
    path.write_bytes(content)
    with pytest.raises(CorpusError, match=message) as caught:
        read_set("contrapro", path)
    assert caught.value.line == line
