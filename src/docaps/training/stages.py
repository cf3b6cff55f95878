"""Stages: each stage of a recipe trains one system and leaves one run directory."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from docaps import progress
from docaps.batches.prefetch import Prefetcher, Shard, StepData, load_steps
from docaps.batches.sampling import Sampler, make_sampler
from docaps.batches.stage_signals import count_signals, describe_signals, hash_annotations, read_signals
from docaps.config import SYSTEMS, Recipe, StageSettings, SystemSettings, leave_out
from docaps.corpus.store import Split, Store
from docaps.corpus.text.codec import PUBLISHED, load_codec
from docaps.errors import ConfigError, CorpusError
from docaps.model.builders import build_model, count_parameters, dropout_rates
from docaps.model.checkpoint import fill, read_weights, write_tensors
from docaps.model.interface import TranslationModel
from docaps.model.mixed_precision import choose_device, choose_precision
from docaps.model.transformer import Transformer
from docaps.runs.card import flatten
from docaps.runs.directory import TAGS, Run, learnt_tags, open_run, versions
from docaps.runs.wording import listing
from docaps.training.capsule_statistics import measure_capsules
from docaps.training.distributed import SINGLE_PROCESS, ProcessGroup
from docaps.training.journal import StepTimer, measure_peak, open_journal
from docaps.training.learner import Learner
from docaps.training.objective import Device, Probe, validate
from docaps.training.resume import RunRecord, StageDirectory, unknown_settings
from docaps.training.retrieval import measure_retrieval
from docaps.training.state import SavedState, Snapshots, TrainerState, save_state
from docaps.training.trainer import Trainer, TrainerOutput

FORMS = ("norm", "activation", "positions", "scale_embeddings", "heads", "norm_epsilon")
"""Settings of a model that change what weights mean, but not their shapes."""


def train_recipe(
    recipe: Recipe,
    store: Store,
    out: Path,
    *,
    stages: Sequence[str] | None = None,
    overwrite: bool = False,
    init_from: Path | None = None,
    probe: Probe | None = None,
    group: ProcessGroup = SINGLE_PROCESS,
) -> list[Run]:
    """Train the stages of a recipe in order; finished ones are kept, an unfinished one is resumed.

    `init_from` is a finished run whose weights the first of the stages starts from.
    """
    chosen = choose_stages(recipe, stages)
    _verify(store, group)
    initial = {chosen[0]: init_from}
    return [Stage(name, recipe, store, out, overwrite, initial.get(name), probe, group).train() for name in chosen]


def choose_stages(recipe: Recipe, stages: Sequence[str] | None) -> list[str]:
    """Return the names of the stages to train, in the recipe's order; None: all."""
    chosen = [name for name in recipe.stage if stages is None or name in stages]
    unknown = [name for name in stages or () if name not in recipe.stage]
    if unknown or not chosen:
        raise ConfigError(f"no stage {', '.join(unknown)!r} in the recipe: it has {', '.join(recipe.stage) or 'none'}")
    return chosen


def _verify(store: Store, group: ProcessGroup) -> None:
    """Verify the corpus, once on each machine; if it is damaged on one of them, all processes end."""
    fault = ""
    if group.local_rank == 0:
        try:
            store.verify()
        except CorpusError as error:
            fault = str(error)
    if faults := [one for found in group.gather([fault]) for one in found if one]:
        if group.is_main:
            raise CorpusError(faults[0])
        raise SystemExit(CorpusError.exit_code)  # the main process reports the reason


@dataclass(frozen=True)
class Stage:
    """One stage of a recipe, from the corpus to a finished run directory."""

    name: str
    recipe: Recipe
    store: Store
    out: Path
    overwrite: bool = False
    init_from: Path | None = None
    """A finished run to start from, instead of the stage that the settings name."""
    probe: Probe | None = None
    group: ProcessGroup = SINGLE_PROCESS
    unknown: Mapping[str, Any] = field(default_factory=dict)
    """Settings that the older version which began the run did not know: they stay as they were, and out of run.json."""

    def __post_init__(self) -> None:
        if self.settings.best_by == "dev_bleu" and self.probe is None:
            raise ConfigError(f"stage.{self.name}.best_by: nothing measures dev_bleu here")
        copies = self.recipe.context.start == "copied" and SYSTEMS[self.settings.system].sublayers
        if copies and self._initial_run is None:
            raise ConfigError(
                f'stage.{self.name}: context.start = "copied" needs init_from: without the weights of an earlier stage '
                "there is no trained attention to copy"
            )
        if self.probe is not None and self.group.sharded:
            raise ConfigError('distribution = "fsdp": only dev_loss can be measured while weights are sharded')

    @property
    def settings(self) -> StageSettings:
        """Return the settings of this stage."""
        return self.recipe.stage[self.name].model_copy(update=self.unknown.get("stage", {}))

    @property
    def system(self) -> SystemSettings:
        """Return the settings of the stage's model."""
        return self.recipe.system(self.name).with_changes(self.unknown.get("system", {}))

    @property
    def run(self) -> Run:
        """Return the run directory of this stage."""
        return Run(self.out / self.name)

    @property
    def _initial_run(self) -> Path | None:
        """Return the run directory whose weights the stage starts from, if any."""
        earlier = self.settings.init_from
        return self.init_from or (None if earlier is None else self.out / earlier)

    def train(self) -> Run:
        """Train the stage unless the same one is finished."""
        unknown = {} if self.overwrite else self.group.run_on_main(lambda: unknown_settings(self.run))
        if were := self._describe_unknown(unknown):
            progress.say(f"{self.run.path}: begun by an older version, with {were}")
        return replace(self, unknown=unknown)._train_or_keep()

    def _describe_unknown(self, unknown: Mapping[str, Any]) -> str:
        """Name the settings that an older version did not know, as far as they concern this stage and its system."""
        own = SYSTEMS[self.settings.system].table
        tables = {name: table for name, table in unknown.get("system", {}).items() if name == own}
        return listing([f"{name} = {value}" for name, value in flatten({**unknown.get("stage", {}), **tables}).items()])

    def _train_or_keep(self) -> Run:
        identity = self._identity()
        directory = StageDirectory(self.run, identity, self.overwrite)
        with directory.lock() if self.group.is_main else nullcontext():
            if self.group.run_on_main(directory.is_finished):
                progress.say(f"{self.run.path}: finished already, kept")
            else:
                saved = self.group.run_on_main(directory.resume_or_clear)
                self._train(saved, identity)
            if self.group.is_main:  # also those of a process that was killed when it had just finished
                directory.remove_training_files()
        return self.run

    def _identity(self) -> dict[str, Any]:
        """Return what must be the same for a run directory to hold this stage and not another one."""
        settings = {
            "recipe": self.recipe.name,
            "system": leave_out(self.system.model_dump(), self.unknown.get("system", {})),
            "stage": leave_out(self.settings.training(), self.unknown.get("stage", {})),
            "decoding": self.recipe.decoding.model_dump(),
        }
        return {
            "seed": self.recipe.seed,
            "begun_from": self.group.run_on_main(self._describe_initial_run),
            "settings": settings,
            "corpus": {"path": str(self.store.path.resolve()), "hash": self.store.hash},
            "annotations": self.group.run_on_main(lambda: hash_annotations(self.settings, self.store)),
        }

    def _describe_initial_run(self) -> dict[str, str] | None:
        """Return name and creation time of the run whose weights the stage starts from, if any."""
        if self._initial_run is None:
            return None
        description = open_run(self._initial_run).read()
        return {"run": str(description.get("name")), "created": str(description.get("created"))}

    def _list_tags(self) -> list[str]:
        """List the tags of sources that this stage, or one that it starts from, is trained with."""
        if self.settings.formality is not None:
            return list(TAGS)
        return [] if self._initial_run is None else learnt_tags(open_run(self._initial_run).read())

    def _train(self, saved: SavedState | None, identity: Mapping[str, Any]) -> None:
        """Build the model, train it from the beginning or from a saved state, and write the finished run."""
        place = choose_device(self.group.local_rank)
        device = Device(place, choose_precision(self.recipe.precision, place))
        learner = self._make_learner(device, saved)
        state = TrainerState() if saved is None else saved.trainer
        record = None
        if self.group.is_main:
            record = RunRecord(self.run, self._describe(learner.model, device, identity))
            record.begin(state)  # first: without run.json the directory would not count as ours
            self.store.codec.save(self.run.text)
        try:
            state = self._run_trainer(learner, device, state)
            weights = learner.weights()
        except (Exception, KeyboardInterrupt) as error:
            if record is not None:
                with suppress(OSError):  # such as a full disk; the first error matters more
                    record.interrupt(error)
            raise
        if record is not None:
            snapshots = Snapshots(self.run.snapshots, self.settings)
            write_tensors(self.run.weights, snapshots.read(state) or weights)
            record.finish(state, snapshots.describe(state))

    def _make_learner(self, device: Device, saved: SavedState | None) -> Learner:
        """Build the model and its learner, restored from a saved state if there is one."""
        model, inherited = self._build_model(quiet=saved is not None)
        if saved is not None:
            saved.restore_weights(model)
        learner = Learner(
            model,
            settings=self.settings,
            regulariser_weight=self.system.regulariser.weight,
            device=device,
            inherited=inherited,
            seed=self.recipe.seed,
            group=self.group,
        )
        if saved is not None:
            saved.restore_optimizer(model, learner.optimizer)
        return learner

    def _build_model(self, *, quiet: bool = False) -> tuple[TranslationModel, tuple[str, ...]]:
        """Build the stage's model with the weights of its initial run; return the names of those weights too."""
        vocabulary = len(self.store.codec.vocabulary)
        system, stage, path = self.system, self.settings, self._initial_run
        model = build_model(system, vocabulary=vocabulary, dropout=dropout_rates(stage), seed=self.recipe.seed)
        if path is None:
            if model.reads_initial_weights:
                raise ConfigError(
                    f"stage.{self.name}: {system.name} reads other sentences with the weights that the stage starts "
                    f'from: set init_from, or {system.name}.memory = "current"'
                )
            return model, ()
        self.group.run_on_main(lambda: self._check_initial_run(path))
        report = fill(model, self.group.run_on_main(lambda: read_weights(open_run(path).weights)))
        copies = 0
        if system.context.start == "copied" and isinstance(model, Transformer):
            copies = model.copy_attention(report.new)
        model.start_training()
        if not quiet:
            copied = f", {copies} context sub-layers start as copies of attention" if copies else ""
            progress.say(f"{self.name} starts from {path.name}: {report}{copied}")
        return model, report.taken

    def _check_initial_run(self, path: Path) -> None:
        """Refuse weights that would mean something else here: of another form of the model, or of other words."""
        run = open_run(path)
        stored = ((run.read().get("settings") or {}).get("system") or {}).get("model") or {}
        for name in FORMS:
            here = getattr(self.system.model, name)
            if stored.get(name, here) != here:
                raise ConfigError(
                    f"model.{name} is {here!r}, but {stored[name]!r} in {path}, whose weights the stage "
                    f"{self.name!r} starts from: leave it out of the recipe"
                )
        if not run.text.exists():
            return
        codec = load_codec(run.text)
        if codec.kind in PUBLISHED and codec.vocabulary.pieces != self.store.codec.vocabulary.pieces:
            raise CorpusError(
                f"the corpus was not prepared with the codec of {path}: prepare it with --codec {path}",
                path=self.store.path,
            )

    def _run_trainer(self, learner: Learner, device: Device, state: TrainerState) -> TrainerState:
        """Run the trainer over the corpus and return its last state."""
        model, group = learner.model, self.group
        data = self.store.split("train", extra=self.settings.extra)
        sampler = self._sampler(data, model)
        shard = Shard(-(-self.settings.accumulate // group.size) * group.size, group.rank, group.size)
        if shard.batches != self.settings.accumulate:
            progress.say(f"{shard.batches} batches a step instead of {self.settings.accumulate}: one for each process")
        steps = load_steps(data, sampler, history=model.view, start=state.position, shard=shard)
        snapshots = Snapshots(self.run.snapshots, self.settings)
        with ExitStack() as stack:
            timer = self._profile(learner, device, data, sampler, state)
            output = None
            if group.is_main:
                journal = stack.enter_context(open_journal(self.run, state))
                output = TrainerOutput(
                    journal,
                    lambda tensors, now: save_state(self.run.state, tensors, now),
                    lambda weights, step: write_tensors(self.run.checkpoint(step), weights),
                )
                snapshots.prune(state)
            trainer = Trainer(
                learner,
                settings=self.settings,
                validate=lambda: self._measure(learner, device),
                snapshots=snapshots,
                output=output,
                timer=timer,
                describe_data=lambda step: describe_data(data, step),
                group=group,
            )
            stack.enter_context(torch.random.fork_rng())
            return trainer.train(stack.enter_context(Prefetcher(steps)), f"train {self.name}", state)

    def _sampler(self, data: Split, model: TranslationModel) -> Sampler:
        """Return the sampler of the stage, or of the model if the stage names none, with the stage's signals."""
        kind = self.settings.sampling_of(model.sampling)
        signals = read_signals(self.settings, self.store, data, seed=self.recipe.seed)
        for name, words in describe_signals(count_signals(signals, data)).items():
            progress.say(f"{name}: {words}")
        sampler = make_sampler(kind, data, budget=self.settings.batch_tokens, seed=self.recipe.seed, signals=signals)
        if not len(sampler):
            raise CorpusError("the training part has no pair with words on both sides", path=self.store.path)
        return sampler

    def _profile(
        self, learner: Learner, device: Device, data: Split, sampler: Sampler, state: TrainerState
    ) -> StepTimer:
        """Measure the cost of a step and the machine's peak, and freeze weights that get no gradient."""
        if self.group.sharded:
            return StepTimer()
        first = next(load_steps(data, sampler, history=learner.model.view, start=state.position)).batches[0]
        operations, idle = learner.profile(first.batch.to(device.place))
        if idle:
            progress.say(f"these weights get no gradient in this system and stay as they are: {', '.join(idle)}")
        for name, weight in learner.model.named_parameters():
            weight.requires_grad_(weight.requires_grad and name not in idle)
        return StepTimer(operations, measure_peak(device))

    def _measure(self, learner: Learner, device: Device) -> Mapping[str, float]:
        """Validate the model, its regulariser and its capsules, and run the probe if there is one."""
        dev, objective, group = self.store.split("dev"), learner.objective, self.group
        numbers = {
            **validate(objective, dev, budget=self.settings.batch_tokens, group=group),
            **measure_retrieval(objective, dev, group=group),
            **measure_capsules(objective, dev, group=group),
        }
        with progress.silent():
            return numbers if self.probe is None else {**numbers, **self.probe(learner.model, device)}

    def _describe(self, model: TranslationModel, device: Device, identity: Mapping[str, Any]) -> dict[str, Any]:
        """Describe the run for run.json: system, settings, seed, versions, corpus and machine."""
        return {
            "name": self.name,
            "system": self.settings.system,
            "seed": self.recipe.seed,
            "steps": self.settings.steps,
            "parameters": count_parameters(model),
            "precision": str(device.precision).removeprefix("torch."),
            "device": str(device.place),
            "processes": self.group.size,
            "init_from": self.settings.init_from,
            "begun_from": identity["begun_from"],
            **({"tags": tags} if (tags := self._list_tags()) else {}),
            "settings": identity["settings"],
            "versions": versions(),
            "corpus": identity["corpus"],
            **({"annotations": found} if (found := identity["annotations"]) else {}),
        }


def describe_data(data: Split, step: StepData) -> str:
    """Name the batches and training sentences of a step, for an error message."""
    sentences = [int(number) for part in step.batches for number in part.sentences]
    documents = data.documents.searchsorted(sentences, side="right").tolist()
    pairs = zip(sentences[:5], documents, strict=False)
    shown = ", ".join(f"{number + 1} (document {document})" for number, document in pairs)
    more = f" and {len(sentences) - 5} more" if len(sentences) > 5 else ""
    after = step.after
    where = f"batch {after.batch:,} of epoch {after.epoch + 1}" if after.batch else f"the end of epoch {after.epoch}"
    return f", up to {where}, on the training sentences {shown}{more}"
