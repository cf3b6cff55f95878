"""`docaps evaluate`: translations against a reference."""

from pathlib import Path
from typing import Annotated

import typer

from docaps.cli.console import JsonOption, print_json, print_table


def evaluate(
    hypothesis: Annotated[list[Path], typer.Option(help="Translated documents (may be given several times).")],
    reference: Annotated[Path, typer.Option(help="The same documents, translated by people.")],
    json: JsonOption = False,
) -> None:
    """Compare translations with a reference by BLEU (sacreBLEU, 13a); both as people write, not tokenised.

    Example: docaps evaluate --hypothesis story.de --reference story.reference.de
    """
    from docaps.corpus.documents import all_sentences
    from docaps.corpus.formats import read_documents
    from docaps.evaluation.bleu import bleu, check_same_shape

    references = read_documents(reference, side="target")
    results = []
    for path in hypothesis:
        documents = read_documents(path, side="hypothesis")
        check_same_shape(documents, references, path=path)
        score = bleu(list(all_sentences(documents)), list(all_sentences(references)))
        results.append({"hypothesis": str(path), "bleu": score.score, "signature": score.signature})
    if json:
        print_json({"reference": str(reference), "systems": results})
        return
    print_table("BLEU", ["translation", "BLEU"], [[str(row["hypothesis"]), f"{row['bleu']:.2f}"] for row in results])
    typer.echo(f"signature: {results[0]['signature']}")
