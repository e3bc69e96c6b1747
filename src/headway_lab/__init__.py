"""The laboratory: how we know what we say of Headway. The product imports nothing of it."""

from importlib.util import find_spec

# Said before anything is run: a measurement of an hour must not end for want of a package that draws.
for _needed in ("plotly", "sklearn"):
    if find_spec(_needed) is None:
        raise ModuleNotFoundError(f"No module named {_needed!r}", name=_needed)
