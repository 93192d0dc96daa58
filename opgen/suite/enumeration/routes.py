"""Routes: by which kernels the vendor's library computes a call, and the smallest calls that are
known to take each. A line of a call file says under ``kernels`` which ones ran, in their order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from opgen.calls.call_json import to_json
from opgen.calls.columns import TensorColumn
from opgen.calls.factorize import by_key
from opgen.calls.jsonl import NamedCall, read_calls
from opgen.calls.layout import storage_elements
from opgen.calls.table import from_calls
from opgen.calls.vocabulary import vocabulary
from opgen.model import Call, Problem
from opgen.numerics.formats import DTYPES
from opgen.oracle.judgement import Judgement, judge
from opgen.spec.spec import Spec
from opgen.suite.planning.plan import Plan
from opgen.suite.planning.plan_form import Handwritten

MOVES = ("ViewCopy", "Slice", "StridedSlice", "Transpose", "Reshape", "AsStrided")
"""Kernels that only move data; no route counts them."""
SMALL = 12 * 1024
"""Bytes of inputs up to which the tier ``standard`` has a witness of a route."""


@dataclass(frozen=True)
class RoutedCalls:
    """Calls that a page admits, and the route that each takes: its kernels, with commas."""

    ids: Sequence[str]
    judged: Judgement
    routes: Sequence[str]

    @classmethod
    def of(cls, spec: Spec, named: Sequence[NamedCall]) -> RoutedCalls:
        """Those of some calls that are of a page, admitted, and say their kernels."""
        mine = [
            each
            for each in named
            if each.call.api == spec.api
            and each.call.product in spec.judges
            and isinstance(each.extra.get("kernels"), list)
        ]
        judged = judge(spec, from_calls(spec.api, spec.kinds, [each.call for each in mine]))
        rows = np.flatnonzero(judged.admits(0))
        some = [mine[row] for row in rows.tolist()]
        routes = [_route(each.extra["kernels"]) for each in some]
        return cls([each.id for each in some], judged.take(rows), routes)

    def groups(self) -> dict[tuple[int, str], list[int]]:
        """(number of the product, route) -> its calls, those that break nothing and have the least
        input first.
        """
        order = np.lexsort((self.input_bytes, ~self.judged.valid)).tolist()
        products = self.judged.table.product.tolist()
        return by_key(((products[row], self.routes[row]), row) for row in order)

    def witnesses(self) -> Iterator[dict[str, object]]:
        """A line of a call file for one call of each route, in the order of the calls."""
        rows = sorted(rows[0] for rows in self.groups().values())
        calls = self.judged.table.take(np.array(rows, dtype=np.int64)).calls()
        for row, call in zip(rows, calls, strict=True):
            line = {"id": self.ids[row], "op": call.api, "product": call.product}
            yield {**line, "args": to_json(call), "kernels": self.routes[row].split(", ")}

    @property
    def input_bytes(self) -> np.ndarray:
        """(rows,) the bytes of all inputs of each call."""
        names = vocabulary().names["dtype"]
        width = np.array([DTYPES[name].numpy.itemsize if name in DTYPES else 0 for name in names])
        total = np.zeros(len(self.judged.table))
        for parameter in self.judged.spec.inputs:
            column = self.judged.table.columns[parameter.name]
            if isinstance(column, TensorColumn):
                total += np.where(column.null, 0, storage_elements(column) * width[column.dtype])
        return total


def _route(kernels: Sequence[object]) -> str:
    moved = [str(kernel) for kernel in kernels]
    return ", ".join(kernel for kernel in moved if kernel.partition(":")[0] not in MOVES)


def computed_by(kernels: object) -> str:
    """What a call is computed by, if a line of a call file lists its kernels; else nothing."""
    return f"computed by {_route(kernels) or 'no kernel'}" if isinstance(kernels, list) else ""


def read_routes(
    path: str | Path, specs: Iterable[Spec], skipped: list[Problem] | None = None
) -> dict[str, RoutedCalls]:
    """Page -> the calls of a file that take known routes through its operator; raises FileError
    with the bad lines of these operators, unless ``skipped`` takes them.
    """
    pages = list(specs)
    named = read_calls(path, {spec.api: spec.kinds for spec in pages}, skipped, foreign=[])
    return {spec.name: RoutedCalls.of(spec, named) for spec in pages}


def known_routes(plan: Plan, spec: Spec, tier: str) -> list[tuple[Handwritten, Call]]:
    """The calls beside a shipped plan that take known routes, as if they were written by hand: all
    in the tier ``full``, small ones in ``standard``.
    """
    if plan.routes is None or tier not in ("standard", "full") or not plan.routes.exists():
        return []
    known = read_routes(plan.routes, [spec])[spec.name]
    rows = np.flatnonzero((tier == "full") | (known.input_bytes <= SMALL))
    pins = [
        Handwritten("route", computed_by(known.routes[row].split(", "))) for row in rows.tolist()
    ]
    return list(zip(pins, known.judged.take(rows).table.calls(), strict=True))
