"""The memory of `docaps serve` under load: caches of kernels and words are limited, whatever the clients send."""

import random
import re
import string
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import pytest
import torch
from tests.cli.calling import running_service
from tests.cli.conftest import Chain

from docaps.config import bundled_recipes, load_recipe
from docaps.corpus.text.bpe import Subwords, format_codes, learn_merges
from docaps.corpus.text.codec import Codec, Language
from docaps.corpus.text.vocabulary import SPECIALS, Vocabulary
from docaps.errors import DocapsError
from docaps.memory import KERNEL_CACHES
from docaps.model.builders import build_model
from docaps.model.checkpoint import weights_of, write_tensors
from docaps.model.mixed_precision import has_native_bfloat16
from docaps.runs.directory import FINISHED, Run
from docaps.web.client import Client
from docaps.web.schemas import TranslationResponse

pytest.importorskip("fastapi", reason="fastapi is not installed (docaps[serve])")

SEED = 12
SIZES = {"size": 256, "heads": 8, "feed_forward": 1024, "encoder_layers": 4, "decoder_layers": 4}
WORDS = 8000
CLIENTS = 6
NEW_WORDS = 0.05
"""The share of words that the service has never seen."""
SETTLED, GROWTH = 2, 1.05
"""Minutes until the caches are full, and the growth that is allowed afterwards."""


def resident(url: str) -> float:
    """Return the memory of a service in MB."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=60) as answer:
        found = re.search(r"^process_resident_memory_bytes (\S+)$", answer.read().decode(), flags=re.MULTILINE)
    assert found is not None
    return float(found[1]) / 1e6


@dataclass
class Load:
    """Clients of a service: what they send is drawn from a seed, what they get is counted."""

    url: str
    words: list[str]
    seconds: float
    answered: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def run(self) -> Iterator[tuple[float, float]]:
        """Yield the seconds since the start and the memory of the service, every ten seconds."""
        start = time.monotonic()
        clients = [threading.Thread(target=self._ask, args=(SEED + n, start + self.seconds)) for n in range(CLIENTS)]
        for client in clients:
            client.start()
        while time.monotonic() < start + self.seconds:
            time.sleep(min(10.0, start + self.seconds - time.monotonic()))
            yield time.monotonic() - start, resident(self.url)
        for client in clients:
            client.join()

    def _ask(self, seed: int, end: float) -> None:
        draw, client = random.Random(seed), Client(self.url)
        while time.monotonic() < end:
            document = [self._sentence(draw) for _ in range(draw.choice((1, 1, 1, 2, 3, 5, 8, 13, 20, 30)))]
            options = self._options(draw)
            streamed = draw.random() < 0.3
            try:
                found = client.stream(document, **options) if streamed else client.translate(document, **options)
                sentences = found.translations if isinstance(found, TranslationResponse) else found
                assert [one.source for one in sentences] == document
            except (DocapsError, AssertionError) as fault:
                self.faults.append(repr(fault))
            self.answered.update({"streamed" if streamed else "whole": 1, "sentences": len(document)})

    def _options(self, draw: random.Random) -> dict[str, Any]:
        options: dict[str, Any] = {"beam": draw.choice((1, 4)), "context": draw.random() < 0.7}
        if draw.random() < 0.4:
            options["history"] = [self._sentence(draw) for _ in range(draw.randint(1, 4))]
        return options | ({"routing": True} if draw.random() < 0.1 else {})

    def _sentence(self, draw: random.Random) -> str:
        return " ".join(self._word(draw) for _ in range(draw.randint(1, 60))).capitalize() + "."

    def _word(self, draw: random.Random) -> str:
        if draw.random() < NEW_WORDS:
            return "".join(draw.choices(string.ascii_lowercase, k=draw.randint(3, 12)))
        return draw.choice(self.words)


def write_run(folder: Path) -> list[str]:
    """Write a finished run of realistic size with random weights; return its words."""
    draw = random.Random(SEED)
    syllables = [first + second for first in "bdfgklmnprst" for second in "aeiou"]
    words = sorted({"".join(draw.choices(syllables, k=draw.randint(1, 4))) for _ in range(WORDS)})
    subwords = Subwords(format_codes(learn_merges(dict.fromkeys(words, 1), merges=2 * WORDS, minimum_frequency=1)))
    pieces = {*words, *subwords.split(words), *string.ascii_lowercase, *(f"{one}@@" for one in string.ascii_lowercase)}
    vocabulary = Vocabulary([*SPECIALS, *sorted(pieces)])
    settings = [f"model.{name}={value}" for name, value in SIZES.items()]
    settings += ["model.embeddings=shared", "decoding.length_factor=1.0", "decoding.length_margin=5"]
    recipe = load_recipe(bundled_recipes()["paper"], settings)
    system, run = recipe.system("document"), Run(folder)
    folder.mkdir()
    write_tensors(run.weights, weights_of(build_model(system, vocabulary=len(vocabulary), seed=SEED)))
    Codec(source=Language("en"), target=Language("de"), subwords=subwords, vocabulary=vocabulary).save(run.text)
    stored = {"system": system.model_dump(mode="json"), "decoding": recipe.decoding.model_dump(mode="json")}
    run.write({"status": FINISHED, "seed": SEED, "settings": stored})
    return words


def growth_by_shapes(run: Path) -> float:
    """Return by how many MB a service grows while it translates batches of many shapes in bfloat16."""
    with running_service(run, "--precision", "bfloat16") as (_, url):
        client = Client(url)
        client.translate(["rain"], beam=1)
        before = resident(url)
        for size in range(2, 50):
            client.translate(["rain " * size] * size, beam=1)
        return resident(url) - before


@pytest.mark.stress
@pytest.mark.skipif(not has_native_bfloat16(torch.device("cpu")), reason="other products are not compiled by shape")
def test_a_service_keeps_few_kernels_for_batches_of_ever_new_shapes(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in KERNEL_CACHES:
        monkeypatch.delenv(name, raising=False)
    grown = growth_by_shapes(chain.sentence)
    for name in KERNEL_CACHES:
        monkeypatch.setenv(name, "4096")
    assert 1.5 * grown < growth_by_shapes(chain.sentence)


@pytest.mark.stress
@pytest.mark.parametrize(("precision", "minutes"), [("bfloat16", 12), ("int8", 4)])
def test_under_mixed_load_a_service_soon_stops_growing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], precision: str, minutes: int
) -> None:
    words = write_run(tmp_path / "run")
    found: dict[int, list[float]] = {}
    with running_service(tmp_path / "run", "--precision", precision, threads=None) as (_, url):
        load, before = Load(url, words, 60 * minutes), resident(url)
        for seconds, memory in load.run():
            found.setdefault(min(minutes, 1 + int(seconds // 60)), []).append(memory)
    medians = {minute: median(memory) for minute, memory in found.items()}
    with capsys.disabled():
        print(f"\n{precision}, seed {SEED}, {CLIENTS} clients, {before:.0f} MB before\nminute  MB")
        for minute, memory in found.items():
            print(f"{minute:6}  {medians[minute]:.0f} (every 10 s: {' '.join(f'{one:.0f}' for one in memory)})")
        print(f"answered {dict(load.answered)}, faults {len(load.faults)}")
    assert load.faults == []
    assert max(medians.values()) <= GROWTH * medians[SETTLED]
