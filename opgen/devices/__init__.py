"""Backends: what runs the cases of a bundle. A class each, :data:`BACKENDS` by name.

>>> backend("mutant:stride_swapped").device
'stride_swapped'
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from opgen.model import TIME_LIMIT, FileError, Problem

if TYPE_CHECKING:
    from opgen.bundle.read.reader import Bundle
    from opgen.bundle.results.reader import Result


BACKENDS: Mapping[str, str] = {
    "aclnn": "opgen.devices.aclnn:AclnnBackend",
    "mutant": "opgen.devices.mutant:MutantBackend",
    "torch": "opgen.devices.torch:TorchBackend",
}
"""The backends there are, as ``--backend`` names them, and their classes."""


class Backend(ABC):
    """What runs cases on a device: opened once, asked for its answers, and closed whatever happens.

    ``device`` is its name in the backend's own words, empty for the usual one; ``timeout`` is per
    case, in seconds. :func:`opgen.devices.running.run` writes the answers down.
    """

    def __init__(self, device: str = "", timeout: float = TIME_LIMIT) -> None:
        self.device, self.timeout = device, timeout

    @abstractmethod
    def open(self, bundle: Bundle, cases: Sequence[str]) -> Mapping[str, object]:
        """Open the device for ``cases``, ids of the bundle; returns what their results file says of
        it: ``backend`` and ``device``, versions, a ``note``. FileError where it cannot be opened.
        """

    @abstractmethod
    def answers(self) -> Iterator[Result]:
        """One answer to each of the cases, in any order, whatever the device does.

        A case that cannot be run has the status ``skipped`` and a reason. A device that is lost for
        good ends the answers; the cases that are left have none.
        """

    def close(self) -> None:  # noqa: B027  most have nothing to give back
        """Give the device back, also one that could not be opened."""


class DeviceError(FileError):
    """A backend, a device, a library or a symbol is not there; a line per thing, each with where it
    was looked for.
    """

    def __init__(self, where: str, *lines: str) -> None:
        super().__init__([Problem(where, None, "", line) for line in lines])


def backend(name: str, device: str = "", timeout: float = TIME_LIMIT) -> Backend:
    """A backend by its name, not opened yet; ``NAME:DEVICE`` names the device as well. DeviceError
    where there is none, or where what it needs is not installed.

    >>> backend("touch")
    Traceback (most recent call last):
    opgen.devices.DeviceError: --backend: no such backend 'touch'; did you mean 'torch'? (known: aclnn, mutant, torch)
    """  # noqa: E501
    name, _, own = name.partition(":")
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
        made: Backend = resolve_name(BACKENDS[name])(own or device, timeout)
    except ModuleNotFoundError as error:
        text = f"needs {error.name}, which is not installed: pip install 'opgen[{name}]'"
        raise DeviceError(f"--backend {name}", text) from None
    return made
