"""Mini-documents: an English-German corpus from a grammar, in which a translation may depend on an earlier sentence.

data/*.toml     the words and sentences, as plain tables
lexicon         all tables, read and checked: nouns, adjectives, clauses
rendering       a clause and the values of its slots -> a sentence and its translation; German grammar; the people
phenomena/      what needs context, behind one interface
story           a document: opening, antecedents, fillers, labelled sentences
generation      documents, corpora whose parts do not overlap, contrastive items, files
"""

from docaps.corpus.minidocs.generation import MiniCorpus, generate_corpus, generate_documents
from docaps.corpus.minidocs.phenomena import ContextLabel
from docaps.corpus.minidocs.story import MiniDocument

__all__ = ["ContextLabel", "MiniCorpus", "MiniDocument", "generate_corpus", "generate_documents"]
