"""The YAML that Marian and others write for it: quotes, escapes, odd words."""

from pathlib import Path

import pytest

from docaps.errors import DocapsError
from docaps.exchange.marian_files import parse_settings, read_numbers

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
