"""Joining results files of one bundle: what devices or processes answered apart, as if one had
answered all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import chain, combinations
from pathlib import Path

from opgen.bundle.format.dtypes import BundleError
from opgen.bundle.format.heading import Header
from opgen.bundle.format.schema import NO_STATUS
from opgen.bundle.results import answers as answered
from opgen.bundle.results.answers import CaseAnswer, answers_of
from opgen.bundle.results.reader import ResultsFile, contradiction, said
from opgen.bundle.write.output import whole_file
from opgen.model.version import VERSION


def join(
    paths: Sequence[str | Path],
    output: str | Path,
    *,
    force: bool = False,
    progress: Callable[[int], None] | None = None,
) -> str:
    """Join results files into one; returns its root digest.

    Raises BundleError if they answer several bundles or come from several devices, or if two of
    them answer one case. Without ``force``, raises it also if ``output`` exists, or an unfinished
    file of its name that ``resume`` could continue.
    """
    with ExitStack() as stack:
        files = [stack.enter_context(ResultsFile(path)) for path in paths]
        header = _header(files)
        whole: dict[int, tuple[ResultsFile, CaseAnswer]] = {}
        for file in files:
            for answer in answers_of(file):
                other, earlier = whole.setdefault(answer.row, (file, answer))
                if earlier is not answer and NO_STATUS not in (answer.word, earlier.word):
                    raise BundleError(
                        f"{file.path}: answers {answer.id!r}, and so does {other.path}"
                    )
                if earlier.word == NO_STATUS:
                    whole[answer.row] = file, answer
        names = list(dict.fromkeys(chain.from_iterable(file.names for file in files)))
        with whole_file(output, force) as joined:
            answers = (answer for _, answer in whole.values())
            return answered.write(joined.partial, header, names, answers, progress)


def _header(files: Sequence[ResultsFile]) -> Header:
    """What the whole says of itself: whatever any file says, where none contradicts another."""
    header = {**files[0].header, "opgen_version": VERSION}
    for other, file in combinations(files, 2):
        if file.bundle_digest != other.bundle_digest:
            raise BundleError(
                f"{file.path}: results of another bundle than {other.path}: cannot be joined"
            )
        named, nameless = (other, file) if said(other.header) else (file, other)
        if said(named.header) and not said(nameless.header):
            raise BundleError(
                f"{nameless.path}: names no device: cannot be joined with {named.path}; judge each"
                " by itself"
            )
        if facts := contradiction(said(other.header), said(file.header)):
            raise BundleError(
                f"{file.path}: cannot be joined with {other.path}: {facts} differ; judge each"
                " by itself"
            )
    for file in files:
        header |= said(file.header)
    return header
