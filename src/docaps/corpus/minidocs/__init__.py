"""Mini-documents: an English-German corpus from a grammar, where a sentence may need an earlier one to be translated.

data/*.toml     the words and sentences, as plain tables
entries         nouns, adjectives, clauses: one line of a table
lexicon         all tables, read and checked
german          articles, endings, contractions
tables          the files, read and checked for what they lack
dialogue        what people say: addresses, questions and answers
professions     nouns for a man and a woman
rendering       a clause and its slots -> a sentence and its translation
cast            who takes part in a story
phenomena/      what needs context: one module each, behind one interface
story           a document: opening, antecedents, what lies between, labelled sentences
contrast        minimal sets: items that differ in the antecedent only
generation      documents, and whole corpora whose parts do not overlap
"""

from docaps.corpus.minidocs.documents import Label, MiniCorpus, MiniDocument
from docaps.corpus.minidocs.generation import generate_corpus, generate_documents

__all__ = ["Label", "MiniCorpus", "MiniDocument", "generate_corpus", "generate_documents"]
