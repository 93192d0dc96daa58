"""One case of a bundle, as contracts and people see it."""

from __future__ import annotations

from math import prod
from typing import Any, Literal, cast

import numpy as np
from numpy.lib.stride_tricks import as_strided

from opgen.bundle.format.dtypes import ROLES
from opgen.bundle.format.tensorrow import TensorRow
from opgen.bundle.read.case_arguments import arguments
from opgen.bundle.read.contents import BundleTables
from opgen.bundle.read.finished import LazyArrays
from opgen.calls.call_json import folded, plain
from opgen.model import (
    Argument,
    Break,
    Bucket,
    Call,
    Expectation,
    Kind,
    LibraryAnswer,
    row_major,
)

_INPUT, _OUTPUT, _GOLDEN, _BOUND, _PLACES, _ = ROLES.values()
_BASIS = {"accepted": "observed"}
"""The word of a column for a basis of which it says more."""


class CaseView:
    """A case of a bundle. Its parts are read from the file when you ask for them.

    ``call`` is a plain dict, in the form of a call file. ``expect`` and ``library`` say which
    statuses a device may return. ``inputs``, ``storage``, ``golden`` and ``bound`` map names of
    parameters to arrays. ``kind``, ``intent``, ``recipe``, ``nearest_valid``, ``compute`` and
    ``inconclusive`` say where the case comes from and what it tests.
    """

    __slots__ = ("_by_role", "_record", "_rows", "bundle", "row")

    def __init__(self, bundle: BundleTables, row: int) -> None:
        self.bundle = bundle
        self.row = row
        self._record: tuple[int, ...] | None = None
        self._rows: list[TensorRow] | None = None
        self._by_role: tuple[dict[str, TensorRow], ...] | None = None

    def __repr__(self) -> str:
        asked = "data" if self.phase == 2 else "a status only"
        return f"<case {self.id}: {self.kind}, {self.op} on {self.product}, {asked}>"

    def _number(self, column: str) -> int:
        """One column of the case's row of ``/cases``, as it is stored."""
        if self._record is None:
            self._record = self.bundle.tables["cases"][self.row].item()
        return int(self._record[self.bundle.columns[column]])

    def _word(self, column: str) -> str:
        return self.bundle.words[f"cases.{column}"][self._number(column)]

    def _text(self, column: str) -> str:
        return self.bundle.strings[self._number(column)]

    @property
    def id(self) -> str:
        """The case's id, unique in the bundle."""
        return self.bundle.ids[self.row]

    @property
    def call(self) -> dict[str, Any]:
        """The call as a plain dict: id, op, product, args."""
        args = folded(self.plain_args)
        return {"id": self.id, "op": self.op, "product": self.product, "args": args}

    @property
    def plain_args(self) -> dict[str, Any]:
        """The arguments as plain data; each tensor of a list by itself, and the list as their
        number.
        """
        return {name: plain(value, layout=True) for name, value in self.args.items()}

    @property
    def op(self) -> str:
        """The vendor's name of the operator."""
        return self._word("op")

    @property
    def product(self) -> str:
        """The product that the call is judged for."""
        return self._word("product")

    @property
    def kind(self) -> Kind:
        """``valid``, ``invalid``, ``handwritten`` or ``given``."""
        return cast(Kind, self._word("kind"))

    @property
    def phase(self) -> int:
        """2 with data and goldens, 1 with descriptors and a status only."""
        return self._number("phase")

    @property
    def intent(self) -> str:
        """What the case is for, in words."""
        return self._text("intent")

    @property
    def recipe(self) -> str:
        """How its inputs were drawn; empty where nothing was."""
        return self._text("recipe")

    @property
    def nearest_valid(self) -> str:
        """The id of the nearest valid call of an invalid case; empty where there is none."""
        return self._text("nearest_valid")

    @property
    def compute(self) -> str:
        """The dtype that inputs are rounded to before the sum; empty without data."""
        return self._text("compute")

    @property
    def inconclusive(self) -> str:
        """Why a pass would prove nothing; empty where it proves something."""
        return self._text("inconclusive")

    @property
    def expect(self) -> Expectation:
        """What the page says: codes, bucket, breaks."""
        text = self.bundle.strings
        first, count = self._number("first_break"), self._number("breaks")
        breaks = self.bundle.tables["breaks"][first : first + count].tolist() if count else ()
        return Expectation(
            self.bundle.codes(self._number("codes")),
            cast(Bucket, self._word("bucket")),
            tuple(
                Break(text[rule], text[clause] or None, None if line < 0 else line, text[values])
                for _, rule, clause, line, values in breaks
            ),
        )

    @property
    def library(self) -> LibraryAnswer | None:
        """What a release of the published library answers, if anything is known."""
        codes = self._number("library_codes")
        if codes == 0:
            return None
        word = self._word("library_basis")
        basis = cast(Literal["read", "inferred", "observed"], _BASIS.get(word, word))
        release, accepted = self._text("library_release"), word != "observed"
        until = self._word("library_until")
        return LibraryAnswer(release, self.bundle.codes(codes), basis, accepted, until)

    @property
    def inputs(self) -> LazyArrays[TensorRow]:
        """Inputs by name, each the logical view on its storage; empty for a first-phase case."""
        return LazyArrays(self.by_role[_INPUT], self._view)

    @property
    def storage(self) -> LazyArrays[TensorRow]:
        """Inputs by name, each the whole backing buffer, 1-D."""
        return LazyArrays(self.by_role[_INPUT], self.bundle.tensor)

    @property
    def golden(self) -> LazyArrays[TensorRow]:
        """Expected outputs by name, one precision wider than the output."""
        return LazyArrays(self.by_role[_GOLDEN], self._view)

    @property
    def bound(self) -> LazyArrays[TensorRow]:
        """By output: what a correct device stays below; for complex outputs by parts."""
        return LazyArrays(self.by_role[_BOUND], self._view)

    @property
    def places(self) -> LazyArrays[TensorRow]:
        """By output of which not all elements are looked at: the flat places of those that its
        golden and its bound have, (N,).
        """
        return LazyArrays(self.by_role[_PLACES], self._view)

    @property
    def written(self) -> dict[str, str]:
        """Output of the call -> its dtype, whether there is a golden for it or not. Some are inputs
        too.
        """
        dtypes, names = self.bundle.words["tensors.dtype"], self.bundle.names
        return {
            names[row.name]: dtypes[row.dtype]
            for row in self.tensor_rows
            if row.role == _OUTPUT or (row.role == _INPUT and names[row.name] in self.golden)
        }

    @property
    def tensor_rows(self) -> list[TensorRow]:
        """The case's rows of ``/tensors``."""
        if self._rows is None:
            first = self._number("first_tensor")
            stored = self.bundle.tables["tensors"][first : first + self._number("tensors")].tolist()
            self._rows = list(map(TensorRow._make, stored))
        return self._rows

    @property
    def by_role(self) -> tuple[dict[str, TensorRow], ...]:
        """By number of a role, name to row of ``/tensors``, for the tensors that have data."""
        if self._by_role is None:
            names = self.bundle.names
            self._by_role = tuple({} for _ in ROLES)
            for row in self.tensor_rows:
                if row.has_data:
                    self._by_role[row.role][names[row.name]] = row
        return self._by_role

    @property
    def args(self) -> dict[str, Argument]:
        """The arguments of the call, in prototype order."""
        number, first = self._number("attributes_row"), self._number("first_tensor")
        return arguments(self.bundle, self.op, number, self.tensor_rows, first)

    @property
    def asked(self) -> Call:
        """The call as it is judged and put into tables."""
        return Call(self.op, self.product, self.args)

    def _view(self, row: TensorRow) -> np.ndarray:
        """The logical view of a tensor on its storage; a bundle whose views leave theirs is not
        opened.
        """
        storage, shape = self.bundle.tensor(row), self.bundle.sequence(row.shape) or ()
        if row.is_whole:
            count = prod(shape)
            return (storage if count == len(storage) else storage[:count]).reshape(shape)
        if 0 in shape:
            return np.empty(shape, dtype=storage.dtype)
        strides = self.bundle.sequence(row.strides) or row_major(shape)
        steps = tuple(
            step * storage.itemsize if extent > 1 else 0
            for extent, step in zip(shape, strides, strict=True)
        )
        return as_strided(storage[row.offset :], shape, steps)
