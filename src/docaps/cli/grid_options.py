"""The options of `docaps experiment` as a grid. Imports torch: to be imported after memory is prepared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from docaps.config import Recipe, load_recipe, parse_duration, recipe_path
from docaps.errors import ConfigError
from docaps.experiments import DOCUMENTS, PHENOMENA, RECIPE
from docaps.experiments.estimate import corpus_to_measure, steps_within
from docaps.experiments.grid import CorpusSource, Grid, as_begun, check_request, read_request, shape
from docaps.experiments.rows import LAYOUTS, SENTENCE


@dataclass(frozen=True, slots=True)
class GridOptions:
    """The options that make a grid; None where an option was not given."""

    name: str
    folder: Path
    seeds: Sequence[int]
    only: Sequence[str] | None
    profile: str | None = None
    corpus: Path | None = None
    documents: int | None = None
    phenomena: str | None = None
    set: Sequence[str] = ()
    steps: int | None = None
    budget: str | None = None
    jobs: int = 1
    measures: bool = True
    """Whether steps may be trained to choose those that fit a budget."""

    @property
    def only_extends(self) -> bool:
        """Whether the options say nothing that the folder does not record, except perhaps where the corpus is."""
        given = (self.profile, self.documents, self.phenomena, self.steps, self.budget)
        return all(value is None for value in given) and not self.set

    def as_words(self, steps: int | None) -> list[str]:
        """Return the options that repeat the grid's runs, with some steps."""
        values = (self.profile, self.corpus, self.documents, self.phenomena, steps)
        options = zip(("--profile", "--corpus", "--documents", "--phenomena", "--steps"), values, strict=True)
        given = [(option, str(value)) for option, value in options if value is not None]
        return [word for pair in [*given, *(("--set", setting) for setting in self.set)] for word in pair]


def check_mode(name: str, given: Mapping[str, bool]) -> None:
    """Refuse options that exclude each other, and an estimate of what cannot be estimated."""
    names = [option for option, wanted in given.items() if wanted]
    if len(names) > 1:
        raise ConfigError(f"{' and '.join(names)}: give one of them")
    if given["--estimate"] and LAYOUTS[name].per_seed:
        message = "also checks choices while it trains, and their time is not measured: --dry-run prints its runs"
        raise ConfigError(f"--estimate: {name} {message}")


def parse_seeds(text: str) -> list[int]:
    """Parse the numbers after --seeds."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise ConfigError(f"--seeds {text}: expected whole numbers with commas between, for example 1,2,3")
    return list(dict.fromkeys(int(part) for part in parts))


def build_grid(options: GridOptions) -> Grid:
    """Turn options into a grid; what they leave out is as in the folder, or else the default."""
    layout = LAYOUTS[options.name]
    known = [SENTENCE, *layout.rows]
    if unknown := [name for name in options.only or () if name not in known]:
        raise ConfigError(f"no row {', '.join(unknown)!r}: there are {', '.join(known)}")
    if options.only_extends and (options.folder / "grid.json").exists():
        recipe, source, extra = read_request(options.folder)
        source = source if options.corpus is None else CorpusSource(options.corpus)
        grid = Grid(options.folder, layout, recipe, source, options.seeds, options.only, extra)
    else:
        grid = as_begun(_new_grid(options))
    check_request(grid)
    return grid


def _new_grid(options: GridOptions) -> Grid:
    """Make a grid from options alone; refuse those that exclude each other."""
    layout = LAYOUTS[options.name]
    if options.steps is not None and options.budget is not None:
        raise ConfigError("--steps and --budget: give the one or the other")
    if options.corpus is not None and (options.documents is not None or options.phenomena is not None):
        raise ConfigError("--documents and --phenomena are about mini-documents, which --corpus replaces")
    if options.corpus is not None and layout.per_seed:
        raise ConfigError(f"--corpus: {options.name} generates mini-documents for each seed; leave it out")
    # Each seed will stand in for the recipe's; if the largest can, all can.
    recipe = load_recipe(recipe_path(options.profile or RECIPE), [*options.set, f"seed={max(options.seeds)}"])
    source = CorpusSource(options.corpus, options.documents or DOCUMENTS, options.phenomena or PHENOMENA)
    shaped = shape(recipe, options.steps, layout.check_every)
    grid = Grid(options.folder, layout, shaped, source, options.seeds, options.only)
    if options.budget is None:
        return replace(grid, extra={"options": options.as_words(options.steps)})
    return _fit_budget(grid, recipe, options, options.budget)


def _fit_budget(grid: Grid, recipe: Recipe, options: GridOptions, budget: str) -> Grid:
    """Choose the steps that fit a time budget; a grid that was started keeps its own."""
    try:
        seconds = parse_duration(budget)
    except ValueError as fault:
        raise ConfigError(f"--budget {fault}") from None
    begun = read_request(grid.directory) if grid.request.exists() else None
    if begun and begun[2].get("budget") == budget:
        steps = begun[0].stage["document"].steps
    elif not options.measures:
        message = "the steps that fit are found by training a few, and a dry run trains nothing"
        raise ConfigError(f"--budget {budget}: {message}: give --estimate instead of --dry-run, or --steps")
    else:
        with corpus_to_measure(grid) as store:
            steps = steps_within(grid, store, seconds, options.jobs)
    extra = {"budget": budget, "options": options.as_words(steps)}
    return replace(grid, recipe=shape(recipe, steps, grid.layout.check_every), extra=extra)
