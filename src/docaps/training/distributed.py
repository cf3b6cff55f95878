"""Distributed training on PyTorch's own engine (torchrun, DistributedDataParallel, FSDP).

Every process holds the model, learns from its share of each step's batches and takes the same step. Only the main
process (rank 0) reads and writes run directories and reports to the user.
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
from docaps.config.settings import Distribution
from docaps.errors import DocapsError, TrainingError
from docaps.interruption import ignore_signals

Result = TypeVar("Result")
TIMEOUT = timedelta(minutes=30)
"""How long a process waits for another one, for example while that validates or writes."""

CONNECTION_WORDS = ("connection", "gloo", "nccl", "peer", "timed out", "process group", "broken pipe", "socket")
"""Each of them in an error means that the connection to another process is lost."""


@dataclass(frozen=True, slots=True)
class ProcessGroup:
    """The processes that train one model together, seen from one of them."""

    rank: int = 0
    size: int = 1
    local_rank: int = 0
    sharded: bool = False
    """True if each process holds a shard of every weight (FSDP), False if it holds all weights (DDP)."""

    @property
    def is_main(self) -> bool:
        """Return whether this process reads, writes and reports."""
        return self.rank == 0

    def run_on_main(self, action: Callable[[], Result]) -> Result:
        """Run an action in the main process and return its result in every process; an error ends all of them."""
        if self.size == 1:
            return action()
        answer: list[Any] = [None, None]
        failure: BaseException | None = None
        if self.is_main:
            try:
                answer[0] = action()
            except DocapsError as error:
                failure, answer[1] = error, error.exit_code
        with self.reporting_lost_processes():
            dist.broadcast_object_list(answer, src=0)
        if failure is not None:
            raise failure
        if answer[1] is not None:
            raise SystemExit(answer[1])  # the main process reports the reason
        return cast(Result, answer[0])

    def sum(self, values: Tensor) -> Tensor:
        """Add up a tensor over all processes, in place."""
        if self.size > 1:
            with self.reporting_lost_processes():
                dist.all_reduce(values)
        return values

    def gather(self, items: Sequence[Result]) -> list[list[Result]]:
        """Return the items of every process, in order of rank."""
        if self.size == 1:
            return [list(items)]
        found: list[Any] = [None] * self.size
        with self.reporting_lost_processes():
            dist.all_gather_object(found, list(items))
        return found

    def shard(self, module: nn.Module) -> None:
        """Keep only this process's shard of every weight, if the group is sharded.

        Each pass gathers the whole module at once, because decoder layers are entered at several points.
        """
        if self.sharded:
            fully_shard(module)

    def unshard(self, module: nn.Module) -> None:
        """Gather the weights of a sharded module, for use outside its forward pass; all processes must call this."""
        if isinstance(module, FSDPModule):
            module.unshard()

    def reshard(self, module: nn.Module) -> None:
        """Free the weights that passes without gradients have gathered."""
        if isinstance(module, FSDPModule):
            module.reshard()

    def gather_tensors(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return whole tensors from shards; all processes must call this at the same time."""
        with self.reporting_lost_processes():
            return {name: full_tensor(tensor) for name, tensor in tensors.items()}

    def wrap(self, module: nn.Module) -> nn.Module:
        """Wrap the module that computes the loss so that gradients are averaged over all processes."""
        if self.size == 1 or self.sharded:
            return module
        device = next(module.parameters()).device
        devices = [device.index] if device.type == "cuda" else None
        with warnings.catch_warnings():
            # Buffers are position tables that grow with the longest sentence seen: they need no broadcast. The option
            # is renamed in torch 2.13, with a slightly different meaning.
            warnings.simplefilter("ignore", FutureWarning)
            return DistributedDataParallel(module, device_ids=devices, broadcast_buffers=False)

    def gradient_sync(self, module: nn.Module, enabled: bool) -> contextlib.AbstractContextManager[Any]:
        """Average the gradients of a backward pass over all processes, or leave that to a later pass."""
        if isinstance(module, DistributedDataParallel) and not enabled:
            return module.no_sync()
        return self.reporting_lost_processes()

    @contextlib.contextmanager
    def reporting_lost_processes(self) -> Iterator[None]:
        """Raise a clear error if another process is gone."""
        try:
            yield
        except RuntimeError as error:
            if (lost := self.find_lost_process(error)) is None:
                raise
            ignore_signals()  # torchrun now signals the remaining processes to end, which they do anyway
            raise TrainingError(lost) from None

    def find_lost_process(self, error: BaseException) -> str | None:
        """Return a message if a lost process caused the error, or the error that a signal interrupted; else None."""
        found: BaseException | None = error
        while found is not None and self.size > 1:
            text = str(found).strip()
            lost = isinstance(found, dist.DistError) or any(word in text.lower() for word in CONNECTION_WORDS)
            if isinstance(found, RuntimeError) and lost:
                return f"another of the {self.size} processes is gone or does not answer: {text.splitlines()[0]}"
            found = found.__context__
        return None


SINGLE_PROCESS = ProcessGroup()


def full_tensor(tensor: Tensor) -> Tensor:
    """Return the whole of a tensor that may be sharded."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def shard_like(tensor: Tensor, pattern: Tensor) -> Tensor:
    """Shard a tensor over the processes like another one."""
    if not isinstance(pattern, DTensor) or tensor.dim() == 0:
        return tensor
    return distribute_tensor(tensor, pattern.device_mesh, pattern.placements)


def _connect(group: ProcessGroup) -> None:
    """Connect to the other processes."""
    if torch.cuda.is_available():
        torch.cuda.set_device(group.local_rank)
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT")
    if attempt is None or os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != str(True):
        dist.init_process_group(backend, timeout=TIMEOUT)
        return
    # torchrun keeps its store over restarts: without a prefix per attempt, a new process finds addresses of dead ones.
    store = dist.TCPStore(  # type: ignore[attr-defined]
        os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), group.size, timeout=TIMEOUT
    )
    own = dist.PrefixStore(f"docaps/attempt-{attempt}", store)  # type: ignore[attr-defined]
    dist.init_process_group(backend, store=own, rank=group.rank, world_size=group.size, timeout=TIMEOUT)


@contextlib.contextmanager
def process_group(distribution: Distribution = "ddp") -> Iterator[ProcessGroup]:
    """Join the processes that torchrun started; without torchrun, yield a group of one process."""
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1 or dist.is_initialized():
        yield SINGLE_PROCESS
        return
    rank, local_rank = int(os.environ["RANK"]), int(os.environ.get("LOCAL_RANK", "0"))
    group = ProcessGroup(rank, size, local_rank, distribution == "fsdp")
    if not group.is_main:
        progress.REPORTER.enabled = False
    with group.reporting_lost_processes():
        _connect(group)
    yield group
    dist.destroy_process_group()  # not after an error: it would wait for processes that may be gone
