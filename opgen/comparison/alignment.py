"""A device's answers laid beside a bundle's goldens: what belongs together, and what is not there
or not in its form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from opgen.bundle.format.dtypes import ROLES, BundleError, words_of
from opgen.bundle.read.reader import Bundle
from opgen.bundle.results.reader import NO_STATUS, ResultsFile
from opgen.model import Code

GOLDEN, BOUND, OUTPUT = ROLES["golden"], ROLES["bound"], ROLES["output"]


@dataclass
class GoldenRows:
    """Every golden of a bundle, a row each: its case, its name, and where it, its bound and its
    descriptor stand in ``/tensors``.
    """

    case: np.ndarray
    name: np.ndarray
    golden: np.ndarray
    bound: np.ndarray
    described: np.ndarray

    def __len__(self) -> int:
        return len(self.case)


@dataclass
class AlignedResults:
    """One results file. ``row`` is each case's row in it, -1 where there is none; ``output`` each
    golden's tensor, likewise.

    ``faults`` are things wrong with the answer of a case, by row of the case; ``forms`` with one
    output, by row of the output.
    """

    file: ResultsFile
    row: np.ndarray
    output: np.ndarray
    faults: dict[int, str] = field(default_factory=dict)
    forms: dict[int, str] = field(default_factory=dict)

    def status(self, case: int, run: bool = False) -> Code | None:
        """The status of the first phase, or of the run; None where nobody recorded one."""
        row = self.row[case]
        number, word = self._statuses[run][row]
        if word == 0:
            return int(number)
        text = self.file.strings[word]
        return None if text == NO_STATUS else text

    def __post_init__(self) -> None:
        table = self.file.tables["results"]
        self._statuses = {
            run: list(zip(table[column].tolist(), table[f"{column}_word"].tolist(), strict=True))
            for run, column in ((False, "status"), (True, "run_status"))
        }

    def error(self, case: int) -> str:
        """What the backend said about the case."""
        number = int(self.file.tables["results"]["error"][self.row[case]])
        return self.file.strings[number]

    def time(self, case: int) -> float:
        """Seconds; NaN where not taken."""
        return float(self.file.tables["results"]["time"][self.row[case]])

    def tensor(self, output: int) -> np.ndarray:
        """The elements of one output, 1-D; BundleError where they do not match their digest: then
        the file is at fault, not the device.
        """
        row = self.file.tables["tensors"][self.output[output]]
        try:
            return self.file.data.tensor(
                int(row["dtype"]), int(row["elements"]), int(row["position"]), bytes(row["digest"])
            )
        except ValueError as error:
            where = f"{self.file.ids[int(row['result'])]}: {self.file.names[int(row['name'])]}"
            raise BundleError(f"{self.file.path}: damaged: {where} {error}") from None


def outputs_of(bundle: Bundle) -> GoldenRows:
    """The goldens of a bundle in the order of its tensors."""
    table = bundle.tables["tensors"]
    key = table["case"].astype(np.int64) << 16 | table["name"]
    places = {
        role: np.flatnonzero(
            (table["role"] == role) & ((table["position"] >= 0) | (role == OUTPUT))
        )
        for role in (GOLDEN, BOUND, OUTPUT)
    }
    golden = places[GOLDEN]
    return GoldenRows(
        table["case"][golden].astype(np.int64),
        table["name"][golden].astype(np.int64),
        golden,
        *(_beside(bundle, key, golden, places[role]) for role in (BOUND, OUTPUT)),
    )


def _beside(bundle: Bundle, key: np.ndarray, wanted: np.ndarray, among: np.ndarray) -> np.ndarray:
    order = among[np.argsort(key[among], kind="stable")]
    at = np.searchsorted(key[order], key[wanted])
    if len(wanted) and (
        not len(order)
        or (at >= len(order)).any()
        or (key[order[np.minimum(at, len(order) - 1)]] != key[wanted]).any()
    ):
        raise BundleError(
            f"{bundle.path}: damaged: a golden without a bound or without a descriptor"
        )
    return order[at] if len(wanted) else wanted


def align(bundle: Bundle, outputs: GoldenRows, file: ResultsFile) -> AlignedResults:
    """Lay a results file beside a bundle.

    BundleError where it belongs to another bundle or names a case that the bundle has not; what is
    wrong with a single case is noted in the result.
    """
    if file.bundle_digest != bundle.digest:
        raise BundleError(
            f"{file.path}: results of another bundle ({file.bundle_digest[:12]}), not of"
            f" {bundle.path} ({bundle.digest[:12]}): run this bundle, or name the other"
        )
    table = file.tables["results"]
    row = np.full(len(bundle), -1, dtype=np.int64)
    faults: dict[int, str] = {}
    ids = table["id"].tolist()
    for at, case in enumerate(table["case"].tolist()):
        if case >= len(bundle) or bundle.ids[case] != ids[at].decode():
            raise BundleError(
                f"{file.path}: answers a case {ids[at].decode()!r} that {bundle.path} does not have"
                " there"
            )
        if row[case] >= 0:
            faults[case] = "answered more than once"
        row[case] = at
    answers = AlignedResults(file, row, np.full(len(outputs), -1, dtype=np.int64), faults)
    _find_outputs(bundle, outputs, answers)
    return answers


def _find_outputs(bundle: Bundle, outputs: GoldenRows, answers: AlignedResults) -> None:
    """The tensor of each golden, and whether it has its dtype and shape."""
    tensors, results = answers.file.tables["tensors"], answers.file.tables["results"]
    if (tensors["result"] >= len(results)).any():
        raise BundleError(f"{answers.file.path}: damaged: an output of no case")
    theirs, mine = words_of(tensors.dtype["name"]), {name: i for i, name in enumerate(bundle.names)}
    number = np.array(
        [mine.get(theirs[i], (1 << 16) - 1) for i in range(len(theirs))], dtype=np.int64
    )
    key = results["case"][tensors["result"]].astype(np.int64) << 16 | number[tensors["name"]]
    order = np.argsort(key, kind="stable")
    wanted = outputs.case << 16 | outputs.name
    at = np.searchsorted(key[order], wanted)
    found = at < len(order)
    found[found] = key[order[at[found]]] == wanted[found]
    answers.output[found] = order[at[found]]
    twice = found.copy()
    twice[twice] = (at[twice] + 1 < len(order)) & (
        key[order[np.minimum(at[twice] + 1, len(order) - 1)]] == wanted[twice]
    )
    described = bundle.tables["tensors"][outputs.described]
    for i in np.flatnonzero(twice).tolist():
        answers.forms[i] = "returned more than once"
    given = tensors[np.maximum(answers.output, 0)] if len(tensors) else tensors[:0]
    if not len(given):
        return
    same_dtype = given["dtype"] == described["dtype"]
    words = words_of(bundle.tables["tensors"].dtype["dtype"])
    for i in np.flatnonzero(found & ~same_dtype).tolist():
        answers.forms[i] = (
            f"has dtype {words.get(int(given['dtype'][i]), '?')}, not"
            f" {words[int(described['dtype'][i])]}"
        )
    pairs = np.stack([given["shape"].astype(np.int64), described["shape"].astype(np.int64)], axis=1)
    kinds, which = np.unique(pairs, axis=0, return_inverse=True)
    lists = _lists(answers.file.tables)
    shapes = [(lists(a), bundle.sequence(b) or ()) for a, b in kinds.tolist()]
    unlike = np.array([a != b for a, b in shapes], dtype=bool)[which.reshape(-1)] & found
    for i in np.flatnonzero(unlike).tolist():
        a, b = shapes[int(which.reshape(-1)[i])]
        answers.forms[i] = f"has shape {list(a)}, not {list(b)}"
    short = (
        found
        & ~unlike
        & (given["elements"] != bundle.tables["tensors"]["elements"][outputs.golden])
    )
    for i in np.flatnonzero(short).tolist():
        answers.forms[i] = (
            f"has {int(given['elements'][i])} elements, which are too few or too many for its shape"
        )


def _lists(tables: Mapping[str, np.ndarray]) -> Any:
    starts, lengths = tables["lists"]["start"].tolist(), tables["lists"]["length"].tolist()
    integers = tables["integers"].tolist()

    def read(number: int) -> tuple[int, ...]:
        return tuple(integers[starts[number] : starts[number] + lengths[number]])

    return read
