"""Running a bundle: cases to a device, its answers into a results file that a later run can
complete.
"""

from __future__ import annotations

import logging
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from opgen.bundle.format.dtypes import BundleError
from opgen.bundle.format.heading import header
from opgen.bundle.read.reader import Bundle
from opgen.bundle.results.reader import Result
from opgen.bundle.results.writer import Results
from opgen.calls.ids import select_ids
from opgen.devices import Backend
from opgen.devices import backend as backend_of
from opgen.model import TIME_LIMIT

Tally = Counter[str]
_log = logging.getLogger(__name__)


def run(
    bundle: str | Path | Bundle,
    backend: str | Backend,
    output: str | Path,
    *,
    device: str = "",
    timeout: float = TIME_LIMIT,
    cases: Sequence[str] = (),
    resume: bool = False,
    force: bool = False,
    progress: Callable[[int], None] = lambda done: None,
) -> Tally:
    """Run a bundle on a device and write its answers, as ``opgen run`` does.

    ``backend`` is a name (``torch``, ``mutant:NAME``) or a :class:`Backend`; ``device`` and
    ``timeout`` are for a name. ``cases`` are ids or patterns; none are all. Returns how often each
    kind of answer occurred, how many were ``kept`` of an earlier run, or ``dropped`` where
    ``resume`` would have kept what a killed one left.

    ``resume``: what ``output`` already answers is kept and not run again; BundleError where another
    device answered. Stopped while the backend runs, by an interruption or by a fault, it writes
    what there is and passes on what stopped it. ``progress`` is told how many more cases are done.
    """
    if isinstance(backend, str):
        backend = backend_of(backend, device, timeout)
    with ExitStack() as stack:
        file = bundle if isinstance(bundle, Bundle) else stack.enter_context(Bundle(bundle))
        results = stack.enter_context(Results.create(output, file, force=force, resume=resume))
        wanted = [file.ids[row] for row in select_ids(file.ids, cases)]
        left = [case for case in wanted if case not in results]
        tally = +Counter({"kept": len(results), "dropped": results.dropped})
        progress(len(wanted) - len(left))
        with _terminated_as_interrupted(), closing(backend):
            _say(results, header(backend.open(file, left), {}))
            _log.info("%s: %d cases to run, %d answered before", output, len(left), len(results))
            for answer in backend.answers():
                results.add(
                    answer.id,
                    answer.status,
                    answer.outputs,
                    answer.run_status,
                    answer.time,
                    answer.error,
                    answer.unwritten,
                )
                tally[_kind(answer)] += 1
                _log.debug("%s: status %s, %s s", answer.id, answer.status, answer.time)
                progress(1)
    return tally


def _say(results: Results, device: dict[str, object]) -> None:
    """Name the device; BundleError where the answers that are gone on from are those of another:
    nobody could tell them apart.
    """
    earlier = {key: results.earlier[key] for key in ("backend", "device") if key in results.earlier}
    now = {key: device.get(key) for key in earlier}
    if now != earlier:
        results.leave()
        before, after = (" ".join(map(str, names.values())) for names in (earlier, now))
        raise BundleError(
            f"{results.path}: results of {before}: cannot be resumed with {after}; write another"
            " file"
        )
    results.header.update(device)


def _kind(answer: Result) -> str:
    if isinstance(answer.status, str):
        return answer.status
    return "refused" if answer.status else "failed to run" if answer.run_status else "ran"


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """A request to end is taken like Ctrl-C, so that answers are not lost."""

    def stop(number: int, frame: object) -> None:
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
