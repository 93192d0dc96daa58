"""The first case that fails on a device, reduced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Unpack

import numpy as np

from opgen.bundle.read.case import CaseView
from opgen.bundle.read.reader import Bundle
from opgen.bundle.results.reader import ResultsFile
from opgen.calls.ids import select_ids
from opgen.comparison.statuses import BAD
from opgen.comparison.verdicts import diff
from opgen.devices import Backend, Settings
from opgen.devices import backend as backend_of
from opgen.devices.running import unlike
from opgen.minimization import reduction
from opgen.minimization.failure import Failure
from opgen.minimization.reduction import MOST_RUN, Minimal
from opgen.model import FileError
from opgen.spec.catalog import edition_of


def first_failing(bundle: Bundle, results: str | Path, cases: Sequence[str]) -> str:
    """The first of some cases that failed, crashed or is missing, with finite data if there is one;
    FileError where none did.
    """
    report = diff(bundle, results, cases=cases)
    failed = [verdict.case for verdict in report if verdict.verdict in BAD]
    if not failed:
        told = ", ".join(f"{count} {verdict}" for verdict, count in report.totals.items())
        raise FileError.of(str(results), "", f"{told}: only a case that fails can be minimized")
    return next((case for case in failed if _finite(bundle[case])), failed[0])


def _finite(case: CaseView) -> bool:
    return all(np.isfinite(array).all() for array in case.inputs.values())


def minimize(
    bundle: str | Path,
    results: str | Path,
    case: str,
    backend: str | Backend,
    *,
    most: int = MOST_RUN,
    any_backend: bool = False,
    progress: Callable[[Failure], None] = lambda failure: None,
    **settings: Unpack[Settings],
) -> Minimal:
    """Reduce a failing case to the simplest call that still fails, as ``opgen minimize`` does.

    * ``case``: an id, or a pattern, which means the first failing case that matches, with
      finite data if there is one.
    * ``backend``, ``settings``: as for :func:`opgen.run`. The backend runs at most about ``most``
      calls.
    * ``any_backend``: accept results of another backend or device.
    * ``progress``: called with every simpler call that still fails.

    :func:`opgen.minimization.files` turns the result into programs. Raises FileError if no such
    case fails, if the case passes when it runs again, or if the results name another backend or
    device.
    """
    if isinstance(backend, str):
        backend = backend_of(backend, **settings)
    with Bundle(bundle) as file:
        with ResultsFile(results) as answers:
            others = unlike(answers.header, {"backend": backend.name, "device": backend.device})
        if others and not any_backend:
            text = f"results of {others[0]}, and `backend` is {others[1]}; run the bundle there"
            raise FileError.of(str(results), "", f"{text}, or accept that with `any_backend`")
        cases = [file.ids[row] for row in select_ids(file.ids, [case], "CASE")]
        failed, seed = first_failing(file, results, cases), int(str(file.header.get("seed", 0)))
        edition = edition_of(file.header)
        return reduction.minimize(
            file[failed], backend, seed=seed, most=most, edition=edition, progress=progress
        )
