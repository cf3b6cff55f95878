"""`docaps translate`: documents in, documents out."""

import contextlib
import io
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from docaps.cli.console import FormatOption, StartsOption
from docaps.config import LARGEST_BEAM, TranslationPrecision

if TYPE_CHECKING:
    from docaps.config import DecodingSettings
    from docaps.translation.delivery import Files
    from docaps.translation.jobs import Inputs, Job
    from docaps.translation.loading import TrainedModel

STDOUT = Path("-")
NEW_OUTPUT = "exists already: give --overwrite to replace it"


FilesArgument = Annotated[
    list[Path] | None,
    typer.Argument(help="Files or directories to translate; - is stdin, the default.", show_default=False),
]
OutOption = Annotated[
    Path | None,
    typer.Option(
        "--out", "-o", help="Write here; - is stdout, the default. Several files, or a directory, need a directory."
    ),
]
HistoryOption = Annotated[
    Path | None,
    typer.Option("--history", metavar="FILE", help="What came before the first document: read, not translated."),
]
BeamOption = Annotated[
    int | None, typer.Option(min=1, max=LARGEST_BEAM, help="Hypotheses kept at each step; 1 is greedy.")
]
NbestOption = Annotated[
    int, typer.Option("--nbest", min=1, max=LARGEST_BEAM, help="Print so many of the best translations.")
]
PrecisionOption = Annotated[
    TranslationPrecision,
    typer.Option(help="Number format of products; auto: what suits this machine (docs/translating.md)."),
]
RoutingOption = Annotated[
    bool, typer.Option("--routing", help="With --json: what the routing did with each word of the history.")
]


def translate(
    run: Annotated[Path, typer.Argument(help="A finished run directory.")],
    files: FilesArgument = None,
    out: OutOption = None,
    format: FormatOption = None,
    starts: StartsOption = None,
    history: HistoryOption = None,
    no_context: Annotated[bool, typer.Option("--no-context", help="Hide the earlier sentences, to compare.")] = False,
    beam: BeamOption = None,
    nbest: NbestOption = 1,
    scores: Annotated[bool, typer.Option("--scores", help="Print a table with scores before translations.")] = False,
    routing: RoutingOption = False,
    precision: PrecisionOption = "auto",
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a translation that was stopped.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is at --out.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object with sentences and scores.")] = False,
) -> None:
    """Translate documents, sentence by sentence, each with the sentences before it in view.

    One sentence a line, a line <d> before each document (none: the file is one document), or another format of
    docs/file-formats.md, running text among them: known by its content. The output has the same format: the same
    documents, the same number of sentences, empty lines and paragraphs kept. Input without an end is translated as it
    comes. docs/translating.md tells more.

    Example: docaps translate runs/demo/runs/document < story.en > story.de
    """
    from docaps.errors import DocapsError

    if routing and not json:
        raise DocapsError("--routing is printed as JSON: give --json too")
    if history is not None and no_context:
        raise DocapsError("--history is context, and --no-context hides it: give one of them")
    order = _Order(
        run=run,
        files=tuple(files or ()) or (STDOUT,),
        out=None if out == STDOUT else out,
        kind="json" if json else "table" if scores or nbest > 1 else "text",
        resume=resume,
        overwrite=overwrite,
    )
    order.check()
    _work(order, format, starts, _Search(history, no_context, beam, nbest, routing, precision))


@dataclass(frozen=True, slots=True)
class _Order:
    """What is to be translated, and where it goes."""

    run: Path
    files: tuple[Path, ...]
    out: Path | None
    kind: str
    resume: bool
    overwrite: bool

    @property
    def file_by_file(self) -> bool:
        """Say whether each input file has an output file of its own."""
        return self.kind == "text" and (len(self.files) > 1 or self.files[0].is_dir())

    def check(self) -> None:
        """Say before the work begins what cannot be done."""
        from docaps.corpus.formats import STDIN, list_files
        from docaps.errors import CorpusError, DocapsError

        for path in self.files:
            if path != STDIN and not path.exists():
                raise CorpusError("no such file", path=path)
            if path.is_dir():
                list_files(path)
        if self.files.count(STDIN) > 1:
            raise DocapsError("stdin can be read only once: give - only once")
        if self.out is None and self.resume:
            raise DocapsError("--resume goes on with a file: name it with --out")
        if self.file_by_file and self.out is None:
            what = "a directory" if len(self.files) == 1 else "several files"
            raise DocapsError(f"the documents are {what}: name one to write to with --out")
        if self.file_by_file and self.out is not None and self.out.is_file():
            raise DocapsError("is a file: name a directory to write to with --out", path=self.out)
        if not self.file_by_file and self.out is not None and self.out.is_dir():
            raise DocapsError("is a directory: name a file to write to with --out", path=self.out)


@dataclass(frozen=True, slots=True)
class _Search:
    """How translations are searched for."""

    history: Path | None
    no_context: bool
    beam: int | None
    nbest: int
    routing: bool
    precision: TranslationPrecision

    def decoding(self, settings: "DecodingSettings") -> "DecodingSettings":
        """Change the settings of a run as asked for; the beam is at least as wide as the list of the best."""
        from docaps.errors import DocapsError

        if self.beam is not None and self.beam < self.nbest:
            raise DocapsError(f"--nbest {self.nbest} needs a beam as wide: found --beam {self.beam}")
        beam = self.beam or max(settings.beam, self.nbest)
        return settings.model_copy(update={"beam": beam, "nbest": self.nbest})


def _work(order: _Order, format: str | None, starts: Path | None, search: _Search) -> None:
    """Translate what was ordered."""
    from docaps.translation.delivery import Stream
    from docaps.translation.jobs import Inputs
    from docaps.translation.loading import load_trained

    trained = load_trained(order.run, search.precision)
    inputs = Inputs(order.files, trained.codec.source.code, _typed_format(order, format), starts)
    job = _make_job(order, trained, inputs, search)
    if order.out is None:
        shown = not (sys.stdout and sys.stdout.isatty())
        job.run(Stream(cast(io.BufferedIOBase, sys.stdout.buffer)), promptly=True, shown=shown)
        return
    with _files(order, job, search, trained) as (files, skip):
        if files is not None:
            job.run(files, skip=skip)


def _typed_format(order: _Order, format: str | None) -> str | None:
    """Take what somebody types for lines: a format that is told by its content could be told only at the end."""
    from docaps import progress

    if format is not None or Path("-") not in order.files or not (sys.stdin and sys.stdin.isatty()):
        return format
    progress.say("reading from the terminal: one sentence a line, Ctrl-D ends (running text: --format text)")
    return "lines"


def _make_job(order: _Order, trained: "TrainedModel", inputs: "Inputs", search: _Search) -> "Job":
    """Put together reading, translating and writing."""
    from docaps.translation.jobs import Job
    from docaps.translation.output import text_writer, write_json, write_table
    from docaps.translation.translator import Translator, Wishes

    codec = trained.codec
    given = _read_history(search.history, trained)
    writers = {"json": write_json, "table": write_table, "text": text_writer(codec.source.code, codec.target.code)}
    return Job(
        inputs,
        Translator(trained, search.decoding(trained.decoding), scored=order.kind != "text"),
        Wishes(not search.no_context, given, search.routing),
        writers[order.kind],
        order.file_by_file,
    )


def _read_history(path: Path | None, trained: "TrainedModel") -> tuple[str, ...]:
    """Read the sentences before the first document: those of the last document of a file."""
    from docaps import progress
    from docaps.corpus.formats import iterate_documents

    if path is None:
        return ()
    if not trained.model.history:
        progress.say("this model looks at no earlier sentences: --history changes nothing")
    *_, last = iterate_documents(path, language=trained.codec.source.code, running_text=True)
    return last.sentences


@contextlib.contextmanager
def _files(order: _Order, job: "Job", search: _Search, trained: "TrainedModel") -> "Iterator[tuple[Files | None, int]]":
    """Give the place to write to, and how much is there already; None if all is."""
    from docaps import progress
    from docaps.interruption import Interrupted
    from docaps.translation.delivery import Files, Journal

    assert order.out is not None
    outputs = _outputs(order, job)
    journal = Journal(order.out, _request(order, job, search, trained))
    if order.resume and journal.path.exists():
        journal.load()
    elif order.resume and all(path.exists() for path in outputs):
        progress.say(f"{order.out}: finished already")
        yield None, 0
        return
    else:
        _check_new(order, outputs, journal)
        journal.note(0, "", 0)
    files = Files(order.out, journal, directory=order.file_by_file)
    try:
        yield files, journal.windows
        files.finish()
    except KeyboardInterrupt as stop:
        number = stop.number if isinstance(stop, Interrupted) else 2
        raise Interrupted(number, "stopped; what is written is kept: the same command with --resume goes on") from None
    except BaseException:
        files.abandon()
        raise
    finally:
        files.close()


def _outputs(order: _Order, job: "Job") -> list[Path]:
    """List the files that are to be written, and refuse two of a name."""
    from docaps.errors import DocapsError
    from docaps.translation.jobs import output_name

    assert order.out is not None
    if not order.file_by_file:
        return [order.out]
    names: dict[str, Path] = {}
    for path in job.inputs.files():
        name = output_name(path)
        if name in names:
            raise DocapsError(f"two translations would be called {name}: that of {names[name]} too", path=path)
        names[name] = path
    return [order.out / name for name in names]


def _check_new(order: _Order, outputs: list[Path], journal: Any) -> None:
    """Refuse to write over what is there, unless that was asked for."""
    from docaps.errors import DocapsError

    if order.overwrite:
        return
    if journal.path.exists():
        message = "a translation was stopped here: --resume goes on with it, --overwrite starts it over"
        raise DocapsError(message, path=journal.path)
    for path in outputs:
        if path.exists():
            raise DocapsError(NEW_OUTPUT, path=path)


def _request(order: _Order, job: "Job", search: _Search, trained: "TrainedModel") -> dict[str, Any]:
    """Say all that the output depends on, so that a translation is not gone on with in another way."""
    from docaps.files import sha256
    from docaps.runs.directory import Run

    run = Run(order.run)
    precision = str(trained.writes_in).removeprefix("torch.")
    if precision == "int8" and run.ranges.exists():
        precision += f", ranges {sha256(run.ranges)}"
    return {
        "run": sha256(run.weights),
        **job.inputs.describe(),
        "history": list(job.wishes.history[-trained.model.history :]) if trained.model.history else [],
        "search": job.translator.decoding.model_dump(exclude={"precision"}),  # the run's wish; ours is below
        "options": [order.kind, search.no_context, search.routing],
        "precision": precision,
    }
