"""What a glossary costs, and how far texts are from what a model knows.

python benchmarks/control.py RUN --data FILE [FILE ...]

Files have one sentence a line.

glossary   processor time to translate the first sentences of the first file, without a glossary and with a term in each
           sentence: its longest word, to be translated by a word of the model's own translation
rare       share of the words of each file that are rare in the model's training text or unknown: a text with more than
           15 % is called far from what the model knows (`docaps.translation.confidence`)
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import torch

from docaps.corpus.documents import Document
from docaps.translation.glossary import Glossary, make_glossary, split_text
from docaps.translation.trained_model import TrainedModel, load_trained
from docaps.translation.translator import Control, TranslatedSentence, Translator

SENTENCES = 200


def translate(
    trained: TrainedModel, sentences: Sequence[str], glossary: Glossary | None = None
) -> tuple[tuple[TranslatedSentence, ...], float]:
    """Return the translations of sentences, each a document, and the seconds of processor time that they took."""
    translator = Translator(trained, control=Control(glossary), warn=lambda _: None)
    start = time.process_time()
    found = translator.translate([Document((sentence,)) for sentence in sentences])
    return tuple(one for (one,) in found), time.process_time() - start


def choose_terms(sentences: Sequence[str], translations: Sequence[TranslatedSentence]) -> Glossary:
    """Return a term for each sentence, with a translation that the model can write."""
    terms: dict[str, str] = {}
    for sentence, translation in zip(sentences, translations, strict=True):
        ours, theirs = (max(split_text(text), key=len, default=None) for text in (sentence, translation.text))
        if ours and theirs:
            terms.setdefault(str(ours).lower(), str(theirs))
    return make_glossary(terms)


def rare_share(trained: TrainedModel, sentences: Sequence[str]) -> tuple[int, int]:
    """Return how many words there are, and how many of them are rare or unknown."""
    segment = Translator(trained).segment
    found = [segment(sentence) for sentence in sentences]
    return sum(one.words for one in found), sum(one.rare_words for one in found)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument(
        "--data", type=Path, nargs="+", metavar="FILE", required=True, help="Texts, the first translated."
    )
    parser.add_argument("--repeats", type=int, default=3, help="How often to translate; the least time counts.")
    parser.add_argument("--sentences", type=int, default=SENTENCES, help="Sentences to translate. Default: 200.")
    options = parser.parse_args()
    torch.set_num_threads(1)
    trained = load_trained(options.run)
    texts = {file: [line for line in file.read_text(encoding="utf-8").splitlines() if line] for file in options.data}
    sentences = next(iter(texts.values()))[: options.sentences]
    plain, without = translate(trained, sentences)
    glossary = choose_terms(sentences, plain)
    kept, seconds = translate(trained, sentences, glossary)
    for _ in range(options.repeats - 1):
        without = min(without, translate(trained, sentences)[1])
        seconds = min(seconds, translate(trained, sentences, glossary)[1])
    having = sum(bool(one.terms) for one in kept)
    print(f"glossary: {len(sentences)} sentences, {having} with terms: {seconds:.2f} s, without: {without:.2f} s")
    for file, lines in texts.items():
        words, rare = rare_share(trained, lines)
        print(f"rare: {rare / max(words, 1):.3f} of {words:,} words in {file}")


if __name__ == "__main__":
    main()
