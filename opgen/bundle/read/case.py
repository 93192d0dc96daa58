"""One case of a bundle, as contracts and people see it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

import numpy as np

from opgen.bundle.format.dtypes import ROLES, TEXTS
from opgen.bundle.format.tensorrow import TensorRow
from opgen.bundle.read.contents import BundleTables
from opgen.model import Argument, Break, Call, Expectation, LibraryAnswer, TensorDesc, row_major

_INPUT, _GOLDEN, _BOUND = ROLES["input"], ROLES["golden"], ROLES["bound"]


class Tensors(Mapping[str, np.ndarray]):
    """Tensors by parameter name; each is read when it is asked for."""

    __slots__ = ("_case", "_rows", "_storage")

    def __init__(self, case: CaseView, role: int, storage: bool = False) -> None:
        self._case = case
        self._storage = storage
        self._rows = case.by_role[role]

    def __getitem__(self, name: str) -> np.ndarray:
        row = self._rows[name]
        array = self._case.bundle.tensor(row)
        return array if self._storage else _view(self._case, array, row)

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"<tensors {', '.join(self._rows) or 'none'}>"


class CaseView:
    """A case, read piece by piece: ``id``, ``call``, ``expect``, ``library``, ``inputs``,
    ``golden``, ``bound``, ...
    """

    __slots__ = ("_by_role", "_record", "_rows", "bundle", "row")

    def __init__(self, bundle: BundleTables, row: int) -> None:
        self.bundle = bundle
        self.row = row
        self._record: tuple[Any, ...] | None = None
        self._rows: list[TensorRow] | None = None
        self._by_role: tuple[dict[str, TensorRow], ...] | None = None

    def __repr__(self) -> str:
        return f"<case {self.id}>"

    def fact(self, column: str) -> Any:
        """One column of the case's row of ``/cases``, as it is stored."""
        if self._record is None:
            self._record = self.bundle.tables["cases"][self.row].item()
        return self._record[self.bundle.columns[column]]

    @property
    def id(self) -> str:
        """The case's id, unique in the bundle."""
        return self.bundle.ids[self.row]

    @property
    def call(self) -> dict[str, Any]:
        """The call as a plain dict: id, op, product, args."""
        args = {name: _plain(value) for name, value in self.args.items()}
        return {"id": self.id, "op": self.op, "product": self.product, "args": args}

    @property
    def op(self) -> str:
        """The vendor's name of the operator."""
        return self.bundle.words["cases.op"][self.fact("op")]

    @property
    def product(self) -> str:
        """The product that the call is judged for."""
        return self.bundle.words["cases.product"][self.fact("product")]

    @property
    def kind(self) -> str:
        """``valid``, ``invalid``, ``handwritten`` or ``given``."""
        return self.bundle.words["cases.kind"][self.fact("kind")]

    @property
    def phase(self) -> int:
        """2 with data and goldens, 1 with descriptors and a status only."""
        return int(self.fact("phase"))

    @property
    def expect(self) -> Expectation:
        """What the page says: codes, bucket, breaks."""
        text = self.bundle.strings
        first, count = self.fact("first_break"), self.fact("breaks")
        breaks = self.bundle.tables["breaks"][first : first + count].tolist() if count else ()
        return Expectation(
            self.bundle.codes(self.fact("codes")),
            self.bundle.words["cases.bucket"][self.fact("bucket")],  # type: ignore[arg-type]
            tuple(
                Break(text[r], text[c] or None, None if at < 0 else at, text[f])
                for _, r, c, at, f in breaks
            ),
        )

    @property
    def library(self) -> LibraryAnswer | None:
        """What a release of the published library answers, if anything is known."""
        if self.fact("library_codes") == 0:
            return None
        basis = self.bundle.words["cases.library_basis"][self.fact("library_basis")]
        release = self.bundle.strings[self.fact("library_release")]
        return LibraryAnswer(release, self.bundle.codes(self.fact("library_codes")), basis)  # type: ignore[arg-type]

    @property
    def inputs(self) -> Tensors:
        """Inputs by name, each the logical view on its storage; empty for a first-phase case."""
        return Tensors(self, _INPUT)

    @property
    def storage(self) -> Tensors:
        """Inputs by name, each the whole backing buffer, 1-D."""
        return Tensors(self, _INPUT, storage=True)

    @property
    def golden(self) -> Tensors:
        """Expected outputs by name, one precision wider than the output."""
        return Tensors(self, _GOLDEN)

    @property
    def bound(self) -> Tensors:
        """By output: what a correct device stays below; for complex outputs by parts."""
        return Tensors(self, _BOUND)

    @property
    def tensor_rows(self) -> list[TensorRow]:
        """The case's rows of ``/tensors``."""
        if self._rows is None:
            first = self.fact("first_tensor")
            stored = self.bundle.tables["tensors"][first : first + self.fact("tensors")].tolist()
            self._rows = list(map(TensorRow._make, stored))
        return self._rows

    @property
    def by_role(self) -> tuple[dict[str, TensorRow], ...]:
        """By number of a role, name to row of ``/tensors``, for the tensors that have data."""
        if self._by_role is None:
            names = self.bundle.names
            self._by_role = ({}, {}, {}, {})
            for row in self.tensor_rows:
                if row.has_data:
                    self._by_role[row.role][names[row.name]] = row
        return self._by_role

    def __getattr__(self, name: str) -> str:
        if name in TEXTS:
            number: int = self.fact(name)
            return self.bundle.strings[number]
        raise AttributeError(f"a case has no {name}")

    @property
    def args(self) -> dict[str, Argument]:
        """The arguments of the call, in prototype order."""
        bundle = self.bundle
        described: dict[str, TensorDesc] = {}
        start = self.fact("first_tensor")
        for at, row in enumerate(self.tensor_rows):
            if row.role < _GOLDEN:
                described[bundle.names[row.name]] = self._desc(row, start + at)
        values = bundle.tables[f"attributes/{self.op}"][self.fact("attributes_row")].item()
        args: dict[str, Argument] = {}
        for name, kind, column, null in bundle.parameters[self.op]:
            if kind == "tensor":
                args[name] = described.get(name)
            elif kind == "int_array":
                args[name] = bundle.sequence(values[column])
            elif kind == "bool_array":
                found = bundle.sequence(values[column])
                args[name] = None if found is None else tuple(map(bool, found))
            elif kind == "null" or (null >= 0 and values[null]):
                args[name] = None
            else:
                args[name] = values[column]
        return args

    @property
    def asked(self) -> Call:
        """The call as it is judged and put into tables."""
        return Call(self.op, self.product, self.args)

    def _desc(self, row: TensorRow, number: int) -> TensorDesc:
        bundle = self.bundle
        return TensorDesc(
            bundle.sequence(row.shape) or (),
            bundle.words["tensors.dtype"][row.dtype],
            bundle.words["tensors.format"][row.format],
            bundle.sequence(row.strides),
            row.offset,
            bundle.sequence(row.storage_shape),
            bundle.ranges.get(number),
        )


def _plain(value: Argument) -> Any:
    """An argument as JSON writes it; a tensor with every key, ``range`` only where it has one."""
    if not isinstance(value, TensorDesc):
        return list(value) if isinstance(value, tuple) else value
    plain: dict[str, Any] = {
        "shape": list(value.shape),
        "dtype": value.dtype,
        "format": value.format,
        "strides": None if value.strides is None else list(value.strides),
        "offset": value.offset,
        "storage_shape": None if value.storage_shape is None else list(value.storage_shape),
    }
    if value.range is not None:
        plain["range"] = list(value.range)
    return plain


def _view(case: CaseView, storage: np.ndarray, row: TensorRow) -> np.ndarray:
    """The logical view of a tensor on its storage; a bundle whose views leave theirs is not
    opened.
    """
    shape = case.bundle.sequence(row.shape) or ()
    if row.is_whole:
        count = prod(shape)
        return (storage if count == len(storage) else storage[:count]).reshape(shape)
    strides = case.bundle.sequence(row.strides)
    if strides is None:
        strides = row_major(shape)
    if 0 in shape:
        return np.empty(shape, dtype=storage.dtype)
    steps = tuple(
        step * storage.itemsize if extent > 1 else 0
        for extent, step in zip(shape, strides, strict=True)
    )
    return np.lib.stride_tricks.as_strided(storage[row.offset :], shape, steps)
