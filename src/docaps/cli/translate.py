"""`docaps translate`: documents in, documents out."""

import io
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from docaps import progress
from docaps.cli.console import FormatOption, JsonOption, OverwriteOption, StartsOption
from docaps.config import LARGEST_BEAM, TranslationPrecision
from docaps.errors import CorpusError, DocapsError

if TYPE_CHECKING:
    from docaps.config import DecodingSettings
    from docaps.translation.jobs import Job, OutputKind
    from docaps.translation.trained_model import TrainedModel

STANDARD = Path("-")  # stdin or stdout

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
PrecisionOption = Annotated[
    TranslationPrecision,
    typer.Option(
        help="Number format of matrix products; auto: bfloat16 if the hardware has it, else int8 if docaps precision "
        "found it good for this model, else float32."
    ),
]


def translate(
    run: Annotated[Path, typer.Argument(help="A finished run directory.")],
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Files or directories to translate; - is stdin, the default.", show_default=False),
    ] = None,
    out: OutOption = None,
    format: FormatOption = None,
    starts: StartsOption = None,
    history: HistoryOption = None,
    no_context: NoContextOption = False,
    beam: BeamOption = None,
    nbest: NbestOption = 1,
    scores: Annotated[bool, typer.Option("--scores", help="Print a table of translations with their scores.")] = False,
    routing: RoutingOption = False,
    precision: PrecisionOption = "auto",
    resume: Annotated[bool, typer.Option("--resume", help="Continue a translation that was stopped.")] = False,
    overwrite: OverwriteOption = False,
    json: JsonOption = False,
) -> None:
    """Translate documents, each sentence in the context of the sentences before it.

    The input has one sentence a line and a line <d> before each document (without any, the file is one document), or
    another format (see --format), running text included; it is detected by content. The output has the same format,
    documents, sentences, empty lines and paragraphs. Endless input is translated as it comes.

    Example: docaps translate runs/demo/runs/document < story.en > story.de

    Example: docaps translate runs/demo/runs/document en/ --out de/ --resume

    Example: docaps translate runs/demo/runs/document story.en --nbest 3 --beam 8
    """
    request = _Request(
        run=run,
        files=tuple(files or ()) or (STANDARD,),
        out=None if out == STANDARD else out,
        format=format,
        starts=starts,
        kind="json" if json else "table" if scores or nbest > 1 else "text",
        history=history,
        use_context=not no_context,
        beam=beam,
        nbest=nbest,
        routing=routing,
        resume=resume,
        overwrite=overwrite,
    )
    request.check()
    _run(request, precision)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """What to translate, how, and where the result goes."""

    run: Path
    files: tuple[Path, ...]
    out: Path | None
    format: str | None
    starts: Path | None
    kind: "OutputKind"
    history: Path | None
    use_context: bool
    beam: int | None
    nbest: int
    routing: bool
    resume: bool
    overwrite: bool

    @property
    def file_by_file(self) -> bool:
        """Whether each input file has an output file of its own."""
        return self.kind == "text" and (len(self.files) > 1 or self.files[0].is_dir())

    def check(self) -> None:
        """Refuse what cannot be done, before any work."""
        if self.routing and self.kind != "json":
            raise DocapsError("--routing is printed as JSON: give --json too")
        if self.history is not None and not self.use_context:
            raise DocapsError("--history is context, and --no-context hides it: give one of them")
        self._check_input()
        if self.out is None and self.resume:
            raise DocapsError("--resume goes on with a file: name it with --out")
        if self.file_by_file and self.out is None:
            what = "a directory" if len(self.files) == 1 else "several files"
            raise DocapsError(f"the documents are {what}: name one to write to with --out")
        if self.out is not None and (self.out.is_file() if self.file_by_file else self.out.is_dir()):
            found, expected = ("file", "directory") if self.file_by_file else ("directory", "file")
            raise DocapsError(f"is a {found}: name a {expected} to write to with --out", path=self.out)

    def _check_input(self) -> None:
        from docaps.corpus.formats.folder import list_files

        for path in self.files:
            if path != STANDARD and not path.exists():
                raise CorpusError("no such file", path=path)
            if path.is_dir():
                list_files(path)
        if self.files.count(STANDARD) > 1:
            raise DocapsError("stdin can be read only once: give - only once")

    def decoding(self, settings: "DecodingSettings") -> "DecodingSettings":
        """Return a run's settings changed as asked for; the beam is at least as wide as the n-best list."""
        if self.beam is not None and self.beam < self.nbest:
            raise DocapsError(f"--nbest {self.nbest} needs a beam as wide: found --beam {self.beam}")
        return settings.model_copy(update={"beam": self.beam or max(settings.beam, self.nbest), "nbest": self.nbest})


def _run(request: _Request, precision: TranslationPrecision) -> None:
    """Load the model and translate, to stdout or to files."""
    from docaps.translation.jobs import InputFiles, Job, StreamOutput
    from docaps.translation.trained_model import load_trained
    from docaps.translation.translator import TranslationOptions, Translator

    trained = load_trained(request.run, precision)
    codec = trained.codec
    inputs = InputFiles(request.files, codec.source.code, _input_format(request), request.starts)
    history = _read_history(request.history, trained)
    translator = Translator(trained, request.decoding(trained.decoding), scored=request.kind != "text")
    options = TranslationOptions(request.use_context, history, request.routing)
    job = Job(inputs, translator, options, request.kind, codec.target.code, request.file_by_file)
    if request.out is None:
        shown = not (sys.stdout and sys.stdout.isatty())
        job.run(StreamOutput(cast(io.BufferedIOBase, sys.stdout.buffer)), promptly=True, shown=shown)
    else:
        _translate_to_files(request, request.out, job, trained)


def _input_format(request: _Request) -> str | None:
    """Take input from a terminal for lines: its format could only be detected at its end."""
    if request.format is not None or STANDARD not in request.files or not (sys.stdin and sys.stdin.isatty()):
        return request.format
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


def _translate_to_files(request: _Request, out: Path, job: "Job", trained: "TrainedModel") -> None:
    """Run a job that writes files; resume it or refuse to overwrite what is there."""
    from docaps.translation.jobs import FileOutput

    paths = _list_outputs(out, job)
    output = FileOutput(out, _describe(request, job, trained), directory=job.file_by_file)
    if request.resume and output.journal.exists():
        output.resume()
    elif request.resume and all(path.exists() for path in paths):
        progress.say(f"{out}: finished already")
        return
    else:
        if not request.overwrite:
            _check_new(paths, output.journal)
        output.start()
    with output:
        job.run(output, skip=output.windows)


def _list_outputs(out: Path, job: "Job") -> list[Path]:
    """List the files to write; refuse two of the same name."""
    from docaps.translation.jobs import output_name

    if not job.file_by_file:
        return [out]
    names: dict[str, Path] = {}
    for path in job.inputs.files():
        name = output_name(path)
        if name in names:
            raise DocapsError(f"two translations would be called {name}: that of {names[name]} too", path=path)
        names[name] = path
    return [out / name for name in names]


def _check_new(paths: list[Path], journal: Path) -> None:
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

    run = Run(request.run)
    precision = str(trained.writes_in).removeprefix("torch.")
    if precision == "int8" and run.ranges.exists():
        precision += f", ranges {sha256(run.ranges)}"
    return {
        "run": sha256(run.weights),
        **job.inputs.describe(),
        "history": list(job.options.history[-trained.model.history :]) if trained.model.history else [],
        "search": job.translator.decoding.model_dump(exclude={"precision"}),  # the run's; the one in use is below
        "options": [request.kind, not request.use_context, request.routing],
        "precision": precision,
    }
