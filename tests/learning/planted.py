"""A library with planted deviations: statuses that a page admits, but for these."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from opgen.calls.call_json import to_json
from opgen.calls.jsonl import NamedCall, read_calls
from opgen.calls.table import from_calls
from opgen.model import CRASH, Call, Code
from opgen.oracle.judgement import judge
from opgen.spec.catalog import catalog

SAMPLE = Path(__file__).parents[1] / "data" / "library_sample.jsonl.gz"
Deviation = Callable[[Call, set[str]], Code | None]
"""What a library returns to a call for which a page forbids it by some rules; None where it does as
its page."""
UNNAMED = 161002
"""What the library returns where the page names no code."""


@cache
def calls(api: str) -> tuple[NamedCall, ...]:
    """The calls of the sample of one operator."""
    return tuple(one for one in read_calls(SAMPLE, catalog().kinds) if one.call.api == api)


def returned(
    named: Sequence[NamedCall], deviations: Iterable[Deviation] = (), tolerated: Iterable[str] = ()
) -> list[dict[str, Any]]:
    """Lines of a call file: each call with the status of a library that deviates so, and does not
    enforce the rules that are ``tolerated``.
    """
    lines = []
    for spec in catalog().specs:
        mine = [one for one in named if catalog().by_page[one.call.api, one.call.product] is spec]
        if not mine:
            continue
        judged = judge(spec, from_calls(spec.api, spec.kinds, [one.call for one in mine]))
        for row, one in enumerate(mine):
            broken = [spec.rules[i] for i in np.flatnonzero(judged.broken[:, row])]
            broken = [rule for rule in broken if rule.id not in set(tolerated)]
            ids = {rule.id for rule in broken if rule.forbids}
            codes = [rule.code or UNNAMED for rule in broken if rule.forbids]
            status: Code = min(codes, default=0)
            for deviation in deviations:
                told = deviation(one.call, ids)
                status = status if told is None else told
            call = {"op": one.call.api, "product": one.call.product, "args": to_json(one.call)}
            lines.append({"id": one.id, **call, "status": _written(status)})
    return lines


def _written(status: Code) -> int | None:
    return None if status == CRASH else int(status)


def write(path: Path, lines: Iterable[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path
