"""Raw text to subwords: docaps against sacremoses (tokens, case) and subword-nmt (merges, subwords), one process each.

Both sides start with empty caches in every repeat. Without `--data` the text is generated; with it, the text is the
beginning of the largest pair of files NAME.en and NAME.de (or .gz) of a folder. Interleaved repeats, medians; the last
line is JSON with the ratios.
"""

import argparse
import contextlib
import io
import json
import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from sacremoses import MosesTokenizer, MosesTruecaser
from subword_nmt.apply_bpe import BPE
from subword_nmt.learn_bpe import learn_bpe

from docaps.corpus.documents import all_sentences
from docaps.corpus.formats import read_documents
from docaps.corpus.minidocs.generation import generate_documents
from docaps.corpus.text.bpe import Subwords, format_codes, learn_merges
from docaps.corpus.text.tokenization import Tokenizer
from docaps.corpus.text.truecasing import Truecaser, count_cases
from measuring import Work, medians

LANGUAGES = ("en", "de")
Text = Mapping[str, list[str]]
Words = Mapping[str, list[list[str]]]


def generate(sentences: int) -> Text:
    """Generate mini-documents with this many sentences per side."""
    documents = generate_documents(1 + sentences // 5, seed=1)
    sides = {"en": [document.source for document in documents], "de": [document.target for document in documents]}
    return {name: [line for side in found for line in side][:sentences] for name, found in sides.items()}


def read(folder: Path, sentences: int) -> Text:
    """Read this many sentences per side from the largest pair of files of a folder."""
    found = sorted(folder.glob("*.en*"), key=lambda path: path.stat().st_size)
    if not found:
        raise SystemExit(f"{folder}: no files NAME.en and NAME.de, or with .gz")
    paths = {"en": found[-1], "de": folder / found[-1].name.replace(".en", ".de")}
    return {name: [*all_sentences(read_documents(path))][:sentences] for name, path in paths.items()}


def truecase_with_library(sentences: list[list[str]]) -> list[list[str]]:
    """Train and apply the truecaser of sacremoses."""
    truecaser = MosesTruecaser()
    truecaser.train(sentences)
    return [truecaser.truecase(" ".join(words), use_known=True) for words in sentences]


def learn_with_library(words: Counter[str], merges: int) -> str:
    """Learn merges with subword-nmt."""
    table, codes = io.StringIO("".join(f"{word} {count}\n" for word, count in words.items())), io.StringIO()
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stderr(nowhere):
        learn_bpe(table, codes, merges, is_dict=True)
    return codes.getvalue()


def works(text: Text, merges: int) -> dict[str, Work]:
    """Return each task, done by docaps and by the library to compare with."""
    words: Words = {name: [*map(Tokenizer(name).tokenize, lines)] for name, lines in text.items()}
    every = [sentence for side in words.values() for sentence in side]
    counts = Counter(word for sentence in every for word in sentence)
    codes = format_codes(learn_merges(counts, merges=merges, minimum_frequency=2))
    assert codes == learn_with_library(counts, merges)
    return {
        "tokenizer": lambda: [[*map(Tokenizer(name).tokenize, lines)] for name, lines in text.items()],
        "tokenizer library": lambda: [[*map(MosesTokenizer(name).tokenize, lines)] for name, lines in text.items()],
        "truecaser": lambda: [[*map(Truecaser(count_cases(side)).truecase, side)] for side in words.values()],
        "truecaser library": lambda: [truecase_with_library(side) for side in words.values()],
        "learner": lambda: format_codes(learn_merges(counts, merges=merges, minimum_frequency=2)),
        "learner library": lambda: learn_with_library(counts, merges),
        "segmentation": lambda: [*map(Subwords(codes).split, every)],
        "segmentation library": lambda: [*map(BPE(io.StringIO(codes)).segment_tokens, every)],
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5, help="interleaved repeats, at least 5")
    parser.add_argument("--data", type=Path, help="folder with real text, NAME.en and NAME.de")
    parser.add_argument("--sentences", type=int, default=10_000, help="sentences per side")
    parser.add_argument("--merges", type=int, default=2000, help="BPE merges")
    options = parser.parse_args()
    text = read(options.data, options.sentences) if options.data else generate(options.sentences)
    found = medians(works(text, options.merges), options.repeats)
    ratios = {}
    for task in ("tokenizer", "truecaser", "learner", "segmentation"):
        ours, library = found[task], found[f"{task} library"]
        ratios[f"{task}_speedup"] = library / ours
        print(f"{task:12} {1000 * ours:7.0f} ms, library {1000 * library:7.0f} ms (medians)")
    print(json.dumps(ratios))


if __name__ == "__main__":
    main()
