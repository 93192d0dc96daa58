"""What every program that reproduces a call says: numbers of the ABI, data as literals, and what to
expect.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from opgen.bundle.format.dtypes import numpy_dtype
from opgen.calls.kinds import KINDS, members
from opgen.calls.typed import raw
from opgen.calls.vocabulary import vocabulary
from opgen.minimization.failure import Failure
from opgen.model import ANY_ERROR, AclScalar, Code, TensorDesc, written
from opgen.numerics.arrays import Array
from opgen.spec.catalog import catalog

Arguments: TypeAlias = Mapping[str, Any]
"""A call's arguments by name."""

WIDTH = 120
NO_ANSWER = """\
def no_answer(*error):
    \"\"\"What keeps the call from being made says nothing of the device.\"\"\"
    print(f"no answer: {error[0].__name__}: {error[1]}", file=sys.stderr)
    sys.stdout.flush()
    os._exit(2)


sys.excepthook = no_answer
"""
"""Lines of a Python program: it exits 2 after an exception, not 1."""


@dataclass(frozen=True)
class AbiTensor:
    """A tensor as the ABI sees it. ``bits`` are the words of its storage, unsigned; None without
    data, as an ``output`` is that is no input.
    """

    name: str
    desc: TensorDesc
    dtype: int
    format: int
    itemsize: int
    bits: Array | None
    output: bool

    @property
    def word(self) -> str:
        """A name for variables."""
        return word(self.name)


def word(name: str) -> str:
    """The name of a parameter, or of a tensor of a list, as variables have it.

    >>> word("hx[1]")
    'hx_1'
    """
    return name.replace("[", "_").removesuffix("]")


def in_list(failure: Failure, name: str) -> list[str | None]:
    """The tensors of a list by their words, None for a null pointer."""
    number, args = failure.call.args[name], failure.call.args
    assert isinstance(number, int)
    return [None if args[each] is None else word(each) for each in members(args, name)[:number]]


def kinds(failure: Failure) -> dict[str, str]:
    """Parameter -> kind, as its page has it."""
    parameters = catalog().by_page[failure.call.api, failure.call.product].parameters
    return {name: parameter.kind for name, parameter in parameters.items()}


def scalar_of(value: AclScalar) -> tuple[bytes, int]:
    """The bytes of a scalar, and its dtype as the ABI spells it."""
    return raw(value.value, value.dtype), vocabulary().dtypes[value.dtype]["acl"]


def tensors(failure: Failure) -> dict[str, AbiTensor]:
    """The tensors of the call that are no null pointers."""
    dtypes, formats, every = vocabulary().dtypes, vocabulary().formats, kinds(failure)
    return {
        name: AbiTensor(
            name,
            desc,
            dtypes[desc.dtype]["acl"],
            formats[desc.format],
            max(dtypes[desc.dtype]["bits"] // 8, 1),
            unsigned(failure.storage[name]) if name in failure.storage else None,
            KINDS[every[name]].written,
        )
        for name, desc in failure.call.args.items()
        if isinstance(desc, TensorDesc)
    }


def unsigned(values: Array) -> Array:
    """The bits of an array, as unsigned words of at most 64 bits."""
    flat = np.ascontiguousarray(values).reshape(-1)
    return flat.view(f"u{min(flat.itemsize, 8)}")


def parts(values: Array) -> list[float]:
    """Numbers as doubles; real and imaginary parts one after the other.

    >>> parts(np.array([1 + 2j]))
    [1.0, 2.0]
    """
    flat = np.ascontiguousarray(values).reshape(-1)
    wide = flat.astype(np.complex128 if np.iscomplexobj(flat) else np.float64)
    return [float(x) for x in wide.view(np.float64)]


def numpy_name(dtype: str) -> str:
    """How numpy spells a dtype; BFLOAT16 has no name there and goes as its bits."""
    return "uint16" if dtype == "BFLOAT16" else numpy_dtype(dtype).name


def folded(items: Iterable[str], indent: str) -> str:
    """Literals in lines of at most :data:`WIDTH` columns.

    >>> folded(["1", "2"], "  ")
    '  1, 2,'
    """
    text = ", ".join(items)
    return textwrap.fill(
        f"{text}," if text else "",
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def admitted(failure: Failure, either: str) -> str:
    """Whether a status is one that the page admits, as an expression; ``either`` is the language's
    word for or.
    """
    # as opgen.model.of_a_check has it
    checks = ("status == 161001", "status == 161002", "status - status % 1000 == 561000")
    words: dict[Code, str] = {ANY_ERROR: f" {either} ".join(checks)}
    return f" {either} ".join(words.get(code, f"status == {code}") for code in failure.codes)


def summary(failure: Failure) -> list[str]:
    """The first lines of every program: what is called, what came of it, what was expected."""
    call = failure.call
    outcome = f"{call.api}, for {call.product}: {failure.detail or failure.verdict}"
    drawn = f"Recipe of the data: {failure.recipe}, seed {failure.seed}"
    data = "The data are those of the case" if failure.own else drawn
    expected = written(failure.codes)
    source = f"Expected of the first phase: {expected}. {data}, case {failure.id}."
    lines = [*textwrap.wrap(outcome, WIDTH - 4), *textwrap.wrap(source, WIDTH - 4)]
    return [line.replace("*/", "* /") for line in lines]


def docstring(failure: Failure) -> str:
    """The first lines as the beginning of a Python docstring."""
    return "\n".join(summary(failure)).replace("\\", "\\\\").replace('"""', "'''")


def listed(values: Sequence[int] | None) -> str:
    """An array as text; None for a null pointer."""
    return "None" if values is None else repr(list(values))
