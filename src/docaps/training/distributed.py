"""The processes that train one model together, on PyTorch's own engine (torchrun, DistributedDataParallel).

Every process holds the model, learns from its share of each step's batches, and takes the same step. The first process
alone reads and writes run directories and talks to the user.
"""

import contextlib
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar, cast

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor
from torch.nn.parallel import DistributedDataParallel

from docaps import progress
from docaps.config import Distribution
from docaps.errors import DocapsError, TrainingError
from docaps.interruption import deafen

Result = TypeVar("Result")
PATIENCE = timedelta(minutes=30)
"""How long a process waits for another one, for example while that validates or writes."""


@dataclass(frozen=True, slots=True)
class Team:
    """The processes of a training, seen from one of them."""

    rank: int = 0
    size: int = 1
    local_rank: int = 0
    sharded: bool = False
    """Whether each process holds a part of every weight (FSDP), not all weights (DDP)."""

    @property
    def leads(self) -> bool:
        """Say whether this is the process that reads, writes and talks."""
        return self.rank == 0

    def decide(self, action: Callable[[], Result]) -> Result:
        """Let the first process do something and tell the others the result; a fault ends all of them."""
        if self.size == 1:
            return action()
        answer: list[Any] = [None, None]
        fault: BaseException | None = None
        if self.leads:
            try:
                answer[0] = action()
            except DocapsError as error:
                fault, answer[1] = error, error.exit_code
        self._told(lambda: dist.broadcast_object_list(answer, src=0))
        if fault is not None:
            raise fault
        if answer[1] is not None:
            raise SystemExit(answer[1])  # the first process has told the user why
        return cast(Result, answer[0])

    def total(self, values: Tensor) -> Tensor:
        """Add up what all processes found."""
        if self.size > 1:
            self._told(lambda: dist.all_reduce(values))
        return values

    def gather(self, items: Sequence[Result]) -> list[list[Result]]:
        """Return what each process has, in the order of processes."""
        if self.size == 1:
            return [list(items)]
        found: list[Any] = [None] * self.size
        self._told(lambda: dist.all_gather_object(found, list(items)))
        return found

    def shard(self, module: nn.Module) -> None:
        """Leave only a part of every weight and of what the optimiser knows here, if that is wanted.

        The module is put together as a whole for each pass: decoder layers are entered at several points.
        """
        if self.sharded:
            fully_shard(module)

    def part(self, module: nn.Module) -> None:
        """Let go of the weights that were put together for passes without gradients."""
        if isinstance(module, FSDPModule):
            module.reshard()

    def whole(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Put tensors together that are spread over the processes; all of them must ask for it at the same time."""
        with self.listening():
            return {name: full(tensor) for name, tensor in tensors.items()}

    def join(self, module: nn.Module) -> nn.Module:
        """Wrap what computes the loss, so that gradients are averaged over all processes."""
        if self.size == 1 or self.sharded:
            return module
        place = next(module.parameters()).device
        devices = [place.index] if place.type == "cuda" else None
        with warnings.catch_warnings():
            # Buffers are tables of positions, which grow where a long sentence comes by: there is nothing to keep
            # alike. The name of this option changes in torch 2.13, and so does, a little, what it means.
            warnings.simplefilter("ignore", FutureWarning)
            return DistributedDataParallel(module, device_ids=devices, broadcast_buffers=False)

    def exchanging(self, module: nn.Module, wanted: bool) -> contextlib.AbstractContextManager[Any]:
        """Average the gradients of this backward pass over all processes, or leave that to a later one."""
        if isinstance(module, DistributedDataParallel) and not wanted:
            return module.no_sync()
        return self.listening()

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Say in words that another process is gone."""
        try:
            yield
        except RuntimeError as fault:
            if (loss := self.loss_behind(fault)) is None:
                raise
            deafen()  # torchrun asks those who are left to end, which is what they do
            raise TrainingError(loss) from None

    def loss_behind(self, fault: BaseException) -> str | None:
        """Say which loss of another process is behind a fault, or behind a signal that came while it was raised."""
        found: BaseException | None = fault
        while found is not None and self.size > 1:
            if isinstance(found, RuntimeError) and _lost(found):
                first = str(found).strip().splitlines()[0]
                return f"another of the {self.size} processes is gone or does not answer: {first}"
            found = found.__context__
        return None

    def _told(self, exchange: Callable[[], object]) -> None:
        with self.listening():
            exchange()


ALONE = Team()


def full(tensor: Tensor) -> Tensor:
    """Return the whole of a tensor that may be spread over processes."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def spread_like(tensor: Tensor, pattern: Tensor) -> Tensor:
    """Spread a tensor over the processes as another one is."""
    if not isinstance(pattern, DTensor) or tensor.dim() == 0:
        return tensor
    return distribute_tensor(tensor, pattern.device_mesh, pattern.placements)


def _lost(fault: RuntimeError) -> bool:
    """Say whether a fault means that the connection to another process is lost."""
    words = ("connection", "gloo", "nccl", "peer", "timed out", "process group", "broken pipe", "socket")
    return isinstance(fault, dist.DistError) or any(word in str(fault).lower() for word in words)


def _meet(team: Team) -> None:
    """Connect with the other processes."""
    if torch.cuda.is_available():
        torch.cuda.set_device(team.local_rank)
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT")
    if attempt is None or os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != str(True):
        dist.init_process_group(backend, timeout=PATIENCE)
        return
    # torchrun keeps its store over restarts: without a name of its own, a new process finds addresses of dead ones.
    store = dist.TCPStore(  # type: ignore[attr-defined]
        os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), team.size, timeout=PATIENCE
    )
    own = dist.PrefixStore(f"docaps/attempt-{attempt}", store)  # type: ignore[attr-defined]
    dist.init_process_group(backend, store=own, rank=team.rank, world_size=team.size, timeout=PATIENCE)


@contextlib.contextmanager
def gathered(distribution: Distribution = "ddp") -> Iterator[Team]:
    """Join the processes that torchrun started; a process that was started alone is a team of its own."""
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1 or dist.is_initialized():
        yield ALONE
        return
    team = Team(int(os.environ["RANK"]), size, int(os.environ.get("LOCAL_RANK", "0")), distribution == "fsdp")
    if not team.leads:
        progress.REPORTER.enabled = False
    with team.listening():
        _meet(team)
    yield team
    dist.destroy_process_group()  # not behind a fault: others, who may be gone, would be waited for
