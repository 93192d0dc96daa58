"""Going on with a bundle that somebody began to write: what is in it counts only where it matches a
digest.

While a bundle is written, a journal after its end says which tensors are in it, and their digests.
Whoever resumes writes everything but the data anew and keeps the tensors whose bytes match such a
digest. So it does not matter when, nor in the middle of what, the first writer was stopped.
"""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np

from opgen.bundle.format import file_bytes, first_block
from opgen.bundle.format.container import Skeleton
from opgen.bundle.format.digest import DIGEST_TYPE, digest_of
from opgen.bundle.format.dtypes import BundleError
from opgen.bundle.format.tensorrow import DRAWN
from opgen.bundle.write.blocks import Blocks
from opgen.bundle.write.journal import Journal
from opgen.bundle.write.output import LockedOutput


def note(journal: Journal, rows: np.ndarray, digests: np.ndarray) -> None:
    """Say of tensors, by row of the layout, that they are in the file."""
    columns = rows.astype("<i8"), np.ascontiguousarray(digests)
    journal.add({"tensors": len(rows)}, [column.view(np.uint8).data for column in columns])


def noted(journal: Journal, tensors: int) -> np.ndarray:
    """(tensors,) what a journal has as the digest of each row of the layout; zeros where nothing
    is noted. BundleError for notes of other tensors.
    """
    digests = np.zeros(tensors, dtype=DIGEST_TYPE)
    for facts, data in journal.entries:
        match facts, [piece.size for piece in data]:
            case {"tensors": int(count)}, [rows, known] if (rows, known) == (8 * count, 16 * count):
                places = data[0].read().view("<i8")
                if not len(places) or 0 <= places.min() <= places.max() < tensors:
                    digests[places] = data[1].read().view(DIGEST_TYPE)
                    continue
        raise BundleError(
            f"{journal.path}: unsound: its journal lists tensors that it should not hold; leave out"
            " --resume to start anew"
        )
    return digests


def adopt(claim: LockedOutput, fresh: Skeleton, request: str) -> Skeleton:
    """Give an unfinished file everything of a fresh one but the data. BundleError where it was to
    become another one.
    """
    wanted = first_block.unsealed("bundle", fresh.ranges, fresh.size, request)
    if os.pread(claim.fd, len(wanted), 0) != wanted:
        raise BundleError(
            f"{claim.partial}: was started for another suite (cases, seed, specs, plans or"
            " opgen); repeat the command that started it, or leave out --resume to start anew"
        )
    with open(fresh.path, "rb") as file:
        for start, end in file_bytes.outside(fresh.ranges, fresh.size):
            for place, piece in file_bytes.pieces(fresh.path, file.fileno(), start, end):
                file_bytes.write_at(claim.fd, piece, place)
    return replace(fresh, path=claim.partial)


def clear(fd: int, skeleton: Skeleton, blocks: Blocks) -> None:
    """Zero what stands before, between and after tensors: no digest of a tensor tells what is
    there.
    """
    starts, sizes = blocks.spans(np.flatnonzero(blocks.layout.position != DRAWN))
    first, last = np.array(skeleton.ranges, dtype=np.int64).reshape(-1, 2).T
    begin, end = np.sort(np.append(starts + sizes, first)), np.sort(np.append(starts, last))
    gaps = np.flatnonzero(begin < end)
    for place, size in zip(begin[gaps].tolist(), (end - begin)[gaps].tolist(), strict=True):
        file_bytes.write_at(fd, bytes(size), place)


def intact(fd: int, blocks: Blocks, digests: np.ndarray) -> np.ndarray:
    """(layout rows,) bool: the data in the file match the digest that was noted, if any was; of
    drawn tensors there are none.
    """
    result = np.asarray(digests != np.zeros(1, dtype=DIGEST_TYPE), dtype=bool)
    rows = np.flatnonzero(result & (blocks.layout.position != DRAWN))
    spans = zip(*(column.tolist() for column in blocks.spans(rows)), strict=True)
    result[rows] = [
        digest_of(os.pread(fd, size, start)) == digest
        for (start, size), digest in zip(spans, digests[rows].tolist(), strict=True)
    ]
    return result
