"""Translating documents side by side: systems that read their own translations, or attend at the decoder.

Documents of random words are translated with a beam of 4, at the paper's sizes: 24 words in, exactly 25 tokens out,
random weights. A system that reads its own translations takes one round for each sentence of a document; in a round it
translates a sentence of every document. The systems take turns with the sentence model. The last line is JSON:
`NAME_keeps` is the speed of a system as a share of the sentence model's.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, cast

import torch

from docaps.config import DecodingSettings, SystemName
from docaps.corpus.text.vocabulary import EOS
from docaps.memory import keep_pages, limit_kernel_caches
from docaps.model.fast.packing import pack
from docaps.translation.ordering import EncodedDocument
from docaps.translation.segments import Segment, SegmentedSentence
from docaps.translation.trained_model import TrainedModel
from docaps.translation.translator import Translator
from measuring import Work, time_rounds
from translators import DTYPES, Sizes, build, calibrate, random_sentences

PLAIN: SystemName = "transformer"
BOTH = ("qcn.sides=both", "qcn.reads=states", "qcn.attends=decoder", "qcn.start=identity")
SYSTEMS: Mapping[str, tuple[SystemName, tuple[str, ...]]] = {
    "concat_n": ("concat", ("concat.mode=n-to-n",)),
    "concat_2": ("concat", ("concat.mode=n-to-n", "history.sentences=1")),
    "han_decoder": ("han", ("han.side=decoder",)),
    "qcn_target": ("qcn", BOTH),
    "qcn_decoder": ("qcn", ("qcn.attends=decoder",)),
}
"""Systems by their names in the output, and their settings."""
BEAM = 4


def make_work(
    system: SystemName, changes: Sequence[str], precision: str, documents: Sequence[Sequence[Sequence[int]]]
) -> Work:
    """Return the translation of all documents by a model of random weights."""
    sizes = Sizes()
    model, _ = build(sizes, system, changes)
    ranges = calibrate(model, sizes) if precision == "int8" else None
    packed = pack(model, DTYPES[precision], ranges)
    # Every translation has the same length, whatever the weights.
    decoding = DecodingSettings(beam=BEAM, length_factor=(sizes.tokens - 20 + 0.5) / sizes.tokens)
    trained = TrainedModel(
        model, cast(Any, None), decoding, torch.device("cpu"), torch.float32, packed, DTYPES[precision]
    )
    translator = Translator(trained, scored=False)
    encoded = [EncodedDocument(list(map(_sentence, one)), []) for one in documents]
    return partial(translator.search, encoded, model.view)


def _sentence(words: Sequence[int]) -> SegmentedSentence:
    tokens = [*words, EOS]
    return SegmentedSentence(tokens, (Segment(tokens),))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5, help="interleaved repeats, at least 5")
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS), help="what is measured")
    parser.add_argument("--documents", type=int, default=64, help="documents side by side")
    parser.add_argument("--sentences", type=int, default=4, help="sentences of each")
    parser.add_argument("--precision", choices=DTYPES, default="int8", help="number format of products")
    parser.add_argument("--threads", type=int, default=2, help="threads of torch")
    parser.add_argument("--data", help="accepted for uniformity; this benchmark needs no text")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    limit_kernel_caches()
    keep_pages()
    sizes = Sizes()
    drawn = random_sentences(arguments.documents * arguments.sentences, sizes.tokens - 1, sizes.vocabulary, seed=1)
    documents = [drawn[start : start + arguments.sentences] for start in range(0, len(drawn), arguments.sentences)]
    usual = make_work(PLAIN, (), arguments.precision, documents)
    ratios: dict[str, float] = {}
    for name in arguments.systems:
        work = make_work(*SYSTEMS[name], arguments.precision, documents)
        found = time_rounds({PLAIN: usual, name: work}, arguments.repeats)
        print(f"{found.describe(name, PLAIN)}; {len(drawn) / found.median(name):.1f} sentences/s", flush=True)
        ratios[f"{name}_keeps"] = found.speed(name, PLAIN)
    print(json.dumps({name: round(ratio, 3) for name, ratio in ratios.items()}))


if __name__ == "__main__":
    main()
