"""The numbers of Yang et al. (2019): Tables 1 and 2, and what its text says of Figures 4 and 5."""

from collections.abc import Mapping

CORPORA = ("TED", "News", "Europarl")

# System -> (BLEU, Meteor) on TED, News and Europarl (Table 2).
TABLE2: Mapping[str, tuple[tuple[float, float], ...]] = {
    "zhang": ((24.00, 44.69), (23.08, 42.40), (29.32, 46.72)),
    "han": ((24.58, 45.48), (25.03, 44.02), (28.60, 46.09)),
    "san": ((24.42, 45.38), (24.84, 44.27), (29.75, 47.22)),
    "transformer": ((23.28, 44.17), (21.67, 41.11), (28.72, 46.22)),
    "transformer+reg": ((24.55, 45.57), (22.09, 41.77), (29.42, 47.59)),
    "qcn": ((24.41, 46.09), (22.22, 41.90), (29.48, 47.49)),
    "qcn+reg": ((25.19, 45.91), (22.37, 41.88), (29.82, 47.86)),
}

# Part -> (sentence pairs, average length of a document) of TED, News and Europarl (Table 1).
TABLE1: Mapping[str, tuple[tuple[int, float], ...]] = {
    "train": ((206_126, 121.39), (236_287, 38.93), (1_666_904, 14.14)),
    "dev": ((8_967, 96.42), (2_169, 26.78), (3_587, 14.95)),
    "test": ((2_271, 98.74), (2_999, 19.35), (5_134, 14.26)),
}

# What the text says of the figures, whose values are not printed.
FIGURES: Mapping[str, str] = {
    "history": "The paper (on TED) has its best Meteor with one history sentence and its best BLEU with two; it chose "
    "three.",
    "capsules": "The paper (on TED) has its best Meteor with two capsules and its best BLEU with four; it chose four.",
    "rounds": "The paper gives no figure for this; it has four iterations.",
}


def find_corpus(sentences: Mapping[str, int]) -> str | None:
    """Tell which corpus of the paper has parts of these sizes; None: another one."""
    for place, name in enumerate(CORPORA):
        if all(sentences.get(part) == sizes[place][0] for part, sizes in TABLE1.items()):
            return name
    return None
