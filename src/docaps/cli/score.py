"""`docaps score`: log-probabilities of given translations."""

import json as jsonlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docaps.cli.console import FormatOption, JsonOption, StartsOption
from docaps.cli.translate import NoContextOption, PrecisionOption
from docaps.memory import without_collection

if TYPE_CHECKING:
    from docaps.corpus.documents import ParallelDocument
    from docaps.translation.scoring import Likelihood

    Scored = Iterable[tuple[ParallelDocument, tuple[Likelihood, ...]]]

HEADING = ("document", "sentence", "tokens", "log_probability", "perplexity")
ALL = "all"


def score(
    run: Annotated[Path, typer.Argument(help="A finished run directory.")],
    source: Annotated[Path, typer.Argument(help="Source documents.")],
    target: Annotated[
        Path | None, typer.Argument(help="Their translations; may be left out if the first file holds both sides.")
    ] = None,
    format: FormatOption = None,
    starts: StartsOption = None,
    no_context: NoContextOption = False,
    precision: PrecisionOption = "float32",
    json: JsonOption = False,
) -> None:
    """Score given translations, each in the context of the sentences before it.

    Prints a line for each sentence, each document and all of them, in tab-separated columns: the number of tokens (end
    marks included), the log-probability (natural logarithm) and the perplexity. Of two translations of a sentence, the
    model prefers the one with the higher log-probability: this is what docaps contrast counts. Scores are exact unless
    --precision says otherwise: auto is several times faster, and the last digits differ.

    Example: docaps score runs/demo/runs/document story.en story.de

    Example: docaps score runs/demo/runs/document story.en story.de --no-context --json

    Example: docaps score runs/demo/runs/document corpus.en corpus.de --precision auto
    """
    with without_collection():
        from docaps.corpus.formats import iterate_parallel
        from docaps.translation.scoring import score_documents
        from docaps.translation.trained_model import load_trained

        trained = load_trained(run, precision)
    codec = trained.codec
    pairs = iterate_parallel(
        source,
        target,
        format=format,
        language=codec.source.code,
        target_language=codec.target.code,
        starts=starts,
        target_side="hypothesis",
    )
    scored = score_documents(trained, pairs, use_context=not no_context)
    for text in _as_json(scored, trained.decoding.length_penalty) if json else _as_table(scored):
        typer.echo(text, nl=False)


def _as_table(scored: "Scored") -> Iterator[str]:
    """Write a line for each sentence, each document and all of them."""
    from docaps.translation.scoring import Likelihood

    yield _line(HEADING)
    total = Likelihood()
    for number, (document, sentences) in enumerate(scored, start=1):
        name = str(number) if document.id is None else document.id
        whole = sum(sentences, Likelihood())
        yield "".join(_row(name, str(position), one) for position, one in enumerate(sentences, start=1))
        yield _row(name, ALL, whole)
        total += whole
    yield _row(ALL, ALL, total)


def _row(document: str, sentence: str, found: "Likelihood") -> str:
    perplexity = "" if found.perplexity is None else f"{found.perplexity:.4f}"
    return _line((document, sentence, str(found.tokens), f"{found.log_probability:.6f}", perplexity))


def _line(cells: Sequence[str]) -> str:
    return "\t".join(" ".join(cell.split()) for cell in cells) + "\n"


def _as_json(scored: "Scored", alpha: float) -> Iterator[str]:
    """Write one JSON object, a sentence a line; sentences have the score that search would give them."""
    from docaps.translation.scoring import Likelihood

    total, separator = Likelihood(), ""
    yield '{"documents": ['
    for document, sentences in scored:
        whole = sum(sentences, Likelihood())
        head = {**({} if document.id is None else {"id": document.id}), **_numbers(whole)}
        triples = zip(document.source, document.target, sentences, strict=True)
        rows = ({"source": a, "target": b, **_numbers(one), "score": one.score(alpha)} for a, b, one in triples)
        lines = ",\n".join(jsonlib.dumps(row, ensure_ascii=False) for row in rows)
        yield f'{separator}\n{jsonlib.dumps(head, ensure_ascii=False)[:-1]}, "sentences": [\n{lines}\n]}}'
        total, separator = total + whole, ","
    yield f"\n], {jsonlib.dumps(_numbers(total))[1:]}\n"


def _numbers(found: "Likelihood") -> dict[str, Any]:
    return {"tokens": found.tokens, "log_probability": found.log_probability, "perplexity": found.perplexity}
