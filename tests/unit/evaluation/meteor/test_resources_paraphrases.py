"""METEOR's paraphrase table is used, and refused where it is broken."""

from pathlib import Path

import pytest

from docaps.errors import CorpusError
from docaps.evaluation.meteor.counts import Meteor
from docaps.evaluation.meteor.resources import read_paraphrases


def test_paraphrases_are_used_when_the_user_has_them(tmp_path: Path) -> None:
    table = tmp_path / "paraphrases"
    table.write_text("0.5\nin der tat\nwirklich\n0.2\nwirklich\nin der tat\n", encoding="utf-8")
    plain, rich = Meteor("de"), Meteor("de", read_paraphrases(table))
    ours, theirs = "Das ist wirklich schön", "Das ist in der Tat schön"
    without, found = plain.count(ours, theirs), rich.count(ours, theirs)
    assert rich.name == "METEOR-1.5[de,exact+stem+paraphrase]"
    assert found[17:].tolist() == [4, 6]
    assert rich.score(found)[0] > plain.score(without)[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [("x\na\nb\n", "table:1: expected a probability, found 'x'"), ("0.1\na\nb\n0.2\na\n", "table:4: the last entry")],
)
def test_a_broken_table_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    table = tmp_path / "table"
    table.write_text(text)
    with pytest.raises(CorpusError, match=message):
        read_paraphrases(table)
