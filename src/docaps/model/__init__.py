"""Models: the Transformer and the systems that let it see the sentences around the one it translates.

transformer         encoder, decoder, and the hooks of other systems
layers              embeddings, positions, attention, feed-forward, residual connections
routing/            Algorithm 1: query-guided capsule routing
context/            context systems: QCN and its rivals
regulariser         the correlation of source and target capsules (Eq. 11)
interface           what training, search and scoring use of a model; the contract of a plug-in
builders            from settings to models
hypotheses          the next words of a beam
context_statistics  what the model does with context, for diagnosis
checkpoint          weights in files
mixed_precision     devices and number formats
fast/               speed: kernels, int8, caches
"""
