"""Joining the parts of a suite that machines generated apart, to the bytes that one machine would have written.

Part I of N holds every N-th case, beginning with the I-th. Where data lie follows from the cases alone, so a joined bundle
is laid out like a whole one, and each part's data are copied into it, compared with their digests on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from opgen.bundle.case import CaseView
from opgen.bundle.dtypes import BundleError
from opgen.bundle.layout import Layout
from opgen.bundle.reader import Bundle
from opgen.bundle.writer import Writer
from opgen.model import Call, Case, TensorDesc
from opgen.words import words

_HEADER = ("operators", "products", "specs", "plans", "plan", "chosen", "shard", "seed", "given")
"""What a bundle says of itself, in the order of the file."""
_OWN = ("shard", "products", "format", "format_version")
"""What may differ between parts, or follows from the format."""
_AT_A_TIME = 1 << 20


@dataclass(frozen=True)
class Part:
    """One file: number ``index`` of ``of``, from 1."""

    path: Path
    index: int
    of: int
    header: Mapping[str, Any]
    cases: int

    def row(self, row: int) -> int:
        """The row in the whole of a row here."""
        return row * self.of + self.index - 1


def merge(paths: Sequence[str | Path], output: str | Path, *, force: bool = False, progress: Callable[[int], None] | None = None) -> str:
    """Write the bundle that the parts make together; returns its root digest. BundleError where they make none."""
    parts = fitting([_part(Path(path)) for path in paths])
    total = sum(part.cases for part in parts)
    cases: list[Case | None] = [None] * total
    stored: list[list[tuple[str, str, str, int]]] = [[]] * total
    outputs: dict[str, set[str]] = {}
    for part in parts:
        with Bundle(part.path) as bundle:
            known: dict[tuple[Any, ...], list[tuple[str, str, str, int]]] = {}
            for view in bundle:
                cases[part.row(view.row)] = _case(view)
                data = tuple(_data(view))
                stored[part.row(view.row)] = known.setdefault(data, list(data))
                outputs.setdefault(view.op, set()).update(_outputs(view))
    whole = [case for case in cases if case is not None]
    with Writer(output, _header(parts), whole, Layout.plan(whole, stored), force=force, outputs=outputs) as writer:
        for part in parts:
            with Bundle(part.path) as bundle:
                for some in _gathered((part, batch.rows, batch.arrays) for batch in bundle.batches(_AT_A_TIME)):
                    writer.write_batches((rows, arrays) for rows, arrays in some if arrays)
                    if progress is not None:
                        progress(sum(len(rows) for rows, _ in some))
    return str(writer.digest)


def _part(path: Path) -> Part:
    with Bundle(path) as bundle:
        index, _, of = str(bundle.header.get("shard", "")).partition("/")
        if not (index.isdigit() and of.isdigit()):
            raise BundleError(f"{path}: is no part of a suite; opgen generate --shard I/N writes one")
        return Part(path, int(index), int(of), bundle.header, len(bundle))


def fitting(parts: Sequence[Part]) -> list[Part]:
    """The parts in their order, if they are all of one request, each once; otherwise a BundleError."""
    first = parts[0]
    seen: dict[int, Part] = {}
    for part in parts:
        if part.of != first.of:
            raise BundleError(f"{part.path}: is part {part.index}/{part.of}, and {first.path} is part {first.index}/{first.of}")
        for key in (*first.header, *part.header):
            if key not in _OWN and part.header.get(key) != first.header.get(key):
                raise BundleError(f"{part.path}: comes from another request than {first.path}: {_difference(key, part, first)}")
        if part.index in seen:
            raise BundleError(f"{part.path}: is part {part.index}/{part.of}, and so is {seen[part.index].path}")
        seen[part.index] = part
    missing = [f"{index}/{first.of}" for index in range(1, first.of + 1) if index not in seen]
    if missing:
        raise BundleError(f"part {', '.join(missing)} is missing" if len(missing) == 1 else f"parts {', '.join(missing)} are missing")
    total = sum(part.cases for part in parts)
    if any(part.cases != len(range(part.index - 1, total, part.of)) for part in parts):
        sizes = ", ".join(f"{part.path} has {part.cases}" for part in parts)
        raise BundleError(f"{sizes} cases: no suite has such parts")
    return [seen[index] for index in sorted(seen)]


def _difference(key: str, part: Part, first: Part) -> str:
    mine, other = part.header.get(key), first.header.get(key)
    if isinstance(mine, Mapping) and isinstance(other, Mapping):
        return f"{key} of {', '.join(sorted(k for k in {*mine, *other} if mine.get(k) != other.get(k)))}"
    return f"{key} {mine!r} and {other!r}"


def _header(parts: Sequence[Part]) -> dict[str, Any]:
    """What the whole says of itself: what all parts say, and the products of any."""
    said = {name: value for name, value in parts[0].header.items() if name not in ("format", "format_version", "opgen_version")}
    there = {product for part in parts for product in part.header.get("products", ())}
    said |= {"shard": "", "products": [product for product in words().products if product in there]}
    return {name: said[name] for name in (*_HEADER, *sorted(set(said) - set(_HEADER))) if name in said}


def _case(view: CaseView) -> Case:
    call = view.call
    return Case(
        id=view.id,
        call=Call(call["op"], call["product"], {name: _argument(value) for name, value in call["args"].items()}),
        kind=view.kind,  # type: ignore[arg-type]
        intent=view.intent,
        page=view.expect,
        library=view.library,
        recipe=view.recipe,
        phase=view.phase,  # type: ignore[arg-type]
        twin=view.twin,
        compute=view.compute,
        mistrusted=view.mistrusted,
    )


def _argument(value: Any) -> Any:
    if isinstance(value, dict):
        plain: dict[str, Any] = {name: tuple(one) if isinstance(one, list) else one for name, one in value.items()}
        return TensorDesc(**plain)
    return tuple(value) if isinstance(value, list) else value


def _data(view: CaseView) -> Iterator[tuple[str, str, str, int]]:
    """The tensors of a case that have data, as a layout asks for them."""
    bundle = view.bundle
    roles, dtypes = bundle.words["tensors.role"], bundle.words["tensors.dtype"]
    for row in view.tensor_rows:
        if row[10] >= 0:
            yield bundle.names[row[1]], roles[row[2]], dtypes[row[3]], row[9]


def _outputs(view: CaseView) -> Iterator[str]:
    roles = view.bundle.words["tensors.role"]
    return (view.bundle.names[row[1]] for row in view.tensor_rows if roles[row[2]] in ("output", "golden"))


def _gathered(found: Iterable[tuple[Part, range, dict[tuple[str, str], np.ndarray]]]) -> Iterator[list[tuple[np.ndarray, Any]]]:
    """Batches by the mebibyte, with their rows in the whole."""
    some: list[tuple[np.ndarray, Any]] = []
    size = 0
    for part, rows, arrays in found:
        some.append((np.array([part.row(row) for row in rows]), arrays))
        size += sum(stack.nbytes for stack in arrays.values())
        if size >= _AT_A_TIME:
            yield some
            some, size = [], 0
    if some:
        yield some
