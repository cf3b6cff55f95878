"""What the Moses scripts print for thirty hard sentences a side (`tests/fixtures/moses`)."""

from pathlib import Path

FOLDER = Path(__file__).parents[3] / "fixtures" / "moses"
LANGUAGES = ("en", "de")


def lines(stage: str, language: str) -> list[str]:
    name = ".".join(part for part in ("tricky", stage, language) if part)
    return (FOLDER / name).read_text(encoding="utf-8").removesuffix("\n").split("\n")
