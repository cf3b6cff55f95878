"""Translation: read, segment, order, batch, search, assemble, write; and scores of given translations."""
