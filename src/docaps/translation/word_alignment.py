"""Word alignment of a sentence and its translation, by the model's own attention to the source.

The finished translation is given to the model once more (a forced pass). Each subword of it attends to the source where
the decoder predicts it; the weights are averaged, and subwords are joined to words. A word of the translation is
aligned with the source word that it attends to most.

Dimensions: B batch, H heads, S source length, T target length.
"""

import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from docaps.batches.batch import collate
from docaps.batches.windows import Tokens
from docaps.corpus.formats.format import Alignment, Span
from docaps.corpus.text.bpe import SEPARATOR
from docaps.corpus.text.codec import Codec, Language
from docaps.corpus.text.sentencepieces import SentencePieces
from docaps.corpus.text.tokenization import unescape
from docaps.corpus.text.vocabulary import EOS, SPECIALS, UNK
from docaps.model.layers import Attention
from docaps.model.transformer import DecoderLayer, Transformer
from docaps.translation.ordering import SearchedSentence
from docaps.translation.search import batch_by_length
from docaps.translation.trained_model import TrainedModel

BATCH_TOKENS = 4000


@torch.inference_mode()
def align_sentences(
    trained: TrainedModel, sentences: Sequence[tuple[str, SearchedSentence, str]]
) -> list[Alignment | None]:
    """Return the word alignment of sentences and their translations.

    None for one that was translated in parts or not at all, and for a model whose attention is not known.
    """
    found: list[Alignment | None] = [None] * len(sentences)
    if not isinstance(trained.model, Transformer):
        return found
    whole = [number for number, (_, searched, _) in enumerate(sentences) if _is_whole(searched)]
    windows = [
        replace(one.window, source=one.sentence.segments[0].tokens, target=[*one.translation, EOS])
        for one in (sentences[number][1] for number in whole)
    ]
    for batch_numbers in batch_by_length(windows, BATCH_TOKENS):
        batch = collate([windows[number] for number in batch_numbers], trained.model.view).to(trained.device)
        with _recording(trained.model) as layers:
            trained.model(batch)
        weights = attention_of(layers).cpu().numpy()
        starts = zip(*(one.tolist() for one in trained.model.offsets(batch)), strict=True)
        for row, (before, written), number in zip(weights, starts, batch_numbers, strict=True):
            source, searched, translation = sentences[whole[number]]
            tokens = searched.sentence.segments[0].tokens, searched.translation
            own = row[written:, before:]
            found[whole[number]] = align_words(trained.codec, source, translation, tokens, own)
    return found


def _is_whole(sentence: SearchedSentence) -> bool:
    """Return whether a sentence was translated in one piece, to at least one word."""
    return len(sentence.sentence.segments) == 1 and len(sentence.translation) > 0


@contextmanager
def _recording(model: Transformer) -> Iterator[list[Float[Tensor, "B H T S"]]]:
    """Record the weights with which each decoder layer attends to the source, in this thread only.

    A model that reads states of earlier translations runs its decoder over them first: the last pass counts.
    """
    layers = [cast(DecoderLayer, layer) for layer in model.decoder]
    weights = [torch.empty(0)] * len(layers)
    thread = threading.get_ident()

    def record(number: int, attention: Attention, inputs: tuple[Any, ...]) -> None:
        if threading.get_ident() != thread:  # others may use the model at the same time
            return
        states, memory, mask = inputs
        visible = torch.ones(states.shape[0], 1, memory.keys.shape[2], dtype=torch.bool) if mask is None else mask
        weights[number] = attention.weights(states, memory, visible)

    hooks = [layer.source.register_forward_pre_hook(partial(record, number)) for number, layer in enumerate(layers)]
    try:
        yield weights
    finally:
        for hook in hooks:
            hook.remove()


def attention_of(layers: Sequence[Float[Tensor, "B H T S"]]) -> Float[Tensor, "B T S"]:
    """Return the weights of all heads of all layers, averaged: no single head need be one that aligns words."""
    return torch.stack([layer.mean(dim=1) for layer in layers]).mean(dim=0)


def align_words(
    codec: Codec, source: str, translation: str, tokens: tuple[Tokens, Tokens], weights: NDArray[Any]
) -> Alignment | None:
    """Return each word of the translation with the source word that it attends to most; None for texts of other words.

    A source word that none attends to most goes with the word that attends to it most.
    """
    ours = word_spans(codec, codec.source, source, tokens[0])
    theirs = word_spans(codec, codec.target, translation, tokens[1])
    if not ours or not theirs:
        return None
    table = join_words(join_words(weights, [one for one, _ in theirs], np.mean).T, [one for one, _ in ours], np.sum).T
    pairs = [(int(row.argmax()), number) for number, row in enumerate(table)]
    left = sorted(set(range(len(ours))) - {one for one, _ in pairs})
    pairs += [(one, int(table[:, one].argmax())) for one in left]
    spans = ((ours[one][1], theirs[other][1]) for one, other in pairs)
    return [(one, other) for one, other in spans if one and other]


def join_words(weights: NDArray[Any], words: Sequence[Sequence[int]], join: Any) -> NDArray[Any]:
    """Join the rows of tokens to rows of words."""
    return np.stack([join(weights[list(word)], axis=0) for word in words])


def word_spans(codec: Codec, language: Language, text: str, ids: Tokens) -> list[tuple[list[int], Span | None]] | None:
    """Return the tokens of each word, and where the word stands in a text; None if the text is another one.

    A word with an unknown token has no place: what is copied for it may be another word.
    """
    found, done = list[tuple[list[int], Span | None]](), 0
    for tokens in group_words(codec, ids):
        pieces = [codec.vocabulary.pieces[ids[token]] for token in tokens]
        (word, *others) = codec.subwords.join(pieces) or [""]
        if SPECIALS[UNK] in pieces:
            found.append((tokens, None))
            continue
        plain = "-" if word == "@-@" else unescape(word) if language.tokenize else word
        match = re.compile(re.escape(plain), re.IGNORECASE).search(text, done)
        if match is None or others or not plain:
            return None
        found.append((tokens, match.span()))
        done = match.end()
    return found


def group_words(codec: Codec, ids: Tokens) -> list[list[int]]:
    """Return the positions of the tokens of each word; marks and the end of the sentence are no words."""
    has_starts = isinstance(codec.subwords, SentencePieces)
    groups: list[list[int]] = []
    is_complete = True
    for position, number in enumerate(ids):
        if not codec.vocabulary.text([number]):
            continue
        piece = codec.vocabulary.pieces[number]
        if (piece.startswith("\u2581") if has_starts else is_complete) or not groups:
            groups.append([])
        groups[-1].append(position)
        is_complete = not piece.endswith(SEPARATOR)
    return groups
