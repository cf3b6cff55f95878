"""`docaps translate`: documents in, documents out."""

import io
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from docaps import progress
from docaps.cli.console import (
    AddressOption,
    EngineOption,
    FormatOption,
    JsonOption,
    OverwriteOption,
    StartsOption,
)
from docaps.cli.engines import GpusPerWorkerOption, Workers, WorkersOption
from docaps.cli.file_options import (
    EncodingOption,
    EverythingOption,
    ExistingOption,
    LineLengthOption,
    LinesOption,
    ReadingSpeedOption,
    choose,
)
from docaps.config import LARGEST_BEAM, TranslationPrecision
from docaps.errors import CorpusError, DocapsError
from docaps.memory import without_collection

if TYPE_CHECKING:
    from collections.abc import Callable

    from docaps.config import DecodingSettings
    from docaps.corpus.formats.format import FileChoices
    from docaps.translation.consistency import ConsistencyMode
    from docaps.translation.jobs import Job, OutputKind
    from docaps.translation.trained_model import Formality, TrainedModel
    from docaps.translation.translator import Control

STANDARD = Path("-")  # stdin or stdout

FilesArgument = Annotated[
    list[Path] | None,
    typer.Argument(help="Files or directories to translate; - is stdin, the default.", show_default=False),
]
OutOption = Annotated[
    Path | None,
    typer.Option(
        "--out", "-o", help="Output file; - is stdout, the default. Several files, or a directory, need a directory."
    ),
]
HistoryOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="What came before the first document: read, not translated.")
]
NoContextOption = Annotated[bool, typer.Option("--no-context", help="Hide the earlier sentences, to compare.")]
BeamOption = Annotated[
    int | None,
    typer.Option(min=1, max=LARGEST_BEAM, help="Hypotheses kept at each step; 1 is greedy. Default: the run's."),
]
NbestOption = Annotated[
    int, typer.Option(min=1, max=LARGEST_BEAM, help="Print the N best translations of each sentence.")
]
RoutingOption = Annotated[
    bool, typer.Option("--routing", help="With --json: add the routing's coefficients for each history word.")
]
GlossaryOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Terms and their translations, which the output keeps to: TSV or TBX."),
]
FormalityOption = Annotated[
    Literal["formal", "informal"] | None,
    typer.Option(help="How the translation addresses people, if the model learnt to choose."),
]
ConsistencyOption = Annotated[
    Literal["report", "enforce"] | None,
    typer.Option(
        help="Report the repeated terms of a document that are translated in different ways, or make them alike."
    ),
]
StrictOption = Annotated[
    bool, typer.Option("--strict", help="Stop at a file of a directory that cannot be read, instead of skipping it.")
]
JobsOption = Annotated[
    int | None,
    typer.Option(min=1, help="Processes that translate, each with one core.", show_default="this one, with all cores"),
]
PrecisionOption = Annotated[
    TranslationPrecision,
    typer.Option(
        help="Number format of matrix products; auto: bfloat16 if the hardware has it, else int8 if docaps precision "
        "found it good for this model, else float32; only float32 is exact."
    ),
]


def translate(
    run: Annotated[Path, typer.Argument(help="A finished run directory.")],
    files: FilesArgument = None,
    out: OutOption = None,
    format: FormatOption = None,
    starts: StartsOption = None,
    history: HistoryOption = None,
    no_context: NoContextOption = False,
    beam: BeamOption = None,
    nbest: NbestOption = 1,
    scores: Annotated[bool, typer.Option("--scores", help="Print a table of translations with their scores.")] = False,
    routing: RoutingOption = False,
    glossary: GlossaryOption = None,
    formality: FormalityOption = None,
    consistency: ConsistencyOption = None,
    precision: PrecisionOption = "auto",
    resume: Annotated[bool, typer.Option("--resume", help="Continue a translation that was stopped.")] = False,
    overwrite: OverwriteOption = False,
    jobs: JobsOption = None,
    engine: EngineOption = "local",
    address: AddressOption = None,
    workers: WorkersOption = None,
    gpus_per_worker: GpusPerWorkerOption = 0,
    strict: StrictOption = False,
    json: JsonOption = False,
    everything: EverythingOption = False,
    encoding: EncodingOption = None,
    line_length: LineLengthOption = None,
    lines: LinesOption = None,
    reading_speed: ReadingSpeedOption = None,
    existing: ExistingOption = None,
) -> None:
    """Translate documents, each sentence in the context of the sentences before it.

    The input has one sentence a line and a line <d> before each document (without any, the file is one document), or
    another format (see --format), running text included; it is detected by content. The output has the same format,
    documents, sentences, empty lines and paragraphs. Endless input is translated as it comes.

    Of a DOCX, ODT, HTML or Markdown file the text is translated; formatting and all else stays. With a directory,
    files of any kind below it are translated one by one; those that cannot be read are skipped with a summary at the
    end, and the exit code is 0 (1 if none can be read, or with --strict).

    Example: docaps translate runs/demo/runs/document < story.en > story.de

    Example: docaps translate runs/demo/runs/document report.docx --out report.de.docx

    Example: docaps translate runs/demo/runs/document film.srt --out film.de.srt --line-length 37

    Example: docaps translate runs/demo/runs/document en/ --out de/ --jobs 4 --resume

    Example: docaps translate runs/demo/runs/document en/ --out de/ --engine ray --address HEAD:6379

    Example: docaps translate runs/demo/runs/document story.en --nbest 3 --beam 8

    Example: docaps translate runs/demo/runs/document story.en --glossary terms.tsv
    """
    request = _Request(
        run=run,
        input=_Input(tuple(files or ()) or (STANDARD,), format, starts, history, strict),
        choices=choose(encoding, everything, line_length, lines, reading_speed, existing),
        out=None if out == STANDARD else out,
        kind="json" if json else "table" if scores or nbest > 1 else "text",
        search=_Search(not no_context, beam, nbest, routing, glossary, formality, consistency),
        resume=resume,
        overwrite=overwrite,
        workers=Workers(engine, address, jobs, workers, gpus_per_worker),
    )
    _run(request, precision)


@dataclass(frozen=True, slots=True)
class _Input:
    """What to read, and how."""

    files: tuple[Path, ...]
    format: str | None
    starts: Path | None
    history: Path | None
    strict: bool


@dataclass(frozen=True, slots=True)
class _Search:
    """What the model may look at, and how it searches."""

    use_context: bool
    beam: int | None
    nbest: int
    routing: bool
    glossary: Path | None
    formality: "Formality | None"
    consistency: "ConsistencyMode | None"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """What to translate, how, and where the result goes."""

    run: Path
    input: "_Input"
    choices: "FileChoices"
    out: Path | None
    kind: "OutputKind"
    search: "_Search"
    resume: bool
    overwrite: bool
    workers: Workers

    @property
    def file_by_file(self) -> bool:
        """Whether each input file has an output file of its own."""
        return self.kind == "text" and (len(self.input.files) > 1 or self.input.files[0].is_dir())

    def check(self) -> None:
        """Refuse what cannot be done, before any work."""
        if self.search.routing and self.kind != "json":
            raise DocapsError("--routing is printed as JSON: give --json too")
        if self.input.history is not None and not self.search.use_context:
            raise DocapsError("--history is context, and --no-context hides it: give one of them")
        self.workers.check()
        if self.search.consistency and (self.workers.jobs is not None or self.workers.engine != "local"):
            raise DocapsError("--consistency compares whole documents in one process: leave --jobs and --engine out")
        self._check_input()
        if self.out is None and self.resume:
            raise DocapsError("--resume goes on with a file: name it with --out")
        if self.file_by_file and self.out is None:
            what = "a directory" if len(self.input.files) == 1 else "several files"
            raise DocapsError(f"the documents are {what}: name one to write to with --out")
        if self.out is not None and (self.out.is_file() if self.file_by_file else self.out.is_dir()):
            found, expected = ("file", "directory") if self.file_by_file else ("directory", "file")
            raise DocapsError(f"is a {found}: name a {expected} to write to with --out", path=self.out)

    def _check_input(self) -> None:
        from docaps.corpus.formats.folder import walk_files

        for path in self.input.files:
            if path != STANDARD and not path.exists():
                raise CorpusError("no such file", path=path)
            if path.is_dir() and next(walk_files(path, self.out), None) is None:
                raise CorpusError("the directory is empty: expected one file for each document", path=path)
        if self.input.files.count(STANDARD) > 1:
            raise DocapsError("stdin can be read only once: give - only once")

    def decoding(self, settings: "DecodingSettings") -> "DecodingSettings":
        """Return a run's settings changed as asked for; the beam is at least as wide as the n-best list."""
        beam, nbest = self.search.beam, self.search.nbest
        if beam is not None and beam < nbest:
            raise DocapsError(f"--nbest {nbest} needs a beam as wide: found --beam {beam}")
        return settings.model_copy(update={"beam": beam or max(settings.beam, nbest), "nbest": nbest})


def _run(request: _Request, precision: TranslationPrecision) -> None:
    """Load the model and translate, to stdout or to files."""
    request.check()
    with without_collection():
        from docaps.translation.consistency import ConsistentTranslator
        from docaps.translation.input_files import InputFiles
        from docaps.translation.jobs import Job, StreamOutput
        from docaps.translation.shards import ShardedTranslator
        from docaps.translation.trained_model import load_trained
        from docaps.translation.translator import TranslationOptions, Translator

        trained = load_trained(request.run, precision)
    source, target = trained.codec.source.code, trained.codec.target.code
    inputs = InputFiles(
        request.input.files,
        source,
        _input_format(request.input),
        request.input.starts,
        request.out,
        target_language=target,
        choices=request.choices,
    )
    inputs, faults = inputs.without_unreadable(strict=request.input.strict)
    if faults and not any(inputs.files()):
        raise faults[0]
    history = _read_history(request.input.history, trained)
    decoding, scored = request.decoding(trained.decoding), request.kind != "text"
    options = TranslationOptions(request.search.use_context, history, request.search.routing)
    with request.workers.pool("translated") as pool:
        make: Callable[..., Translator] = Translator
        if request.search.consistency is not None:
            make = partial(ConsistentTranslator, mode=request.search.consistency, report=progress.say)
        elif pool is not None:
            make = partial(ShardedTranslator, run=request.run, pool=pool, asked=precision)
            if precision == "auto":
                name = str(trained.writes_in).removeprefix("torch.")
                progress.say(f"precision: {name} on all workers, as this machine has it; only float32 is exact")
        control = _read_control(request.search, trained)
        translator = make(trained, decoding=decoding, scored=scored, control=control)
        job = Job(inputs, translator, options, request.kind, request.file_by_file)
        if request.out is None:
            shown = not (sys.stdout and sys.stdout.isatty())
            job.run(StreamOutput(cast(io.BufferedIOBase, sys.stdout.buffer)), promptly=pool is None, shown=shown)
        else:
            _translate_to_files(request, request.out, job, trained)
    if faults:
        count = "1 file was" if len(faults) == 1 else f"{len(faults)} files were"
        progress.say("\n  ".join((f"{count} not translated, which cannot be read:", *map(str, faults))))


def _input_format(given: _Input) -> str | None:
    """Take input from a terminal for lines: its format could only be detected at its end."""
    if given.format is not None or STANDARD not in given.files or not (sys.stdin and sys.stdin.isatty()):
        return given.format
    progress.say("reading from the terminal: one sentence a line, Ctrl-D ends (running text: --format text)")
    return "lines"


def _read_history(path: Path | None, trained: "TrainedModel") -> tuple[str, ...]:
    """Read the sentences before the first document: those of the last document of a file."""
    from docaps.corpus.formats import iterate_documents

    if path is None:
        return ()
    if not trained.model.history:
        progress.say("this model looks at no earlier sentences: --history changes nothing")
    *_, last = iterate_documents(path, language=trained.codec.source.code, running_text=True)
    return last.sentences


def _read_control(request: _Search, trained: "TrainedModel") -> "Control":
    """Read what the translations must keep to."""
    from docaps.translation.glossary_files import read_glossary
    from docaps.translation.translator import Control

    languages = {"source": trained.codec.source.code, "target": trained.codec.target.code}
    glossary = None if request.glossary is None else read_glossary(request.glossary, **languages)
    if glossary is not None and not glossary:
        progress.say(f"{request.glossary}: no terms: the glossary changes nothing")
    return Control(glossary, request.formality)


def _translate_to_files(request: _Request, out: Path, job: "Job", trained: "TrainedModel") -> None:
    """Run a job that writes files, unless it is finished already."""
    from docaps.translation.jobs import FileOutput

    _check_names(job)
    output = FileOutput(out, _describe(request, job, trained), directory=job.file_by_file)
    if request.resume and output.journal.exists():
        output.resume()
    elif request.resume and all(path.exists() for path in _outputs(out, job)):
        progress.say(f"{out}: finished already")
        return
    else:
        if not request.overwrite:
            _check_new(_outputs(out, job), output.journal)
        output.start()
    with output:
        job.run(output, skip=output.windows)


def _check_names(job: "Job") -> None:
    """Refuse two files whose translations would have the same name."""
    several = len(job.inputs.paths) > 1  # in one directory, only a name that loses a suffix can meet another
    found = job.inputs.names() if job.file_by_file else ()
    suspects = {name for path, name in found if several or not path.name.endswith(name.rpartition("/")[2])}
    seen: dict[str, Path] = {}
    for path, name in job.inputs.names() if suspects else ():
        if name in seen:
            raise DocapsError(f"two translations would be called {name}: that of {seen[name]} too", path=path)
        if name in suspects:
            seen[name] = path


def _outputs(out: Path, job: "Job") -> Iterator[Path]:
    """Go through the files to write; there may be many."""
    return (out / name for _, name in job.inputs.names()) if job.file_by_file else iter([out])


def _check_new(paths: Iterable[Path], journal: Path) -> None:
    """Refuse to overwrite a finished or a stopped translation."""
    if journal.exists():
        message = "a translation was stopped here: --resume goes on with it, --overwrite starts it over"
        raise DocapsError(message, path=journal)
    for path in paths:
        if path.exists():
            raise DocapsError("exists already: give --overwrite to replace it", path=path)


def _describe(request: _Request, job: "Job", trained: "TrainedModel") -> dict[str, Any]:
    """Return all that the output depends on: a translation is resumed only if it is the same."""
    from docaps.files import sha256
    from docaps.runs.directory import Run
    from docaps.translation.trained_model import describe_precision

    run = Run(request.run)
    return {
        "run": sha256(run.weights),
        **job.inputs.describe(),
        "history": list(job.options.history[-trained.model.history :]) if trained.model.history else [],
        "search": job.translator.decoding.model_dump(exclude={"precision"}),  # the run's; the one in use is below
        "options": [request.kind, not request.search.use_context, request.search.routing],
        "glossary": request.search.glossary and sha256(request.search.glossary),
        "formality": request.search.formality,
        "consistency": request.search.consistency,
        "precision": describe_precision(trained, run),
        "windows": job.window,
    }
