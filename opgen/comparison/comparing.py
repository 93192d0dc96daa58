"""What verdicts rest on: the answers of a device laid beside a bundle, their statuses judged, their
outputs measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from opgen.bundle.read.reader import Bundle
from opgen.calls.factorize import by_key
from opgen.comparison import metrics, signed_sums, unwritten_elements
from opgen.comparison.alignment import AlignedResults, GoldenRows
from opgen.comparison.calls_by_page import library_anew
from opgen.comparison.criteria import against, criteria
from opgen.comparison.measuring import Precisions, measured, precisions
from opgen.comparison.metrics import MetricTable
from opgen.comparison.status_verdicts import StatusVerdict, status_verdict
from opgen.comparison.statuses import KNOWN, LENIENT, PASSED
from opgen.model import LibraryAnswer, Truth
from opgen.numerics.arrays import Array
from opgen.oracle.errata import Errata
from opgen.oracle.library import releases


@dataclass
class Comparison:
    """One comparison of some cases (``rows``). ``i`` is a row of the goldens everywhere, ``other``
    the other device of the double benchmark, ``repeats`` are repeated runs. ``source`` is api ->
    errata, by which the stored calls are judged anew; None where the bundle's own answers count.
    """

    bundle: Bundle
    goldens: GoldenRows
    answers: AlignedResults
    truth: Truth
    rows: list[int]
    other: AlignedResults | None = None
    repeats: Sequence[AlignedResults] = field(default=())
    source: Mapping[str, Errata] | None = None

    @property
    def origin(self) -> dict[str, object]:
        """Which files and which device it is about."""
        hidden = ("format", "format_version", "bundle")
        file, header = self.answers.file, self.bundle.header
        return {
            "bundle": str(self.bundle.path),
            "bundle_digest": self.bundle.digest,
            "editions": header.get("editions", {}),
            **{key: header.get(key) for key in ("plan", "seed", "opgen_version")},
            "results": str(file.path),
            "results_digest": file.digest,
            "device": {key: value for key, value in file.header.items() if key not in hidden},
            "against": str(self.other.file.path) if self.other else None,
            "again": [str(repeat.file.path) for repeat in self.repeats],
            "truth": self.truth,
            **({"library": list(releases(self.source))} if self.source is not None else {}),
        }

    @cached_property
    def of_case(self) -> dict[int, list[int]]:
        """Row of a case -> its goldens."""
        return by_key((case, i) for i, case in enumerate(self.goldens.case.tolist()))

    @cached_property
    def statuses(self) -> dict[int, StatusVerdict]:
        """What is to be thought of the statuses of each case."""
        return {
            row: status_verdict(
                self.bundle, self.answers, row, self.truth, row in self.of_case, self.anew
            )
            for row in self.rows
        }

    @cached_property
    def anew(self) -> dict[int, LibraryAnswer | None] | None:
        """Row of a case -> what :attr:`source` answers; None where nothing is judged anew."""
        if self.source is None:
            return None
        return library_anew(self.bundle, self.rows, self.source)

    @cached_property
    def compared(self) -> set[int]:
        """The cases whose outputs are judged."""
        return {
            row
            for row in self.rows
            if row in self.of_case
            and self.statuses[row].verdict in (PASSED, LENIENT, KNOWN)
            and self.answers.status(row) == 0
        }

    @cached_property
    def precisions(self) -> Precisions:
        """What the published standards hold each output to."""
        return precisions(self.bundle, self.goldens)

    @cached_property
    def asked(self) -> Array:
        """The goldens whose outputs are there and in their form."""
        returned = [i for row in self.rows if row in self.compared for i in self.of_case[row]]
        return self._sound(self.answers, np.array(returned, dtype=np.int64))

    @cached_property
    def table(self) -> MetricTable:
        """The metrics of the outputs of these goldens."""
        return self._measured(self.answers, self.asked)

    @cached_property
    def met(self) -> dict[str, Array]:
        """Criterion -> (goldens,) bool; those of the double benchmark are met only where the other
        device has the output too.
        """
        met = criteria(self.table, self.precisions.name) if len(self.goldens) else {}
        if self.other is not None:
            both = self._sound(self.other, self.asked)
            there = np.isin(np.arange(len(self.goldens)), both)
            double = against(self.table, self._measured(self.other, both))
            met |= {name: level & there for name, level in double.items()}
        return met

    @cached_property
    def wrong_sums(self) -> Mapping[int, str]:
        """Golden -> what the sums over its output say of an element that was not looked at."""
        return signed_sums.wrong(self.bundle, self.goldens, self.answers, self.asked)

    @cached_property
    def unwritten(self) -> Array:
        """(goldens,) how many elements were never written, None where that is not known."""
        return unwritten_elements.column(self.answers, len(self.goldens), self.asked)

    @cached_property
    def metrics(self) -> dict[int, dict[str, object]]:
        """The metrics for programs, by golden."""
        differs = sum(map(self._differs, self.repeats), np.zeros(len(self.goldens), np.int64))
        more = {"differs": differs, "unwritten": self.unwritten}
        return metrics.plain(self.table, self.met, more, self.asked)

    def is_whole(self, row: int) -> bool:
        """Whether every output of a case is there, and in its form, and all elements have
        goldens.
        """
        goldens = self.of_case[row] if row in self.compared else []
        sampled = (self.goldens.places[goldens] >= 0).any()
        return bool(goldens) and not sampled and self.metrics.keys() >= set(goldens)

    def name(self, i: int) -> str:
        """The parameter that an output is."""
        return self.bundle.names[int(self.goldens.name[i])]

    def _sound(self, answers: AlignedResults, wanted: Array) -> Array:
        there = (answers.output[wanted] >= 0) & ~np.isin(wanted, list(answers.forms))
        return np.asarray(wanted[there])

    def _measured(self, answers: AlignedResults, sound: Array) -> MetricTable:
        return measured(self.bundle, self.goldens, answers, self.precisions, sound)

    def _differs(self, repeat: AlignedResults) -> Array:
        """(goldens,) where a repeated run gave other bits, by the digests of the tensors."""
        both = self.asked[repeat.output[self.asked] >= 0]
        for i in both.tolist():
            repeat.tensor(i)  # BundleError where a digest is not that of the bytes
        differs = np.zeros(len(self.goldens), dtype=np.int64)
        differs[both] = self.answers.digests(both) != repeat.digests(both)
        return differs
