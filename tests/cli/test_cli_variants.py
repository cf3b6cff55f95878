"""The systems can be listed by name."""

import json

from tests.cli.calling import succeed

from docaps.config import SYSTEMS


def test_programs_find_the_systems_by_name() -> None:
    found = {system["name"]: system for system in json.loads(succeed("variants", "--json").out)["variants"]}
    assert found.keys() >= {"transformer", "transformer+reg", "qcn", "qcn+reg", "capsnet"}
    assert found.keys() >= {"zhang", "han", "san", "concat", "qcn-shuffled", "qcn-noise"}
    assert found.keys() == SYSTEMS.keys()
    assert found["qcn+reg"] == {
        "name": "qcn+reg",
        "title": "Transformer + QCN + regularisation",
        "context": "qcn",
        "sees": "earlier source sentences",
        "regulariser": True,
        "table2": "Transformer + QCN + Regularization Term",
    }
    assert (found["capsnet"]["regulariser"], found["capsnet"]["table2"]) == (False, None)
    rows = {name: found[name]["table2"] for name in ("zhang", "han", "san", "concat", "qcn-noise")}
    assert rows == {
        "zhang": "Transformer-DocNMT",
        "han": "HAN-DocNMT",
        "san": "SAN-DocNMT",
        "concat": None,
        "qcn-noise": None,
    }


def test_people_get_a_table_and_the_next_command() -> None:
    result = succeed("variants")
    lines = [[cell.strip() for cell in line.split("│")[1:-1]] for line in result.out.splitlines() if "│" in line]
    assert [line[0] for line in lines] == list(SYSTEMS)
    assert lines[0][1:] == ["sentence-level Transformer", "–", "–", "Transformer"]
    assert lines[3][2:] == ["earlier source sentences", "yes", "Transformer + QCN + Regularization Term"]
    assert lines[4][2:] == ["earlier source sentences", "–", "–"]
    assert "train minidocs --corpus PREPARED --out RUNS --set stage.document.system=capsnet" in result.err
