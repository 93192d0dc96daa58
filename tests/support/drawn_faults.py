"""Wrong devices that are drawn at random: each computes what it should but for calls of which a
condition is true.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Unpack

import numpy as np

from opgen.bundle.read.reader import Bundle
from opgen.bundle.results.reader import Result
from opgen.calls.table import CallTable, from_calls
from opgen.comparison.calls_by_page import calls_by_page
from opgen.devices import Settings
from opgen.devices.mutant import MutantBackend
from opgen.model import Call
from opgen.spec.catalog import catalog
from opgen.spec.language import parse
from opgen.spec.rules import true_where
from opgen.spec.spec import Spec
from opgen.spec.table_view import TableView
from opgen.suite.selection import Request

EXTENTS = {
    "avg_pool2d_backward": ("N", "C", "Hin", "Win"),
    "reflection_pad2d_backward": ("N", "C", "H", "W"),
    "group_norm_backward": ("N", "C", "HxW"),
    "upsample_bilinear2d_backward": ("N", "C", "Hin", "Win"),
}
"""Operators, and the extents of their tensors that a call chooses freely."""
OPS = tuple(EXTENTS)
BOUNDARIES = (15, 16, 17, 31, 32, 33, 63, 64, 65)
"""Extents at which blocks end."""
PLANS = ("smoke", "standard", "full")
FEW = 8
"""What extents that have nothing to do with a fault are at most in a reduced call."""


@dataclass(frozen=True)
class DrawnFault:
    """A condition under which a device is wrong. ``least``: of each extent that it speaks of, the
    least with which it can be true.
    """

    op: str
    condition: str
    least: Mapping[str, int]

    @property
    def spec(self) -> Spec:
        known = catalog()
        return known.pages([known.api(self.op)])[0]

    def shows(self, table: CallTable) -> np.ndarray:
        """(rows,) bool: the calls for which the device is wrong."""
        spec = self.spec
        condition = parse.condition(self.condition, spec.scope)
        return np.asarray(true_where(condition, TableView(spec, table), len(table)))

    def is_caused(self, call: Call) -> bool:
        """Whether a call shows the fault, with the least extents that do and few of all others."""
        table = from_calls(self.spec.api, self.spec.kinds, [call])
        view = TableView(self.spec, table)
        extents = {name: view.get((name, "")) for name in EXTENTS[self.op]}
        return bool(self.shows(table)[0]) and all(
            not np.all(value.bound)
            or int(np.ravel(value.data)[0]) == self.least.get(name, 0)
            or (name not in self.least and np.all(value.data <= FEW))
            for name, value in extents.items()
        )


class FaultyDevice(MutantBackend):
    """A device that is right but for a drawn fault: the last element of every output is wrong."""

    name = "faulty"
    usual = "nothing"

    def __init__(self, fault: DrawnFault, **settings: Unpack[Settings]) -> None:
        super().__init__(**settings)
        self.device = "nothing"
        self.fault = fault

    def open(self, bundle: Bundle, cases: Sequence[str]) -> Mapping[str, object]:
        self.wrong = {
            bundle.ids[row]
            for _, rows, table in calls_by_page(bundle, range(len(bundle)))
            for row in rows[self.fault.shows(table)].tolist()
        }
        return super().open(bundle, cases)

    def wrong_value(self, output: str, last: np.generic) -> np.generic:
        """In place of the last element of an output; beyond zero, so never right by chance."""
        return np.sign(last or -1) * -1 - last if np.isfinite(last) else last.dtype.type(0)

    def answers(self, cases: Sequence[str]) -> Iterator[Result]:
        for answer in super().answers(cases):
            if answer.id not in self.wrong:
                yield answer
                continue
            outputs = {name: np.array(array) for name, array in answer.outputs.items()}
            for name, array in outputs.items():
                if array.size:
                    array.flat[-1] = self.wrong_value(name, array.flat[-1])
            yield Result(answer.id, answer.status, answer.run_status, outputs=outputs)


def draw(random: Random, ops: Sequence[str] = OPS, plans: Sequence[str] = PLANS) -> DrawnFault:
    """A fault of one of four kinds, which no shipped plan catches."""
    while True:
        op = random.choice(ops)
        kind = random.choice((_extent, _alignment, _dtype, _pair))
        fault = kind(random, op, random.sample(EXTENTS[op], 2))
        if fault and not any(fault.shows(table).any() for table in _planned(op, plans)):
            return fault


def _extent(random: Random, op: str, names: Sequence[str]) -> DrawnFault:
    size = random.randint(2, 64)
    return DrawnFault(op, f"{names[0]} == {size}", {names[0]: size})


def _alignment(random: Random, op: str, names: Sequence[str]) -> DrawnFault:
    unit = random.choice((16, 32, 64))
    rest = random.randrange(unit)
    condition = f"{names[0]} % {unit} == {rest} and {names[0]} > {unit}"
    return DrawnFault(op, condition, {names[0]: unit + (rest or unit)})


def _dtype(random: Random, op: str, names: Sequence[str]) -> DrawnFault | None:
    if op != "avg_pool2d_backward":
        return None
    dtype, mode = random.choice(("FLOAT16", "BFLOAT16", "FLOAT")), random.randrange(4)
    most = random.randint(16, 64)
    condition = f"gradOutput.dtype == '{dtype}' and cubeMathType == {mode} and C > {most}"
    return DrawnFault(op, condition, {"C": most + 1})


def _pair(random: Random, op: str, names: Sequence[str]) -> DrawnFault:
    sizes = dict(zip(names, random.choices(BOUNDARIES, k=2), strict=True))
    condition = " and ".join(f"{name} == {size}" for name, size in sizes.items())
    return DrawnFault(op, condition, sizes)


@cache
def _planned(op: str, plans: Sequence[str]) -> list[CallTable]:
    """The calls with data of some plans."""
    spec = DrawnFault(op, "", {}).spec
    tables = []
    for plan in plans:
        cases = Request(operators=[op], plan=plan).suite().cases
        rows = cases.rows_of(spec.api, spec.judges)
        rows = rows[cases.phase[rows] == 2]
        tables.append(cases.calls_of(rows))
    return tables
