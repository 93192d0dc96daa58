"""opgen: from an operator's page to a test suite, and from a device's answers to verdicts.

>>> import opgen
>>> opgen.__version__
'0.1.0'

``opgen.generate`` writes a bundle, ``opgen.open`` reads one. ``opgen.run`` runs it on a device, or
``opgen.Results`` writes what a device of your own answered; ``opgen.diff`` compares the two, and
``opgen.minimize`` reduces a failure. ``opgen.explore`` looks for failures that no plan has tried.
A subclass of ``opgen.Backend``, which answers with ``opgen.Result``, makes your device one that
``opgen.run`` knows. ``opgen.judge`` says whether calls are legal. Each is imported when it is first
used, so that ``import opgen`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_LAZY = {
    "__version__": ("opgen.model.version", "VERSION"),
    "Backend": ("opgen.devices", "Backend"),
    "Result": ("opgen.bundle.results.reader", "Result"),
    "open": ("opgen.bundle.read.reader", "Bundle"),
    "Results": ("opgen.bundle.results.writer", "Results"),
    "BundleError": ("opgen.bundle.format.dtypes", "BundleError"),
    "FileError": ("opgen.model", "FileError"),
    "capture": ("opgen.devices.recording", "capture"),
    "diff": ("opgen.comparison.verdicts", "diff"),
    "explore": ("opgen.minimization.exploring", "explore"),
    "generate": ("opgen.generation.bundle_file", "generate"),
    "judge": ("opgen.oracle.callfiles", "judge_given"),
    "minimize": ("opgen.minimization.failing_case", "minimize"),
    "run": ("opgen.devices.running", "run"),
}

__all__ = [
    "Backend",
    "BundleError",
    "FileError",
    "Result",
    "Results",
    "__version__",
    "capture",
    "diff",
    "explore",
    "generate",
    "judge",
    "minimize",
    "open",
    "run",
]


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
