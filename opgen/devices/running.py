"""Running a bundle: cases to a device, its answers into a results file that a later run can
complete.
"""

from __future__ import annotations

import logging
import signal
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from itertools import chain
from pathlib import Path
from typing import Unpack

from opgen.bundle.format.dtypes import BundleError
from opgen.bundle.format.heading import Header, header
from opgen.bundle.read.reader import Bundle
from opgen.bundle.results.reader import Result
from opgen.bundle.results.writer import Results
from opgen.calls.ids import select_ids
from opgen.devices import Backend, Raised, Settings
from opgen.devices import backend as backend_of
from opgen.devices.lost_device import Lookout, decisive_status
from opgen.devices.plugins import CodeError, blamed
from opgen.model import NOT_RUN, UNUSABLE

Tally = Counter[str]
_log = logging.getLogger(__name__)


def run(
    bundle: str | Path | Bundle,
    backend: str | Backend,
    output: str | Path,
    *,
    cases: Sequence[str] = (),
    last: Sequence[str] = (),
    status_only: bool = False,
    resume: bool = False,
    force: bool = False,
    watch: bool = True,
    progress: Callable[[int], None] = lambda done: None,
    **settings: Unpack[Settings],
) -> Tally:
    """Run a bundle on a device and write its answers, as ``opgen run`` does.

    * ``backend``: a name (``torch``, ``aclnn``, ``mutant:NAME``) or a :class:`Backend`.
    * ``settings``: ``device``, ``timeout`` (seconds), ``product`` and ``guard`` (bytes), if
      ``backend`` is a name.
    * ``output``: the path of the results file.
    * ``cases``: ids or patterns, to run only some cases.
    * ``last``: ids of cases to run after all others, such as those that may end the host.
    * ``status_only``: run the first phase alone; a case that is accepted counts as not run.
    * ``resume``: keep the answers in ``output``, and run the other cases.
    * ``progress``: called with the number of cases that were finished since the last call.

    Returns a count of each kind of answer. It also counts answers ``kept`` from an earlier run, and
    those ``dropped`` although ``resume`` would have kept them.

    If the run is interrupted or fails, ``output`` stays as it was, and ``resume`` continues from
    the answers so far. A case at which a backend of your own raises an exception is unusable, and
    so is one whose answer no file can keep. Raises BundleError if ``resume`` finds answers of
    another device.

    If :data:`opgen.devices.lost_device.LOST` calls in a row get codes of the runtime or are
    unusable, the device is asked for a valid call. If it does not accept that either, DeviceLost is
    raised; the first of these answers stays, and ``resume`` repeats the others. If your backend
    raises at the valid call too, a FileError names its line, and ``resume`` repeats all of them.
    ``watch=False`` turns this off.
    """
    if isinstance(backend, str):
        backend = backend_of(backend, **settings)
    backend.status_only = status_only
    with ExitStack() as stack:
        file = bundle if isinstance(bundle, Bundle) else stack.enter_context(Bundle(bundle))
        results = stack.enter_context(Results.create(output, file, force=force, resume=resume))
        wanted = [file.ids[row] for row in select_ids(file.ids, cases)]
        left = sorted((c for c in wanted if c not in results), key=set(last).__contains__)
        tally = +Counter({"kept": len(results), "dropped": results.dropped})
        progress(len(wanted) - len(left))
        with _terminated_as_interrupted(), closing(backend):
            facts: dict[str, object] = {"backend": backend.name, "device": backend.device}
            with blamed(type(backend), BundleError):
                facts |= backend.open(file, left)
            _say(results, header(facts, {}))
            _log.info("%s: %d cases to run, %d answered before", output, len(left), len(results))
            lookout = Lookout(file, results, left)
            others = _of_others(file, left, backend.product)
            answers = _Answers(backend, [case for case in left if case not in others])
            asked = map(_first_phase, answers) if status_only else answers
            for given in chain(others.values(), asked):
                answer = _kept(results, given)
                tally[_kind(answer)] += 1
                _log.debug("%s: status %s, %.3g s", answer.id, answer.status, answer.time or 0)
                progress(1)
                if watch:
                    lookout.see(answer, answers.alone)
    return tally


def _of_others(bundle: Bundle, cases: Sequence[str], product: str) -> dict[str, Result]:
    """Case -> its answer, where a device is known to be another product than the case is for."""
    products = dict(zip(bundle.ids, bundle.cases["product"].tolist(), strict=True))
    return {
        case: Result(
            case, NOT_RUN, error=f"the device is {product}; the case is for {products[case]}"
        )
        for case in cases
        if product and products[case] != product
    }


class _Answers:
    """What a backend answers to some cases, also where its code raises: the first case that it left
    is then asked alone, and is unusable if it raises again, so that no case is blamed for another.
    """

    def __init__(self, backend: Backend, cases: Sequence[str]) -> None:
        self.backend, self.left = backend, dict.fromkeys(cases)
        self.flow = self._asked({})
        self.interrupted = True

    def __iter__(self) -> Iterator[Result]:
        while self.left and self.interrupted:
            self.interrupted = False
            self.flow = self._asked(self.left)
            try:
                yield from self.flow
            except CodeError:
                if not self.left:
                    raise
                first = next(iter(self.left))
                del self.left[first]
                try:
                    answer = self.alone(first)
                except CodeError as error:
                    answer = Raised(first, UNUSABLE, error=error.line)
                if answer is not None:
                    yield answer

    def alone(self, case: str) -> Result | None:
        """The answer to a case while no other is asked; CodeError where the backend's code fails.
        Those that are left are asked afterwards.
        """
        self.flow.close()
        self.interrupted = True
        return next(self._asked({case: None}), None)

    def _asked(self, left: dict[str, None]) -> Generator[Result, None, None]:
        """Answers to cases, each of which is left until then."""
        with blamed(type(self.backend), BundleError):
            for answer in self.backend.answers(list(left)):
                if not isinstance(answer, Result):
                    raise TypeError(f"answers yields {answer!r:.60}, which is no opgen.Result")
                left.pop(answer.id, None)
                yield answer


def _kept(results: Results, answer: Result) -> Result:
    """Write an answer down, or what is wrong with one that no file can keep."""
    try:
        results.add(
            answer.id,
            answer.status,
            answer.outputs,
            answer.run_status,
            answer.time,
            answer.error,
            answer.unwritten,
        )
    except BundleError as error:
        text = str(error).removeprefix(f"{results.path}: {answer.id}: ")
        status, run = (0, UNUSABLE) if answer.status == 0 else (UNUSABLE, None)
        answer = Result(answer.id, status, run, error=text)
        results.add(answer.id, answer.status, None, answer.run_status, error=text)
    return answer


def _first_phase(answer: Result) -> Result:
    """What an answer says of the first phase; an accepted call was not run."""
    run = NOT_RUN if answer.status == 0 else None
    return Result(answer.id, answer.status, run, answer.time, answer.error)


def _say(results: Results, device: Header) -> None:
    """Name the device; BundleError where the answers that are continued are those of another:
    nobody could tell them apart.
    """
    if others := unlike(results.earlier, device):
        results.leave()
        raise BundleError(
            f"{results.path}: results of {others[0]}: cannot be resumed with {others[1]}; write"
            " another file"
        )
    results.header.update(device)


def unlike(header: Header, device: Header) -> tuple[str, str] | None:
    """The backend and the device that two headers name, where these differ."""
    earlier = {key: header[key] for key in ("backend", "device") if key in header}
    now = {key: device.get(key) for key in earlier}
    before, after = (" ".join(map(str, names.values())) for names in (earlier, now))
    return (before, after) if before != after else None


def _kind(answer: Result) -> str:
    if isinstance(code := decisive_status(answer), str):
        return code
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
