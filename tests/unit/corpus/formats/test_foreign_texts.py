"""Texts that would be destroyed as prose are refused; prose of any kind is not."""

import io
import sys
from pathlib import Path

import pytest

from docaps.corpus.formats import iterate_documents
from docaps.corpus.formats.foreign_texts import describe_layout
from docaps.corpus.formats.reading import iterate_member
from docaps.errors import CorpusError

FOREIGN = {
    "a script": "#!/bin/sh\necho hello\n",
    "MicroDVD subtitles": "{0}{25}Hello there.\n{30}{60}How are you?|Fine.\n",
    "timed lyrics (LRC)": "[ar:Anna]\n[00:12.00]Line one\n[00:17.20]Line two\n",
    "subtitles (SBV)": "0:00:01.000,0:00:03.000\nHello there.\n\n0:00:04.000,0:00:05.000\nHow are you?\n",
    "LaTeX": "\\documentclass{article}\n\\begin{document}\nHello \\emph{world}.\n\\end{document}\n",
    "text with tags": "<p>Hello <b>world</b>.</p>\n<p>How are <i>you</i>?</p>\n",
    "keys with values": "greeting=Hello there\nfarewell = Good bye\n# comment\nname=Anna\n",
    "YAML": "en:\n  greeting: Hello there\n  list:\n    - one two\n    - three\n",
    "program code": 'import { x } from "y";\n\nconst a = x(1);\nif (a) {\n  console.log("Hello");\n}\n',
    "a table with columns between commas or semicolons": 'id,name,text\n1,Anna,"Hello, you"\n2,Bob,Good bye\n',
    "Markdown": "# Title\n\nSee [the guide](guide.md) now.\n\n```\ncode here\n```\n",
    "wiki markup": "== History ==\nIt began in [[Paris]].\n\n=== Later ===\n{{citation needed}}\nEnd.\n",
}
MORE = {
    "perl": "use strict;\nmy $x = 1;\nsub go {\n  print $x;\n}\ngo();\n",
    "c#": "using System;\nnamespace A {\n  class B {\n    static void Main() {\n      Go(1);\n    }\n  }\n}\n",
    "shell": 'set -e\ncd "$HOME"\nif [ -f x ]; then\n  echo "$x" > y\nfi\nexport A=b\n',
    "markdown table": "Prices:\n\n| a | b |\n|---|---|\n| c | d |\n",
    "markdown bold": "**One** is here.\n\n**Two** is there.\n\n**Three** is gone.\n",
    "semicolons": "1;Anna;Hello\n2;Bob;Good bye\n3;Eve;Hi\n",
    "yaml list": "items:\n- name: one\n  text: Hello there\n- name: two\n  text: Good bye\n",
    "ini": "[general]\nname = Anna\nlang = en\n",
}
PROSE = {
    "dialogue": "Anna: hello\nBob: hi there\nAnna: how are you?\nBob: fine, thanks; and you?\n",
    "lower-case dialogue": "anna: hello\nbob: hi there\nme: how are you?\n",
    "dialogue with headings": "ANNA:\nHello there.\n\nBOB:\nHi, you.\n",
    "indented script": "ANNA:\n    Hello there, Bob, how are you?\nBOB:\n    Fine.\n",
    "dashes": "- Hello.\n- Hi, how are you?\n- Fine.\n",
    "poem": "Shall I compare thee to a summer's day;\nThou art more lovely;\nRough winds do shake;\nAnd so on;\n",
    "list": "You need:\n- two eggs\n- 1,000 g of flour\n- salt, pepper\n",
    "numbers": "It cost 1,000 euros.\nIt cost 2,500 euros.\nIt cost 3,999 euros.\n",
    "one comma each": "Hello, Anna.\nWell, well.\nYes, of course.\n",
    "chinese": "你好，安娜。\n你好吗？\n很好。\n",
    "e-mail": "From: Anna\nTo: Bob\nSubject: The house\n\nDear Bob,\n\nsee https://example.org/a_b for more.\n\nAnna\n",
    "chat": "[10:15] Anna: hello\n[10:16] Bob: hi :)\n[10:17] Anna: <3\n",
    "stage": "[DOOR CLOSES]\nJohn (angry): Go! [He leaves.]\n[MUSIC]\n",
    "notes": "He said it [1] and again [2].\n\n[1] Smith (2001), p. 3.\n[2] Jones (2003).\n",
    "law": "§ 1 Scope\n(1) This act applies; it is in force.\n(2) Section 3 applies.\n1. First;\n2. second;\n",
    "recipe": "Zutaten: Mehl, Eier\nZeit: 20 Minuten\nZubereitung: alles mischen\n",
    "glossary": "dog: an animal that barks\ncat: an animal\nhouse: where people live\n",
    "mathematics": "Let x = 5 and y = 6.\nThen x + y = 11.\nSo it is.\n",
    "hashtags": "#1 is the best.\n#2 is not.\n#love you all\n",
    "emphasis": "It was *really* good.\nThe **best** of all.\n_So_ good.\n",
    "stars": "The end of part one.\n\n***\n\nPart two began -- at night.\n\n---\n\nThe end.\n",
    "heading": "# Chapter 1\n\nIt was a dark night. Anna slept.\n",
    "tags of a corpus": "He saw <unk> there.\nIt was <num> o'clock.\nHe said <i>no</i>.\n" + "Plain line.\n" * 9,
    "time": "10:30: They arrive.\n11:00: Lunch.\n12:15: They leave.\n",
    "quotation marks": '"Yes," she said.\n"No," he said;\n"Oh," they said.\n',
    "emoticons": "Hi {hug} [smile] ;)\nBye (-: {kiss}\nSee you =)\n",
    "code in prose": "Call print(x); then it works.\nThe function f(x) = 2 is simple.\nIt ends there.\n",
    "price list": "Coffee ... 2.50\nTea ... 2,00\nCake ... 3,50\n",
    "addresses": "Anna Berg\nMain Street 5\n12345 Town\n",
}


@pytest.mark.parametrize(("what", "text"), FOREIGN.items())
def test_other_layouts_are_recognised(what: str, text: str) -> None:
    found = describe_layout(text.splitlines())
    assert found is not None
    assert found[0] == what


@pytest.mark.parametrize("name", MORE)
def test_further_layouts_are_recognised(name: str) -> None:
    assert describe_layout(MORE[name].splitlines()) is not None


@pytest.mark.parametrize("name", PROSE)
def test_prose_is_read(name: str, tmp_path: Path) -> None:
    assert describe_layout(PROSE[name].splitlines()) is None
    file = tmp_path / "a.txt"
    file.write_text(PROSE[name], encoding="utf-8")
    assert list(iterate_documents(file, running_text=True))


def test_such_a_file_is_refused_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "notes.txt"
    file.write_text(FOREIGN["Markdown"], encoding="utf-8")
    message = r"notes\.txt: Markdown, which would be destroyed as plain text: name it with --format markdown \(if it is"
    with pytest.raises(CorpusError, match=message):
        list(iterate_documents(file, running_text=True))
    with pytest.raises(CorpusError, match=message):
        list(iterate_member(file))
    stdin = io.TextIOWrapper(io.BytesIO(FOREIGN["keys with values"].encode()))
    monkeypatch.setattr(sys, "stdin", stdin)
    with pytest.raises(CorpusError, match=r"keys with values, .*: convert it to a format that docaps reads"):
        list(iterate_documents(Path("-"), running_text=True))
    assert len(list(iterate_documents(file, format="lines", running_text=True))) == 1
    assert list(iterate_documents(file)), "a corpus is never refused: it is not split into sentences"
    code = tmp_path / "train.cs"
    code.write_text(MORE["c#"], encoding="utf-8")
    with pytest.raises(CorpusError, match="program code, which would be destroyed"):
        list(iterate_documents(code, running_text=True))
    code.write_text("Dobrý den, Anno.\nJak se máš?\n", encoding="utf-8")
    assert list(iterate_documents(code, running_text=True))
