"""The documents that the API answers: each is described here and nowhere else.

The use cases that build them are checked against these types by mypy, the OpenAPI document is made
of them, and clients are typed by them. At run time they are plain dicts: nothing validates what we
made ourselves. Later versions may add members, so a client ignores those that it does not know.
"""
