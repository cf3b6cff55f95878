"""HTTP service and web page: translates documents for many clients at once.

    docaps serve runs/demo/runs/document

`docaps.web.client` is a Python client for it; it needs no optional dependencies.
"""
