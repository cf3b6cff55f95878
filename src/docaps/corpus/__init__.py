"""Corpora: documents read from files, split into subwords, stored as token ids.

documents       sentences in order, on one side or on two
formats/        file formats of documents
text/           tokenisation, truecasing, subwords, vocabulary, and the codec of a run
preparation     raw files to a prepared corpus: numbering, building, store
statistics      sizes and lengths of a corpus
contrastive/    test sets that need context
minidocs/       a corpus from a grammar
fetch/          the public corpora of the paper
"""
