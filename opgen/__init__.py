"""opgen: from an operator's page to a test suite, and from a device's answers to verdicts.

>>> import opgen
>>> opgen.__version__
'0.1.0'

``opgen.open`` reads a bundle, ``opgen.Results`` writes what a device answered, ``opgen.diff``
compares the two. Each is imported when it is first used, so that ``import opgen`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_LAZY = {
    "open": ("opgen.bundle.read.reader", "Bundle"),
    "Results": ("opgen.bundle.results.writer", "Results"),
    "BundleError": ("opgen.bundle.format.dtypes", "BundleError"),
    "diff": ("opgen.comparison.verdicts", "diff"),
}

__all__ = ["BundleError", "Results", "__version__", "diff", "open"]


def __getattr__(name: str) -> Any:
    try:
        module, attribute = _LAZY[name]
    except KeyError:
        raise AttributeError(f"module 'opgen' has no attribute {name!r}") from None
    value = getattr(import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
