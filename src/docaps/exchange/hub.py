"""The Hugging Face hub: published models and run directories by name, through huggingface_hub (extra `hub`).

Its cache, its token and its variables (HF_HOME, HF_HUB_OFFLINE, HF_ENDPOINT) are honoured.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from docaps.errors import FetchError, RunError
from docaps.exchange.hugging_face import CONFIG, GENERATION, SAFE_WEIGHTS, SOURCE, TARGET, TOKENIZER, TORCH_WEIGHTS
from docaps.exchange.hugging_face import VOCABULARY as NUMBERS
from docaps.runs.directory import Run, open_run

NAME = re.compile(r"[\w][\w.-]*/[\w.-]*\w")
"""A name on the hub: whose model, and which."""
ORIGINAL = ["*.npz", "*.yml", "*.spm"]
"""The files of an original Marian model."""
TRANSPORTS = ("httpx", "httpx2", "requests")
"""What the versions of huggingface_hub use to transfer files; the first lines of their errors say what is wrong."""
CARD = "README.md"
"""What the hub shows of a model: our model card."""
SHARED = (
    *("run.json", "model.safetensors", "MODEL_CARD.md", "precision.json", "ranges.safetensors", "diagnosis.json"),
    "text/*",
)
"""The files of a run that others need; its training log, corpus and results stay."""


def is_hub_name(name: str) -> bool:
    """Return whether something is a name on the hub; what is or would be in a folder that is here is not."""
    return NAME.fullmatch(name) is not None and not Path(name).parent.exists()


def fetch_marian(name: str) -> Path:
    """Return a folder with the files of a published Marian model, downloaded or from the cache."""
    hub = _load_hub()
    files = [CONFIG, NUMBERS, SOURCE, TARGET, GENERATION, TOKENIZER, "target_vocab.json"]
    with _explained(hub, name, _how_to_fetch(name, f"docaps import {name.partition('/')[2]}")):
        folder = Path(hub.snapshot_download(name, allow_patterns=files))
        if (folder / CONFIG).exists():
            _fetch_weights(hub, name)
        else:
            folder = Path(hub.snapshot_download(name, allow_patterns=ORIGINAL, ignore_patterns="*.optimizer.npz"))
    return folder


def _how_to_fetch(name: str, use: str) -> str:
    """Say how a machine without a network gets a model."""
    folder = name.partition("/")[2]
    return (
        f"On a machine with a network, `hf download {name} --local-dir {folder}` fetches it; copy the folder here, and "
        f"{use}"
    )


def _fetch_weights(hub: Any, name: str) -> None:
    """Download one of the files of weights, safetensors if there are both."""
    try:
        hub.hf_hub_download(name, SAFE_WEIGHTS)
    except hub.errors.EntryNotFoundError:
        with suppress(hub.errors.RemoteEntryNotFoundError):  # reading the folder says that there are no weights
            hub.hf_hub_download(name, TORCH_WEIGHTS)


def fetch_run(name: str) -> Path:
    """Return a run directory of the hub, downloaded or from the cache."""
    hub = _load_hub()
    with _explained(hub, name, _how_to_fetch(name, f'docaps.load("{name.partition("/")[2]}")')):
        folder = Path(hub.snapshot_download(name, allow_patterns=[*SHARED, CONFIG]))
    if not Run(folder).description.exists():
        advice = f"; import it first: docaps import {name} --out RUN" if (folder / CONFIG).exists() else ""
        raise RunError(f"{name} on the hub is not a run directory (it has no run.json){advice}")
    return folder


def push_run(path: Path, name: str, *, private: bool = False) -> str:
    """Upload a finished run, as far as others need it, and return the address of the new version."""
    if NAME.fullmatch(name) is None:
        raise FetchError(f"{name!r} is not a name on the hub: expected USER/MODEL")
    run, hub = open_run(path), _load_hub()
    files = {
        str(file.relative_to(path)): file for pattern in SHARED for file in sorted(path.glob(pattern)) if file.is_file()
    }
    if run.card.exists():
        files[CARD] = run.card
    with _explained(hub, name, f"{path} is as it was: push it when there is a network"):
        api = hub.HfApi()
        api.create_repo(name, private=private, exist_ok=True)
        changes = [hub.CommitOperationAdd(where, str(file)) for where, file in files.items()]
        made = api.create_commit(name, changes, commit_message=f"Run {path.resolve().name} of docaps")
    return str(made.commit_url)


def _load_hub() -> Any:
    """Import huggingface_hub."""
    try:
        import huggingface_hub
        import huggingface_hub.errors
    except ImportError:
        raise FetchError("models on the hub need huggingface_hub: pip install 'docaps[hub]'") from None
    return huggingface_hub


@contextmanager
def _explained(hub: Any, name: str, advice: str) -> Iterator[None]:
    """Turn the faults of a transfer into errors that say what to do; a full disk, for example, is none of them."""
    try:
        yield
    except hub.errors.GatedRepoError as fault:
        raise FetchError(
            f"{name} asks for its terms to be accepted on the hub, and then for `hf auth login`"
        ) from fault
    except hub.errors.RepositoryNotFoundError as fault:
        raise FetchError(f"no model {name!r} on the hub, or it is private: then `hf auth login` first") from fault
    except hub.errors.LocalEntryNotFoundError as fault:
        message = f"{name} cannot be downloaded (no network, or HF_HUB_OFFLINE is set) and is not in the cache."
        raise FetchError(f"{message} {advice}") from fault
    except hub.errors.HfHubHTTPError as fault:
        raise FetchError(f"the hub refused {name}: {_first_line(fault)}") from fault
    except Exception as fault:
        if not _is_network_fault(fault):
            raise
        raise FetchError(f"{name}: the hub cannot be reached: {_first_line(fault)}. {advice}") from fault


def _is_network_fault(fault: Exception) -> bool:
    """Return whether something is an error of a connection, in Python's words or in those of the library below."""
    packages = {kind.__module__.partition(".")[0] for kind in type(fault).__mro__}
    return isinstance(fault, ConnectionError | TimeoutError) or not packages.isdisjoint(TRANSPORTS)


def _first_line(fault: Exception) -> str:
    return str(fault).strip().splitlines()[0] if str(fault).strip() else type(fault).__name__
