"""Whether the capsules of a sentence differ, and whether routing shares its words out: measured at each validation.

Capsules that are the same vector offer attention no choice. Capsules that weigh words alike hold the same, whatever
their maps make of it. Coupling coefficients of entropy 1 (relative to equal shares) have not decided anything.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import torch

from docaps.batches.prefetch import collate_sentences
from docaps.batches.sampling import usable_sentences
from docaps.batches.windows import Indices
from docaps.corpus.store import Split
from docaps.model.context_statistics import COSINE, ENTROPY, OVERLAP
from docaps.training.distributed import SINGLE_PROCESS, ProcessGroup
from docaps.training.objective import Objective

SENTENCES = 64


def measure_capsules(objective: Objective, data: Split, *, group: ProcessGroup = SINGLE_PROCESS) -> Mapping[str, float]:
    """Return the mean cosine between capsules and between their weights of words, and the entropy of the coupling.

    They are means over the sentences in view of some development sentences; the entropy is that of the last iteration.
    Nothing without capsules of the history. All processes measure the same sentences.
    """
    chosen = choose_sentences(data)
    if not objective.model.history or not len(chosen):
        return {}
    objective.eval()
    group.unshard(objective)
    with torch.no_grad():
        batch = collate_sentences(data, chosen, objective.model.view).to(objective.device.place)
        traces = {trace.name: trace.values for trace in objective.model.trace(replace(batch, target_input=None))}
    group.reshard(objective)
    last = {name: values[-1:] if name == ENTROPY else values for name, values in traces.items()}
    means = {name: float(last[name].nanmean()) for name in (COSINE, OVERLAP, ENTROPY) if name in last}
    return {name: mean for name, mean in means.items() if np.isfinite(mean)}


def choose_sentences(data: Split, most: int = SENTENCES) -> Indices:
    """Choose sentences at even distances among those that have an earlier one in their document."""
    usable = usable_sentences(data)
    later = usable[data.document_starts[usable] < usable]
    places = np.linspace(0, len(later), min(most, len(later)), endpoint=False).astype(np.int64)
    return later[places]


def describe_one_capsule(row: Mapping[str, float]) -> str:
    """Warn that the capsules of a sentence are one, or hold the same words."""
    return (
        f"warning: the capsules of a sentence hold the same: cosine {row['capsule_cosine']:.3f} between capsules, "
        f"{row['capsule_overlap']:.3f} between their weights of words, entropy of the coupling "
        f"{row['coupling_entropy']:.4f} (1: equal shares). qcn.sharpness and qcn.start can let routing decide"
    )
