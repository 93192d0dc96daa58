"""What another tool's case leaves unsaid, said by the page: shapes, dtypes and formats that its
equalities define.

``gradInput.shape == self.shape`` holds a call against the page, and also says what a missing
gradInput is; so does a list of a single dtype. Works on whole columns and knows no operator. What
nothing defines stays open, and the case is named with that reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from opgen.calls.table import from_calls
from opgen.calls.vocabulary import vocabulary
from opgen.model import Call, TensorDesc
from opgen.spec.language.formulas import Value
from opgen.spec.language.terms import Reference
from opgen.spec.rules import holds
from opgen.spec.spec import Spec
from opgen.spec.table_view import TableView

_FACTS = ("shape", "dtype", "format")
_UNDEFINED = "UNDEFINED"


@dataclass
class Partial:
    """A call that may lack whole outputs, and single facts of its tensors: ``open`` are the
    references still to be found.

    A tensor whose shape is open is null in ``call``; one whose dtype or format is open has
    UNDEFINED there. ``ranks`` are those that are known before their shapes.
    """

    call: Call
    open: set[Reference] = field(default_factory=set)
    ranks: dict[str, int] = field(default_factory=dict)

    def lacks(self, name: str) -> None:
        """Nothing is known of a tensor."""
        self.open |= {(name, fact) for fact in _FACTS}


def complete(spec: Spec, partials: Sequence[Partial]) -> list[str]:
    """Find what is open in calls of one page, in place; per call an empty text, or why it cannot be
    completed.
    """
    waiting = [one for one in partials if one.open]
    _leave_out(spec, waiting)
    while waiting and _round(spec, waiting):
        waiting = [one for one in waiting if one.open]
    _first_formats(spec, waiting)
    return [_reason(spec, one) for one in partials]


def _reason(spec: Spec, one: Partial) -> str:
    for name in spec.kinds:
        facts = [fact for fact in _FACTS if (name, fact) in one.open]
        if facts:
            return (
                f"{name} is missing, and the page does not say its {' or '.join(facts)} for these"
                " inputs; write it into the file"
            )
    return ""


def _view(spec: Spec, calls: list[Call]) -> TableView:
    return TableView(spec, from_calls(spec.api, spec.kinds, calls))


def _leave_out(spec: Spec, waiting: list[Partial]) -> None:
    """Missing outputs that the mask switches off stay null, where the page admits a null pointer
    for them.
    """
    if not waiting:
        return
    view, rows = _view(spec, [one.call for one in waiting]), len(waiting)
    for p in spec.outputs:
        if p.mask is None:
            continue
        rule = spec.rule.get(f"{p.name}.null")
        refused = rule.broken(view, rows) if rule is not None else np.zeros(rows, dtype=bool)
        asked = p.mask.read(view)
        off = np.broadcast_to(np.asarray(asked.bound & ~np.asarray(asked.data, dtype=bool)), rows)
        for i in np.flatnonzero(off & ~refused):
            if (p.name, "shape") in waiting[i].open:
                waiting[i].open -= {(p.name, fact) for fact in _FACTS}


def _round(spec: Spec, waiting: list[Partial]) -> bool:
    """Read every open fact off those that are known; whether anything was found."""
    rows = len(waiting)
    base = _view(spec, [one.call for one in waiting])
    ranked = _view(
        spec, [_with_ranks(one) for one in waiting]
    )  # only a condition may ask for the rank of an open tensor
    found: list[dict[Reference, Any]] = [{} for _ in waiting]
    names = {name for one in waiting for name, fact in one.open if fact == "shape"}
    for reference in [
        *{r: 0 for one in waiting for r in sorted(one.open)},
        *((name, "rank") for name in sorted(names)),
    ]:
        only = [
            guard for guard in spec.memberships.get(reference, ()) if len(guard.require.right) == 1
        ]
        for guard in (*spec.equalities.get(reference, ()), *only):
            needs = set(guard.require.right[0].refs)
            needs |= set(guard.when.refs if guard.when else ()) - {(reference[0], "rank")}
            value = guard.require.right[0].value(base)
            there = np.broadcast_to(np.asarray(value.bound, dtype=bool), rows)
            for i in np.flatnonzero(there & holds(guard.when, ranked, rows)):
                if not needs & waiting[i].open:
                    found[i].setdefault(reference, _at(value, int(i), reference[1]))
    return any(_settle(one, news) for one, news in zip(waiting, found, strict=True))


def _with_ranks(one: Partial) -> Call:
    placed = {
        name: TensorDesc((1,) * rank, _UNDEFINED, _UNDEFINED)
        for name, rank in one.ranks.items()
        if one.call.args[name] is None
    }
    return replace(one.call, args={**one.call.args, **placed})


def _at(value: Value, row: int, fact: str) -> Any:
    """One row of a column, as a call has it."""
    if fact == "shape":
        rank, extents = value.data
        size = int(np.asarray(rank).reshape(-1)[row if np.ndim(rank) else 0])
        return tuple(int(v) for v in extents[row if len(extents) > 1 else 0][:size])
    number = int(np.asarray(value.data).reshape(-1)[row if np.ndim(value.data) else 0])
    return number if fact == "rank" else vocabulary().names[fact][number]


def _settle(one: Partial, news: dict[Reference, Any]) -> bool:
    """Put what was found into a call; whether anything changed."""
    args, changed = dict(one.call.args), False
    for (name, fact), value in sorted(news.items(), key=lambda item: item[0][1] != "shape"):
        desc = args[name]
        if fact == "rank":
            changed |= one.ranks.get(name) != value
            one.ranks[name] = value
        elif (name, fact) in one.open and (fact == "shape" or isinstance(desc, TensorDesc)):
            args[name] = (
                replace(desc, **{fact: value})
                if isinstance(desc, TensorDesc)
                else TensorDesc(value, _UNDEFINED, _UNDEFINED)
            )
            one.open.discard((name, fact))
            changed = True
    one.call = replace(one.call, args=args)
    return changed


def _first_formats(spec: Spec, waiting: list[Partial]) -> None:
    """A format that no equality defines: the first that the page lists for the tensor, else ND."""
    if not waiting:
        return
    view, rows = _view(spec, [one.call for one in waiting]), len(waiting)
    index, names = vocabulary().index["format"], vocabulary().names["format"]
    for p in spec.parameters.values():
        if not p.is_tensor:
            continue
        chosen = np.full(rows, index["ND"])
        for guard in reversed(spec.memberships.get((p.name, "format"), [])):
            first = guard.require.right[0].read(view).data
            chosen = np.where(holds(guard.when, view, rows), first, chosen)
        for one, number in zip(waiting, chosen.tolist(), strict=True):
            desc = one.call.args[p.name]
            if (p.name, "format") in one.open and isinstance(desc, TensorDesc):
                one.open.discard((p.name, "format"))
                one.call = replace(
                    one.call, args={**one.call.args, p.name: replace(desc, format=names[number])}
                )
