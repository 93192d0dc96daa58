"""What enumerating finds out about a spec and a plan."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from opgen.suite.covering import Model


@dataclass
class EnumerationReport:
    """What enumerating found out about a spec and a plan.

    ``levels`` are the values of the covering calls, (calls, axes). ``dropped`` of them broke a
    rule after all; ``crashing`` ones are known to end the host process, and only such calls break
    the rules ``fatal``. ``given`` valid calls existed already and were counted as covering.
    ``untried``: value of an axis -> what forbids every call that has it, or that was tried.
    """

    cover: np.ndarray | None = None
    model: Model | None = None
    levels: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))
    dropped: int = 0
    crashing: int = 0
    fatal: tuple[str, ...] = ()
    given: int = 0
    sampled: tuple[str, ...] = ()
    unreached: dict[str, str] = field(default_factory=dict)
    untried: dict[str, str] = field(default_factory=dict)
