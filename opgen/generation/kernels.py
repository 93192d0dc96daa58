"""Kernels as they are called: what is wrong with one is said of its file, in one line."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Collection, Mapping
from functools import cache
from math import prod
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

import opgen.golden
from opgen.golden import Kernel, kernel
from opgen.model import FileError, Problem
from opgen.numerics.arrays import Array
from opgen.numerics.formats import DTYPES
from opgen.suite.batch import Batch

NEEDED = ("golden", "magnitude", "depth")
FOLDER = Path(opgen.golden.__file__).parent


class Parts(NamedTuple):
    """Everything that a kernel may have (:class:`opgen.golden.Kernel`); None, or nothing, where it
    leaves that out.
    """

    version: int
    golden: Any
    magnitude: Any
    both: Any
    at: Any
    signed: Any
    by_rows: Callable[..., tuple[str, ...]] | None
    gain: Any
    places: Any
    scale: Any
    thresholds: Any
    saved: Any
    statistics: Collection[str]
    windows: Callable[..., dict[str, tuple[str, Array, Array]]] | None
    partners: Mapping[str, str] | None
    factors: Mapping[str, tuple[str, ...]]
    differences: Collection[str]

    @classmethod
    def of(cls, op: str) -> Parts:
        """Those of an operator's kernel."""
        functions = vars(whole(op))
        return cls(
            functions.get("VERSION", 1),
            functions["golden"],
            functions["magnitude"],
            functions.get("both"),
            functions.get("at"),
            functions.get("signed"),
            functions.get("by_rows"),
            functions.get("gain"),
            functions.get("places"),
            functions.get("scale"),
            functions.get("thresholds"),
            functions.get("saved"),
            functions.get("STATISTICS", ()),
            functions.get("windows"),
            functions.get("PARTNERS"),
            functions.get("FACTORS", {}),
            functions.get("DIFFERENCES", ()),
        )


def file_of(op: str) -> str:
    """The file of a kernel, as messages name it."""
    return f"opgen/golden/{op}.py"


@cache
def whole(op: str) -> Kernel:
    """The kernel of an operator, with all that a kernel needs; FileError where there is none or it
    cannot be imported.
    """
    try:
        module = kernel(op)
    except ModuleNotFoundError as error:
        there = error.name != f"opgen.golden.{op}"
        text = (
            str(error)
            if there
            else f"is missing: an operator needs a kernel with {', '.join(NEEDED)}"
        )
        raise FileError([Problem(file_of(op), None, "", text)]) from None
    except SyntaxError as error:
        raise FileError(
            [Problem(file_of(op), error.lineno, "", f"is not Python: {error.msg}")]
        ) from None
    except Exception as error:
        raise FileError(
            [Problem(*_place(error, op), "", f"cannot be imported: {_words(error)}")]
        ) from error
    missing = [name for name in NEEDED if not callable(getattr(module, name, None))]
    if missing:
        raise FileError(
            [
                Problem(file_of(op), None, name, "is missing: a kernel has this function")
                for name in missing
            ]
        )
    return module


def depths(batch: Batch) -> dict[str, int]:
    """The longest chain of roundings of each output; 0 where there is nothing to add."""
    shapes = {name: desc.shape for name, desc in batch.tensors.items()}
    depth = whole(batch.op).depth
    try:
        lengths = {out: depth(batch.names, shapes, out) for out in batch.wanted}
    except Exception as error:
        raise blamed(batch, "depth", error) from error
    for out, number in lengths.items():
        if not (type(number) is int and number > 0) and not _nothing(number, shapes):
            raise fault(
                batch,
                "depth",
                f"returned {number!r} for '{out}'; expected a whole number from 1, or 0 where a"
                " tensor is empty",
            )
    return lengths


def _nothing(depth: object, shapes: Mapping[str, tuple[int, ...]]) -> bool:
    """Whether a number of another type is a depth all the same, or none is asked for."""
    empty = any(0 in shape for shape in shapes.values())
    return isinstance(depth, (int, np.integer)) and int(depth) >= (0 if empty else 1)


def check(
    batch: Batch,
    results: Mapping[str, Mapping[str, Array]],
    outputs: Collection[str],
    places: Mapping[str, Array] = MappingProxyType({}),
    real: bool = False,
) -> None:
    """Raise FileError unless what the functions of a kernel returned (function -> output -> array)
    are the outputs, as stacks of float64 of the batch's extents, or of as many elements as
    ``places`` names; of complex128 where an output is complex, unless they are ``real``.

    Of shapes only the number of elements is looked at: a library may accept an output of another
    shape that holds as many.
    """
    cases, tensors = len(batch.ids), batch.tensors
    for out in outputs:
        desc = tensors[out]
        count = len(places[out]) if out in places else prod(desc.shape)
        dtype, size = DTYPES["DOUBLE" if real else desc.dtype].wide, cases * count
        for what, arrays in results.items():
            array = arrays.get(out) if type(arrays) is dict else None
            if (
                type(array) is not np.ndarray
                or array.size != size
                or array.dtype != dtype
                or len(array) != cases
            ):
                raise _other(batch, what, arrays, out, dtype)


def _other(batch: Batch, what: str, arrays: object, out: str, dtype: np.dtype[Any]) -> FileError:
    """What is said of arrays that have not what a batch asks of an output."""
    if not isinstance(arrays, dict) or out not in arrays:
        names = (
            ", ".join(f"'{name}'" for name in arrays) or "nothing"
            if isinstance(arrays, dict)
            else type(arrays).__name__
        )
        return fault(batch, what, f"returned {names}; expected '{out}'")
    array, desc = arrays[out], batch.tensors[out]
    is_ = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
    return fault(
        batch,
        what,
        f"returned {is_} for '{out}'; expected {dtype} {(len(batch.ids), *desc.shape)}",
    )


def blamed(batch: Batch, what: str, error: Exception) -> Exception:
    """What is raised in place of an exception from a batch's kernel, whose function ``what`` was
    called; too little memory is not its fault.
    """
    if isinstance(error, (FileError, MemoryError)):
        return error
    file, line = _place(error, batch.op)
    lacks = isinstance(error, KeyError) and isinstance(error.args[0], str)
    names = f"; the spec names {', '.join(sorted(batch.names))}" if lacks else ""
    return fault(batch, what, f"raised {_words(error)}{names}", line, file)


def fault(
    batch: Batch, what: str, text: str, line: int | None = None, file: str | None = None
) -> FileError:
    """What a function of a batch's kernel does wrong, in the kernel's file or in one that it shares
    with others, with the first case of the batch.
    """
    problem = Problem(file or file_of(batch.op), line, what, f"{text} (case {batch.ids[0]})")
    return FileError([problem])


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {(str(error) or 'no message').splitlines()[0]}"


def _place(error: Exception, op: str) -> tuple[str, int | None]:
    """The file and innermost line that an error came through: of the kernel, or of what it shares
    with others where none of its own lines ran.
    """
    frames = [
        (Path(frame.filename), frame.lineno) for frame in traceback.extract_tb(error.__traceback__)
    ]
    own = [(file_of(op), line) for path, line in frames if path.name == f"{op}.py"]
    shared = [
        (file_of(path.stem), line)
        for path, line in frames
        if path.parent == FOLDER and path.stem != "__init__"
    ]
    return [(file_of(op), None), *shared, *own][-1]
