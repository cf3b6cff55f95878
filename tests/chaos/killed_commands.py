"""The commands that are killed, each with what must be whole after a kill: training, preparation, translation."""

import shutil
import signal
from pathlib import Path
from random import Random

from tests.chaos.killing import KilledCommand, digest
from tests.chaos.launcher import ROOT, Launcher
from tests.cli.calling import TINY

from docaps.corpus.store import open_store
from docaps.errors import DocapsError
from docaps.files import sha256
from docaps.model.checkpoint import read_tensors
from docaps.runs.directory import Run
from docaps.runs.training_log import read_metrics

FIXTURE = ROOT / "tests" / "fixtures" / "run-0.1"
OUT = "out"


class KilledTraining(KilledCommand):
    """Two stages; the state is saved every second step, and the weights are averaged over four steps."""

    name = "train"

    def __init__(self, folder: Path, steps: int) -> None:
        self._corpus = Path(shutil.copytree(FIXTURE / "prepared", folder))  # training records that it is verified
        stage = {"steps": steps, "save_every": 2, "validate_every": steps // 4, "result": "average", "dropout": 0.3}
        changes = [f"stage.{name}.{key}={value}" for name in ("sentence", "document") for key, value in stage.items()]
        self._settings = [word for setting in (*TINY, *changes) for word in ("--set", setting)]

    def words(self) -> list[str | Path]:
        return ["train", "minidocs", "--corpus", self._corpus, "--out", OUT, *self._settings]

    def broken(self, folder: Path) -> list[str]:
        found = []
        for run in (Run(path) for path in (folder / OUT).glob("*") if path.is_dir()):
            try:
                for path in run.path.rglob("*.safetensors"):
                    if not path.name.startswith("."):
                        read_tensors(path)
                if run.description.exists():
                    run.read()
                if run.metrics.exists():
                    list(read_metrics(run.metrics))
            except DocapsError as fault:
                found.append(f"half-written: {fault}")
        return found

    def allows(self, name: str, number: int) -> bool:
        resumable = name.endswith("/state.safetensors") or "/snapshots" in name
        return resumable or super().allows(name, number)


class KilledPreparation(KilledCommand):
    """Tokenisation in two worker processes; an older corpus may be in the place of the new one."""

    name = "prepare"
    # Small chunks, so that a small corpus uses several processes.
    setup = """
from docaps.corpus import numbering, preparation
numbering.CHUNK_SENTENCES = 40
preparation.available_workers = lambda: 2
"""
    old_merges, new_merges = "50", "400"

    def __init__(self, launcher: Launcher, folder: Path, documents: int) -> None:
        self._texts, self._old = folder / "texts", folder / "old"
        folder.mkdir()
        launcher.finish(["minidocs", "--documents", str(documents), "--out", self._texts], cwd=folder)
        launcher.finish(self._words(self._old, self.old_merges), cwd=folder)

    def words(self) -> list[str | Path]:
        return self._words(Path(OUT), self.new_merges)

    def _words(self, out: Path, merges: str) -> list[str | Path]:
        files = [self._texts / f"{part}.{language}" for part in ("train", "dev") for language in ("en", "de")]
        return ["prepare", "--train", *files[:2], "--dev", *files[2:], "--merges", merges, "--out", out]

    def arrange(self, folder: Path, chance: Random) -> None:
        super().arrange(folder, chance)
        if chance.random() < 0.5:
            shutil.copytree(self._old, folder / OUT)

    def broken(self, folder: Path) -> list[str]:
        """The corpus is the old one or the new one, whole, or there is none."""
        out = folder / OUT
        if not out.exists():
            return []
        try:
            listed = open_store(out).manifest["files"]
        except DocapsError as fault:
            return [f"half-written: {fault}"]
        found = {str(path.relative_to(out)): sha256(path) for path in out.rglob("*") if path.is_file()}
        found.pop("manifest.json")
        return [] if found == listed else [f"half-written: {sorted(found.items() ^ listed.items())}"]

    def allows(self, name: str, number: int) -> bool:
        """Only a killed preparation leaves something: the directory that it was writing, and files in that."""
        return number == signal.SIGKILL and name.startswith(f".{OUT}.")


class KilledTranslation(KilledCommand):
    """Two files are translated into a directory, or one into a file, some sentences at a time."""

    setup = """
from docaps.translation import translator
translator.WINDOW = 6
"""

    def __init__(self, folder: Path, sentences: int, *, files: bool) -> None:
        self.name = "translate to a directory" if files else "translate"
        folder.mkdir()
        self._inputs = [folder / name for name in (("a.en", "b.en") if files else ("a.en",))]
        source = (FIXTURE / "prepared" / "dev.source.txt").read_text(encoding="utf-8").splitlines()
        lines = (source * (sentences // len(source) + 1))[:sentences]
        for number, path in enumerate(self._inputs):
            path.write_text("\n".join(lines[number:]) + "\n", encoding="utf-8")

    def words(self) -> list[str | Path]:
        options = ["--beam", "1", "--format", "lines", "--out", OUT, "--resume"]
        return ["translate", FIXTURE / "document", *self._inputs, *options]

    def broken(self, folder: Path) -> list[str]:
        there = [name for name, expected in self.files.items() if expected != "directory" and (folder / name).exists()]
        return [f"half-written: {name}" for name in there if digest(folder / name) != self.files[name]]

    def allows(self, name: str, number: int) -> bool:
        """Any signal leaves what is translated so far, and the journal that says how much."""
        kept = name == f"{OUT}.journal.json" or name.endswith(".partial")
        return kept or super().allows(name, number)
