"""MT-GenEval, contextual part: the previous sentence decides whether a person is a woman or a man.

Three files with the same lines: `-2to1-PART.en_de.en` (previous sentence <sep> sentence), `-original-PART.en_de.de`
(the right translation of the second) and `-flipped-PART.en_de.de` (the one of the wrong gender).
Reference: Currey et al. (2022), https://github.com/amazon-science/machine-translation-gender-eval
"""

import re
from pathlib import Path

from docaps.corpus.contrastive.contrastive_set import ContrastiveItem, ContrastiveSet, SetOptions, join_sets
from docaps.corpus.contrastive.records import read_columns
from docaps.errors import CorpusError

SEPARATOR = "<sep>"
_NAME = re.compile(
    r"(?P<start>.*)-(?P<role>2to1|original|flipped)-(?P<part>[^.-]+)"
    r"\.(?P<source>\w+)_(?P<target>\w+)\.(?P<language>\w+)(?P<end>\.gz|\.zst|)"
)
_EXPECTED = "geneval-context-wikiprofessions-2to1-dev.en_de.en"


def read_mt_geneval(path: Path, options: SetOptions) -> ContrastiveSet:
    """Read the three files, given one of them, or all those of the model's languages in a directory."""
    if not path.is_dir():
        return _read_three(path)
    pair = (options.source_language, options.target_language)
    found = [(name, match) for name in sorted(path.iterdir()) if (match := _NAME.fullmatch(name.name))]
    sources = [name for name, match in found if match["role"] == "2to1" and match.group("source", "target") == pair]
    if not sources:
        others = ", ".join(sorted({f"{match['source']}_{match['target']}" for _, match in found})) or "no such files"
        message = f"no {pair[0]}_{pair[1]} files of MT-GenEval here (found: {others}); expected, say, {_EXPECTED}"
        raise CorpusError(message, path=path)
    return join_sets([_read_three(name) for name in sources])


def _read_three(path: Path) -> ContrastiveSet:
    """Read the three files that belong together, given one of them."""
    match = _NAME.fullmatch(path.name)
    if not match:
        raise CorpusError(f"not a file name of MT-GenEval: expected one such as {_EXPECTED}", path=path)
    languages = {"2to1": match["source"], "original": match["target"], "flipped": match["target"]}
    middle = f"{match['part']}.{match['source']}_{match['target']}"
    names = [f"{match['start']}-{role}-{middle}.{language}{match['end']}" for role, language in languages.items()]
    paths = [path.with_name(name) for name in names]
    rows = enumerate(zip(*read_columns(paths), strict=True), start=1)
    items = tuple(_make_item(f"{match['part']}-{number}", *texts, path=paths[0], line=number) for number, texts in rows)
    return ContrastiveSet(items, {paths[0].name: len(items)})


def _make_item(name: str, source: str, right: str, wrong: str, *, path: Path, line: int) -> ContrastiveItem:
    """Return the item of the same line of the three files."""
    parts = [part.strip() for part in source.split(SEPARATOR)]
    if len(parts) != 2 or not parts[1]:
        message = f"found {len(parts) - 1} times {SEPARATOR}, expected: previous sentence {SEPARATOR} sentence"
        raise CorpusError(message, path=path, line=line)
    return ContrastiveItem(
        id=name,
        source=parts[1],
        phenomenon="gender",
        distance=1,  # by design of the set: the previous sentence decides the gender
        history=(parts[0],) if parts[0] else (),
        right=right,
        wrong=(wrong,),
    )
