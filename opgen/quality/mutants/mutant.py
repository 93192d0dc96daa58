"""A mutant: one thing done wrong, as a replacement for one step of a device that does everything
right.

:mod:`opgen.quality.mutants.device` takes a call apart into steps, each a function. A kernel mutant
is a name, a line that says what is wrong, and the functions that it puts in place of some of the
steps; the others do what is right.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np

from opgen.calls.kinds import REAL
from opgen.calls.vocabulary import vocabulary
from opgen.golden import Array, Kernel, Names, kernel
from opgen.model import Argument, TensorDesc
from opgen.numerics.formats import DTYPES, Dtype
from opgen.numerics.rounding import in_compute, rounded, stored
from opgen.numerics.views import index
from opgen.spec.language.term import NOTHING as UNBOUND
from opgen.spec.parameter import Parameter
from opgen.spec.spec import Spec
from opgen.suite.batch import Batch

Outputs: TypeAlias = dict[str, Array]


@dataclass(frozen=True)
class DeviceBatch:
    """Cases that differ in data only, as a device gets them: storages (B, elements) by name, and
    what the call says.

    ``args`` are the arguments that all of them share; ``gradient`` is the tensor that the operator
    is linear in; ``mode`` is the position of the page's mode that applies, -1 where none does.
    """

    spec: Spec
    batch: Batch
    args: Mapping[str, Argument]
    storage: Mapping[str, Array]
    gradient: str
    mode: int = -1

    @property
    def nulls(self) -> set[str]:
        """Outputs that are null pointers."""
        return {p.name for p in self.spec.outputs if self.args[p.name] is None}

    def element_of_each(self, size: int) -> np.ndarray:
        """(B,) one of the first ``size`` elements for each case, which its id decides."""
        return np.array([crc32(case.encode()) % size for case in self.batch.ids])


@dataclass(frozen=True)
class Computation:
    """A kernel about to run on a batch: the inputs (B, *shape) in the compute dtype, None for a
    null pointer; the numbers that the spec binds; and the outputs that are asked for.
    """

    of: DeviceBatch
    kernel: Kernel
    tensors: Mapping[str, Array | None]
    names: Mapping[str, int]
    wanted: Collection[str]

    def __getitem__(self, name: str) -> Array:
        """An input that is no null pointer."""
        array = self.tensors[name]
        assert array is not None
        return array

    @property
    def gradient(self) -> Array:
        """The gradient that flows in."""
        return self[self.of.gradient]

    def run(
        self,
        tensors: Mapping[str, Array | None] | None = None,
        names: Names | None = None,
        wanted: Collection[str] = (),
    ) -> Outputs:
        """The outputs of the correct kernel, of some other ``tensors`` and ``names`` if given."""
        return self.kernel.golden(
            {**self.tensors, **(tensors or {})},
            {**self.names, **(names or {})},
            wanted or self.wanted,
        )

    def axes(self, *prefixes: str) -> list[str]:
        """The spatial axes, outermost first, that have all of ``k``, ``s``, ...: letters of D, H,
        W.
        """
        return [axis for axis in "DHW" if all(prefix + axis in self.names for prefix in prefixes)]


WrongKernel: TypeAlias = Callable[[Computation], Outputs]


def on_names(change: Callable[[Computation], Names]) -> WrongKernel:
    """The kernel with some other numbers."""
    return lambda given: given.run(names=change(given))


def on_gradient(change: Callable[[Computation], Array]) -> WrongKernel:
    """The kernel with another gradient that flows in."""
    return lambda given: given.run({given.of.gradient: change(given)})


def on_tensors(**changes: Callable[[Array], Array]) -> WrongKernel:
    """The kernel with some inputs changed; a null pointer stays one."""
    return lambda given: given.run(
        {
            name: change(given[name])
            for name, change in changes.items()
            if given.tensors[name] is not None
        }
    )


def with_output(outputs: Outputs, name: str, change: Callable[[Array], Array]) -> Outputs:
    """Outputs with one of them changed, if it is there."""
    return outputs | ({name: change(outputs[name])} if name in outputs else {})


def view(storage: Array, desc: TensorDesc) -> Array:
    """The elements of a view, (B, n)."""
    return storage if desc.plain else storage[:, index(desc.shape, desc.steps, desc.offset)]


def cast(cases: DeviceBatch, values: Array, storage: str, to: str | None) -> Array:
    """Values as they are computed with; as they are stored where no compute dtype is named."""
    return values if to is None else in_compute(values, storage, to)


def store(values: Array, dtype: str, through: str | None) -> Array:
    """Round to an output's dtype, by way of the compute dtype where the result is kept in that
    first.
    """
    return stored(values if through is None else rounded(values, through), dtype)


@dataclass(frozen=True)
class Mutant:
    """``needs``: names of a spec, ``a|b`` for either, without which there is nothing to do wrong in
    an operator; ``where``: what else its page must say.

    ``compute`` is the dtype that inputs are rounded to, whatever the mode says. ``crashes`` says
    whether the host process dies of a call. The steps, in order: ``read`` a view of its storage,
    ``cast`` to the compute dtype (None where a page rounds nothing), ``kernel`` computes,
    ``output`` follows it for every output, ``store`` in the output's dtype (through another, or
    None), ``lay`` in the output's storage.
    """

    name: str
    wrong: str
    needs: tuple[str, ...] = ()
    kernel: WrongKernel = Computation.run
    compute: str = ""
    where: Callable[[Spec], bool] = lambda spec: True
    read: Callable[[Array, TensorDesc], Array] = view
    cast: Callable[[DeviceBatch, Array, str, str | None], Array] = cast
    output: Callable[[DeviceBatch, str, Array], Array] = lambda cases, name, array: array
    store: Callable[[Array, str, str | None], Array] = store
    lay: Callable[[Array, TensorDesc], Array] = lambda array, desc: array
    crashes: Callable[[DeviceBatch], bool] = lambda cases: False

    def applies(self, spec: Spec) -> bool:
        """Whether an operator has what this mutant does wrong: its page, and of numbers, its
        kernel, which may leave some unread. One without a kernel has nothing.
        """
        if spec.status_only:
            return False
        known = set(spec.scope.names()) - unread(spec)
        return all(known & set(need.split("|")) for need in self.needs) and self.where(spec)


class _Recorded(Mapping[str, Any]):
    """Names of a call, and which of them a kernel asked for."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self.names = names
        self.asked: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self.asked.add(name)
        return self.names[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def unread(spec: Spec) -> set[str]:
    """The arrays of a spec and their slots, where its golden reads no slot at all: what follows
    from indices knows no windows; and the reals that it never reads.
    """
    reals = {parameter.name for parameter in spec.parameters.values() if parameter.kind in REAL}
    ignored = reals - read_by(spec.op)
    slots = {
        parameter.name: {name for slot in chain(*parameter.items.values()) for name in slot}
        for parameter in spec.parameters.values()
        if parameter.items
    }
    named = set().union(*slots.values())
    return ignored if named & read_by(spec.op) else ignored | named | slots.keys()


@cache
def read_by(op: str) -> frozenset[str]:
    """The numbers of a call that an operator's golden depends on, as its probes show."""
    asked: set[str] = set()
    for probe in kernel(op).PROBES:
        names = _Recorded(probe.names)
        tensors = {
            name: None if shape is None else np.zeros((1, *shape))
            for name, shape in probe.shapes.items()
        }
        with np.errstate(all="ignore"):
            kernel(op).golden(tensors, names, probe.wanted)
        asked |= names.asked
    return frozenset(asked)


def lists_dtype(spec: Spec, parameters: Iterable[Parameter], fits: Callable[[Dtype], bool]) -> bool:
    """Whether a page lists a dtype of some kind for one of these parameters."""
    words = vocabulary().index["dtype"]
    numbers = {words[name] for name, dtype in DTYPES.items() if fits(dtype)}
    members = (
        term.value(UNBOUND).data.item()
        for parameter in parameters
        for guard in spec.memberships.get((parameter.name, "dtype"), ())
        for term in guard.require.right
        if not term.refs
    )
    return not numbers.isdisjoint(members)


NOTHING = Mutant("nothing", "nothing is wrong (a correct device, which must pass)")
"""The control: whatever catches it is wrong itself."""
