"""What a case is, what is expected of it, and what a comparison says of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from opgen.model.call import Call
from opgen.model.status import Code

TIME_LIMIT = 60.0
"""Seconds that a device may take for one call, unless others are given."""
GUARD = 4096
"""Bytes before and after every buffer that are nobody's to write, unless others are given."""
CRASHES = "crash"
USUAL = ("smoke", "standard", "full")
UNDATED = "undated"
"""What the edition of pages is called that have none."""
TIERS = (*USUAL, CRASHES)
"""The tiers of a plan; the last holds calls that are known to end the host process, and nothing
takes it by default."""
CALL_PLANS = ("models", "determinism")
"""Plans whose cases are calls of files, in the folder of this name beside the plans: layers of
known models, and long sums."""
Truth: TypeAlias = Literal["page", "library", "both"]
TRUTHS: tuple[Truth, ...] = get_args(Truth)
"""Whose answer counts."""

Bucket: TypeAlias = Literal[
    "valid", "stated", "unstated", "unsupported_product", "disputed", "assumed"
]
BUCKETS: tuple[Bucket, ...] = get_args(Bucket)
"""In the order in which tables show them; a call that breaks several rules goes by
:data:`opgen.oracle.judgement.ORDER`."""
Kind: TypeAlias = Literal["valid", "invalid", "handwritten", "given"]
KINDS: tuple[Kind, ...] = get_args(Kind)

LONGEST_ID = 1024
"""Bytes of a case's id in a bundle."""


@dataclass(frozen=True, slots=True)
class Break:
    """One broken rule: its id, the page's numbered clause (or ``None``), the page's line, the
    values found.
    """

    rule: str
    clause: str | None
    at: int | None
    found: str


@dataclass(frozen=True, slots=True)
class Expectation:
    """What the page says about a call: the admissible codes, numbers first and ascending, and
    why.
    """

    codes: tuple[Code, ...]
    bucket: Bucket
    breaks: tuple[Break, ...] = ()


@dataclass(frozen=True, slots=True)
class LibraryAnswer:
    """What a release of the published library answers, and whether that was read, inferred or
    observed. Only an ``accepted`` answer excuses a device. ``until``: how far through the first
    phase the answer reaches, ``graph``, ``tiling`` or ``kernel``.
    """

    release: str
    codes: tuple[Code, ...]
    basis: Literal["read", "inferred", "observed"]
    accepted: bool = True
    until: str = "graph"

    def as_data(self) -> dict[str, object]:
        """The answer as commands write it in JSON."""
        codes = list(self.codes)
        return {"release": self.release, "codes": codes, "basis": self.basis, "until": self.until}

    @property
    def bucket(self) -> str:
        """Its basis, so that what the page and what the library answer can be read alike."""
        return self.basis

    @property
    def breaks(self) -> tuple[Break, ...]:
        """Nothing: a library answers without saying which rule of a page it holds."""
        return ()


class Case(NamedTuple):
    """One test vector; a tuple, because suites hold very many.

    ``phase`` 2 has data and goldens; ``phase`` 1 is descriptors and a status only.
    ``nearest_valid`` names the nearest legal call of an invalid case. ``compute`` is the dtype that
    the inputs are rounded to before the sum; ``inconclusive`` says why a pass would prove nothing,
    and is empty otherwise.
    """

    id: str
    call: Call
    kind: Kind
    intent: str
    page: Expectation
    library: LibraryAnswer | None = None
    recipe: str = ""
    phase: Literal[1, 2] = 1
    nearest_valid: str = ""
    compute: str = ""
    inconclusive: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a comparison says of one case; ``detail`` is for people, ``metrics`` for programs."""

    case: str
    verdict: str
    detail: str = ""
    metrics: Mapping[str, Any] = field(default_factory=dict)
