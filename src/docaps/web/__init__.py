"""A service over HTTP and a page for it: documents in, translations out, many clients at once.

    docaps serve runs/demo/runs/document

`docaps.web.client` is the other end, for Python programs; it needs nothing but docaps.
"""
