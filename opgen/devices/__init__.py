"""Backends: what runs the cases of a bundle. A class each, :data:`BACKENDS` by name.

>>> backend("mutant:stride_swapped").device
'stride_swapped'
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pkgutil import resolve_name
from typing import TYPE_CHECKING, TypedDict, Unpack

from opgen.model import GUARD, TIME_LIMIT, FileError, Problem

if TYPE_CHECKING:
    from opgen.bundle.read.reader import Bundle
    from opgen.bundle.results.reader import Result


BACKENDS: Mapping[str, str] = {
    "aclnn": "opgen.devices.aclnn:AclnnBackend",
    "mutant": "opgen.devices.mutant:MutantBackend",
    "torch": "opgen.devices.torch:TorchBackend",
}
"""The backends there are, as ``--backend`` names them, and their classes."""


_ALIGNED = 512
"""Bytes to a multiple of which the runtime aligns what it gives; guards keep that."""


class Settings(TypedDict, total=False):
    """How a device is run: its name in the backend's own words, empty for the usual one; seconds
    for one case; the product that it is, where its own name does not say; bytes of each guard, a
    multiple of 512.
    """

    device: str
    timeout: float
    product: str
    guard: int


class Backend(ABC):
    """What runs cases on a device: opened once, asked for answers, and closed whatever happens.

    ``settings`` are those of :class:`Settings`; a backend ignores what it has no use for. Raises
    DeviceError for a guard that is no multiple of 512. ``name`` is that in :data:`BACKENDS`.
    :func:`opgen.devices.running.run` writes the answers down.
    """

    name = ""
    usual = ""
    """The device where none is named."""
    status_only = False
    """Whether nobody asks for more than the first phase."""

    def __init__(self, **settings: Unpack[Settings]) -> None:
        self.device = settings.get("device") or self.usual
        self.timeout = settings.get("timeout", TIME_LIMIT)
        self.product = settings.get("product", "")
        self.guard = settings.get("guard", GUARD)
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


class DeviceLost(FileError):
    """A device that answered does so no more; the command line exits 1. ``where``: the case at
    which it was lost.
    """

    exit_code = 1

    def __init__(self, where: str, text: str) -> None:
        super().__init__([Problem(f"the device was lost {where}", None, "", text)])


class DeviceError(FileError):
    """A backend, a device, a library or a symbol is not there; a line per thing, each with where it
    was looked for.
    """

    def __init__(self, where: str, *lines: str) -> None:
        super().__init__([Problem(where, None, "", line) for line in lines])


def backend(name: str, **settings: Unpack[Settings]) -> Backend:
    """A backend by its name, not opened yet; ``NAME:DEVICE`` names the device as well. DeviceError
    where there is none, or where what it needs is not installed.

    >>> backend("touch")
    Traceback (most recent call last):
    opgen.devices.DeviceError: --backend: no such backend 'touch'; did you mean 'torch'? (known: aclnn, mutant, torch)
    """  # noqa: E501
    name, _, own = name.partition(":")
    device = settings.get("device", "")
    if name not in BACKENDS:
        close = get_close_matches(name, BACKENDS, n=1)
        hint = f"; did you mean '{close[0]}'?" if close else ""
        raise DeviceError(
            "--backend", f"no such backend '{name}'{hint} (known: {', '.join(BACKENDS)})"
        )
    if own and device not in ("", own):
        text = f"'{device}', and --backend {name}:{own} names another; leave one of them out"
        raise DeviceError("--device", text)
    try:
        made: Backend = resolve_name(BACKENDS[name])(**{**settings, "device": own or device})
    except ModuleNotFoundError as error:
        text = f"needs {error.name}, which is not installed: pip install {error.name}"
        raise DeviceError(f"--backend {name}", text) from None
    return made
