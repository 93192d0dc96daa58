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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii as quoted

from opgen.calls.collection import no_collection
from opgen.calls.factorize import factorize
from opgen.calls.jsonl import NamedCall
from opgen.calls.table import from_calls
from opgen.model import (
    Argument,
    Break,
    Code,
    Expectation,
    LibraryAnswer,
    TensorDesc,
    Truth,
    written,
)
from opgen.oracle import library
from opgen.oracle.judgement import Judgement, judge
from opgen.spec.catalog import Catalog
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


def judge_calls(calls: Sequence[NamedCall], pages: Catalog) -> list[JudgedCall]:
    """An answer per call, in the order of ``calls``."""
    by_page: dict[str, list[int]] = {}
    specs: dict[str, Spec] = {}
    for i, named in enumerate(calls):
        spec = pages.by_page[named.call.api, named.call.product]
        specs[spec.name] = spec
        by_page.setdefault(spec.name, []).append(i)
    answers: dict[int, JudgedCall] = {}
    with no_collection():
        for name, places in by_page.items():
            spec = specs[name]
            for start in range(0, len(places), ROWS):
                here = places[start : start + ROWS]
                of, first = factorize(id(calls[i].call) for i in here)
                judgement = judge(
                    spec,
                    from_calls(spec.api, spec.kinds, [calls[here[j]].call for j in first.tolist()]),
                )
                page, known = judgement.expectations(), library_answers(judgement)
                answers.update(
                    (i, JudgedCall(calls[i], page[j], known[j]))
                    for i, j in zip(here, of.tolist(), strict=True)
                )
        return [answers[i] for i in range(len(calls))]


def library_answers(judgement: Judgement) -> list[LibraryAnswer | None]:
    """What the published library answers to every row; equal answers are one object."""
    answers = library.answers_to(judgement)
    if answers is None:
        return [None] * len(judgement.table)
    return [*answers.answers()]


# for programs -------------------------------------------------------------------------------------
def json_lines(answers: Sequence[JudgedCall], truth: Truth = "both") -> Iterator[str]:
    """One line of JSON per answer; what many answers share is written once."""
    sides: dict[int, str] = {}  # by identity: the answers keep their parts alive
    for answer in answers:
        parts = [f'{{"id": {quoted(answer.call.id)}']
        if truth != "library":
            page = sides.get(id(answer.page))
            if page is None:
                page = _page(answer.page, sides)
                if not answer.page.breaks:
                    sides[id(answer.page)] = page
            parts.append(f'"page": {page}')
        if truth != "page":
            known = sides.get(id(answer.library))
            if known is None:
                known = sides[id(answer.library)] = _library(answer.library)
            parts.append(f'"library": {known}')
        yield ", ".join(parts) + "}"


def _page(page: Expectation, sides: dict[int, str]) -> str:
    breaks = []
    for one in page.breaks:
        text = sides.get(id(one))
        if text is None:
            text = sides[id(one)] = json.dumps(
                {"rule": one.rule, "clause": one.clause, "at": one.at, "found": one.found}
            )
        breaks.append(text)
    codes = sides.get(id(page.codes))
    if codes is None:
        codes = sides[id(page.codes)] = json.dumps(page.codes)
    return f'{{"codes": {codes}, "bucket": "{page.bucket}", "breaks": [{", ".join(breaks)}]}}'


def _library(known: LibraryAnswer | None) -> str:
    return json.dumps(
        None
        if known is None
        else {"release": known.release, "codes": known.codes, "basis": known.basis}
    )


# for people ---------------------------------------------------------------------------------------
def as_text(answer: JudgedCall, pages: Catalog, truth: Truth = "both") -> str:
    """The call, what it breaks and why, and what each source answers, as a few lines."""
    call = answer.call.call
    width = max(map(len, call.args))
    lines = [f"{answer.call.id}: {call.api} on {call.product}"]
    lines += [f"  {name:{width}}  {_written(value)}" for name, value in call.args.items()]
    spec = pages.by_page[call.api, call.product]
    if truth != "library":
        lines.append(f"  page: {_either(answer.page.codes)} ({answer.page.bucket})")
        lines += [f"    {_broken(one, spec)}" for one in answer.page.breaks]
    if truth != "page":
        known = answer.library
        lines.append(
            "  library: not known"
            if known is None
            else f"  library: {_either(known.codes)} ({known.release}, {known.basis})"
        )
    return "\n".join(lines) + "\n"


def _broken(one: Break, spec: Spec) -> str:
    where = [f"clause {one.clause}"] if one.clause else []
    where += [f"line {one.at}"] if one.at else []
    rule = spec.rule[one.rule]
    place = ", ".join(where) or {"assumed": "the page is silent"}.get(
        rule.bucket, "the page names no code"
    )
    return f"{one.rule} ({place}): {rule.text}; found {one.found}"


def _either(codes: Sequence[Code]) -> str:
    return written(["success" if code == 0 else code for code in codes])


def _written(value: Argument) -> str:
    if value is None:
        return "null"
    if not isinstance(value, TensorDesc):
        return json.dumps(value)
    text = f"{value.dtype} {value.format} {list(value.shape)}"
    if value.strides is not None:
        text += f" strides {list(value.strides)}"
    if value.offset:
        text += f" offset {value.offset}"
    return text + (
        f" of storage {list(value.storage_shape)}" if value.storage_shape is not None else ""
    )
