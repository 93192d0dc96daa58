"""What every program that reproduces a call says: numbers of the ABI, data as literals, and what to
expect.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from opgen.bundle.dtypes import numpy_dtype
from opgen.calls.vocabulary import vocabulary
from opgen.minimization.failing import Failing
from opgen.model import TensorDesc, written
from opgen.numerics.arrays import Array
from opgen.spec.catalog import catalog

WIDTH = 120
NO_ANSWER = """\
def no_answer(*error):
    \"\"\"What keeps the call from being made says nothing of the device.\"\"\"
    sys.__excepthook__(*error)
    sys.stdout.flush()
    os._exit(2)


sys.excepthook = no_answer
"""
"""Lines of a Python program: it exits 2 after an exception, not 1."""


@dataclass(frozen=True)
class Tensor:
    """A tensor as the ABI sees it. ``bits`` are the words of its storage, unsigned; None for an
    output or without data.
    """

    name: str
    desc: TensorDesc
    dtype: int
    format: int
    itemsize: int
    bits: Array | None


def kinds(failing: Failing) -> dict[str, str]:
    """Parameter -> kind, with ``output`` for tensors that are written."""
    spec = catalog().by_page[failing.call.api, failing.call.product]
    return {
        name: "output" if spec.parameters[name].kind == "output" else kind
        for name, kind in spec.kinds.items()
    }


def tensors(failing: Failing) -> dict[str, Tensor]:
    """The tensors of the call that are no null pointers."""
    found = {}
    for name, desc in failing.call.args.items():
        if not isinstance(desc, TensorDesc):
            continue
        size = max(vocabulary().dtypes[desc.dtype]["bits"] // 8, 1)
        found[name] = Tensor(
            name,
            desc,
            vocabulary().dtypes[desc.dtype]["acl"],
            vocabulary().formats[desc.format],
            size,
            unsigned(failing.storage[name]) if name in failing.storage else None,
        )
    return found


def unsigned(values: Array) -> Array:
    """The bits of an array, as unsigned words of at most 64 bits."""
    flat = np.ascontiguousarray(values).reshape(-1)
    return flat.view(f"u{min(flat.itemsize, 8)}")


def parts(values: Array) -> list[float]:
    """Numbers as doubles; real and imaginary parts one after the other."""
    flat = np.ascontiguousarray(values).reshape(-1)
    wide = (
        flat.astype(np.complex128).view(np.float64)
        if np.iscomplexobj(flat)
        else flat.astype(np.float64)
    )
    return [float(x) for x in wide]


def numpy_name(dtype: str) -> str:
    """How numpy spells a dtype; BFLOAT16 has no name there and goes as its bits."""
    return "uint16" if dtype == "BFLOAT16" else numpy_dtype(dtype).name


def folded(items: Iterable[Any], indent: str) -> str:
    """Literals in lines of at most :data:`WIDTH` columns."""
    lines, line = [], indent
    for item in items:
        text = f"{item}, "
        if len(line) + len(text) > WIDTH and line != indent:
            lines.append(line.rstrip())
            line = indent
        line += text
    return "\n".join([*lines, line.rstrip()])


def summary(failing: Failing) -> list[str]:
    """The first lines of every program: what is called, what came of it, what was expected."""
    lines = [f"{failing.call.api}, for {failing.call.product}: {failing.detail or failing.verdict}"]
    expected = written(failing.codes)
    data = (
        "The data are those of the case"
        if failing.own
        else f"Recipe of the data: {failing.recipe}, seed {failing.seed}"
    )
    lines.append(f"Expected of the first phase: {expected}. {data}, case {failing.id}.")
    return [line.replace("*/", "* /") for text in lines for line in _wrapped(text)]


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH - 4)
