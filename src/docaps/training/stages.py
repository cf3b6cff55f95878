"""Stages: each stage of a recipe trains one system and leaves one run directory."""

import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from docaps import progress
from docaps.batches.loading import Ahead, Share, StepData, load_steps
from docaps.batches.sampling import Sampler, make_sampler
from docaps.config import DecodingSettings, Recipe, StageSettings, SystemSettings, as_known_now
from docaps.corpus.store import Split, Store
from docaps.errors import ConfigError, CorpusError, RunError
from docaps.model.builders import build_model, count_parameters
from docaps.model.checkpoint import fill, read_weights, write_tensors
from docaps.model.interface import TranslationModel
from docaps.model.mixed_precision import choose_device, choose_precision
from docaps.runs.directory import LOCK, Run, locked, open_run, versions
from docaps.training.distributed import ALONE, Team
from docaps.training.journal import Speedometer, open_journal
from docaps.training.learner import Device, Learner
from docaps.training.record import Record
from docaps.training.snapshots import Snapshots
from docaps.training.speed import measure_peak, rehearse
from docaps.training.state import Standing, State, read_state, save_state
from docaps.training.trainer import Desk, Trainer
from docaps.training.validation import Probe, validate

TORN = ".*.partial"
EXTENSIBLE = {"steps", "epochs", "budget", "patience", "log_every", "save_every"}
"""Settings that may change when an unfinished training goes on: they say how long and how often, not what."""


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be trained, where, and by whom."""

    recipe: Recipe
    store: Store
    out: Path
    overwrite: bool = False
    init_from: Path | None = None
    """A finished run whose weights the first of the stages takes over."""
    probe: Probe | None = None
    team: Team = ALONE


def train_recipe(
    recipe: Recipe,
    store: Store,
    out: Path,
    *,
    stages: Sequence[str] | None = None,
    overwrite: bool = False,
    init_from: Path | None = None,
    probe: Probe | None = None,
    team: Team = ALONE,
) -> list[Run]:
    """Train the stages of a recipe in order; finished ones are kept, an unfinished one goes on where it stood."""
    chosen = list(recipe.stage) if stages is None else [name for name in recipe.stage if name in stages]
    unknown = [name for name in stages or () if name not in recipe.stage]
    if unknown or not chosen:
        raise ConfigError(f"no stage {', '.join(unknown)!r} in the recipe: it has {', '.join(recipe.stage) or 'none'}")
    runs = []
    for name in chosen:
        given = init_from if name == chosen[0] else None
        runs.append(Stage(Order(recipe, store, out, overwrite, given, probe, team), name).train())
    return runs


class Stage:
    """One stage of a recipe on its way to a finished run directory."""

    def __init__(self, order: Order, name: str) -> None:
        self._order = order
        self._recipe, self._store, self._team = order.recipe, order.store, order.team
        self._name = name
        self._settings: StageSettings = order.recipe.stage[name]
        self.run = Run(order.out / name)
        self._begun_from: dict[str, str] | None = None
        if self._settings.best_by == "dev_bleu" and order.probe is None:
            raise ConfigError(f"stage.{name}.best_by: nothing measures dev_bleu here")
        if order.probe is not None and order.team.sharded:
            raise ConfigError('distribution = "fsdp": only dev_loss can be measured while weights are spread')

    def train(self) -> Run:
        """Train the stage unless the very same one is finished."""
        self._begun_from = self._team.decide(self._beginning)
        with self._locked():
            if self._team.decide(self._is_done):
                progress.say(f"{self.run.path}: finished already, kept")
                return self.run
            state = self._team.decide(self._find_state)
            self._train(state)
        return self.run

    def _locked(self) -> Any:
        """Keep others out of the run directory (unless it is not ours to touch: then what is there is told later)."""
        ours = self.run.description.exists() or not _foreign(self.run.path)
        return locked(self.run) if self._team.leads and ours else nullcontext()

    def _is_done(self) -> bool:
        """Say whether the stage is finished; refuse to take another run for it."""
        run = self.run
        if not run.description.exists() and _foreign(run.path):
            raise RunError("exists and is not a run directory: choose another --out", path=run.path)
        if self._order.overwrite or not run.finished:
            return False
        self._check_same(set(), "a finished run")
        return True

    def _find_state(self) -> State | None:
        """Return the state that an unfinished training left, or clear the place for a new one."""
        run = self.run
        if run.state.exists() and not self._order.overwrite:
            self._check_same(EXTENSIBLE, "an unfinished run")
            state = read_state(run.state)
            progress.say(f"{run.path}: goes on after step {state.standing.step:,}")
            _remove_torn(run.path)
            return state
        for path in _contents(run.path):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        return None

    def _check_same(self, may_differ: set[str], what: str) -> None:
        """Refuse to take a run with other settings, seed, corpus or beginning for this one."""
        found = self.run.read()
        wanted = {"settings": _comparable(self._describe_settings(), may_differ), "seed": self._recipe.seed}
        stored = {"settings": _comparable(found.get("settings", {}), may_differ), "seed": found.get("seed")}
        different = [key for key, value in wanted.items() if stored[key] != value]
        if found.get("corpus", {}).get("hash") != self._store.hash:
            different.append("corpus")
        if found.get("begun_from") != self._begun_from:
            different.append("initial weights")
        if different:
            raise RunError(
                f"{what} with other {' and '.join(different)} is here: choose another --out or give --overwrite",
                path=self.run.path,
            )

    def _beginning(self) -> dict[str, str] | None:
        """Return which run the stage takes its first weights from, and when that one was made."""
        run = self._initial_run()
        if run is None:
            return None
        description = open_run(run).read()
        return {"run": str(description.get("name")), "created": str(description.get("created"))}

    def _initial_run(self) -> Path | None:
        """Return the run directory whose weights are taken over, if any."""
        if self._order.init_from is not None:
            return self._order.init_from
        return None if self._settings.init_from is None else self._order.out / self._settings.init_from

    def _train(self, state: State | None) -> None:
        """Build the model, train it from the beginning or from a state, and leave it finished."""
        model, inherited = self._initialised_model(quiet=state is not None)
        place = choose_device(self._team.local_rank)
        device = Device(place, choose_precision(self._recipe.precision, place))
        if state is not None:
            state.restore_weights(model)
        learner = Learner(
            model,
            settings=self._settings,
            regulariser_weight=self._recipe.regulariser.weight,
            device=device,
            inherited=inherited,
            seed=self._recipe.seed,
            team=self._team,
        )
        if state is not None:
            state.restore_optimizer(model, learner.optimizer)
        standing = Standing() if state is None else state.standing
        record = Record(self.run, self._describe(model, device)) if self._team.leads else None
        if record is not None:
            record.begin(standing)  # first: a folder without it is not ours to clear
            self._store.codec.save(self.run.text)
        try:
            standing = self._run_trainer(learner, device, standing)
            weights = learner.weights()
        except (Exception, KeyboardInterrupt) as fault:
            if record is not None:
                with suppress(OSError):  # on a full disk, say; what ended training is what matters
                    record.interrupt(fault)
            raise
        if record is not None:
            snapshots = self._snapshots()
            write_tensors(self.run.weights, snapshots.read(standing) or weights)
            record.finish(standing, snapshots.describe(standing))
            _remove_aids(self.run)

    def _snapshots(self) -> Snapshots:
        return Snapshots(self.run.snapshots, self._settings)

    def _initialised_model(self, *, quiet: bool = False) -> tuple[TranslationModel, tuple[str, ...]]:
        """Build the stage's model, with the weights of the run it starts from; return their names as well."""
        vocabulary = len(self._store.codec.vocabulary)
        system, stage = self._recipe.system(self._name), self._settings
        model = build_model(system, vocabulary=vocabulary, dropout=stage.dropout, seed=self._recipe.seed)
        path = self._initial_run()
        if path is None:
            return model, ()
        report = fill(model, self._team.decide(lambda: read_weights(open_run(path).weights)))
        if not quiet:
            progress.say(f"{self._name} starts from {path.name}: {report}")
        return model, report.taken

    def _run_trainer(self, learner: Learner, device: Device, standing: Standing) -> Standing:
        """Run the trainer over the corpus; return where it ended."""
        model, team = learner.model, self._team
        data = self._store.split("train", extra=self._settings.extra)
        sampler = self._sampler(data, model)
        share = Share(-(-self._settings.accumulate // team.size) * team.size, team.rank, team.size)
        if share.batches != self._settings.accumulate:
            progress.say(f"{share.batches} batches a step instead of {self._settings.accumulate}: one for each process")
        steps = load_steps(data, sampler, history=model.view, start=standing.place, share=share)
        snapshots = self._snapshots()
        with ExitStack() as stack:
            speedometer = self._rehearse(learner, device, data, sampler, standing)
            desk = None
            if team.leads:
                journal = stack.enter_context(open_journal(self.run, standing))
                desk = Desk(journal, lambda tensors, now: save_state(self.run.state, tensors, now))
                snapshots.tidy(standing)
            trainer = Trainer(
                learner,
                settings=self._settings,
                validate=lambda: self._measure(learner, device),
                snapshots=snapshots,
                desk=desk,
                speedometer=speedometer,
                name_sentences=lambda step: name_sentences(data, step),
                team=team,
            )
            stack.enter_context(torch.random.fork_rng())
            return trainer.train(stack.enter_context(Ahead(steps)), f"train {self._name}", standing)

    def _sampler(self, data: Split, model: TranslationModel) -> Sampler:
        """Return what cuts the corpus into batches."""
        way = self._settings.sampling or model.sampling
        sampler = make_sampler(way, data, budget=self._settings.batch_tokens, seed=self._recipe.seed)
        if not len(sampler):
            raise CorpusError("the training part has no pair with words on both sides", path=self._store.path)
        return sampler

    def _rehearse(
        self, learner: Learner, device: Device, data: Split, sampler: Sampler, standing: Standing
    ) -> Speedometer:
        """Find out what a step costs and what the machine can do, and which weights nothing is learnt for."""
        if self._team.sharded:
            return Speedometer()
        first = next(load_steps(data, sampler, history=learner.model.view, start=standing.place)).portions[0]
        operations, idle = rehearse(learner, first.batch.to(device.place))
        if idle:
            progress.say(f"these weights get no gradient in this system and stay as they are: {', '.join(idle)}")
        for name, weight in learner.model.named_parameters():
            weight.requires_grad_(weight.requires_grad and name not in idle)
        return Speedometer(operations, measure_peak(device))

    def _measure(self, learner: Learner, device: Device) -> Mapping[str, float]:
        """Validate the model, and probe it if that is wanted."""
        dev = self._store.split("dev")
        numbers = validate(learner.objective, dev, budget=self._settings.batch_tokens, team=self._team)
        with progress.silent():
            return numbers if self._order.probe is None else {**numbers, **self._order.probe(learner.model, device)}

    def _describe(self, model: TranslationModel, device: Device) -> dict[str, Any]:
        """Write down all that makes the run what it is."""
        return {
            "name": self._name,
            "system": self._settings.system,
            "seed": self._recipe.seed,
            "steps": self._settings.steps,
            "parameters": count_parameters(model),
            "precision": str(device.precision).removeprefix("torch."),
            "device": str(device.place),
            "processes": self._team.size,
            "init_from": self._settings.init_from,
            "begun_from": self._begun_from,
            "settings": self._describe_settings(),
            "versions": versions(),
            "corpus": {"path": str(self._store.path.resolve()), "hash": self._store.hash},
        }

    def _describe_settings(self) -> dict[str, Any]:
        """Return the resolved settings of a stage."""
        return {
            "recipe": self._recipe.name,
            "system": self._recipe.system(self._name).model_dump(),
            "stage": self._settings.model_dump(),
            "decoding": self._recipe.decoding.model_dump(),
        }


def _comparable(settings: Mapping[str, Any], may_differ: set[str]) -> dict[str, Any]:
    """Return settings without those that may differ; what an older version did not know has its default."""
    stage = as_known_now(StageSettings, settings.get("stage", {}))
    return {
        **settings,
        "system": as_known_now(SystemSettings, settings.get("system", {})),
        "stage": {key: value for key, value in stage.items() if key not in may_differ},
        "decoding": as_known_now(DecodingSettings, settings.get("decoding", {})),
    }


def _contents(directory: Path) -> list[Path]:
    """List what is in a directory, but for the lock."""
    return [path for path in directory.iterdir() if path.name != LOCK] if directory.exists() else []


def _foreign(directory: Path) -> list[Path]:
    """List what is in a directory, but for what a process of ours had begun to write when it was killed."""
    return [path for path in _contents(directory) if not path.match(TORN)]


def _remove_torn(directory: Path) -> None:
    """Remove files that a killed process was still writing."""
    for path in directory.rglob(TORN):
        path.unlink(missing_ok=True)


def _remove_aids(run: Run) -> None:
    """Remove what only an unfinished training needs."""
    run.state.unlink(missing_ok=True)
    shutil.rmtree(run.snapshots, ignore_errors=True)


def name_sentences(data: Split, step: StepData) -> str:
    """Say which batches and sentences a step was about, the latter by their numbers in the training part."""
    sentences = [int(number) for portion in step.portions for number in portion.sentences]
    documents = data.documents.searchsorted(sentences, side="right").tolist()
    shown = ", ".join(
        f"{number + 1} (document {document})" for number, document in zip(sentences[:5], documents, strict=False)
    )
    more = f" and {len(sentences) - 5} more" if len(sentences) > 5 else ""
    after = step.after
    place = f"batch {after.batch:,} of epoch {after.epoch + 1}" if after.batch else f"the end of epoch {after.epoch}"
    return f", up to {place}, on the training sentences {shown}{more}"
