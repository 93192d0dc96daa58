"""Joining results files of one bundle: what devices or processes answered apart, as if one had
answered all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any

import opgen
from opgen.bundle.format.dtypes import BundleError
from opgen.bundle.results import answers as answered
from opgen.bundle.results.answers import Answer, Output
from opgen.bundle.results.reader import NO_STATUS, ResultsFile, contradiction, said
from opgen.bundle.write.output import LockedOutput, write_errors


def join(
    paths: Sequence[str | Path],
    output: str | Path,
    *,
    force: bool = False,
    progress: Callable[[int], None] | None = None,
) -> str:
    """Write the results file that some make together; returns its root digest.

    BundleError where they are of several bundles or devices, where two of them answer one case,
    and, without ``force``, where ``output`` exists or an unfinished file of its name can be gone on
    from.
    """
    with ExitStack() as stack:
        files = [stack.enter_context(ResultsFile(path)) for path in paths]
        header = _header(files)
        found: dict[int, tuple[ResultsFile, Answer]] = {}
        for file in files:
            for answer in _answers(file):
                other, earlier = found.setdefault(answer.row, (file, answer))
                if earlier is not answer and NO_STATUS not in (answer.word, earlier.word):
                    raise BundleError(
                        f"{file.path}: answers {answer.id!r}, and so does {other.path}"
                    )
                if earlier.word == NO_STATUS:
                    found[answer.row] = file, answer
        names = list(dict.fromkeys(chain.from_iterable(file.names for file in files)))
        claim = LockedOutput(Path(output), 0, force)
        claim.refuse_unfinished(force)
        try:
            with write_errors(claim.path):
                digest = answered.write(
                    claim.partial, header, names, [answer for _, answer in found.values()], progress
                )
                claim.keep()
        except BaseException:
            claim.drop()
            raise
    return digest


def _header(files: Sequence[ResultsFile]) -> dict[str, Any]:
    """What the whole says of itself: whatever any file says, where none contradicts another."""
    header = {**files[0].header, "opgen_version": opgen.__version__}
    for at, file in enumerate(files):
        for other in files[:at]:
            if file.bundle_digest != other.bundle_digest:
                raise BundleError(
                    f"{file.path}: results of another bundle than {other.path}: cannot be joined"
                )
            if found := contradiction(said(other.header), said(file.header)):
                raise BundleError(
                    f"{file.path}: cannot be joined with {other.path}: {found} are not one; judge"
                    " each by itself"
                )
        header |= said(file.header)
    return header


def _answers(file: ResultsFile) -> Iterator[Answer]:
    """The answers of a file; their outputs are read later."""
    tensors = file.tables["tensors"].tolist()
    for case, name, status, word, run, run_word, time, error, first, count in file.tables[
        "results"
    ].tolist():
        facts = status, file.strings[word], run, file.strings[run_word], time, file.strings[error]
        outputs = tuple(_output(file, name.decode(), row) for row in tensors[first : first + count])
        yield Answer(case, name.decode(), *facts, outputs)


def _output(file: ResultsFile, case: str, row: tuple[Any, ...]) -> Output:
    _, name, dtype, shape, elements, position, digest = row
    try:
        start, size = file.data.span(dtype, elements, position)
        return Output(
            file.names[name],
            dtype,
            file.extents(shape, elements),
            digest,
            size,
            file.path,
            file.data.fd,
            start,
        )
    except ValueError as error:
        raise BundleError(f"{file.path}: damaged: {case}: {file.names[name]} {error}") from None
