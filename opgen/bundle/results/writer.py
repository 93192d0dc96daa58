"""What a device answered: kept case by case while it runs, in the form of a bundle at the end."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

import numpy as np

from opgen.bundle.format import heading
from opgen.bundle.format.closing import Closing
from opgen.bundle.format.dtypes import BundleError
from opgen.bundle.format.heading import Header
from opgen.bundle.format.schema import NO_STATUS
from opgen.bundle.read.reader import Bundle
from opgen.bundle.results import answers as answered
from opgen.bundle.results import checks
from opgen.bundle.results.ledger import Ledger
from opgen.bundle.results.reader import ResultsFile, contradiction, said
from opgen.bundle.write.output import LockedOutput, write_errors
from opgen.model import Code


class Results(Closing):
    """A results file being written: ``with opgen.Results.create("results.h5", bundle) as results``.

    Each answer goes to ``<name>.partial`` at once. The end of the block writes the results file.
    After an exception it does not, and ``resume=True`` continues from the answers so far, as it
    does from what a killed process left. ``case_id in results`` says whether a case has an answer,
    and ``len(results)`` how many do.
    """

    def __init__(
        self,
        path: str | Path,
        bundle: Bundle | str | Path,
        header: Mapping[str, object],
        force: bool,
        resume: bool = False,
    ) -> None:
        self.path = Path(path)
        self._bundle = _opened(self.path, bundle)
        if self.path.exists() and self.path.samefile(self._bundle.path):
            raise BundleError(f"{self.path}: is the bundle itself; name another file")
        self.header = self._kept(header)
        self.earlier: Header = {}
        """What the answers that are continued say of their device."""
        self.dropped = 0
        """How many answers of a killed process were there, and are not gone on from."""
        self._before: ResultsFile | None = None
        self._again: set[int] = set()
        self._worth = resume  # whether the unfinished file holds what no other file does
        self._claim = LockedOutput(self.path, 0, force or resume, "force=True", anew=force)
        self._claim.refuse_unfinished(force, answers=not resume)
        try:
            with write_errors(self.path):
                self._ledger = Ledger(self._claim.partial, self._claim.fd)
                self._worth = resume and len(self._ledger) > 0
                if resume:
                    self._ledger.take(self._bundle)
                    self._go_on()
                else:
                    self.dropped = len(self._ledger)
                    self._ledger.begin(resumed=False)
        except BaseException:
            self.leave()
            raise

    @classmethod
    def create(
        cls,
        path: str | Path,
        bundle: Bundle | str | Path,
        *,
        header: Mapping[str, object] | None = None,
        force: bool = False,
        resume: bool = False,
    ) -> Results:
        """Start a results file for ``bundle``, an open bundle or its path.

        ``header`` may name the device, the backend and their versions. ``resume`` keeps the answers
        that exist, in ``path`` or where a killed process left them. An answer without a status can
        still be replaced. ``force`` overwrites an existing file.

        Raises BundleError if ``path`` exists (without ``force`` or ``resume``) or cannot be
        written, and if the existing answers belong to another bundle or, by ``header``, to another
        device.
        """
        return cls(path, bundle, {} if header is None else header, force, resume)

    @staticmethod
    def open(path: str | Path) -> ResultsFile:
        """A finished results file, for reading."""
        return ResultsFile(path)

    def __contains__(self, case: object) -> bool:
        return isinstance(case, str) and self._answered(self._bundle.rows.get(case))

    def __len__(self) -> int:
        return len(self._ledger.answers) - len(self._again)

    def _answered(self, row: int | None) -> bool:
        return row in self._ledger.answers and row not in self._again

    def add(
        self,
        case: str,
        status: Code | None,
        outputs: Mapping[str, np.ndarray] | None = None,
        run_status: Code | None = None,
        time: float | None = None,
        error: str = "",
        unwritten: Mapping[str, int] | None = None,
    ) -> None:
        """Add the answer to one case.

        * ``status``: what the first phase returned: an integer, a word of
          :data:`opgen.model.STATUS_WORDS`, or None if nobody recorded one.
        * ``outputs``: name -> array, in the shape and dtype of the call. A wider array (FLOAT for
          BFLOAT16, DOUBLE for anything) is rounded once, to the dtype of the output.
        * ``run_status``: what the second phase returned.
        * ``time``: seconds.
        * ``error``: a text that reports show, such as the device's last message.
        * ``unwritten``: name -> number of elements that the device never wrote. Leave an output out
          if you do not know: fill outputs with a pattern before the run to find out.

        Raises BundleError for any other status, for an unknown or repeated case, for an output that
        the call does not have, and for a dtype that files do not keep.
        """
        if not self._claim.is_open:
            raise BundleError(f"{self.path}: the results are closed")
        where = str(self.path)
        answer = checks.answer(where, self._bundle, case, status, run_status, time, error)
        if self._answered(answer.row):
            raise BundleError(f"{where}: {case!r} has been added already")
        where = f"{where}: {case}"
        arrays = checks.arrays(where, self._bundle, answer.row, outputs)
        left = checks.unwritten(where, arrays, unwritten)
        with write_errors(self.path):
            self._ledger.note(self._kept(said(self.header)))
            self._ledger.add(answer, arrays, left)
        self._again.discard(answer.row)
        self._worth = True

    def withdraw(self, case: str, why: str) -> None:
        """Take an answer back: nobody recorded a status, and ``resume`` asks again."""
        row = self._bundle.rows[case]
        self._again.add(row)
        self.add(case, None, error=why)
        self._again.add(row)
        self._worth = len(self) > 0

    def _kept(self, header: Mapping[str, object]) -> Header:
        """A header as the file keeps it; BundleError where it cannot."""
        return heading.header(header, heading.own("results") | {"bundle": self._bundle.digest})

    def _go_on(self) -> None:
        """Take over what a killed process left, and what the finished file has, unless that process
        was to replace it.
        """
        ledger = self._ledger
        if self.path.exists() and ledger.resumed is not False:
            self._before = ResultsFile(self.path)
        finished = self._before.header if self._before else {}
        for path, header in ((self.path, finished), (self._claim.partial, ledger.header)):
            if header and header["bundle"] != self.header["bundle"]:
                raise BundleError(
                    f"{path}: results of another bundle: cannot be resumed with {self._bundle.path}"
                )
            if facts := contradiction(self.earlier | said(header), said(self.header)):
                raise BundleError(f"{path}: cannot be resumed: {facts} differ; write another file")
            if facts := contradiction(self.earlier, said(header)):
                raise BundleError(
                    f"{path}: cannot be resumed: {facts}, as {self.path} says, differ;"
                    " move one of the two away"
                )
            self.earlier |= said(header)
        self.header |= self.earlier
        if self._before is not None:
            ledger.complete(self._before)
        self._again = {row for row, each in ledger.answers.items() if each.word == NO_STATUS}
        if ledger.resumed is None:
            ledger.begin(resumed=True)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
        elif self._claim.is_open:
            if self._worth:
                error.add_note(
                    f"{self.path}: is not complete; --resume (resume=True) continues from the"
                    f" {len(self)} answers so far"
                )
            self.leave()

    def close(self) -> None:
        """Write the results in the order of the bundle, and give the file its name; where that
        fails, what was added can be resumed.
        """
        if not self._claim.is_open:
            return
        try:
            with write_errors(self.path), self._claim.fresh() as fresh:
                header = self._kept(said(self.header))
                self.digest = answered.write(
                    fresh, header, self._bundle.names, self._ledger.answers.values()
                )
                fresh.replace(self.path)
        except BaseException:
            self.leave()
            raise
        self.abort()

    def abort(self) -> None:
        """Drop the unfinished file; whatever has the final name stays."""
        self._worth = False
        self.leave()

    def leave(self) -> None:
        """Write no more; what is unfinished stays for somebody to go on with, where that is worth
        it.
        """
        if self._worth:
            self._claim.leave()
        self._claim.drop()
        if self._before is not None:
            self._before.close()


def _opened(path: Path, bundle: Bundle | str | Path) -> Bundle:
    """A bundle, whose tables are all that is needed here."""
    if isinstance(bundle, Bundle):
        return bundle
    if not isinstance(bundle, (str, os.PathLike)):
        raise BundleError(
            f"{path}: bundle {bundle!r} is neither what opgen.open returns nor a path"
        )
    with Bundle(bundle) as opened:
        return opened
