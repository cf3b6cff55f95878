"""Whether the regulariser's capsules tell development pairs apart: the alarm for a collapse, at each validation.

Capsules that have become constant correlate with one another whether or not they belong together, so the PCC of matched
pairs alone looks like success. Finding the translation of a sentence among others needs capsules that differ.
"""

from collections.abc import Mapping

import numpy as np
import torch

from docaps.batches.prefetch import collate_sentences
from docaps.batches.sampling import usable_sentences
from docaps.batches.windows import Indices
from docaps.corpus.store import Split
from docaps.model.regulariser import mean_mismatched, retrieval
from docaps.training.distributed import SINGLE_PROCESS, ProcessGroup
from docaps.training.objective import Objective

PAIRS = 64


def measure_retrieval(
    objective: Objective, data: Split, *, group: ProcessGroup = SINGLE_PROCESS
) -> Mapping[str, float]:
    """Return retrieval@1 among some development pairs, its chance level, and their mean PCC, matched and mismatched.

    Nothing without a regulariser or with fewer than two pairs. All processes measure the same pairs.
    """
    chosen = choose_pairs(data)
    if len(chosen) < 2:
        return {}
    objective.eval()
    group.unshard(objective)
    with torch.no_grad():
        pairs = objective.model.correlate_pairs(collate_sentences(data, chosen, 0).to(objective.device.place))
    group.reshard(objective)
    mismatched = None if pairs is None else mean_mismatched(pairs)
    if pairs is None or mismatched is None:
        return {}
    return {
        "retrieval": float(retrieval(pairs)),
        "retrieval_chance": 1 / len(chosen),
        "dev_pcc": float(pairs.diagonal().mean()),
        "dev_pcc_mismatched": float(mismatched.mean()),
    }


def choose_pairs(data: Split, most: int = PAIRS) -> Indices:
    """Choose pairs at even distances, with words on both sides; no sentence of either side occurs twice."""
    sources, targets, distinct = set[bytes](), set[bytes](), list[int]()
    for number in usable_sentences(data).tolist():
        source, target = (np.asarray(side[number]).tobytes() for side in (data.source, data.target))
        if source not in sources and target not in targets:
            sources.add(source)
            targets.add(target)
            distinct.append(number)
    places = np.linspace(0, len(distinct), min(most, len(distinct)), endpoint=False).astype(np.int64)
    return np.array(distinct, np.int64)[places]
