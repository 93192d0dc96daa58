"""The cases of a suite as columns: calls, what each is for, and what is expected of it.

A case is a row of a :class:`CaseTable` from the enumeration to the last byte of a bundle. It
becomes a :class:`~opgen.model.Case` only where somebody asks for one: by its row, or all in a
loop, which is for people and tests.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from opgen.calls import table as call_tables
from opgen.calls.categorical import Categorical
from opgen.calls.purposes import Purposes, describe
from opgen.calls.table import CallTable
from opgen.calls.vocabulary import vocabulary
from opgen.model import Call, Case, Expectation, Kind, LibraryAnswer


@dataclass(frozen=True, eq=False)
class CaseTable:
    """Cases of one or several operators: case ``i`` makes the call in row ``row[i]`` of
    ``calls[table[i]]``.

    ``calls`` has one table per api; several cases may make one call. ``purposes`` are what a case
    is for, and ``nearest_valid`` is the id of the nearest valid call of an invalid one, which may
    be a case of another part of the suite. ``page`` and ``library`` are what is expected of a
    device. Cases of ``phase`` 2 have data and goldens, drawn by ``recipe`` and computed in
    ``compute``; cases of phase 1 a status only. ``inconclusive`` says why a pass would prove
    nothing.
    """

    calls: tuple[CallTable, ...]
    table: np.ndarray
    row: np.ndarray
    id: Sequence[str]
    kind: Categorical[Kind]
    purposes: Categorical[Purposes]
    nearest_valid: Categorical[str]
    recipe: Categorical[str]
    page: Categorical[Expectation]
    library: Categorical[LibraryAnswer | None]
    phase: np.ndarray
    compute: Categorical[str]
    inconclusive: Categorical[str]

    def __len__(self) -> int:
        return len(self.row)

    @cached_property
    def api(self) -> Categorical[str]:
        """The operator of each case."""
        return Categorical.coded([table.api for table in self.calls], self.table)

    @cached_property
    def product(self) -> Categorical[str]:
        """The product of each case."""
        number = np.zeros(len(self), dtype=np.intp)
        for i, table in enumerate(self.calls):
            number[self.table == i] = table.product[self.row[self.table == i]]
        return Categorical.coded(vocabulary().names["product"], number)

    @cached_property
    def intent(self) -> Categorical[str]:
        """What each case is for, in words."""
        return self.purposes.map(describe)

    def rows_of(self, api: str, products: Collection[str]) -> np.ndarray:
        """The rows of the cases of an operator on some products: those that one page judges."""
        mine = self.api.mask(lambda name: name == api)
        return np.flatnonzero(mine & self.product.mask(lambda name: name in products))

    def calls_of(self, rows: np.ndarray) -> CallTable:
        """The calls of some cases of one operator, at least one, a row per case."""
        return self.calls[int(self.table[rows[0]])].take(self.row[rows])

    def take(self, rows: np.ndarray) -> CaseTable:
        """The cases at ``rows``, in that order."""
        categorical: dict[str, Any] = {n: getattr(self, n).take(rows) for n in _CATEGORICAL}
        return CaseTable(
            calls=self.calls,
            table=self.table[rows],
            row=self.row[rows],
            id=[self.id[row] for row in rows.tolist()],
            phase=self.phase[rows],
            **categorical,
        )

    def __getitem__(self, row: int) -> Case:
        """One case as an object."""
        case = self.take(np.array([range(len(self))[row]]))
        return next(case._objects([case.calls[int(case.table[0])].call(int(case.row[0]))]))

    def __iter__(self) -> Iterator[Case]:
        """Every case as an object; cases that make one call share it."""
        made = [table.calls() for table in self.calls]
        places = zip(self.table.tolist(), self.row.tolist(), strict=True)
        return self._objects([made[table][row] for table, row in places])

    def _objects(self, calls: Sequence[Call]) -> Iterator[Case]:
        columns = zip(
            self.id,
            calls,
            self.kind,
            self.intent,
            self.page,
            self.library,
            self.recipe,
            self.phase.tolist(),
            self.nearest_valid,
            self.compute,
            self.inconclusive,
            strict=True,
        )
        return map(Case._make, columns)

    @classmethod
    def of_calls(
        cls,
        calls: CallTable,
        row: np.ndarray,
        id: Sequence[str],
        kind: Categorical[Kind],
        purposes: Categorical[Purposes],
        nearest_valid: Categorical[str],
        recipe: Categorical[str],
    ) -> CaseTable:
        """Cases of one operator that nobody has judged: said to be valid, and without data."""
        rows = len(row)
        return cls(
            calls=(calls,),
            table=np.zeros(rows, dtype=np.int64),
            row=row,
            id=id,
            kind=kind,
            purposes=purposes,
            nearest_valid=nearest_valid,
            recipe=recipe,
            page=Categorical.constant(Expectation((0,), "valid"), rows),
            library=Categorical.constant(None, rows),
            phase=np.ones(rows, dtype=np.int64),
            compute=Categorical.constant("", rows),
            inconclusive=Categorical.constant("", rows),
        )

    @classmethod
    def concatenate(cls, parts: Sequence[CaseTable]) -> CaseTable:
        """The cases of all parts, one part after the other; calls of one api come into one
        table.

        Raises ValueError where parts have different parameters of one api.
        """
        if len(parts) == 1:
            return parts[0]
        tables = [table for part in parts for table in part.calls]
        apis = list(dict.fromkeys(table.api for table in tables))
        by_api = {api: [table for table in tables if table.api == api] for api in apis}
        for api, alike in by_api.items():
            if any(list(table.kinds.items()) != list(alike[0].kinds.items()) for table in alike):
                raise ValueError(f"{api}: not all calls have the same parameters")
        before = dict.fromkeys(apis, 0)
        number, row = [_NONE], [_NONE]
        for part in parts:
            starts = []
            for table in part.calls:
                starts.append(before[table.api])
                before[table.api] += len(table)
            places = np.array([apis.index(table.api) for table in part.calls], dtype=np.int64)
            number.append(places[part.table])
            row.append(np.array(starts, dtype=np.int64)[part.table] + part.row)
        columns: dict[str, Any] = {
            name: Categorical.concatenate([getattr(part, name) for part in parts])
            for name in _CATEGORICAL
        }
        return cls(
            calls=tuple(
                call_tables.concatenate(alike) if alike[1:] else alike[0]
                for alike in by_api.values()
            ),
            table=np.concatenate(number),
            row=np.concatenate(row),
            id=[name for part in parts for name in part.id],
            phase=np.concatenate([_NONE, *(part.phase for part in parts)]),
            **columns,
        )


_NONE = np.zeros(0, dtype=np.int64)
_CATEGORICAL = (
    "kind",
    "purposes",
    "nearest_valid",
    "recipe",
    "page",
    "library",
    "compute",
    "inconclusive",
)
