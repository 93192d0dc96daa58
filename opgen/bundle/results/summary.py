"""A bundle, a results file, or one case of either, as plain data for people: counts, sizes, first
values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict

import numpy as np

from opgen.bundle.format.dtypes import NAMES, WORDS
from opgen.bundle.read.case import CaseView
from opgen.bundle.read.finished import FinishedFile
from opgen.bundle.read.reader import Bundle
from opgen.bundle.results.reader import Result, ResultsFile

SHOWN = 6
"""How many values of a tensor are shown."""
LARGEST = 5
"""How many cases are named of those with the most data."""


def summary(bundle: Bundle) -> dict[str, object]:
    """What a bundle holds: its header, cases per operator, product, kind and bucket, bytes per
    dtype, the largest cases.
    """
    cases, sizes = bundle.cases, _bytes(bundle)
    counts = Counter(
        zip(*(cases[name].tolist() for name in ("op", "product", "kind", "bucket")), strict=True)
    )
    largest = np.argsort(-sizes, kind="stable")[:LARGEST]
    return {
        **_file(bundle, len(bundle)),
        "with_data": int((cases["phase"] == 2).sum()),
        "inconclusive": int((cases["inconclusive"] != "").sum()),
        "counts": [
            {"op": op, "product": product, "kind": kind, "bucket": bucket, "cases": number}
            for (op, product, kind, bucket), number in sorted(counts.items())
        ],
        "recipes": dict(sorted(Counter(cases["recipe"].tolist()).items())),
        "data": dict(sorted(_blobs(bundle).items())),
        "largest": [
            {"id": bundle.ids[row], "bytes": int(sizes[row])} for row in largest if sizes[row]
        ],
    }


def _file(file: FinishedFile, cases: int) -> dict[str, object]:
    """What is said of any finished file."""
    return {
        "file": str(file.path),
        "bytes": file.path.stat().st_size,
        "digest": file.digest,
        "header": file.header,
        "cases": cases,
    }


def whole(case: CaseView, formulas: Mapping[str, str]) -> dict[str, object]:
    """One case: its call, what page and library say, and of every tensor with data its range and
    first values. ``formulas``: rule -> what it requires.
    """
    expect, library = case.expect, case.library
    return {
        "id": case.id,
        "op": case.op,
        "product": case.product,
        "kind": case.kind,
        "intent": case.intent,
        "phase": case.phase,
        "page": {
            "codes": list(expect.codes),
            "bucket": expect.bucket,
            "breaks": [
                {**asdict(broken), "requires": formulas.get(broken.rule, "")}
                for broken in expect.breaks
            ],
        },
        "library": library and library.as_data(),
        "compute": case.compute,
        "recipe": case.recipe,
        "nearest_valid": case.nearest_valid,
        "inconclusive": case.inconclusive,
        "args": case.call["args"],
        "tensors": [
            {"name": name, "role": role, **values(array)}
            for role, tensors in (
                ("input", case.inputs),
                ("golden", case.golden),
                ("bound", case.bound),
            )
            for name, array in tensors.items()
        ],
    }


def answers(results: ResultsFile) -> dict[str, object]:
    """What a results file holds: its header, and how often each pair of statuses occurs; a phase
    without one has None.
    """
    counts = Counter((result.status, result.run_status) for result in results)
    return {
        **_file(results, len(results)),
        "counts": [
            {"status": status, "run_status": run_status, "cases": number}
            for (status, run_status), number in sorted(
                counts.items(), key=lambda item: str(item[0])
            )
        ],
    }


def answer(result: Result) -> dict[str, object]:
    """One case's answer: the statuses, what the backend said, and of every output its range and
    first values.
    """
    tensors = [
        {"name": name, "role": "output", **values(array)} for name, array in result.outputs.items()
    ]
    facts = {
        name: getattr(result, name) for name in ("id", "status", "run_status", "time", "error")
    }
    return {**facts, "tensors": tensors}


def values(array: np.ndarray) -> dict[str, object]:
    """Dtype and shape of an array, its least and greatest finite value (by magnitude where
    complex), its first values.
    """
    flat = array.reshape(-1)
    wide = flat.astype(np.complex128 if np.iscomplexobj(flat) else np.float64)
    size = np.abs(wide) if np.iscomplexobj(wide) else wide
    finite = size[np.isfinite(size)]
    return {
        "dtype": NAMES[array.dtype],
        "shape": list(array.shape),
        "least": float(finite.min()) if finite.size else None,
        "greatest": float(finite.max()) if finite.size else None,
        "not_finite": int(size.size - finite.size),
        "first": [number(value) for value in wide[:SHOWN].tolist()],
    }


def number(value: complex | float) -> object:
    """A value that JSON can hold: a word where it is not finite, a pair of parts where it is
    complex.
    """
    if isinstance(value, complex):
        return [number(value.real), number(value.imag)]
    return value if np.isfinite(value) else str(value)


def _bytes(bundle: Bundle) -> np.ndarray:
    """(cases,) int64: bytes of the data of each case."""
    tensors = bundle.tables["tensors"]
    result = np.zeros(len(bundle), dtype=np.int64)
    for dtype, (kind, _, _) in bundle.blobs.items():
        mine = tensors[(tensors["dtype"] == dtype) & (tensors["position"] >= 0)]
        np.add.at(result, mine["case"], mine["elements"].astype(np.int64) * kind.itemsize)
    return result


def _blobs(bundle: Bundle) -> dict[str, int]:
    """Dtype -> bytes of its blob."""
    return {WORDS[dtype]: kind.itemsize * count for dtype, (kind, _, count) in bundle.blobs.items()}
