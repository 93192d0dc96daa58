"""A case of a bundle computed once more by its kernel: as it is, with other values of its names, or
with other inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from opgen.bundle.read.case import CaseView
from opgen.golden import Array, Kernel, Tensors, kernel
from opgen.numerics.arrays import turned
from opgen.numerics.formats import FORMATS
from opgen.numerics.rounding import in_compute
from opgen.spec.spec import Spec


@dataclass(frozen=True)
class Recomputation:
    """A kernel about to run on one case: ``inputs`` are float64 (complex128) with a leading axis of
    one, None for a null pointer; ``names`` is what the spec binds. Results have no such axis.
    Inputs have their axes in the order of the spec's letters, results in that of their format,
    where ``turned`` says so.

    Inf, NaN and overflows are meant: who asks holds numpy's warnings back.
    """

    kernel: Kernel
    inputs: Tensors
    names: Mapping[str, int]
    turned: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def golden(self, output: str) -> Array:
        """What a correct device returns, in float64."""
        return self._of_case(self.kernel.golden(self.inputs, self.names, (output,)), output)

    def magnitude(self, output: str) -> Array:
        """The sum of the absolute terms of every element."""
        return self._of_case(self.kernel.magnitude(self.inputs, self.names, (output,)), output)

    def _of_case(self, outputs: Mapping[str, Array], output: str) -> Array:
        array: Array = turned(outputs[output], self.turned.get(output))[0]
        return array

    def depth(self, output: str) -> int:
        """How many roundings may come together in one element."""
        shapes = {name: array.shape[1:] for name, array in self.inputs.items() if array is not None}
        return self.kernel.depth(self.names, shapes, output)

    def with_inputs(self, change: Callable[[Array], Array]) -> Recomputation:
        """The same of inputs that are all changed."""
        changed = {
            name: None if array is None else change(array) for name, array in self.inputs.items()
        }
        return replace(self, inputs=changed)


def recomputation(
    case: CaseView, spec: Spec, names: Mapping[str, int], compute: str = ""
) -> Recomputation:
    """A case with its inputs rounded to the dtype ``compute``, if one is given, else as they are
    stored.
    """
    inputs: dict[str, Array | None] = {p.name: None for p in spec.inputs}
    described = {
        name: desc for name, desc in case.plain_args.items() if spec.parameters[name].is_tensor
    }
    axes = {
        name: order
        for name, desc in described.items()
        if desc and (order := spec.parameters[name].turned(len(desc["shape"]), desc["format"]))
    }
    for name, values in case.inputs.items():
        wide = values.astype(np.complex128 if np.iscomplexobj(values) else np.float64)[None]
        wide = turned(wide, np.argsort(axes[name]).tolist() if name in axes else None)
        storage = described[name]["dtype"]
        inputs[name] = in_compute(wide, storage, compute) if compute in FORMATS else wide
    return Recomputation(kernel(spec.op), inputs, names, axes)
