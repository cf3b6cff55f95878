"""A translation starts fast: it imports torch and little else. Times would fail on a busy machine; imports do not."""

import json
import subprocess
import sys
from pathlib import Path

RUN = Path(__file__).parents[1] / "fixtures" / "run-0.1.0" / "document"
NEEDED = {
    *("docaps", "numpy", "regex", "safetensors", "jaxtyping"),
    *("pydantic", "pydantic_core", "annotated_types", "typing_inspection"),
    *("typer", "rich", "shellingham", "annotated_doc", "filelock"),
}
"""Beside those of torch."""
PARTS = {"batches", "cli", "cluster", "config", "corpus", "errors", "files", "interruption", "memory", "model"}
PARTS |= {"progress", "runs", "translation"}
SCRIPT = """
import json, site, sys
import torch
before = set(sys.modules)
from docaps.cli.main import main
sys.argv = ["docaps", "translate", *sys.argv[1:]]
try:
    main()
except SystemExit as end:
    assert not end.code
found = {name: getattr(sys.modules[name], "__file__", None) or "" for name in set(sys.modules) - before}
print(json.dumps(found), file=sys.stderr)
"""


def test_a_translation_imports_no_slow_package(tmp_path: Path) -> None:
    text = tmp_path / "story.en"
    text.write_text("It is cold here.\n", encoding="utf-8")
    command = [sys.executable, "-c", SCRIPT, str(RUN), str(text)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip()
    modules: dict[str, str] = json.loads(done.stderr.splitlines()[-1])
    others = {name.split(".")[0] for name, file in modules.items() if "site-packages" in file}
    assert others - {"torch"} <= NEEDED
    # Parts of torch that `import torch` leaves out are left out because they are slow.
    assert [name for name in modules if name.startswith("torch.") and name != "torch.utils._device"] == []
    own = {name.split(".")[1] for name in modules if name.startswith("docaps.")}
    assert own <= PARTS
