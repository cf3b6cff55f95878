"""The command line explains itself, at once."""

import json
import subprocess
import sys
import time
from importlib import import_module
from inspect import signature
from typing import get_args

import pytest
from tests.cli.calling import docaps, start, succeed

from docaps import __version__
from docaps.cli.main import COMMANDS

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
    begin = time.monotonic()
    found = subprocess.run([sys.executable, "-c", HELP_AND_MODULES], capture_output=True, text=True, check=True)
    seconds = time.monotonic() - begin
    assert [name for name in COMMANDS if f" {name} " not in found.stdout] == []
    assert all(command.summary.split()[0] in found.stdout for command in COMMANDS.values())
    assert {"torch", "numpy"}.isdisjoint(json.loads(found.stderr.splitlines()[-1]))
    assert seconds < 3


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_with_an_example(name: str) -> None:
    for option in ("--help", "-h"):
        found = succeed(name, option).out
        assert f"Usage: docaps {name}" in found
        assert f": docaps {name} " in found  # Example: docaps ...
    assert "--json" in found


@pytest.mark.parametrize("name", COMMANDS)
def test_no_word_of_the_help_is_taken_for_markup(name: str) -> None:
    found = succeed(name, "--help").out
    for parameter in signature(getattr(import_module(f"docaps.cli.{name}"), name)).parameters.values():
        _, information = get_args(parameter.annotation)
        assert information.help in found


@pytest.mark.parametrize(("typed", "meant"), [("trian", "train"), ("translat", "translate"), ("minidoc", "minidocs")])
def test_a_mistyped_command_is_answered_with_the_nearest(typed: str, meant: str) -> None:
    result = docaps(typed)
    assert result.code == 2
    assert f"No such command '{typed}'" in result.err
    assert f"Did you mean '{meant}'" in result.err


def test_a_mistyped_option_is_refused() -> None:
    result = docaps("minidocs", "--document", "3")
    assert result.code == 2
    assert "--documents" in result.err


def test_the_version_is_printed() -> None:
    assert succeed("--version").out == f"docaps {__version__}\n"


def test_docaps_alone_shows_the_help() -> None:
    result = docaps()
    assert "Start with: docaps demo" in result.out + result.err


def test_the_module_is_the_command() -> None:
    process = start("--version")
    out, err = process.communicate(timeout=30)
    assert (out, err, process.returncode) == (f"docaps {__version__}\n", "", 0)
