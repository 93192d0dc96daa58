"""Joining the parts of a suite that machines generated apart, to the bytes that one machine would
have written.

Part I of N holds every N-th case, beginning with the I-th. Where data lie follows from the cases
alone, so a joined bundle is laid out like a whole one, and each part's data are copied into it,
compared with their digests on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from opgen.bundle.format.dtypes import BundleError
from opgen.bundle.format.heading import RESERVED
from opgen.bundle.format.layout import Layout
from opgen.bundle.format.seeds import Maxima, Seed, Seeds
from opgen.bundle.format.tensorrow import DRAWN, NO_DATA
from opgen.bundle.read.readback import (
    case_table,
    common_kinds,
    kinds_of,
    outputs,
    pieces,
    seeds_of,
    stored_tensors,
)
from opgen.bundle.read.reader import Bundle
from opgen.bundle.write.writer import Writer
from opgen.calls.case_table import CaseTable
from opgen.calls.stored_tensors import StoredTensors
from opgen.calls.vocabulary import vocabulary
from opgen.generation.header import KEYS
from opgen.model import natural

_OWN = ("shard", "products", "format", "format_version")
"""What may differ between parts, or follows from the format."""
_AT_A_TIME = 1 << 20
"""Bytes of data that are copied in one go."""


RowOrRows = TypeVar("RowOrRows", int, np.ndarray)


@dataclass(frozen=True)
class Part:
    """One file: number ``index`` of ``of``, from 1."""

    path: Path
    index: int
    of: int
    header: Mapping[str, Any]
    cases: int
    kinds: Mapping[str, Mapping[str, str]]

    def row(self, row: RowOrRows) -> RowOrRows:
        """The rows in the whole of rows here."""
        return row * self.of + self.index - 1


def merge(
    paths: Sequence[str | Path],
    output: str | Path,
    *,
    force: bool = False,
    progress: Callable[[int], None] | None = None,
) -> str:
    """Write the bundle that the parts make together; returns its root digest. BundleError where
    they make none.
    """
    parts = fitting([_part(Path(path)) for path in paths])
    kinds, written = common_kinds(part.kinds for part in parts), dict[str, set[str]]()
    tables, stored, seeds = [], [], list[Seed | Maxima]()
    for part in parts:
        with Bundle(part.path) as bundle:
            tables.append(case_table(bundle, kinds))
            stored.append(stored_tensors(bundle))
            seeds += (seed._replace(case=part.row(seed.case)) for seed in seeds_of(bundle))
            for api, names in outputs(bundle).items():
                written.setdefault(api, set()).update(names)
    order = np.argsort(np.concatenate([part.row(np.arange(part.cases)) for part in parts]))
    cases = CaseTable.concatenate(tables).take(order)
    layout = Layout.of(StoredTensors.concatenate(stored).take(order))
    drawn = Seeds.of(seeds)
    with Writer(
        output, _header(parts), cases, layout, force=force, outputs=written, seeds=drawn
    ) as writer:
        for part in parts:
            with Bundle(part.path) as bundle:
                for cases_done in _copy(part, bundle, layout, writer):
                    if progress is not None:
                        progress(cases_done)
    return str(writer.digest)


def _copy(part: Part, bundle: Bundle, layout: Layout, writer: Writer) -> Iterator[int]:
    """Copy a part's tensors to their places in the whole; yields numbers of cases, as far as bytes
    go, that add up to all.
    """
    tensors, begun, told = bundle.tables["tensors"], 0, 0
    held = np.flatnonzero(tensors["position"] != NO_DATA)
    case = tensors["case"][held].astype(np.int64)
    place = np.arange(len(held)) - np.searchsorted(case, case)
    target = np.empty(len(tensors), dtype=np.int64)
    target[held] = layout.starts[part.row(case)] + place
    drawn = np.flatnonzero(tensors["position"] == DRAWN)
    writer.accept(target[drawn], tensors["digest"][drawn])
    begun += len(drawn)
    for rows, some in pieces(bundle, _AT_A_TIME):
        writer.copy(target[rows], tensors["digest"][rows], some)
        begun += len(rows)
        yield part.cases * begun // len(held) - told
        told = part.cases * begun // len(held)
    yield part.cases - told


def _part(path: Path) -> Part:
    with Bundle(path) as bundle:
        index, of = (
            natural(part) for part in str(bundle.header.get("shard", "")).partition("/")[::2]
        )
        if index is None or of is None:
            raise BundleError(
                f"{path}: is not a part of a suite; opgen generate --shard I/N writes one"
            )
        return Part(path, index, of, bundle.header, len(bundle), kinds_of(bundle))


def fitting(parts: Sequence[Part]) -> list[Part]:
    """The parts in their order, if they are all of one request, each once; otherwise a
    BundleError.
    """
    first = parts[0]
    seen: dict[int, Part] = {}
    for part in parts:
        if part.of != first.of:
            raise BundleError(
                f"{part.path}: is part {part.index}/{part.of}, and {first.path} is part"
                f" {first.index}/{first.of}"
            )
        for key in (*first.header, *part.header):
            if key not in _OWN and part.header.get(key) != first.header.get(key):
                raise BundleError(
                    f"{part.path}: comes from another request than {first.path}:"
                    f" {_difference(key, part, first)}"
                )
        if part.index in seen:
            raise BundleError(
                f"{part.path}: is part {part.index}/{part.of}, and so is {seen[part.index].path}"
            )
        seen[part.index] = part
    missing = [f"{index}/{first.of}" for index in range(1, first.of + 1) if index not in seen]
    if missing:
        which = (
            f"part {missing[0]} is missing"
            if len(missing) == 1
            else f"parts {', '.join(missing)} are missing"
        )
        raise BundleError(f"{which}; opgen generate --shard {missing[0]} makes it")
    total = sum(part.cases for part in parts)
    if any(part.cases != len(range(part.index - 1, total, part.of)) for part in parts):
        sizes = ", ".join(f"{part.path} has {part.cases}" for part in parts)
        raise BundleError(f"{sizes} cases: no suite has such parts")
    return [seen[index] for index in sorted(seen)]


def _difference(key: str, part: Part, first: Part) -> str:
    mine, other = part.header.get(key), first.header.get(key)
    if isinstance(mine, Mapping) and isinstance(other, Mapping):
        return (
            f"{key} of"
            f" {', '.join(sorted(k for k in {*mine, *other} if mine.get(k) != other.get(k)))}"
        )
    return f"{key} {mine!r} and {other!r}"


def _header(parts: Sequence[Part]) -> dict[str, Any]:
    """What the whole says of itself: what all parts say, and the products of any."""
    said = {name: value for name, value in parts[0].header.items() if name not in RESERVED}
    there = {product for part in parts for product in part.header.get("products", ())}
    said |= {
        "shard": "",
        "products": [product for product in vocabulary().products if product in there],
    }
    return {name: said[name] for name in (*KEYS, *sorted(set(said) - set(KEYS))) if name in said}
