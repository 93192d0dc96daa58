"""A small bundle with one of everything: cases, their tensors, and what to find again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from math import prod
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from opgen.bundle.format.dtypes import numpy_dtype
from opgen.bundle.format.layout import Layout
from opgen.bundle.write.writer import Writer
from opgen.calls.categorical import Categorical
from opgen.calls.stored_tensors import StoredTensors
from opgen.model import Break, Call, Case, Expectation, LibraryAnswer, TensorDesc
from opgen.numerics.formats import DTYPES
from tests.support.case_tables import tabulate

HEADER = {
    "operators": ["aclnnOne", "aclnnTwo"],
    "products": ["ascend910b"],
    "seed": 7,
    "plan": "smoke",
    "specs": {"aclnnOne": "ab" * 32, "aclnnTwo": "cd" * 32},
    "plans": {"one": "ef" * 32},
}
VALID = Expectation((0,), "valid")
FLOATING = ("FLOAT16", "BFLOAT16", "FLOAT", "DOUBLE", "COMPLEX64", "COMPLEX128")


def planned(tensors: Iterable[Iterable[tuple[Any, ...]]]) -> Layout:
    """The layout of cases by the tensors of each that have data: name, role, dtype, and how many
    elements or which shape.
    """
    cases = [list(rows) for rows in tensors]
    rows = list(chain.from_iterable(cases))
    kinds = Categorical.of([row[:3] for row in rows])
    elements = [prod(row[3]) if isinstance(row[3], tuple) else row[3] for row in rows]
    counts = np.array(list(map(len, cases)), dtype=np.int64)
    sizes = np.array(elements, dtype=np.int64)
    return Layout.of(StoredTensors(kinds, sizes, counts, np.arange(len(cases))))


@dataclass(frozen=True)
class Sample:
    """Cases with, per case, (name, role) -> stored 1-D or shaped array."""

    cases: list[Case]
    arrays: list[dict[tuple[str, str], np.ndarray]]

    def layout(self) -> Layout:
        return planned([list(map(row, found.items())) for found in self.arrays])

    def write(self, path: Path, *, rows: Iterable[int] | None = None, force: bool = False) -> Path:
        with Writer(path, HEADER, tabulate(self.cases), self.layout(), force=force) as writer:
            for at in range(len(self.cases)) if rows is None else rows:
                for (name, role), array in self.arrays[at].items():
                    writer.write([([at], {(name, role): array[None]})])
        return path


def row(item: tuple[tuple[str, str], np.ndarray]) -> tuple[str, str, str, tuple[int, ...]]:
    (name, role), array = item
    dtype = next(d for d in FLOATING if numpy_dtype(d) == array.dtype)
    return name, role, dtype, array.shape


def bits(draw: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Arbitrary bit patterns, NaN payloads and infinities among them."""
    kind = numpy_dtype(dtype)
    count = int(np.prod(shape)) * kind.itemsize
    return draw.integers(0, 256, count, dtype=np.uint8).view(kind).reshape(shape)


def sample(seed: int = 0) -> Sample:
    draw = np.random.default_rng(seed)
    cases, arrays = [], []
    for at, dtype in enumerate(FLOATING * 2):
        shape = (2, 3, 4, 5) if at < 6 else (int(draw.integers(1, 4)), 7)
        x = TensorDesc(
            shape, dtype, "NCHW" if at < 6 else "ND", range=(-1.0, 2.5) if at == 3 else None
        )
        args = {
            "gradOutput": x,
            "self": None if at == 2 else x,
            "padding": ((), (1, 2), None, (2**31, -1))[at % 4],
            "outputMask": ((True, False, True), None, (), (False,))[at % 4],
            "transposed": at % 2 == 0,
            "groups": 2**40 if at == 5 else at,
            "cubeMathType": None if at == 1 else 3,
            "gradInput": x,
        }
        arrays.append(
            {
                ("gradOutput", "input"): bits(draw, dtype, shape),
                ("gradInput", "golden"): bits(draw, DTYPES[dtype].golden, shape),
                ("gradInput", "bound"): bits(draw, DTYPES[dtype].bound, shape),
            }
        )
        answer = LibraryAnswer("2026-08", (161002, "crash"), "inferred", until="tiling")
        library = answer if at % 3 == 0 else None
        call = Call("aclnnOne", "ascend910b", args)
        cases.append(
            Case(
                f"one/{dtype}/{at}",
                call,
                "valid",
                "各轴两两组合",
                VALID,
                library,
                "grid",
                compute="FLOAT",
            )
        )
    breaks = (
        Break("pad_height", "161002.7", 79, "padH=2, kH=2"),
        Break("same_dtype", None, None, "FLOAT, DOUBLE"),
    )
    wrong = {**cases[0].call.args, "gradInput": None}
    for kind, page in (
        ("invalid", Expectation((161002, "any_error"), "stated", breaks)),
        ("handwritten", Expectation((0, "any_error"), "disputed")),
        ("given", VALID),
    ):
        call = Call("aclnnOne", "ascend910", wrong)
        cases.append(
            Case(
                f"one/{kind}",
                call,
                kind,
                kind,
                page,
                phase=1,
                nearest_valid="one/FLOAT16/0",
                inconclusive="no data",
            )
        )
        arrays.append({})
    moved = TensorDesc((2, 3), "BFLOAT16", "ND", (1, 4), 5, (4, 5))
    back = TensorDesc((3, 2), "FLOAT", "ND", (-2, 1), 4, None)
    empty = TensorDesc((0, 3), "FLOAT", "ND")
    for at, desc in enumerate((moved, back, empty, TensorDesc((), "FLOAT"))):
        call = Call("aclnnTwo", "ascend910b", {"input": desc, "eps": 1e-5 * at, "gradInput": desc})
        cases.append(Case(f"two {at}", call, "valid", "views", VALID))
        extent = (20, 6, 0, 1)[at]
        wide = (*desc.shape,)
        arrays.append(
            {
                ("input", "input"): bits(draw, desc.dtype, (extent,)),
                ("gradInput", "golden"): bits(draw, "FLOAT", wide),
                ("gradInput", "bound"): bits(draw, "FLOAT", wide),
            }
        )
        if desc.dtype == "FLOAT":
            arrays[-1]["gradInput", "golden"] = bits(draw, "DOUBLE", wide)
    return Sample(cases, arrays)


def same_bits(one: np.ndarray, other: np.ndarray) -> bool:
    return (
        one.shape == other.shape and one.dtype == other.dtype and one.tobytes() == other.tobytes()
    )


def plain(call: Call, name: str) -> dict[str, object]:
    """A call as the contracts write it in JSON."""
    args: dict[str, object] = {}
    for key, value in call.args.items():
        if isinstance(value, TensorDesc):
            facts: dict[str, object] = {
                "shape": list(value.shape),
                "dtype": value.dtype,
                "format": value.format,
            }
            facts["offset"] = value.offset
            facts["strides"] = None if value.strides is None else list(value.strides)
            facts["storage_shape"] = (
                None if value.storage_shape is None else list(value.storage_shape)
            )
            args[key] = facts if value.range is None else {**facts, "range": list(value.range)}
        else:
            args[key] = list(value) if isinstance(value, tuple) else value
    return {"id": name, "op": call.api, "product": call.product, "args": args}


BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
