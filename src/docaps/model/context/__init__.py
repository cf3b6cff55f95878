"""Context systems: ways to let a Transformer see the sentences around the one it translates.

sublayer  attention from a layer to a context memory; `Context` plugs a network into the stock Transformer
qcn       capsules of the history: the query-guided capsule network, the plain one, and a control with noise
zhang     an encoder of the history, and gates
states    a Transformer whose last layers attend to states of other sentences; the base of han and san
drafts    greedy translations of other sentences
han       hierarchical attention
san       selective attention, with sparsemax
concat    concatenated sentences
"""
