"""A device's answers laid beside a bundle's goldens: what belongs together, and what is not there
or not in its form.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from opgen.bundle.format.dtypes import ROLES, BundleError, words_of
from opgen.bundle.read.reader import Bundle
from opgen.bundle.results.reader import ResultsFile
from opgen.model import Code
from opgen.numerics.arrays import Array

_, _, GOLDEN, BOUND, PLACES, SUMS = ROLES.values()


@dataclass
class GoldenRows:
    """Every golden of a bundle, a row each: its case, its name, and where it, its bound, its
    descriptor, the places of its elements and the sums over all stand in ``/tensors``; of the
    last two -1 where it has all elements.
    """

    case: Array
    name: Array
    golden: Array
    bound: Array
    described: Array
    places: Array
    sums: Array

    def __len__(self) -> int:
        return len(self.case)


@dataclass
class AlignedResults:
    """One results file. ``row`` is each case's row in it, -1 where there is none; ``output`` each
    golden's tensor, likewise.

    ``faults`` are things wrong with the answer of a case, by row of the case; ``forms`` with one
    output, by row of the golden. ``masked`` are the outputs of a case, by its row, that are masked
    out and were written all the same.
    """

    file: ResultsFile
    row: Array
    output: Array
    faults: dict[int, str] = field(default_factory=dict)
    forms: dict[int, str] = field(default_factory=dict)
    masked: dict[int, str] = field(default_factory=dict)

    def status(self, case: int, run: bool = False) -> Code | None:
        """The status of the first phase, or of the run; None where nobody recorded one."""
        return self.file.status(int(self.row[case]), run)

    def error(self, case: int) -> str:
        """What the backend said about the case."""
        return self.file.strings[int(self.file.tables["results"]["error"][self.row[case]])]

    def time(self, case: int) -> float:
        """Seconds; NaN where not taken."""
        return float(self.file.tables["results"]["time"][self.row[case]])

    def digests(self, goldens: Array) -> Array:
        """The digests of the outputs that are there for some goldens."""
        return np.asarray(self.file.tables["tensors"]["digest"][self.output[goldens]])

    def tensor(self, golden: int) -> Array:
        """The elements of one output, 1-D; BundleError where they do not match their digest: then
        the file is at fault, not the device.
        """
        tensor = self.file.tables["tensors"][self.output[golden]]
        columns = ("result", "name", "dtype", "elements", "position", "digest")
        return self.file.elements(*tensor[list(columns)].item())


def goldens_of(bundle: Bundle) -> GoldenRows:
    """The goldens of a bundle in the order of its tensors."""
    table = bundle.tables["tensors"]
    key = _key(table["case"], table["name"])
    has_data = table["position"] >= 0

    def beside(rows: Array) -> Array:
        positions, counts = _positions(key[rows], key[golden])
        if not counts.all():
            raise BundleError(
                f"{bundle.path}: damaged: a golden without a bound or without a descriptor"
            )
        return rows[positions]

    golden = np.flatnonzero((table["role"] == GOLDEN) & has_data)
    bound = np.flatnonzero((table["role"] == BOUND) & has_data)
    places = np.flatnonzero((table["role"] == PLACES) & has_data)
    return GoldenRows(
        table["case"][golden].astype(np.int64),
        table["name"][golden].astype(np.int64),
        golden,
        beside(bound),
        beside(np.flatnonzero(table["role"] < GOLDEN)),
        *(
            np.append(rows, -1)[_positions(key[rows], key[golden])[0]]
            for rows in (places, np.flatnonzero((table["role"] == SUMS) & has_data))
        ),
    )


def _key(case: Array, name: Array) -> Array:
    """A number for each pair of a case's row and a tensor's name."""
    return np.asarray(case.astype(np.int64) << 16 | name)


def _positions(keys: Array, wanted: Array) -> tuple[Array, Array]:
    """Where each wanted key first stands among some, -1 where it does not, and how often it does.

    >>> _positions(np.array([7, 5, 7]), np.array([7, 6, 5]))
    (array([ 0, -1,  1]), array([2, 0, 1]))
    """
    order = np.argsort(keys, kind="stable")
    first, end = (np.searchsorted(keys, wanted, side, order) for side in ("left", "right"))
    return np.where(end > first, np.append(order, -1)[first], -1), end - first


def align(bundle: Bundle, goldens: GoldenRows, file: ResultsFile) -> AlignedResults:
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
    for i, (case, name) in enumerate(zip(table["case"].tolist(), file.ids, strict=True)):
        if case >= len(bundle) or bundle.ids[case] != name:
            raise BundleError(
                f"{file.path}: answers a case {name!r} that {bundle.path} does not have there"
            )
        if row[case] >= 0:
            faults[case] = "answered more than once"
        row[case] = i
    output, forms = _outputs(bundle, goldens, file)
    masked = _masked(file, np.setdiff1d(np.arange(len(file.tables["tensors"])), output))
    return AlignedResults(file, row, output, faults, forms, masked)


def _masked(file: ResultsFile, others: Array) -> dict[int, str]:
    """Row of a case -> which outputs beside its goldens were written, and how far."""
    tensors = file.tables["tensors"][others]
    tensors = tensors[(tensors["unwritten"] >= 0) & (tensors["unwritten"] < tensors["elements"])]
    cases = file.tables["results"]["case"][tensors["result"]].tolist()
    masked: dict[int, str] = {}
    for case, (name, elements, unwritten) in zip(
        cases, tensors[["name", "elements", "unwritten"]].tolist(), strict=True
    ):
        text = f"{file.names[name]}: {elements - unwritten} of {elements} elements were written"
        text += " though it is masked out"
        masked[case] = f"{masked[case]}; {text}" if case in masked else text
    return masked


def _outputs(
    bundle: Bundle, goldens: GoldenRows, file: ResultsFile
) -> tuple[Array, dict[int, str]]:
    """The tensor of each golden, -1 where there is none; and what is wrong with its dtype and
    shape.
    """
    tensors, results = file.tables["tensors"], file.tables["results"]
    if (tensors["result"] >= len(results)).any():
        raise BundleError(f"{file.path}: damaged: an output of no case")
    numbers = {name: i for i, name in enumerate(bundle.names)}
    names = np.array([numbers.get(name, (1 << 16) - 1) for name in file.names], dtype=np.int64)
    keys = _key(results["case"][tensors["result"]], names[tensors["name"]])
    output, counts = _positions(keys, _key(goldens.case, goldens.name))
    forms: dict[int, str] = {}
    if not len(tensors):
        return output, forms
    there, given = output >= 0, tensors[output]
    expected = bundle.tables["tensors"][goldens.described]
    for i in np.flatnonzero(counts > 1).tolist():
        forms[i] = "returned more than once"
    words = words_of(expected.dtype["dtype"])
    for i in np.flatnonzero(there & (given["dtype"] != expected["dtype"])).tolist():
        dtype = words.get(int(given["dtype"][i]), "?")
        forms[i] = f"has dtype {dtype}, not {words[int(expected['dtype'][i])]}"
    numbers_of_shapes = np.stack([given["shape"], expected["shape"]]).astype(np.int64)
    pairs, pair = np.unique(numbers_of_shapes, axis=1, return_inverse=True)
    shapes = [(file.sequence(a) or (), bundle.sequence(b) or ()) for a, b in pairs.T.tolist()]
    unlike = there & np.array([a != b for a, b in shapes], dtype=bool)[pair.reshape(-1)]
    for i in np.flatnonzero(unlike).tolist():
        returned, wanted = map(list, shapes[int(pair.reshape(-1)[i])])
        forms[i] = f"has shape {returned}, not {wanted}"
    elements = bundle.tables["tensors"]["elements"][goldens.golden]
    other = (given["elements"] != elements) & (goldens.places < 0)
    for i in np.flatnonzero(there & ~unlike & other).tolist():
        count = int(given["elements"][i])
        forms[i] = f"has {count} elements, which are too few or too many for its shape"
    return output, forms
