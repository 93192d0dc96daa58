"""What comes of another tool's file: calls, and by name everything that did not become one.

A reader yields a :class:`Found` per case; :func:`gather` checks it, completes it, and says for each
what became of it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from opgen.calls.call_json import CallFault, make_call, to_json
from opgen.interop.complete import Partial, complete
from opgen.interop.names import Unreadable
from opgen.model import Problem
from opgen.spec.catalog import Catalog


@dataclass
class Found:
    """One case as a reader understood it.

    ``args`` is in the form of a call, without the outputs that the file does not name; a tensor
    without ``format`` has its format open. ``notes`` say what was chosen or left behind, ``origin``
    where the case came from. ``skip`` is a reason to leave out a case that can be read, ``fault``
    why this one cannot.
    """

    id: str
    line: int | None = None
    api: str = ""
    products: Sequence[str] = ()
    args: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    origin: dict[str, Any] = field(default_factory=dict)
    skip: str = ""
    fault: str = ""


@dataclass
class Imported:
    """The calls of a file, as lines of a call file; what could not be read, and what was left out
    on purpose.

    ``ignored``: key of the file -> how many cases had one that a call cannot carry.
    """

    file: str
    cases: int = 0
    lines: list[str] = field(default_factory=list)
    unreadable: list[Problem] = field(default_factory=list)
    left_out: list[Problem] = field(default_factory=list)
    ignored: Counter[str] = field(default_factory=Counter)
    noted: int = 0


def attempt(found: Found, work: Callable[[], None]) -> Found:
    """Run one case's reader; what it cannot read becomes the case's fault."""
    try:
        work()
    except Unreadable as reason:
        found.fault = str(reason)
    return found


def gather(file: str, cases: Iterable[Found], catalog: Catalog, ignored: Counter[str]) -> Imported:
    """Calls of the cases that can be read, in their order; the others by name, with the reason."""
    result = Imported(file, ignored=ignored)
    seen: dict[str, str] = {}
    ready: list[tuple[Found, str, Partial]] = []
    for found in cases:
        result.cases += 1
        where = f"case {found.id}"
        if found.skip:
            result.left_out.append(Problem(file, found.line, where, found.skip))
            continue
        if not found.fault:
            try:
                ready += list(_partials(found, catalog, seen))
                continue
            except (CallFault, Unreadable) as reason:
                found.fault = str(reason)
        result.unreadable.append(Problem(file, found.line, where, _cut(found.fault)))
    _finish(result, ready, catalog)
    return result


def _cut(text: str, most: int = 300) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _partials(
    found: Found, catalog: Catalog, seen: dict[str, str]
) -> Iterator[tuple[Found, str, Partial]]:
    if not found.products:
        raise Unreadable("names no product; say for which with --product")
    made = []
    for product in found.products:
        one = found.id if len(found.products) == 1 else f"{found.id}-{product}"
        if one in seen:
            raise Unreadable(f"the id {one} stands in {seen[one]} already; ids must differ")
        made.append(
            (
                found,
                one,
                _partial(found, product, catalog.by_page[found.api, product].kinds, catalog),
            )
        )
    place = f"line {found.line}" if found.line else "the file"
    seen |= dict.fromkeys((one for _, one, _ in made), place)
    yield from made


def _partial(found: Found, product: str, kinds: Mapping[str, str], catalog: Catalog) -> Partial:
    spec = catalog.by_page[found.api, product]
    args, lacking, formats = dict(found.args), [], []
    for name in kinds:
        if name not in args:
            if spec.parameters[name].kind != "output":
                raise Unreadable(f"{name} is missing; {found.api} takes {', '.join(kinds)}")
            args[name] = None
            lacking.append(name)
        elif isinstance(args[name], dict) and "format" not in args[name]:
            args[name] = {**args[name], "format": "UNDEFINED"}
            formats.append(name)
    partial = Partial(make_call(found.api, product, args, {found.api: kinds}))
    for name in lacking:
        partial.lacks(name)
    partial.open |= {(name, "format") for name in formats}
    return partial


def _finish(result: Imported, ready: list[tuple[Found, str, Partial]], catalog: Catalog) -> None:
    by_page: dict[str, list[Partial]] = {}
    for _, _, partial in ready:
        by_page.setdefault(catalog.by_page[partial.call.api, partial.call.product].name, []).append(
            partial
        )
    specs = {spec.name: spec for spec in catalog.specs}
    reasons = {
        id(p): reason
        for name, some in by_page.items()
        for p, reason in zip(some, complete(specs[name], some), strict=True)
    }
    refused: dict[int, None] = {}
    for found, one, partial in ready:
        reason = reasons[id(partial)]
        if reason:
            if id(found) not in refused:
                result.unreadable.append(
                    Problem(result.file, found.line, f"case {found.id}", reason)
                )
            refused[id(found)] = None
            continue
        call = partial.call
        line: dict[str, Any] = {
            "id": one,
            "op": call.api,
            "product": call.product,
            "args": to_json(call),
            "origin": found.origin,
        }
        if found.notes:
            line["notes"] = found.notes
        result.noted += bool(found.notes)
        result.lines.append(json.dumps(line))
