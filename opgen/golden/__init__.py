"""What a correct device returns: one kernel per operator, found by the name of its spec.

A new operator is a new file: ``opgen/golden/<op>.py`` with ``golden``, ``magnitude`` and ``depth``.
Kernels compute in float64 (complex128) on stacks of cases that share every shape and attribute, and
never check arguments. ``tensors`` holds every input of the operator, (B, *shape), perhaps as a view
that is not contiguous, or None for a null pointer; ``names`` what the spec binds in this call, all
whole numbers: letters of shapes, slots of arrays, scalars. The same case must have the same bits in
every stack.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple, Protocol, cast

import numpy.typing as npt

Array = npt.NDArray[Any]
Tensors = Mapping[str, Array | None]


class ProbeCall(NamedTuple):
    """A call of a kernel that shows whether its results are still the same: its names, the shapes
    of its inputs without the batch axis, and the outputs wanted. ``complex`` inputs are complex.
    """

    names: Mapping[str, int]
    shapes: Mapping[str, tuple[int, ...] | None]
    wanted: tuple[str, ...]
    complex: bool = False


class Kernel(Protocol):
    """The three functions of a kernel module.

    ``VERSION`` is raised by hand whenever a bit of a result changes, and ``PROBES``, calls that
    together take every path through the kernel, show when that is.

    A module whose sums a BLAS may order, or whose terms are plain products, says so by
    ``PARTNERS``: output -> the tensor that it is linear in beside the plan's ``gradient`` (no
    entry: in that alone). Without it, the kernel itself adds in an order that depends on nothing
    but the shapes.

    A module may have more:

    * ``both``, of the arguments of ``golden``: the golden and the magnitude in one call, which for
      small data is faster, with more scratch memory;
    * ``scale``, of names: the exponent of a power of two that a gradient is divided by, at least:
      data on a grid are as much larger, so that no quotient is subnormal;
    * ``gain``, of the tensors: the largest factor that an intermediate value is multiplied by after
      the sums, at least 1;
    * ``places``, of names, shapes, the wanted outputs, and whether the values are ``foreign`` (Inf,
      NaN): flat positions of the incoming gradient on which these outputs depend, all of them where
      one can; of foreign values those that no device multiplies by padding;
    * ``FACTORS``, beside or without ``PARTNERS``: output -> the tensors whose product each of its
      terms is, so that its sum of data on a grid is known to be exact;
    * ``DIFFERENCES``: outputs that are differences of sums; where an Inf comes in, any value is
      right in them.

    Inf, NaN and overflows are meant: who calls holds numpy's warnings back, once for many calls.
    """

    VERSION: int
    PROBES: Sequence[ProbeCall]

    def golden(
        self, tensors: Tensors, names: Mapping[str, int], wanted: Collection[str]
    ) -> dict[str, Array]:
        """The wanted outputs of every case: output name -> (B, *output shape)."""
        ...

    def magnitude(
        self, tensors: Tensors, names: Mapping[str, int], wanted: Collection[str]
    ) -> dict[str, Array]:
        """The sum of the absolute terms of every output element; for complex outputs by parts."""
        ...

    def depth(
        self, names: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]], output: str
    ) -> int:
        """An upper bound of the roundings in a chain that ends in one element of the output.
        ``shapes`` are those of one case, of all tensors that are no null pointers.
        """
        ...


@cache
def kernel(op: str) -> Kernel:
    """The kernel of an operator, by the name of its spec; ModuleNotFoundError if there is none.

    >>> names = {"kH": 2, "kW": 2, "sH": 2, "sW": 2, "Hout": 4, "Wout": 4}
    >>> kernel("avg_pool2d_backward").depth(names, {}, "gradInput")
    3
    """
    return cast(Kernel, import_module(f"{__name__}.{op}"))
