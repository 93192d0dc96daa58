"""The calls of a torch program, as a call file: what a network asks of a device, read off while it
runs.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from opgen.bundle.format.dtypes import BundleError
from opgen.bundle.write.output import refuse, write_errors, write_text
from opgen.calls.call_json import CallFault, to_json
from opgen.calls.vocabulary import vocabulary
from opgen.devices.torch_adapter import Arguments
from opgen.devices.torch_calls import Captured, Unwritable, captured, pages
from opgen.model import FileError
from opgen.numerics.arrays import Array


class Capture(TorchDispatchMode):  # type: ignore[misc]  # torch has no types here
    """While its block runs, torch calls of operators that opgen knows are kept as calls of the
    vendor's; where the block ends, however it does, they are written as a call file.

    Equal calls are one line, whose key ``count`` says how often they came. ``unknown`` counts the
    other torch operators by name, ``unwritable`` the calls that no call file can say, by operator
    and reason. With ``data``, the inputs of the first of equal calls lie in ``STEM.data/`` beside
    the file.
    """

    def __init__(
        self, output: str | Path, product: str, *, data: bool = False, force: bool = False
    ) -> None:
        super().__init__()
        products = vocabulary().products
        if product not in products:
            raise FileError.of(
                "`product`", product, f"no such product; known: {', '.join(products)}"
            )
        self.output, self.product, self.force = Path(output), product, force
        self.folder = self.output.with_name(f"{self.output.name.split('.')[0]}.data")
        refuse(self.output, force)
        if data and self.folder.exists() and not force:
            raise BundleError(f"{self.folder}: exists already; --force writes into it")
        self.data = data
        self.counts: Counter[str] = Counter()
        self.unknown: Counter[str] = Counter()
        self.unwritable: Counter[tuple[str, str]] = Counter()
        self._ids: dict[str, str] = {}
        self._numbers: Counter[str] = Counter()
        self._pages = pages(product)

    def __torch_dispatch__(
        self,
        func: torch._ops.OpOverload,
        types: object,
        args: Sequence[object] = (),
        kwargs: Arguments | None = None,
    ) -> object:
        """Run a torch operator, and keep the call."""
        named = kwargs or {}
        results = func(*args, **named)
        space, _, name = func._schema.name.partition("::")
        spec = self._pages.get(name) if space == "aten" else None
        if spec is None:
            self.unknown[f"{space}.{name}"] += 1
            return results
        try:
            call = captured(spec, self.product, func._schema, args, named, results)
        except (Unwritable, CallFault) as fault:
            self.unwritable[f"{space}.{name}", str(fault)] += 1
        else:
            self._keep(spec.op, call)
        return results

    def _keep(self, op: str, seen: Captured) -> None:
        call = {"op": seen.call.api, "product": self.product, "args": to_json(seen.call)}
        line = json.dumps(call)
        self.counts[line] += 1
        if line in self._ids:
            return
        self._numbers[op] += 1
        self._ids[line] = name = f"{op}.{self._numbers[op]}"
        if self.data:
            arrays = {of: _array(tensor) for of, tensor in seen.tensors.items()}
            with write_errors(self.folder):
                self.folder.mkdir(exist_ok=True)
                np.savez(self.folder / f"{name}.npz", **arrays)  # type: ignore[arg-type]

    @property
    def lines(self) -> list[str]:
        """The calls as lines of a call file, in the order in which they first came."""
        return [
            json.dumps(
                {"id": name, **json.loads(line), "count": self.counts[line]}
                | ({"data": f"{self.folder.name}/{name}.npz"} if self.data else {})
            )
            for line, name in self._ids.items()
        ]

    def __exit__(self, *failure: object) -> None:
        super().__exit__(*failure)
        write_text(self.output, "".join(f"{line}\n" for line in self.lines), force=self.force)


def _array(tensor: torch.Tensor) -> Array:
    """A tensor's view as a dump holds it; BFLOAT16 by its bits."""
    view = tensor.detach().cpu().contiguous()
    if view.dtype == torch.bfloat16:
        return np.asarray(view.view(torch.int16).numpy().view(np.uint16))
    return np.asarray(view.numpy())


def capture(
    output: str | Path, product: str = "ascend910b", *, data: bool = False, force: bool = False
) -> Capture:
    """Write the calls that a block of torch code makes, as ``opgen capture`` does for a program.

    * ``output``: the call file to write, for ``opgen generate --calls``.
    * ``product``: the product that the calls are for.
    * ``data``: keep the inputs of each call in a folder beside the file.

    Raises FileError for an unknown product, and BundleError if a file cannot be written.

    >>> import opgen, tempfile, torch
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with opgen.capture(f"{folder}/calls.jsonl") as seen:
    ...         image = torch.ones(1, 2, 6, 6, requires_grad=True)
    ...         torch.nn.functional.avg_pool2d(image, 2).sum().backward()
    >>> seen.counts.total(), len(seen.lines)
    (1, 1)
    """
    return Capture(output, product, data=data, force=force)
