"""Writing a bundle: beside its place first, under its name only when it is whole."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

import numpy as np

from opgen.bundle.format import container, heading
from opgen.bundle.format.closing import Closing
from opgen.bundle.format.digest import Bytes
from opgen.bundle.format.dtypes import BundleError
from opgen.bundle.format.interrupts import deferred_interrupts
from opgen.bundle.format.layout import Layout
from opgen.bundle.format.root_digest import digest_table, root_digest
from opgen.bundle.format.seeds import Seeds
from opgen.bundle.write import resuming, tables
from opgen.bundle.write.blocks import Arrays, Blocks
from opgen.bundle.write.journal import Journal
from opgen.bundle.write.output import LockedOutput, write_errors
from opgen.bundle.write.tables import Tables
from opgen.calls.case_table import CaseTable


class Writer(Closing):
    """A bundle being written; use it as a context manager.

    Tensors come in any order, by case or by block, here or through :meth:`port` in another process.
    Leaving the block normally finishes the file and gives it its name; leaving it by an exception
    removes what was written, or, with ``keep``, leaves ``<name>.partial`` where anything was.
    ``resume``, with ``keep``, continues such a file. Tables are made with the first tensors that
    come, while other processes are at work. Of inputs that ``seeds`` draw only digests are kept.
    Raises BundleError, before anything is written if
    ``path`` cannot be or ``layout`` is one of another number of cases.
    """

    def __init__(
        self,
        path: str | Path,
        header: Mapping[str, object],
        cases: CaseTable,
        layout: Layout,
        *,
        force: bool = False,
        outputs: Mapping[str, Collection[str]] | None = None,
        keep: bool = False,
        resume: bool = False,
        seeds: Seeds | None = None,
    ) -> None:
        self.path = Path(path)
        if len(cases) != layout.cases:
            raise BundleError(f"{path}: {len(cases)} cases for a layout of {layout.cases}")
        self.layout = layout
        self.header = heading.header(header, heading.own("bundle"))
        self._cases = cases
        self._outputs, self._seeds = outputs, seeds
        self._tables: Tables | None = None
        self._done = np.zeros(len(layout.case), dtype=bool)
        self._keep = keep
        try:
            with deferred_interrupts():  # a file that is made must be known to abort()
                self._claim = LockedOutput(self.path, layout.bytes, force)
            self._claim.refuse_unfinished(force, bundles=not keep)
            begun = resume and self._claim.holds_bundle
            with write_errors(self.path), ExitStack() as stack:
                place = stack.enter_context(self._claim.fresh()) if begun else self._claim.partial
                self._skeleton = container.begin(
                    place, "bundle", self.header, layout.blobs, keep=not begun
                )
                self._blocks = self.port()
                if begun:
                    self._describe(begun)
        except BaseException:
            if resume and hasattr(self, "_claim"):
                self._claim.leave()
            self.abort()
            raise

    def _describe(self, begun: bool = False) -> Tables:
        """Make the tables, unless they are there, and write them; ``begun``: over those of the file
        that is continued.
        """
        if self._tables is not None:
            return self._tables
        claim, built = self._open(), self._built()
        digests = digest_table(self.header, built.tables, built.strings)
        request = root_digest(digests) if self._keep else ""
        skeleton = container.describe(
            self._skeleton, "bundle", built.tables, built.strings, request
        )
        if begun:
            skeleton = resuming.adopt(claim, skeleton, request)
        for name, table in built.tables.items():
            container.write_table(claim.fd, skeleton, name, table)
        self._journal = Journal(claim.partial, claim.fd, skeleton.size)
        if begun:
            resuming.clear(claim.fd, skeleton, self._blocks)
            noted = resuming.noted(self._journal, len(self._done))
            self._done = resuming.intact(claim.fd, self._blocks, noted)
            built.note(np.flatnonzero(self._done), noted[self._done])
        self._skeleton, self._tables = skeleton, built
        return built

    def _built(self) -> Tables:
        return tables.build(self._cases, self.layout, self._outputs, self._seeds)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        else:
            self._stop(error)

    @property
    def written(self) -> np.ndarray:
        """(cases,) bool: every tensor of the case is in the file; cases without data are."""
        result = np.ones(self.layout.cases, dtype=bool)
        result[self.layout.case[~self._done]] = False
        return result

    def write(self, batches: Iterable[tuple[Sequence[int] | np.ndarray, Arrays]]) -> None:
        """Write tensors of cases, by rows and (name, role) -> (B, ...), an input as its whole
        storage; those that are neighbours in the layout go out in one write.
        """
        with write_errors(self.path):
            self.accept(*self._blocks.write(batches))

    def copy(self, rows: np.ndarray, digests: np.ndarray, pieces: Sequence[Bytes]) -> None:
        """Write tensors as bytes that match their digests, by row of the layout."""
        with write_errors(self.path):
            self._blocks.put(rows, pieces)
            self.accept(rows, digests)

    def port(self) -> Blocks:
        """A way into the data for another process, whose results go to :meth:`accept` here."""
        return Blocks(self._open().partial, self.layout, self._skeleton.offsets)

    def accept(self, rows: np.ndarray, digests: np.ndarray) -> None:
        """Take note of tensors that are in the file: layout rows and digests, as
        :meth:`Blocks.write` returns them.
        """
        with write_errors(self.path):
            self._describe().note(rows, digests)
            self._done[rows] = True
            if self._keep:
                resuming.note(self._journal, rows, digests)

    def close(self) -> None:
        """Finish: tables, digests, ``complete``, the name. BundleError if a planned tensor never
        came.
        """
        claim = self._open()
        try:
            with write_errors(self.path):
                self._blocks.close()
                built = self._describe()
                if not self._done.all():
                    raise BundleError(f"{self.path}: not complete: {self._missing()}")
                container.write_table(claim.fd, self._skeleton, "tensors", built.tables["tensors"])
                digests = digest_table(self.header, built.tables, built.strings)
                self.digest = container.seal(self._skeleton, "bundle", digests)
                claim.keep()
        except BaseException as error:
            self._stop(error)
            raise

    def abort(self) -> None:
        """Remove what was written; nothing appears under the final name."""
        if hasattr(self, "_blocks"):
            self._blocks.close()
        if hasattr(self, "_claim"):
            self._claim.drop()

    def _stop(self, error: BaseException | None) -> None:
        """Give up for an error, and leave what is there to whoever resumes."""
        if self._keep and self._claim.is_open and self._done.any():
            if error is not None:
                error.add_note(
                    f"{self._claim.partial}: holds what is done; the same command with --resume"
                    " continues from it"
                )
            self._claim.leave()
        self.abort()

    def _open(self) -> LockedOutput:
        if not self._claim.is_open:
            raise BundleError(f"{self.path}: the writer is closed")
        return self._claim

    def _missing(self) -> str:
        rows = np.flatnonzero(~self._done)
        first = rows[0]
        case, name = (
            self._cases.id[self.layout.case[first]],
            self.layout.names[self.layout.name[first]],
        )
        return f"{len(rows)} tensors were never written, the first is {name} of {case}"
