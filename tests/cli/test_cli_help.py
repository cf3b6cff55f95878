"""The command line explains itself, at once."""

import ast
import json
import re
import subprocess
import sys
from inspect import getdoc, signature
from pathlib import Path
from typing import get_args

import pytest
from tests.cli.calling import docaps, start, succeed
from typer.testing import CliRunner

import docaps as package
from docaps import __version__
from docaps.cli.main import COMMANDS, build_app, load_command

HEAVY = ["torch", "numpy", "sacrebleu", "sacremoses", "subword_nmt", "pydantic_core", "safetensors"]
HELP_AND_MODULES = f"""
import json, sys
from docaps.cli.main import main
sys.argv = ["docaps", "--help"]
try:
    main()
finally:
    print(json.dumps([name for name in {HEAVY} if name in sys.modules]), file=sys.stderr)
"""


def test_help_lists_all_commands_without_importing_anything_heavy() -> None:
    found = subprocess.run([sys.executable, "-c", HELP_AND_MODULES], capture_output=True, text=True, check=True)
    assert [name for name in COMMANDS if f" {name} " not in found.stdout] == []
    assert all(command.summary.split()[0] in found.stdout for command in COMMANDS.values())
    assert {"torch", "numpy"}.isdisjoint(json.loads(found.stderr.splitlines()[-1]))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_with_an_example(name: str) -> None:
    for option in ("--help", "-h"):
        found = succeed(name, option).out
        assert found.startswith(f"Usage: docaps {name} ")
        assert f"\n  docaps {name} " in found.partition("\nExample")[2]
    assert "--json" in found


def page_of(name: str, width: int, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the help of a command in a terminal of some width."""
    monkeypatch.setenv("COLUMNS", str(width))
    return succeed(*name.split(), "--help").out


@pytest.mark.parametrize("width", [40, 60, 80, 100, 200])
def test_nothing_of_a_page_is_cut_off(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names, descriptions and defaults are there word for word, and no word of the help is taken for markup."""
    for name in COMMANDS:
        page = page_of(name, width, monkeypatch)
        words = " ".join(page.split())
        function = load_command(name)
        for parameter in signature(function).parameters.values():
            _, information = get_args(parameter.annotation)
            assert " ".join(information.help.split()) in words
            if isinstance(information.default, str):
                assert f"  {information.default}" in page  # an option with a name of its own, such as --out, -o
            elif "Argument" not in type(information).__name__:
                assert f"  --{parameter.name.replace('_', '-')}" in page
            if parameter.default not in (parameter.empty, None, False) and information.show_default is True:
                assert f"default: {parameter.default}]" in words
        assert " ".join((getdoc(function) or "").partition("\n\nExample")[0].split()) in words
        assert "…" not in page


@pytest.mark.parametrize("width", [40, 60, 80, 100, 200])
def test_a_page_is_no_wider_than_its_terminal(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("", *COMMANDS):
        for line in page_of(name, width, monkeypatch).splitlines():
            assert len(line) <= min(width, 100) or " " not in line.strip(), f"{name}: {line}"


@pytest.mark.parametrize("width", [40, 80])
def test_the_examples_of_a_page_can_be_copied(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    page = page_of("experiment", width, monkeypatch).replace("\\\n", "")
    wanted = "docaps experiment table2 --corpus data/ted --profile paper --seeds 1,2,3 --dir runs/ted"
    assert wanted in " ".join(page.split())


def test_the_list_of_commands_is_whole_at_any_width(monkeypatch: pytest.MonkeyPatch) -> None:
    for width in (40, 60, 80, 100, 200):
        words = " ".join(page_of("", width, monkeypatch).split())
        for name, command in COMMANDS.items():
            assert f" {name} {command.summary}" in words


def test_facts_about_an_option_are_in_brackets() -> None:
    page = " ".join(succeed("serve", "--help").out.split())
    assert "Port to listen on; 0 is any free port. [0 to 65535; default: 8000]" in page
    assert "[auto, float32, bfloat16 or int8; default: auto]" in page
    assert "--origin URL Allow pages of this origin to call the API (CORS). [may be repeated]" in page
    assert "Usage: docaps train RECIPE --corpus PATH --out PATH [OPTIONS]" in succeed("train", "--help").out


def test_no_message_cites_a_page_that_is_not_installed() -> None:
    """The documentation is not part of the package."""
    sources = sorted(Path(package.__file__).parent.rglob("*.py"))
    assert len(sources) > 100
    strings = [
        (path.name, node.value)
        for path in sources
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    strings.remove(("hub.py", "README.md"))  # what the hub calls the model card
    assert [(name, text) for name, text in strings if re.search(r"\bdocs/|\w+\.md\b(?<!MODEL_CARD\.md)", text)] == []


@pytest.mark.parametrize(("typed", "meant"), [("trian", "train"), ("translat", "translate"), ("minidoc", "minidocs")])
def test_a_mistyped_command_is_answered_with_the_nearest(typed: str, meant: str) -> None:
    result = docaps(typed)
    assert result.code == 2
    assert f"No such command '{typed}'" in result.err
    assert f"'{meant}'" in result.err.partition("Did you mean")[2]


def test_a_mistyped_option_is_refused() -> None:
    result = docaps("minidocs", "--document", "3")
    assert result.code == 2
    assert "--documents" in result.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--train", "train.en", "--dev", "dev.en", "dev.de"], "--train needs 2 values, SOURCE TARGET: found train.en"),
        (["--train", "train.en", "train.de", "--dev"], "--dev needs 2 values, SOURCE TARGET: found none"),
        (["--train", "-", "train.de", "--dev", "dev.en"], "--dev needs 2 values, SOURCE TARGET: found dev.en"),
    ],
)
def test_an_option_is_not_taken_for_the_second_value_of_another(words: list[str], message: str) -> None:
    result = docaps("prepare", *words, "--out", "new")
    assert result.code == 2
    assert message in result.err


def test_the_beginning_of_an_option_is_answered_with_the_options() -> None:
    result = docaps("evaluate", "--hyp", "x")
    assert result.code == 2
    assert "--hypothesis" in result.err.partition("No such option")[2]


COMPLETIONS = [
    ("docaps tr", ["train", "translate"]),
    ("docaps train mini", ["minidocs"]),
    ("docaps prepare --recipe europarl-s", ["europarl-small", "europarl-strong"]),
    ("docaps translate run --format j", ["jsonl", "json"]),
    ("docaps translate run --precision b", ["bfloat16"]),
    ("docaps contrast run --set mini", ["minidocs"]),
    ("docaps fetch ", ["ted", "news", "europarl"]),
    ("docaps experiment r", ["rounds", "routing", "rivals"]),
    ("docaps evaluate --hyp", ["--hypothesis"]),
    ("docaps prepare --train one other --de", ["--dev", "--dev-starts"]),
    ("docaps prepare --recipe minidocs --train one ", []),
]


@pytest.mark.parametrize(("typed", "wanted"), COMPLETIONS, ids=[typed for typed, _ in COMPLETIONS])
def test_the_shell_completes_commands_options_and_values(
    typed: str, wanted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_DOCAPS_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split(" ")) - 1))
    result = CliRunner().invoke(build_app([]), [], prog_name="docaps")
    assert result.stdout.split() == wanted


def test_the_version_is_printed() -> None:
    assert succeed("--version").out == f"docaps {__version__}\n"


def test_docaps_alone_shows_the_help() -> None:
    result = docaps()
    assert "Start with: docaps demo" in result.out + result.err


def test_the_module_is_the_command() -> None:
    process = start("--version")
    out, err = process.communicate(timeout=30)
    assert (out, err, process.returncode) == (f"docaps {__version__}\n", "", 0)
