"""What a correct device returns: one kernel per operator, found by the name of its spec.

A new operator is a new file: ``opgen/golden/<op>.py`` with ``golden``, ``magnitude`` and ``depth``.
Kernels compute in float64 (complex128) on stacks of cases that share every shape and attribute, and
never check arguments. ``tensors`` holds every input of the operator, (B, *shape), perhaps as a view
that is not contiguous, or None for a null pointer; ``names`` what the spec binds in this call:
letters of shapes, slots of arrays and scalars, which are numbers, or texts of strings; the values
of an array of reals as a tuple. A null pointer has no name. The same case must have the same bits
in every stack.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple, Protocol, cast

import numpy.typing as npt

Array = npt.NDArray[Any]
Tensors = Mapping[str, Array | None]
Names = Mapping[str, Any]
"""What a call binds: numbers, and the words of strings."""


def present(tensors: Tensors, *names: str) -> list[Array]:
    """Inputs that no call of an operator leaves out."""
    return [array for name in names if (array := tensors[name]) is not None]


class ProbeCall(NamedTuple):
    """A call of a kernel that shows whether its results are still the same: its names, the shapes
    of its inputs without the batch axis, and the outputs wanted. The first shapes are those of the
    incoming gradients, as many as ``gradients`` says. ``complex`` inputs are complex. Indices are
    drawn as real numbers of either sign: a kernel takes them modulo their limit.
    """

    names: Names
    shapes: Mapping[str, tuple[int, ...] | None]
    wanted: tuple[str, ...]
    complex: bool = False
    gradients: int = 1


class Differentiable(NamedTuple):
    """The forward that a kernel is the gradient of.

    ``function``, of tensors and names: what it returns, under the name of the incoming gradient,
    and what it saves for its gradient, under the names of the kernel's inputs. ``inputs``: output
    of the kernel -> the input of the forward, (B, *the output's shape), that it is the gradient of.
    """

    function: Callable[[Tensors, Mapping[str, Any]], dict[str, Array]]
    inputs: Mapping[str, str]


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
    * ``at``, of the tensors, the names, and output -> flat places: (B, places) single elements of
      the golden, where that takes less than all of them; only where every term is a product;
    * ``signed``, beside ``at``, of the tensors, the names, and output -> (draws, extent) for each
      of its axes: (B, draws) sums over the output, each element multiplied by a number per axis;
    * ``by_rows``, of names and shapes: the tensors whose first axes are cut alike where a large
      case is computed in parts; an element of such an output depends on its own rows of these
      inputs alone, and any other output is a sum over rows;
    * ``scale``, of names: the exponent of a power of two that a gradient is divided by, at least:
      data on a grid are as much larger, so that no quotient is subnormal;
    * ``thresholds``, of names: arguments of a function at which it changes; data lie on them, just
      below and just above;
    * ``gain``, of the tensors and names: the largest factor that an intermediate value is
      multiplied by after the sums, at least 1;
    * ``places``, of names, shapes, the wanted outputs, and whether the values are ``foreign`` (Inf,
      NaN): flat positions of the incoming gradient on which these outputs depend, all of them where
      one can; of foreign values those that no device multiplies by padding;
    * ``saved``, of the tensors and names: input -> (B, *its shape), what the forward kept, for the
      inputs that the plan calls ``saved`` and a call gives no range: the tensors hold there what
      a function may be evaluated at, or None for whole numbers, and all other inputs;
    * ``STATISTICS``: those of them that ``saved`` computes of the other inputs alone: the tensors
      hold zeros there;
    * ``windows``, of names: input that ``saved`` computes -> the tensor whose largest elements it
      names, and the windows along both axes (:func:`opgen.numerics.maxima.first_largest`): a file
      need not hold it;
    * ``FACTORS``, beside or without ``PARTNERS``: output -> the tensors whose product each of its
      terms is, so that its sum of data on a grid is known to be exact;
    * ``FORWARD``, a :class:`Differentiable`: ``opgen check OP`` holds its differences against the
      golden;
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

    >>> names = {"H": 5, "padTop": 2, "padBottom": 0, "W": 5, "padLeft": 2, "padRight": 2}
    >>> kernel("reflection_pad2d_backward").depth(names, {}, "gradInput")
    6
    """
    return cast(Kernel, import_module(f"{__name__}.{op}"))
