"""Running a bundle: cases to a device, its answers into a results file that a later run can
complete.
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from opgen.bundle.format.dtypes import BundleError
from opgen.bundle.read.reader import Bundle
from opgen.bundle.results.writer import Results
from opgen.devices import Run
from opgen.model import TIME_LIMIT, Code
from opgen.numerics.arrays import Array

Tally = Counter[str]


def run(
    bundle: Bundle,
    backend: Run,
    path: str | Path,
    *,
    device: str = "",
    cases: Sequence[str] | None = None,
    timeout: float = TIME_LIMIT,
    resume: bool = False,
    force: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Tally:
    """Run cases (all, unless ids are given) and write their answers; returns how often each kind of
    answer occurred, and how many were ``kept`` of an earlier run, or ``dropped`` where ``resume``
    would have kept what a killed one left.

    ``resume``: what ``path`` already answers is kept and not run again; BundleError where another
    device answered. Stopped while the backend runs, by an interruption or by a fault, it writes
    what there is and passes on what stopped it.
    """
    wanted = list(bundle.ids) if cases is None else list(cases)
    tell = progress or (lambda done: None)
    with _Counting(Path(path), bundle, force, resume) as results:
        left = [name for name in wanted if name not in results]
        tell(len(wanted) - len(left))
        with _gently():
            backend(
                bundle,
                results,
                cases=left,
                device=device,
                timeout=timeout,
                progress=lambda name: tell(1),
            )
    return results.tally


class _Counting(Results):
    """Results that know what has been added to them, and that are of one device."""

    def __init__(self, path: Path, bundle: Bundle, force: bool, resume: bool) -> None:
        super().__init__(path, bundle, {}, force, resume)
        self.tally: Tally = Counter(
            {
                kind: count
                for kind, count in (("kept", len(self)), ("dropped", self.dropped))
                if count
            }
        )

    def add(
        self,
        case: str,
        status: Code | None,
        outputs: Mapping[str, Array] | None = None,
        run_status: Code | None = None,
        time: float | None = None,
        error: str = "",
    ) -> None:
        self._refuse_another()
        super().add(case, status, outputs, run_status, time, error)
        self.tally[_kind(status, run_status)] += 1

    def close(self) -> None:
        self._refuse_another()
        super().close()

    def _refuse_another(self) -> None:
        """BundleError where the answers that are gone on from are those of another device: nobody
        could tell them apart.
        """
        earlier = {key: self.earlier[key] for key in ("backend", "device") if key in self.earlier}
        now = {key: self.header.get(key) for key in earlier}
        if now != earlier:
            self._let_go()
            one, other = (" ".join(map(str, names.values())) for names in (earlier, now))
            raise BundleError(
                f"{self.path}: results of {one}: cannot be resumed with {other}; write another file"
            )


def _kind(status: Any, run_status: Any) -> str:
    if isinstance(status, str):
        return status
    return "refused" if status else "ran" if not run_status else "failed to run"


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
