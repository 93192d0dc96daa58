"""Running a bundle: cases to a device, its answers into a results file that a later run can complete."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from opgen.bundle.dtypes import BundleError
from opgen.bundle.reader import Bundle
from opgen.bundle.results import Results
from opgen.bundle.resultsfile import ResultsFile
from opgen.devices import Run
from opgen.model import Code
from opgen.numbers.numerics import Array

Tally = Counter[str]
TIMEOUT = 60.0
"""Seconds that one case may take."""


def run(
    bundle: Bundle,
    backend: Run,
    path: str | Path,
    *,
    device: str = "",
    cases: Sequence[str] | None = None,
    timeout: float = TIMEOUT,
    resume: bool = False,
    force: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Tally:
    """Run cases (all, unless ids are given) and write their answers; returns how often each kind of answer occurred.

    ``resume``: what ``path`` already answers is kept and not run again; BundleError where another device answered.
    Interrupted while the backend runs, it writes what there is and passes the interruption on; stopped by anything else, it
    leaves ``path`` as it was.
    """  # fmt: skip
    path = Path(path)
    wanted = list(bundle.ids) if cases is None else list(cases)
    tell = progress or (lambda done: None)
    tally: Tally = Counter()
    with _earlier(path, bundle) if resume and path.exists() else nullcontext() as before:
        results = _Counting(path, bundle, dict(before.header) if before else {}, force or before is not None)
        results.tally = tally
        with results:
            if before is not None:
                _keep(before, results)
            left = [name for name in wanted if name not in results.done]
            tell(len(wanted) - len(left))
            try:
                with _gently():
                    backend(bundle, results, cases=left, device=device, timeout=timeout, progress=lambda name: tell(1))
                results.refuse_another()
            except KeyboardInterrupt:
                results.close()
                raise
    return tally


class _Counting(Results):
    """Results that know what has been added to them."""

    def __init__(self, path: Path, bundle: Bundle, header: dict[str, Any], force: bool) -> None:
        own = ("format", "format_version", "bundle", "opgen_version")
        super().__init__(path, bundle, {key: value for key, value in header.items() if key not in own}, force)
        self._earlier = {key: header[key] for key in ("backend", "device") if key in header}
        self.done: set[str] = set()
        self.tally: Tally = Counter()

    def add(
        self, case: str, status: Code, outputs: Mapping[str, Array] | None = None, run_status: Code | None = None,
        time: float | None = None, error: str = "",
    ) -> None:  # fmt: skip
        self.refuse_another()
        super().add(case, status, outputs, run_status, time, error)
        self.done.add(case)
        self.tally[_kind(status, run_status)] += 1

    def refuse_another(self) -> None:
        """BundleError where the answers that are gone on from are those of another device: nobody could tell them apart."""
        now = {key: self.header.get(key) for key in self._earlier}
        if now != self._earlier:
            earlier, other = (" ".join(map(str, names.values())) for names in (self._earlier, now))
            raise BundleError(f"{self.path}: results of {earlier}: cannot be resumed with {other}; write another file")


def _keep(before: ResultsFile, results: _Counting) -> None:
    """Take over the answers of an earlier run; those that nobody recorded a status of are run again."""
    for one in before:
        if one.status is not None:
            results.add(one.id, one.status, dict(one.outputs), one.run_status, one.time, one.error)
    results.tally.clear()
    results.tally["kept"] = len(results.done)


def _kind(status: Any, run_status: Any) -> str:
    if isinstance(status, str):
        return status
    return "refused" if status else "ran" if not run_status else "failed to run"


def _earlier(path: Path, bundle: Bundle) -> ResultsFile:
    """The answers to go on from; BundleError where they are another bundle's."""
    file = ResultsFile(path)
    if file.bundle_digest != bundle.digest:
        file.close()
        raise BundleError(f"{path}: results of another bundle: cannot be resumed with {bundle.path}")
    return file


@contextmanager
def _gently() -> Iterator[None]:
    """A request to end is taken like Ctrl-C, so that answers are not lost."""

    def stop(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGTERM, stop)
    except ValueError:  # not in the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
