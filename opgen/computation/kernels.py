"""Kernels as they are called: what is wrong with one is said of its file, in one line."""

from __future__ import annotations

import traceback
from collections.abc import Collection, Mapping
from functools import cache
from math import prod
from types import TracebackType

import numpy as np

from opgen.golden import Kernel, kernel
from opgen.model import FileError, Problem
from opgen.numbers.numerics import DTYPES, Array
from opgen.suites.batch import Batch

NEEDED = ("golden", "magnitude", "depth")


def file_of(op: str) -> str:
    """The file of a kernel, as messages name it."""
    return f"opgen/golden/{op}.py"


@cache
def whole(op: str) -> Kernel:
    """The kernel of an operator, with all that a kernel needs; FileError where there is none or it cannot be imported."""
    try:
        found = kernel(op)
    except ModuleNotFoundError as error:
        there = error.name != f"opgen.golden.{op}"
        text = str(error) if there else f"is missing: an operator needs a kernel with {', '.join(NEEDED)}"
        raise FileError([Problem(file_of(op), None, "", text)]) from None
    except SyntaxError as error:
        raise FileError([Problem(file_of(op), error.lineno, "", f"is no Python: {error.msg}")]) from None
    except Exception as error:  # noqa: BLE001
        raise FileError([Problem(file_of(op), _line(error, op), "", f"cannot be imported: {_words(error)}")]) from error
    missing = [name for name in NEEDED if not callable(getattr(found, name, None))]
    if missing:
        raise FileError([Problem(file_of(op), None, name, "is missing: a kernel has this function") for name in missing])
    return found


class Blamed:
    """Whatever is raised inside is said of the batch's kernel, whose function ``what`` is called; too little memory is not its fault."""

    __slots__ = ("batch", "what")

    def __init__(self, batch: Batch, what: str) -> None:
        self.batch, self.what = batch, what

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if isinstance(error, Exception) and not isinstance(error, (FileError, MemoryError)):
            raise fault(self.batch, self.what, f"raised {_words(error)}", _line(error, self.batch.op)) from error


def depths(batch: Batch) -> dict[str, int]:
    """The longest chain of roundings of each output; none where there is nothing to add."""
    shapes = {name: desc.shape for name, desc in batch.tensors.items()}
    depth = whole(batch.op).depth
    with Blamed(batch, "depth"):
        found = {out: depth(batch.names, shapes, out) for out in batch.wanted}
    for out, number in found.items():
        if not isinstance(number, (int, np.integer)) or number < 1 and not (number == 0 and any(0 in shape for shape in shapes.values())):
            raise fault(batch, "depth", f"returned {number!r} for '{out}'; expected a whole number from 1, or 0 where a tensor is empty")
    return found


def check(batch: Batch, what: str, found: Mapping[str, Array], outputs: Collection[str]) -> None:
    """Raise FileError unless ``found`` are the outputs, as stacks of float64 (complex128) of the batch's extents.

    A library may take an output of another shape with as many elements, so these are counted.
    """
    for out in outputs:
        desc = batch.tensors[out]
        dtype = DTYPES[desc.dtype].wide
        if not isinstance(found, dict) or out not in found:
            names = ", ".join(f"'{name}'" for name in found) or "nothing" if isinstance(found, dict) else type(found).__name__
            raise fault(batch, what, f"returned {names}; expected '{out}'")
        array = found[out]
        size = len(batch.ids) * prod(desc.shape)
        if not isinstance(array, np.ndarray) or array.size != size or len(array) != len(batch.ids) or array.dtype != dtype:
            is_ = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
            raise fault(batch, what, f"returned {is_} for '{out}'; expected {dtype} {(len(batch.ids), *desc.shape)}")


def fault(batch: Batch, what: str, text: str, line: int | None = None) -> FileError:
    """What a function of a batch's kernel does wrong, with the first case of the batch."""
    return FileError([Problem(file_of(batch.op), line, what, f"{text} (case {batch.ids[0]})")])


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {(str(error) or 'no message').splitlines()[0]}"


def _line(error: Exception, op: str) -> int | None:
    """The innermost line of the kernel's own file that an error came through."""
    own = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename.endswith(f"{op}.py")]
    return own[-1] if own else None
