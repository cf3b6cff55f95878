"""The YAML that Marian and others write for it: quotes, escapes, odd words, comments, lists in brackets."""

import random
from pathlib import Path

import pytest

from docaps.errors import DocapsError
from docaps.exchange.marian_files import as_number, parse_settings, read_numbers

LINES = r"""# a vocabulary
"</s>": 0
<unk>: 1
'''': 2
"\"": 3
"\\": 4
"\x85": 5
"\u2581der": 6
▁haus: 7
":": 8
"- a": 9
'a: b': 10
-: 11
"""


def test_words_of_a_vocabulary(tmp_path: Path) -> None:
    path = tmp_path / "vocab.yml"
    path.write_text(LINES.replace("-: 11", '"-": 11'), encoding="utf-8")
    words = ["</s>", "<unk>", "'", '"', "\\", "\x85", "▁der", "▁haus", ":", "- a", "a: b", "-"]
    assert read_numbers(path) == {word: number for number, word in enumerate(words)}


@pytest.mark.parametrize("line", ["word", "word: x", "word: -1", "word: 1234567890", '"word: 3'])
def test_other_lines_are_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "vocab.yml"
    path.write_text(f'"a": 0\n{line}\n', encoding="utf-8")
    if line == '"word: 3':
        assert read_numbers(path)['"word'] == 3  # a plain word that begins with a quote
        return
    with pytest.raises(DocapsError, match=r"vocab.yml:2: expected a word, a colon and its number"):
        read_numbers(path)


def test_settings_are_texts_and_lists() -> None:
    text = 'type: transformer\ndim-vocabs:\n  - 37\n  - 37\ninput-types:\n  []\nlemma: ""\nseparator: "[eos]"\n\0\0'
    assert parse_settings(text, Path("x")) == {
        "type": "transformer",
        "dim-vocabs": ["37", "37"],
        "input-types": [],
        "lemma": "",
        "separator": "[eos]",
    }


SETTINGS = """# made by hand
dim-vocabs: [37, "38"]  # of both sides
type: transformer # as published
separator: "[eos] # no comment" # a comment
shape: 'it''s'
words: C#
vocabs: # a list
  - a.yml # the first
  - "b # c.yml"
empty: []
nothing: # to see
odd: [ "a, b", 'c', d ]
"""


def test_comments_and_lists_in_brackets_are_read_as_yaml_says() -> None:
    found = parse_settings(SETTINGS, Path("x"))
    assert found == {
        "dim-vocabs": ["37", "38"],
        "type": "transformer",
        "separator": "[eos] # no comment",
        "shape": "it's",
        "words": "C#",
        "vocabs": ["a.yml", "b # c.yml"],
        "empty": [],
        "nothing": [],
        "odd": ["a, b", "c", "d"],
    }
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed (docaps[dev])")
    expected = yaml.load(SETTINGS, yaml.BaseLoader)  # every value is text
    assert found == {**expected, "nothing": []}


def test_odd_words_are_those_that_a_yaml_library_writes(tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed (docaps[dev])")
    draw, path = random.Random(1), tmp_path / "vocab.yml"
    words = {"".join(draw.choices("ab#-:'\"\\ ?!&*%@,[]{}|>~\u2581é中0=", k=draw.randint(1, 5))) for _ in range(600)}
    numbers = {word: number for number, word in enumerate(sorted(words))}
    for unicode in (True, False):
        text = yaml.dump(numbers, allow_unicode=unicode, sort_keys=False, width=200)
        path.write_text(text, encoding="utf-8")
        assert read_numbers(path) == numbers


@pytest.mark.parametrize(
    ("text", "value"), [("12", 12), ("0.6", 0.6), ("-1", "-1"), ("1e3", "1e3"), ("²", "²"), ([], [])]
)
def test_numbers_are_told_from_texts(text: object, value: object) -> None:
    assert as_number(text) == value
