"""COMET is called in an environment of its own; what goes wrong there is told."""

import sys
from pathlib import Path

import pytest

from docaps.corpus.documents import Document
from docaps.errors import DocapsError
from docaps.evaluation.comet import comet_score, find_comet

SIDES = [Document(("a", "b"))], [Document(("c", "d"))], [Document(("e", "f"))]
GOOD = """
arguments = dict(zip(sys.argv[1:-1:2], sys.argv[2::2]))
lines = open(arguments["-t"]).read().splitlines()
assert open(arguments["-s"]).read() == "a\\nb\\n" and open(arguments["-r"]).read() == "e\\nf\\n"
json.dump({arguments["-t"]: [{"mt": line, "COMET": 0.5 + number} for number, line in enumerate(lines)]},
          open(arguments["--to_json"], "w"))
"""


def fake(folder: Path, body: str, name: str = "comet-score") -> Path:
    path = folder / name
    path.write_text(f"#!{sys.executable}\nimport json, sys\n{body}")
    path.chmod(0o755)
    return path


def test_the_mean_of_its_scores_is_returned(tmp_path: Path) -> None:
    assert comet_score(find_comet(str(fake(tmp_path, GOOD))), *SIDES) == 1.0


def test_a_python_stands_for_the_command_beside_it(tmp_path: Path) -> None:
    python = fake(tmp_path, "", name="python3")
    with pytest.raises(DocapsError, match=r"no COMET in '.*python3'.*pip install unbabel-comet"):
        find_comet(str(python))
    command = fake(tmp_path, GOOD)
    assert find_comet(str(python)) == str(command)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("sys.exit('no such model')", "COMET failed .*: no such model"),
        ("open(sys.argv[8], 'w').write('{}')", "COMET wrote what docaps cannot read"),
        ("json.dump({'x': [{'COMET': 1}]}, open(sys.argv[8], 'w'))", "COMET scored 1 sentences instead of 2"),
    ],
)
def test_what_goes_wrong_is_told(tmp_path: Path, body: str, message: str) -> None:
    with pytest.raises(DocapsError, match=message):
        comet_score(str(fake(tmp_path, body)), *SIDES)
