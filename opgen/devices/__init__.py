"""Backends: what runs the cases of a bundle. A class each, found by name.

>>> backend("mutant:stride_swapped").device
'stride_swapped'
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from inspect import isabstract
from typing import TYPE_CHECKING, TypedDict, Unpack

from opgen.bundle.results.reader import Result
from opgen.calls.vocabulary import vocabulary
from opgen.devices.plugins import blamed, class_of, known
from opgen.model import GUARD, TIME_LIMIT, FileError, Problem

if TYPE_CHECKING:
    from opgen.bundle.read.reader import Bundle


_ALIGNED = 512
"""Bytes to a multiple of which the runtime aligns what it gives; guards keep that."""


class Settings(TypedDict, total=False):
    """How a device is run: its name in the backend's own words, empty for the usual one; seconds
    for one case; the product that it is, where its own name does not say, so that cases of others
    are skipped; bytes of each guard, a multiple of 512.
    """

    device: str
    timeout: float
    product: str
    guard: int


class Backend(ABC):
    """What runs cases on a device: opened once, asked for answers, and closed whatever happens.

    Subclass it to run bundles on a device of your own: ``--backend ./mine.py:Device``. A subclass
    must define ``open`` and ``answers``, and may define ``close``; BACKENDS.md has an example.
    ``settings`` are those of :class:`Settings`; a backend may ignore some. Raises DeviceError for a
    guard that is not a multiple of 512, and for an unknown product.
    :func:`opgen.devices.running.run` writes the answers down.
    """

    name = ""
    """What results call it; empty: the name by which it was found."""
    usual = ""
    """The device where none is named."""
    every_product = False
    """Whether it answers calls of every product, as no device does."""
    status_only = False
    """Whether nobody asks for more than the first phase."""

    def __init__(self, **settings: Unpack[Settings]) -> None:
        self.device = settings.get("device") or self.usual
        self.timeout = settings.get("timeout", TIME_LIMIT)
        self.product = settings.get("product", "")
        self.guard = settings.get("guard", GUARD)
        if self.product and self.product not in vocabulary().products:
            text = f"no such product {self.product!r}; known: {', '.join(vocabulary().products)}"
            raise DeviceError("`product`", text)
        if self.guard < 0 or self.guard % _ALIGNED:
            raise DeviceError("`guard`", f"{self.guard} is no multiple of {_ALIGNED} bytes")

    @abstractmethod
    def open(self, bundle: Bundle, cases: Sequence[str]) -> Mapping[str, object]:
        """Open the device for ``cases``, ids of the bundle; returns what their results file says of
        it besides its name: versions, a ``note``. FileError where it cannot be opened.
        """

    @abstractmethod
    def answers(self, cases: Sequence[str]) -> Iterator[Result]:
        """One answer to each of some cases of the bundle, in any order, whatever the device does.

        A case that cannot be run has the status ``skipped`` and a reason. DeviceLost where nothing
        can be asked any more.
        """

    def close(self) -> None:  # noqa: B027  most have nothing to give back
        """Give the device back, also one that could not be opened."""

    @contextmanager
    def held(self) -> Iterator[None]:
        """A block in which many bundles are run, each with ``open`` and ``close``. A device that
        takes long to open may stay open until the end of the block.
        """
        yield


class HeldBackend(Backend):
    """A device that takes long to open, and stays open while it :attr:`is_held`."""

    is_held = False

    @contextmanager
    def held(self) -> Iterator[None]:
        """One device for all bundles of a block; it is closed at the end."""
        self.is_held = True
        try:
            yield
        finally:
            self.is_held = False
            self.close()


class DeviceLost(FileError):
    """A device that answered does so no more; the command line exits 1. ``where``: the case at
    which it was lost.
    """

    exit_code = 1

    def __init__(self, where: str, text: str) -> None:
        super().__init__([Problem(f"the device was lost {where}", None, "", text)])


class Raised(Result):
    """The answer where the backend's own code raised: ``error`` says what, and at which lines."""


class DeviceError(FileError):
    """A backend, a device, a library or a symbol is not there; a line per thing, each with where it
    was looked for.
    """

    def __init__(self, where: str, *lines: str) -> None:
        super().__init__([Problem(where, None, "", line) for line in lines])


def backend(name: str, **settings: Unpack[Settings]) -> Backend:
    """A backend, not opened yet. FileError where there is none of this name, or where what it
    needs is not installed.

    * ``NAME``, or ``NAME:DEVICE``: one of :func:`opgen.devices.plugins.known`.
    * ``FILE.py:CLASS``, or ``MODULE.OF.PACKAGE:CLASS``: a class of one's own. The class may be left
      out where the module has one.

    >>> backend("touch")
    Traceback (most recent call last):
    opgen.devices.DeviceError: --backend: no such backend 'touch'; did you mean 'torch'? (known: aclnn, cmd, mutant, torch)
    """  # noqa: E501
    place, _, own = name.partition(":")
    every = known()
    if place.endswith(".py") or ("." in place and place not in every):
        return _made(name, place, own, settings)
    if place not in every:
        close = get_close_matches(place, every, n=1)
        hint = f"; did you mean '{close[0]}'?" if close else ""
        raise DeviceError(
            "--backend", f"no such backend '{place}'{hint} (known: {', '.join(sorted(every))})"
        )
    device = settings.get("device", "")
    if own and device not in ("", own):
        raise DeviceError(
            "--device", f"'{device}', and --backend {name} names another; leave one of them out"
        )
    settings["device"] = own or device
    module, _, member = every[place].partition(":")
    return _made(place, module, member, settings)


def _made(name: str, place: str, member: str, settings: Settings) -> Backend:
    try:
        kind = class_of(place, member, Backend)  # type: ignore[type-abstract]
    except ModuleNotFoundError as error:
        text = f"needs {error.name}, which is not installed: pip install {error.name}"
        raise DeviceError(f"--backend {name}", text) from None
    if isabstract(kind):
        missing = ", ".join(sorted(kind.__abstractmethods__))
        raise DeviceError(f"--backend {name}", f"class {kind.__name__} lacks {missing}")
    with blamed(kind):
        made = kind(**settings)
    made.name = made.name or name
    return made
