"""`docaps minidocs`: generate documents that need context."""

from pathlib import Path
from typing import Annotated

import typer

from docaps.cli.console import JsonOption, PhenomenaOption, print_json, print_next, typed


def minidocs(
    documents: Annotated[int, typer.Option(min=1, help="How many documents (with --out: training documents).")] = 5,
    seed: Annotated[int, typer.Option(help="The same seed gives the same documents.")] = 1,
    phenomena: PhenomenaOption = "pronoun,ambiguity,address,profession,ellipsis",
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write a corpus here instead of printing.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the corpus if it exists.")] = False,
    json: JsonOption = False,
) -> None:
    """Print English-German mini-documents, or write a corpus of them with contrastive items.

    In some sentences only an earlier sentence decides the translation; these are labelled with what they need. With the
    phenomenon wording it is that sentence's translation, which chose one of two words, or du or Sie, at random.

    Examples: docaps minidocs --documents 5 --seed 3; docaps minidocs --documents 8000 --out data/minidocs;
    docaps minidocs --phenomena address,ellipsis; docaps minidocs --phenomena wording --out data/wording
    """
    from docaps.corpus.minidocs import generate_documents
    from docaps.corpus.minidocs.generation import as_text, labels_as_json, write_corpus
    from docaps.corpus.minidocs.phenomena import choose_phenomena

    chosen = choose_phenomena(phenomena)
    if out is None:
        found = generate_documents(documents, seed, chosen)
        if json:
            rows = [{"source": one.source, "target": one.target, "labels": labels_as_json(one)} for one in found]
            print_json({"seed": seed, "documents": rows})
        else:
            typer.echo("\n\n".join(as_text(number, document) for number, document in enumerate(found, start=1)))
        return
    counts = write_corpus(out, documents=documents, seed=seed, phenomena=chosen, overwrite=overwrite)
    if json:
        print_json({"path": str(out), **counts})
        return
    typer.echo(", ".join(f"{count:,} {what}" for what, count in counts.items()) + f" in {out}")
    parts = ("train", "dev", "test")
    pairs = [word for part in parts for word in (f"--{part}", out / f"{part}.en", out / f"{part}.de")]
    options = [*pairs, "--contrastive", out / "contrastive.jsonl", "--out", out.with_name(out.name + "-prepared")]
    print_next([("prepare", typed("prepare", "--recipe", "minidocs", *options))])
