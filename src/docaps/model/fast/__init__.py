"""Speed: the same results in less time and memory.

attention      scaled dot-product attention by the fastest kernel
beams          hypotheses that share source and cache
cross_entropy  output layer and loss, a strip of positions at a time
dropout        dropout from random bytes
shared         gradients of repeated products with the same large matrix
packing        weights in the form that multiplies fastest, for translation
int8           linear maps of 8-bit integers
calibration    input ranges for int8
"""
