"""Batches to train on: sentences of a real corpus, or random ones whose lengths are spread like those of Europarl."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from docaps.batches.batch import Batch, collate
from docaps.batches.sampling import LengthSampler
from docaps.batches.windows import Indices, Window, window_of
from docaps.config import DecodingSettings, bundled_recipes, load_recipe
from docaps.corpus.arrays import TokenArray, starts_of
from docaps.corpus.preparation import CorpusFiles, prepare
from docaps.corpus.store import Split, open_store
from docaps.corpus.text.vocabulary import EOS, UNK
from docaps.translation.search import batch_by_length
from docaps.translation.translator import WINDOW

VOCABULARY = 30_000
HISTORY = 3


def find_corpus(data: Path, scratch: Path) -> Path:
    """Return a prepared corpus: the folder itself, or one made of the largest pair of files in it."""
    if (data / "manifest.json").exists():
        return data
    pairs = [
        (one, Path(str(one).replace(".en", ".de"))) for one in sorted(data.glob("*.en")) + sorted(data.glob("*.en.gz"))
    ]
    pairs = [pair for pair in pairs if pair[1].exists()]
    if not pairs:
        raise SystemExit(f"{data}: neither a prepared corpus nor a folder with NAME.en and NAME.de (or .gz)")
    largest = max(pairs, key=lambda pair: pair[0].stat().st_size)
    settings = load_recipe(bundled_recipes()["paper"]).preparation
    prepare(CorpusFiles({"train": largest}), settings, scratch / "prepared")
    return scratch / "prepared"


def draw_split(vocabulary: int = VOCABULARY, sentences: int = 50_000) -> Split:
    """Draw random sentences whose lengths are spread like those of Europarl in pieces."""
    generator = np.random.default_rng(1)
    source = np.exp(generator.normal(3.13, 0.48, sentences)).clip(2, 60)
    target = (source * np.exp(generator.normal(0.0, 0.16, sentences))).clip(2, 60)

    def fill(lengths: np.typing.NDArray[np.float64]) -> TokenArray:
        starts = starts_of(lengths.astype(np.int64))
        tokens = generator.integers(UNK + 1, vocabulary, starts[-1], dtype=np.int32)
        tokens[starts[1:] - 1] = EOS
        return TokenArray(tokens, starts)

    documents = np.append(np.arange(0, sentences, 12), sentences).astype(np.int64)
    return Split(fill(source), fill(target), documents)


def make_batches(
    corpus: Path | None, tokens: int, count: int, vocabulary: int = VOCABULARY
) -> tuple[list[Batch], float]:
    """Return some batches of about this many target tokens, and the share of padding in a whole epoch of them."""
    split = draw_split(vocabulary) if corpus is None else open_store(corpus).split("train")
    epoch = LengthSampler(split, budget=2 * tokens, seed=1).epoch(0)
    batches = [collate([window_of(split, int(number), HISTORY) for number in one], HISTORY) for one in epoch[:count]]
    return [_within_vocabulary(batch, vocabulary) for batch in batches], measure_padding(split, epoch)


def _within_vocabulary(batch: Batch, vocabulary: int) -> Batch:
    """Let the rarest words of a larger vocabulary be one word."""
    assert batch.target_input is not None
    parts = batch.source, batch.history, batch.target_input, batch.translations
    return Batch(*(part.clamp(max=vocabulary - 1) for part in parts))


def measure_padding(split: Split, epoch: Sequence[Indices]) -> float:
    """Return the share of padding in the source and target tokens of batches."""
    sides = [np.asarray(side.lengths) for side in (split.source, split.target)]
    real = sum(int(lengths[one].sum()) for one in epoch for lengths in sides)
    return 1 - real / sum(len(one) * int(lengths[one].max()) for one in epoch for lengths in sides)


def measure_translation_padding(corpus: Path | None, beam: int) -> float:
    """Return the share of padding in the source tokens of a corpus when it is translated, window by window."""
    split = draw_split() if corpus is None else open_store(corpus).split("train")
    windows = [Window(split.source[number]) for number in range(min(len(split.source), 10 * WINDOW))]
    padded = 0
    for start in range(0, len(windows), WINDOW):
        part = windows[start : start + WINDOW]
        for batch in batch_by_length(part, DecodingSettings().batch_tokens // beam):
            padded += len(batch) * max(len(part[number].source) for number in batch)
    return 1 - sum(len(window.source) for window in windows) / padded
