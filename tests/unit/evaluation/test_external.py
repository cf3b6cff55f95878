"""COMET and the METEOR program are called as commands, and their failures are reported."""

import stat
import sys
from pathlib import Path

import numpy as np
import pytest

from docaps.corpus.documents import Document
from docaps.errors import DocapsError
from docaps.evaluation.external import comet_score, find_comet
from docaps.evaluation.translation_metrics import MeteorMetric

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
        ("open(sys.argv[8], 'w').write('{}')", "cannot read the output of COMET"),
        ("json.dump({'x': [{'COMET': 1}]}, open(sys.argv[8], 'w'))", "COMET scored 1 sentences instead of 2"),
    ],
)
def test_failures_of_comet_are_reported(tmp_path: Path, body: str, message: str) -> None:
    with pytest.raises(DocapsError, match=message):
        comet_score(str(fake(tmp_path, body)), *SIDES)


FAKE = """#!{python}
import sys
print("7.0 7.0 4.0 4.0 2.0 2.0 4.0 4.0" + " 0.0" * 12 + " 2.0 6.0 6.0")
print("2.0 2.0 1.0 1.0 1.0 1.0 1.0 1.0" + " 0.0" * 12 + " 1.0 2.0 2.0")
"""


def test_the_program_is_used_where_the_environment_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java, program = tmp_path / "java", tmp_path / "meteor.jar"
    java.write_text(FAKE.format(python=sys.executable))
    java.chmod(java.stat().st_mode | stat.S_IXUSR)
    program.write_bytes(b"")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("METEOR_JAR", str(program))
    pair = [Document(("the dog sat on the mat .", "the cat"))], [Document(("the cat sat on the mat .", "the cat"))]
    counts = MeteorMetric("en").count(*pair)
    assert MeteorMetric("en").signature.endswith("by:java")
    monkeypatch.delenv("METEOR_JAR")
    assert np.array_equal(counts, MeteorMetric("en").count(*pair))


def test_a_missing_java_or_program_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "meteor.jar"
    monkeypatch.setenv("METEOR_JAR", str(program))
    with pytest.raises(DocapsError, match="METEOR_JAR names no file"):
        MeteorMetric("en")
    program.write_bytes(b"")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DocapsError, match="there is no 'java' on the path"):
        MeteorMetric("en").count([Document(("a",))], [Document(("a",))])
