"""Text: Moses tokenisation and truecasing, BPE and SentencePiece subwords, vocabulary, and the codec of a run."""
