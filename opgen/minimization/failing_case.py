"""The first case that fails on a device, reduced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Unpack

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


def first_failing(bundle: Bundle, results: str | Path, cases: Sequence[str]) -> str:
    """The first of some cases that failed, crashed or is missing; FileError where none did."""
    report = diff(bundle, results, cases=cases)
    failed = [verdict.case for verdict in report if verdict.verdict in BAD]
    if not failed:
        text = f"{', '.join(report.totals)}: only a case that fails can be minimized"
        raise FileError.of(str(results), ", ".join(cases[:3]), text)
    return failed[0]


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

    ``case`` is an id, or a pattern: then the first case that fails. ``backend`` runs at most about
    ``most`` calls; ``settings`` are those of :func:`opgen.run`. ``progress`` is told of every
    simpler call that fails. :func:`opgen.minimization.files` writes the result as programs. Raises
    FileError where no such case fails, or where it passes when it is run again; and, without
    ``any_backend``, where the results name another backend or device.
    """
    if isinstance(backend, str):
        backend = backend_of(backend, **settings)
    with Bundle(bundle) as file:
        with ResultsFile(results) as answers:
            device = {"backend": backend.name, "device": backend.device}
            others = unlike(answers.header, device)
        if others and not any_backend:
            text = f"results of {others[0]}, and `backend` is {others[1]}; run the bundle there"
            raise FileError.of(str(results), "", f"{text}, or accept that with `any_backend`")
        cases = [file.ids[row] for row in select_ids(file.ids, [case], "CASE")]
        failed, seed = first_failing(file, results, cases), int(str(file.header.get("seed", 0)))
        return reduction.minimize(file[failed], backend, seed=seed, most=most, progress=progress)
