"""A mutant: one thing done wrong, as a replacement for one step of a device that does everything
right.

:mod:`opgen.quality.mutants.device` takes a call apart into steps, each a function. A kernel mutant
is a name, a line that says what is wrong, and the functions that it puts in place of some of the
steps; the rest stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from opgen.golden import Array
from opgen.model import Argument, TensorDesc
from opgen.spec.spec import Spec
from opgen.suite.suite import Batch

Values: TypeAlias = dict[str, Array | None]
Names: TypeAlias = dict[str, int]
Outputs: TypeAlias = dict[str, Array]
Golden: TypeAlias = Callable[
    [Mapping[str, Array | None], Mapping[str, int], Collection[str]], Mapping[str, Array]
]


@dataclass(frozen=True)
class Work:
    """Cases that differ in data only, as a device gets them: storages (B, elements) by name, and
    what the call says.

    ``args`` are the arguments that all of them share; ``gradient`` is the tensor that the operator
    is linear in.
    """

    spec: Spec
    batch: Batch
    args: Mapping[str, Argument]
    storage: Mapping[str, Array]
    gradient: str

    @property
    def nulls(self) -> set[str]:
        """Outputs that are null pointers."""
        return {p.name for p in self.spec.outputs if self.args[p.name] is None}


@dataclass(frozen=True)
class Mutant:
    """``needs``: names of a spec, ``a|b`` for either, without which there is nothing to do wrong in
    an operator; ``where``: what else its page must say.

    ``crashes`` says whether the host process dies of a call. The steps, in order: ``read`` a view
    of its storage, ``cast`` to the compute dtype (None where a page rounds nothing), ``names`` and
    ``tensors`` before the kernel, ``kernel`` in its place, ``outputs`` behind it, ``store`` in the
    output's dtype (through another, or None), ``lay`` in the output's storage.
    """

    name: str
    wrong: str
    needs: tuple[str, ...] = ()
    where: Callable[[Spec], bool] | None = None
    read: Callable[[Array, TensorDesc], Array] | None = None
    cast: Callable[[Work, Array, str, str | None], Array] | None = None
    names: Callable[[Work, Names], Names] | None = None
    tensors: Callable[[Work, Values], Values] | None = None
    kernel: Callable[[Work, Golden, Values, Names, tuple[str, ...]], Mapping[str, Array]] | None = (
        None
    )
    outputs: Callable[[Work, Outputs], Outputs] | None = None
    store: Callable[[Array, str, str | None], Array] | None = None
    lay: Callable[[Array, TensorDesc], Array] | None = None
    crashes: Callable[[Work], bool] | None = None

    def applies(self, spec: Spec) -> bool:
        """Whether an operator has what this mutant does wrong."""
        known = set(spec.scope.names())
        return all(known & set(need.split("|")) for need in self.needs) and (
            self.where is None or self.where(spec)
        )


NOTHING = Mutant("nothing", "nothing: a correct device, which must not be caught")
"""The control: whatever catches it is wrong itself."""


def axes(work: Work, *prefixes: str) -> list[str]:
    """The spatial axes of a call, outermost first, that have all of ``k``, ``s``, ...: letters of
    D, H, W.
    """
    return [axis for axis in "DHW" if all(prefix + axis in work.batch.names for prefix in prefixes)]
