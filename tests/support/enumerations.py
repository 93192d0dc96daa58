"""Enumerations that several tests need, each made once in a process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import pytest

from opgen.model import Call
from opgen.spec.spec import Spec
from opgen.suite import suite
from opgen.suite.enumeration.enumerator import Enumeration, enumerate_calls
from opgen.suite.planning.plan import Plan

_ENUMERATED: dict[tuple[int | str, ...], tuple[Spec, Plan, Enumeration]] = {}


def _enumerated(
    spec: Spec, plan: Plan, tier: str, given: Sequence[Call] = (), *rest: int
) -> Enumeration:
    """The calls of a page, of a plan and of a tier, made when they are first asked for."""
    if given:
        return enumerate_calls(spec, plan, tier, given, *rest)
    key = spec.name, tier, *rest
    of, by, made = _ENUMERATED.get(key, (None, plan, None))
    if made is None or of is not spec or replace(by, document=plan.document) != plan:
        made = enumerate_calls(spec, plan, tier, (), *rest)
        _ENUMERATED[key] = spec, plan, made
    return replace(made, report=replace(made.report))


@contextmanager
def enumerated_once() -> Iterator[None]:
    """Pages that come again with the same plan are enumerated once in a process: for tests of what
    is done with suites, in any number of requests and files of tests.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(suite, "enumerate_calls", _enumerated)
        yield
