"""What page and library say of calls that people bring: an answer per call, in the order of the
calls.

>>> from opgen.spec.catalog import catalog
>>> from opgen.calls.jsonl import parse_call
>>> tensor = {"dtype": "FLOAT", "format": "ND", "shape": [3, 4, 4]}
>>> args = {"gradOutput": {**tensor, "shape": [3, 6, 8]}, "self": tensor, "padding": [2, 2, 1]}
>>> args |= {"gradInput": tensor}
>>> call = {"id": "a", "op": "aclnnReflectionPad2dBackward", "product": "ascend910b", "args": args}
>>> line = json.dumps(call)
>>> answer = judge_calls([parse_call(line, catalog().kinds)], catalog())[0]
>>> answer.page.bucket, answer.page.codes, answer.page.breaks[0].found
('unstated', ('any_error',), 'len(padding)=3')
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from json.encoder import encode_basestring_ascii as quoted
from pathlib import Path

from opgen.calls.call_json import CallFault
from opgen.calls.factorize import by_key, factorize
from opgen.calls.jsonl import NamedCall, parse_call, read_calls
from opgen.calls.table import from_calls
from opgen.files.gc_pause import gc_paused
from opgen.model import (
    UNDATED,
    AclScalar,
    Argument,
    Break,
    Code,
    Expectation,
    FileError,
    LibraryAnswer,
    Problem,
    TensorDesc,
    Truth,
    written,
)
from opgen.oracle.errata import Errata
from opgen.oracle.errata_folder import errata_of
from opgen.oracle.judgement import judge
from opgen.oracle.library import answers_to
from opgen.spec.catalog import Catalog, catalog
from opgen.spec.spec import Spec

ROWS = 16_384
"""Calls that become one table: enough to make the work per column small, few enough to stay in
memory."""


@dataclass(frozen=True, slots=True)
class JudgedCall:
    """One call and what both sources say of it; ``library`` is ``None`` where nothing is known."""

    call: NamedCall
    page: Expectation
    library: LibraryAnswer | None

    def refused(self, truth: Truth = "both") -> bool:
        """Whether a source that is asked does not admit that a device accepts the call."""
        by_page = truth != "library" and 0 not in self.page.codes
        by_library = self.library is not None and 0 not in self.library.codes
        return by_page or (truth != "page" and by_library)


def judge_given(
    calls: str | Path | Iterable[Mapping[str, object]],
    *,
    edition: str = "",
    library: str | Path = "",
) -> list[JudgedCall]:
    """Judge calls by page and library, as ``opgen judge`` does.

    * ``calls``: the path of a call file, or dicts like its lines.
    * ``edition``: the edition of the pages; by default, for each product, its oldest.
    * ``library``: a release, or a folder of errata; by default all that opgen ships.

    Raises FileError, which lists every call that does not have this form.

    >>> args = {"gradOutput": None, "self": None, "padding": [1, 1], "gradInput": None}
    >>> call = {"op": "aclnnReflectionPad1dBackward", "product": "ascend910", "args": args}
    >>> [answer.page.bucket for answer in judge_given([{"id": "nulls", **call}])]
    ['stated']
    """
    pages, source = catalog(edition), errata_of(library)
    if isinstance(calls, str | Path):
        return judge_calls(read_calls(calls, pages.kinds), pages, source)
    named, problems = [], []
    for number, call in enumerate(calls, 1):
        try:
            named.append(parse_call(json.dumps(call), pages.kinds, number=number))
        except CallFault as fault:
            problems.append(Problem("calls", number, "", str(fault)))
    if problems:
        raise FileError(problems)
    return judge_calls(named, pages, source)


def judge_calls(
    calls: Sequence[NamedCall],
    pages: Catalog,
    source: Mapping[str, Errata] | None = None,
    rows: int = ROWS,
) -> list[JudgedCall]:
    """An answer per call, in the order of ``calls``; at most ``rows`` calls become one table.
    ``source`` is api -> errata, by default those that opgen ships.
    """
    with gc_paused():
        number, first = factorize([id(named.call) for named in calls])
        distinct = [calls[i].call for i in first.tolist()]
        by_page = by_key((pages.by_page[call.api, call.product].name, call) for call in distinct)
        sides: dict[int, tuple[Expectation, LibraryAnswer | None]] = {}
        for spec in pages.pages({call.api for call in distinct}):
            of_page = by_page.get(spec.name, [])
            for start in range(0, len(of_page), rows):
                here = of_page[start : start + rows]
                judgement = judge(spec, from_calls(spec.api, spec.kinds, here))
                known = answers_to(judgement, source)
                library = [None] * len(here) if known is None else known.answers()
                both = zip(judgement.expectations(), library, strict=True)
                sides.update(zip(map(id, here), both, strict=True))
        told = [sides[id(call)] for call in distinct]
        return [
            JudgedCall(named, *told[i]) for named, i in zip(calls, number.tolist(), strict=True)
        ]


# for programs -------------------------------------------------------------------------------------
def json_lines(
    answers: Sequence[JudgedCall], pages: Catalog, truth: Truth = "both"
) -> Iterator[str]:
    """One line of JSON per answer; what many answers share is written once."""
    texts: dict[tuple[int, int], str] = {}  # the answers keep their sides alive
    for answer in answers:
        key = id(answer.page), id(answer.library)
        if key not in texts:
            spec = pages.by_page[answer.call.call.api, answer.call.call.product]
            sides = ("page", _of_page(answer.page, spec)), ("library", _shared(answer.library))
            asked = (f'"{name}": {side}' for name, side in sides if truth in (name, "both"))
            texts[key] = ", ".join(asked)
        yield f'{{"id": {quoted(answer.call.id)}, {texts[key]}}}'


_shared = cache(partial(json.dumps, default=LibraryAnswer.as_data))
"""What few answers of many have alike, as JSON."""


def _of_page(side: Expectation, spec: Spec) -> str:
    breaks = [
        quoted(b.found).join(_around_found(b.rule, b.clause, b.at, spec.rule[b.rule].likely))
        for b in side.breaks
    ]
    return (
        f'{{"codes": {_shared(side.codes)}, "bucket": {quoted(side.bucket)},'
        f' "breaks": [{", ".join(breaks)}], "edition": {quoted(spec.edition or UNDATED)}}}'
    )


@cache
def _around_found(rule: str, clause: str | None, at: int | None, likely: int | None) -> list[str]:
    """What stands before and behind the values with which a call breaks a rule."""
    told = {"rule": rule, "clause": clause, "at": at, "found": ""}
    return json.dumps(told | ({"likely": likely} if likely else {})).rsplit('""', 1)


# for people ---------------------------------------------------------------------------------------
def as_text(answer: JudgedCall, pages: Catalog, truth: Truth = "both") -> str:
    """The call, what it breaks and why, and what each source answers, as a few lines."""
    call = answer.call.call
    width = max(map(len, call.args))
    name = repr(answer.call.id)[1:-1]  # on one line
    lines = [f"{name}: {call.api} on {call.product}"]
    lines += [f"  {name:{width}}  {_written(value)}" for name, value in call.args.items()]
    spec = pages.by_page[call.api, call.product]
    if truth != "library":
        lines.append(f"  page: {_either(answer.page.codes)} ({answer.page.bucket}; {_named(spec)})")
        lines += [f"    {_broken(broken, spec)}" for broken in answer.page.breaks]
    if truth != "page":
        known = answer.library
        lines.append(
            "  library: not known"
            if known is None
            else f"  library: {_either(known.codes)} ({known.release}, {known.basis})"
        )
    return "\n".join(lines) + "\n"


def _named(spec: Spec) -> str:
    """The edition of a page, in words."""
    return f"edition {spec.edition}" if spec.edition else "page without a date"


def _broken(broken: Break, spec: Spec) -> str:
    rule = spec.rule[broken.rule]
    where = [f"clause {broken.clause}"] if broken.clause else []
    where += [f"line {broken.at}"] if broken.at else []
    where += [f"likely {rule.likely}"] if rule.likely else []
    silence = "the page is silent" if rule.bucket == "assumed" else "the page names no code"
    place = ", ".join(where) or silence
    return f"{broken.rule} ({place}): {rule.text}; found {broken.found}"


def _either(codes: Sequence[Code]) -> str:
    return written(["success" if code == 0 else code for code in codes])


def _written(value: Argument) -> str:
    if isinstance(value, AclScalar):
        return f"{value.dtype} {value.value}"
    if not isinstance(value, TensorDesc):
        return json.dumps(value)
    layout = {"strides": value.strides, "offset": value.offset, "of storage": value.storage_shape}
    told = [f" {k} {list(v) if isinstance(v, tuple) else v}" for k, v in layout.items() if v]
    return f"{value.dtype} {value.format} {list(value.shape)}{''.join(told)}"
