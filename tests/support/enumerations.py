"""Enumerations that several tests need, each made once in a run."""

from __future__ import annotations

import fcntl
import os
import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from opgen.model import Call
from opgen.spec.catalog import catalog
from opgen.spec.spec import Spec
from opgen.spec.table_view import TableView
from opgen.suite import planned_suite
from opgen.suite.enumeration.enumerator import Enumeration, enumerate_calls
from opgen.suite.planning.plan import Plan
from opgen.suite.planning.plan_check import shipped_plan

FOLDER = "OPGEN_TESTS_ENUMERATED"
"""The variable of the environment that names the folder where the processes of a run share the
enumerations of shipped pages and plans; where it names none, none are shared."""
_ENUMERATED: dict[tuple[int | str, ...], tuple[Spec, Plan, Enumeration]] = {}


@cache
def _shipped() -> dict[str, Spec]:
    return {spec.name: spec for spec in catalog().specs}


class _Writer(pickle.Pickler):
    """Writes what opgen reads from its specs as their names, and what it derives not at all."""

    def persistent_id(self, obj: object) -> str | None:
        return obj.name if isinstance(obj, Spec) else None

    def reducer_override(self, obj: object) -> Any:
        return (TableView, (obj.spec, obj.table)) if type(obj) is TableView else NotImplemented


class _Reader(pickle.Unpickler):
    def persistent_load(self, pid: str) -> Spec:
        return _shipped()[pid]


def shared(spec: Spec, plan: Plan, tier: str, *rest: int) -> Enumeration:
    """The calls of a page, a plan and a tier: what another process of the run has enumerated is
    read from its file, and what another is enumerating is waited for.
    """
    folder = os.environ.get(FOLDER)
    shipped = _shipped().get(spec.name) is spec
    if not folder or not shipped or replace(shipped_plan(spec.api), document=plan.document) != plan:
        return enumerate_calls(spec, plan, tier, (), *rest)
    path = Path(folder, "-".join(map(str, (spec.name, tier, *rest))))
    with path.open("ab") as mine:
        fcntl.flock(mine, fcntl.LOCK_EX)
        if path.stat().st_size:
            with path.open("rb") as file:
                return _Reader(file).load()
        made = enumerate_calls(spec, plan, tier, (), *rest)
        whole = path.with_name(f"{path.name}.{os.getpid()}")
        with whole.open("wb") as file:
            _Writer(file).dump(made)
        whole.replace(path)
    return made


def enumerated(
    spec: Spec, plan: Plan, tier: str, given: Sequence[Call] = (), *rest: int
) -> Enumeration:
    """The calls of a page, of a plan and of a tier, made when they are first asked for."""
    if given:
        return enumerate_calls(spec, plan, tier, given, *rest)
    key = spec.name, tier, *rest
    of, by, made = _ENUMERATED.get(key, (None, plan, None))
    if made is None or of is not spec or replace(by, document=plan.document) != plan:
        made = shared(spec, plan, tier, *rest)
        _ENUMERATED[key] = spec, plan, made
    return replace(made, report=replace(made.report))


@contextmanager
def enumerated_once() -> Iterator[None]:
    """Pages that come again with the same plan are enumerated once in a run: for tests of what is
    done with suites, in any number of requests and files of tests.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planned_suite, "enumerate_calls", enumerated)
        yield
