"""The examples of the page on contrastive sets: files, and what the page says is read from them."""

import re
from dataclasses import dataclass
from pathlib import Path

from docaps.corpus.contrastive import ContrastiveSet, SetOptions, read_set

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "contrastive-sets.md"
SECTION = re.compile(r"^## `([\w-]+)`: (.*?)$(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^`([^`\n]+)`:\n\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
STATEMENT = re.compile(
    r"^Read from `(?P<path>[^`]+)`(?: with `--context-dir (?P<context>\w+)`)?: (?P<items>\d+) items; "
    r"phenomena (?P<phenomena>[\w, ]+)(?:; distances (?P<distances>[\d, ]+))?(?:; pronouns (?P<pronouns>[\w, ]+))?; "
    r"histories of (?P<histories>[\d +]+) sentences\.$",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Example:
    set: str
    title: str
    files: dict[str, str]
    stated: dict[str, str | None]

    def place(self, folder: Path) -> Path:
        """Lay the example's files out, and return the path that the page names."""
        for name, text in self.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        return folder / str(self.stated["path"])

    def options(self, folder: Path) -> SetOptions:
        context = self.stated["context"]
        return SetOptions(context_dir=folder / context if context else None)

    def read(self, folder: Path) -> ContrastiveSet:
        return read_set(self.set, self.place(folder), self.options(folder))


def _joined(text: str) -> str:
    """Put the lines of a statement on one line."""
    return re.sub(r"^Read from .*?\.$", lambda match: match[0].replace("\n", " "), text, flags=re.M | re.S)


def examples() -> list[Example]:
    found = []
    for name, title, body in SECTION.findall(PAGE.read_text(encoding="utf-8")):
        stated = STATEMENT.search(_joined(body))
        assert stated, title
        found.append(Example(name, title, dict(FILE.findall(body)), stated.groupdict()))
    return found


EXAMPLES = examples()
BY_TITLE = {example.title: example for example in EXAMPLES}
