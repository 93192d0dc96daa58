"""The nouns of opgen: what a call, a case and an expectation are.

Frozen dataclasses, no input or output, no numpy. Everything that scales with the number of cases
works on the columns of :mod:`opgen.calls.table`; these are the rows that people and files see.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import prod
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

Code: TypeAlias = int | str
"""A status code of aclnn (``161002``), or a word."""
ANY_ERROR, CRASH = "any_error", "crash"
"""The words among admissible codes: every code that an argument check returns, and the end of the
host process."""
TIMEOUT, NOT_RUN, UNUSABLE, OVERRUN = "timeout", "skipped", "unusable", "overrun"
"""What backends record beside numbers and ``crash``: no answer in time; a case that they cannot
run; memory or a copy refused; memory overwritten that is no output's."""
STATUS_WORDS = (CRASH, TIMEOUT, NOT_RUN, UNUSABLE, OVERRUN)
"""What a device may answer instead of a number."""
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


def of_a_check(status: Code | None) -> bool:
    """Whether an argument check returns a status: 161001, 161002, and every 561xxx. Any other error
    is the runtime's, which a lost device returns to every call.

    >>> of_a_check(161002), of_a_check(561103), of_a_check(507899), of_a_check(-1)
    (True, True, False, False)
    """
    return isinstance(status, int) and (status in (161001, 161002) or status // 1000 == 561)


def admits(codes: Collection[Code], status: Code) -> bool:
    """Whether a status is one of the admissible ones.

    >>> admits((0, "any_error"), 561103), admits((0, "any_error"), 507899)
    (True, False)
    """
    return status in codes or (ANY_ERROR in codes and of_a_check(status))


def written(codes: Iterable[Code]) -> str:
    """Codes for people.

    >>> written((161001, 161002)), written((161002, "any_error")), written((0, "any_error"))
    ('161001 or 161002', '161002 or any other error', '0 or any error')
    """
    listed = list(codes)
    rest = (
        "any other error"
        if any(isinstance(code, int) and code != 0 for code in listed)
        else "any error"
    )
    return " or ".join(rest if code == ANY_ERROR else str(code) for code in listed)


LONGEST_ID = 1024
"""Bytes of a case's id in a bundle."""


def unkept(text: str) -> str:
    r"""Why no HDF5 file can keep a text; an empty text where it can.

    >>> unkept("a\0"), unkept("\ud800"), unkept("超")
    ('holds a NUL character', 'is not Unicode text', '')
    """
    if "\0" in text:
        return "holds a NUL character"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "is not Unicode text"
    return ""


def natural(text: str) -> int | None:
    """The number that is written with the digits 0 to 9, at most 18 of them; None for any other
    text.

    >>> natural("012"), natural("-1"), natural("²"), natural("9" * 5000)
    (12, None, None, None)
    """
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None


def size(number: int) -> str:
    """Bytes for people.

    >>> size(999), size(15_300), size(2_500_000)
    ('999 B', '15.3 kB', '2.5 MB')
    """
    units = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3))
    return next(
        (f"{number / step:.1f} {unit}" for unit, step in units if number >= step), f"{number} B"
    )


@dataclass(frozen=True, slots=True)
class TensorDesc:
    """An aclTensor without its data.

    ``strides`` and ``offset`` count elements; ``None`` means contiguous, and storage equal to the
    view.
    """

    shape: tuple[int, ...]
    dtype: str
    format: str = "ND"
    strides: tuple[int, ...] | None = None
    offset: int = 0
    storage_shape: tuple[int, ...] | None = None
    range: tuple[float, float] | None = None

    @property
    def plain(self) -> bool:
        """Whether nothing is said of the layout: contiguous, and storage equal to the view."""
        return self.strides is None and self.storage_shape is None and not self.offset

    @property
    def steps(self) -> tuple[int, ...]:
        """The strides, of a contiguous tensor too."""
        return row_major(self.shape) if self.strides is None else self.strides

    @property
    def storage_elements(self) -> int:
        """Elements of the storage: of the extents that are given, or up to the last one of the
        view.
        """
        if self.storage_shape is not None:
            held = prod(self.storage_shape)
        elif self.strides is None or 0 in self.shape:
            held = self.offset + prod(self.shape)
        else:
            held = (
                self.offset
                + sum(
                    (extent - 1) * step
                    for extent, step in zip(self.shape, self.strides, strict=True)
                    if step > 0
                )
                + 1
            )
        return held if held > 0 else 0  # quicker than max, and asked of every input

    @property
    def storage_extents(self) -> tuple[int, ...]:
        """Extents of the storage: those that are given, or those of the view, or one axis where the
        two differ.
        """
        if self.storage_shape is not None:
            return self.storage_shape
        return self.shape if self.plain else (self.storage_elements,)


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides in elements of a contiguous tensor."""
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))


@dataclass(frozen=True, slots=True)
class AclScalar:
    """An aclScalar: a number or a truth, and the dtype that it has."""

    value: float
    dtype: str


Argument: TypeAlias = TensorDesc | AclScalar | tuple[float, ...] | int | bool | float | str | None
"""A tensor, an array, a scalar, a text, or a null pointer."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the first phase: the vendor's name, a product, and every argument in prototype
    order.
    """

    api: str
    product: str
    args: Mapping[str, Argument]


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
    observed. Only an ``accepted`` answer excuses a device.
    """

    release: str
    codes: tuple[Code, ...]
    basis: Literal["read", "inferred", "observed"]
    accepted: bool = True

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
class Problem:
    """One thing wrong in a file that a person wrote."""

    file: str
    line: int | None
    where: str
    text: str

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.where}: {self.text}" if self.where else f"{place}: {self.text}"


class FileError(Exception):
    """A file that a person wrote cannot be used; carries every problem found in it.

    The command line prints one line per problem and exits 2.
    """

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems

    @classmethod
    def of(cls, file: str, where: str, text: str, line: int | None = None) -> FileError:
        """One problem. ``file`` may be the argument of a function, in backquotes, and ``where`` its
        value: only a command line knows what its user calls it.

        >>> FileError.of("`seed`", "-1", "is below 0")
        FileError('`seed`: -1: is below 0')
        """
        return FileError([Problem(file, line, where, text)])

    def __reduce__(self) -> tuple[type[FileError], tuple[list[Problem]]]:
        """Another process gets the problems, not their text, nor what a kind of this error knows
        besides.
        """
        return FileError, (self.problems,)


@contextmanager
def collecting(problems: list[Problem]) -> Iterator[None]:
    """A block that may raise FileError: its problems join the others, and what follows goes on."""
    try:
        yield
    except FileError as error:
        problems += error.problems


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a comparison says of one case; ``detail`` is for people, ``metrics`` for programs."""

    case: str
    verdict: str
    detail: str = ""
    metrics: Mapping[str, Any] = field(default_factory=dict)
