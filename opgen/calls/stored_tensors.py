"""Which tensors cases keep in a bundle, and how many elements each takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from opgen.calls.categorical import Categorical

TensorKind: TypeAlias = tuple[str, str, str]
"""A tensor without its size: its parameter, role (``input``, ``golden``, ``bound``) and dtype."""
_NONE = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class StoredTensors:
    """The tensors that cases keep: case ``i`` those of set ``of[i]``.

    ``counts`` (sets,) says how many each set has, one set's tensors behind another's. Of each of
    them, ``kind`` says what it is and ``elements`` what it takes, an input those of its whole
    storage. Iterating gives the tensors of each case: parameter, role, dtype, elements.
    """

    kind: Categorical[TensorKind]
    elements: np.ndarray
    counts: np.ndarray
    of: np.ndarray

    def take(self, cases: Sequence[int] | np.ndarray) -> StoredTensors:
        """What the cases at these places keep."""
        return replace(self, of=self.of[np.asarray(cases, dtype=np.int64)])

    def changed(
        self, new: Callable[[int, str, str, str, int], Iterable[tuple[str, str, str, int]]]
    ) -> StoredTensors:
        """What cases keep where each tensor of a case gives way to ``new`` ones; each case has a
        set of its own.
        """
        cases = [
            [kept for tensor in tensors for kept in new(case, *tensor)]
            for case, tensors in enumerate(self)
        ]
        flat = [kept for tensors in cases for kept in tensors]
        return StoredTensors(
            Categorical.of([kept[:3] for kept in flat]),
            np.array([kept[3] for kept in flat], dtype=np.int64),
            np.array([len(tensors) for tensors in cases], dtype=np.int64),
            np.arange(len(cases)),
        )

    @classmethod
    def concatenate(cls, parts: Sequence[StoredTensors]) -> StoredTensors:
        """What the cases of all parts keep, one part behind the other."""
        before = np.cumsum([0, *[len(part.counts) for part in parts]])
        return cls(
            Categorical.concatenate([part.kind for part in parts]),
            np.concatenate([_NONE, *[part.elements for part in parts]]),
            np.concatenate([_NONE, *[part.counts for part in parts]]),
            np.concatenate([_NONE, *[p.of + n for p, n in zip(parts, before, strict=False)]]),
        )

    def __iter__(self) -> Iterator[list[tuple[str, str, str, int]]]:
        tensors = [(*kind, n) for kind, n in zip(self.kind, self.elements.tolist(), strict=True)]
        ends = np.cumsum(self.counts)
        for end, count in zip(ends[self.of].tolist(), self.counts[self.of].tolist(), strict=True):
            yield tensors[end - count : end]
