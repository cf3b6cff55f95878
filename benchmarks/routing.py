"""Routing without stored votes against routing that stores them, forward and backward: time and memory.

The vote form computes all votes W_j u_i once, by einsum, and reads them in every iteration. Both forms give the same
capsules, which is checked first. The last line is JSON with the ratios; `speedup` is for the scope `joint` with 75
words, `speedup_sentence` for three sentences of 25 words, `memory_ratio` is ours / vote form at 300 words.
`memory_doubled_capsules` is the cost of twice the capsules in a batch of many words, which is routed in groups;
`memory_doubled_capsules_small` is the same in a small batch, where it is a few megabytes.
"""

import argparse
import json
from collections.abc import Callable

import torch
from torch import Tensor

from docaps.model.routing.algorithm import RoutingOptions, route, squash, standardised
from docaps.model.routing.layer import MANY_WORDS, is_large, route_in_groups
from measuring import medians, peak_memory

SIZE, ROUNDS, LONG = 512, 4, 300
Form = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


def with_votes(words: Tensor, mask: Tensor, weight: Tensor, query: Tensor) -> Tensor:
    """Algorithm 1 written out: votes (B, M, N, D) are stored."""
    words = squash(words)
    votes = torch.einsum("mde,bne->bmnd", weight, words)
    real = mask.unsqueeze(1).to(words.dtype)
    directions = standardised(words)
    queries = query.unsqueeze(1).expand(-1, len(weight), -1)
    agreement = words.new_zeros(votes.shape[:3])
    guidance = torch.tanh(torch.einsum("bmd,bnd->bmn", standardised(queries), directions))
    for iteration in range(ROUNDS):
        shares = (torch.softmax(agreement, dim=1) + guidance) * real
        vectors = squash(torch.einsum("bmn,bmnd->bmd", shares, votes))
        if iteration < ROUNDS - 1:
            agreement = agreement + guidance * torch.einsum("bmnd,bmd->bmn", votes, vectors)
            queries = (queries + vectors) / 2
            guidance = torch.tanh(torch.einsum("bmd,bnd->bmn", standardised(queries), directions))
    return vectors


def without_votes(words: Tensor, mask: Tensor, weight: Tensor, query: Tensor) -> Tensor:
    """Route as docaps does."""
    options = RoutingOptions(rounds=ROUNDS)
    if is_large(words):
        return route_in_groups(words, mask, weight, options=options, query=query)
    return route(words, mask, weight, options=options, query=query).capsules


class Case:
    """Random words, weights and queries of one shape."""

    def __init__(self, *, rows: int, words: int, capsules: int) -> None:
        generator = torch.Generator().manual_seed(1)
        self.words = torch.randn(rows, words, SIZE, generator=generator).mul_(0.1).requires_grad_()
        self.mask = torch.ones(rows, words, dtype=torch.bool)
        self.weight = torch.randn(capsules, SIZE, SIZE, generator=generator).mul_(SIZE**-0.5).requires_grad_()
        self.query = torch.randn(rows, SIZE, generator=generator).requires_grad_()

    def capsules(self, form: Form) -> Tensor:
        """Run a form forward."""
        return form(self.words, self.mask, self.weight, self.query)

    def train(self, form: Form) -> None:
        """Run a form forward and backward."""
        self.capsules(form).sum().backward()
        self.words.grad = self.weight.grad = self.query.grad = None


def speedup(name: str, *, rows: int, words: int, repeats: int) -> float:
    """Return how many times faster routing without votes is."""
    case = Case(rows=rows, words=words, capsules=4)
    torch.testing.assert_close(case.capsules(without_votes), case.capsules(with_votes), rtol=0, atol=1e-5)
    found = medians({"votes": lambda: case.train(with_votes), "ours": lambda: case.train(without_votes)}, repeats)
    ratio = found["votes"] / found["ours"]
    print(
        f"{name:<28} votes {1000 * found['votes']:7.1f} ms   without {1000 * found['ours']:6.1f} ms   {ratio:5.1f} x",
        flush=True,
    )
    return ratio


def peak(form: Form, *, rows: int, capsules: int) -> int:
    """Return the peak memory with long histories."""
    case = Case(rows=rows, words=LONG, capsules=capsules)
    return peak_memory(lambda: case.train(form))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=9, help="interleaved repeats, at least 5")
    parser.add_argument("--sentences", type=int, default=32, help="sentences in a batch")
    parser.add_argument("--data", help="ignored; this benchmark needs no text")
    arguments = parser.parse_args()
    rows, repeats = arguments.sentences, arguments.repeats
    print(f"D={SIZE}, M=4, {ROUNDS} iterations, {rows} sentences, forward and backward, median of {max(5, repeats)}")
    joint = speedup("joint, 75 words", rows=rows, words=75, repeats=repeats)
    sentence = speedup("sentence, 3 x 25 words", rows=3 * rows, words=25, repeats=repeats)
    votes, ours, doubled = (
        peak(form, rows=rows, capsules=capsules)
        for form, capsules in ((with_votes, 4), (without_votes, 4), (without_votes, 8))
    )
    print(
        f"{f'memory at {LONG} words':<28} votes {votes / 2**20:7.0f} MiB  without {ours / 2**20:6.0f} MiB  "
        f"{ours / votes:5.2f} x; twice the capsules: {doubled / ours:.2f} x",
        flush=True,
    )
    many = max(rows, -(-5 * MANY_WORDS // (4 * LONG)))
    large, large_doubled = (peak(without_votes, rows=many, capsules=capsules) for capsules in (4, 8))
    print(
        f"{f'{many} sentences, in groups':<28} without {large / 2**20:5.0f} MiB; "
        f"twice the capsules: {large_doubled / large:.2f} x"
    )
    ratios = {
        "speedup": joint,
        "speedup_sentence": sentence,
        "memory_ratio": ours / votes,
        "memory_doubled_capsules": large_doubled / large,
        "memory_doubled_capsules_small": doubled / ours,
    }
    print(json.dumps({name: round(ratio, 3) for name, ratio in ratios.items()}))


if __name__ == "__main__":
    main()
