"""Backends: what runs the cases of a bundle. One module of this folder each, :data:`BACKENDS` by
name.

A backend is a module with ``run(bundle, results, *, cases, device, timeout, progress)``. It adds
one answer per case to ``results``, whatever the device does unless it is lost, and tells
``progress`` the id of each; what it cannot run has the status ``skipped`` and a reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from opgen.model import FileError, Problem

if TYPE_CHECKING:
    from opgen.bundle.read.reader import Bundle
    from opgen.bundle.results.writer import Results


BACKENDS = ("aclnn", "mutant", "torch")
"""The backends there are, as ``--backend`` names them."""


class Run(Protocol):
    """Run ``cases``, ids of the bundle, on a device; ``timeout`` is per case, in seconds. FileError
    where there is no such device.
    """

    def __call__(
        self,
        bundle: Bundle,
        results: Results,
        *,
        cases: Sequence[str],
        device: str,
        timeout: float,
        progress: Callable[[str], None],
    ) -> None: ...


class NoDevice(FileError):
    """A backend or a device that is not there; says where was looked."""

    def __init__(self, where: str, text: str) -> None:
        super().__init__([Problem(where, None, "", text)])


def backend(name: str) -> Run:
    """A backend by its name; NoDevice where there is none, or where what it needs is not installed.
    ``NAME:DEVICE`` names the device as well, ``mutant:stride_swapped``.

    >>> backend("touch")
    Traceback (most recent call last):
    opgen.devices.NoDevice: --backend: no such backend 'touch'; did you mean 'torch'? (known: aclnn, mutant, torch)
    """  # noqa: E501
    name, _, own = name.partition(":")
    if name not in BACKENDS:
        close = get_close_matches(name, BACKENDS, n=1)
        hint = f"; did you mean '{close[0]}'?" if close else ""
        raise NoDevice(
            "--backend", f"no such backend '{name}'{hint} (known: {', '.join(BACKENDS)})"
        )
    try:
        module = import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        raise NoDevice(
            f"--backend {name}",
            f"needs {error.name}, which is not installed: pip install 'opgen[{name}]'",
        ) from None
    run = cast(Run, module.run)

    def there(
        bundle: Bundle,
        results: Results,
        *,
        cases: Sequence[str],
        device: str,
        timeout: float,
        progress: Callable[[str], None],
    ) -> None:
        if device not in ("", own):
            raise NoDevice(
                "--device",
                f"'{device}', and --backend {name}:{own} names another; leave one of them out",
            )
        run(bundle, results, cases=cases, device=own, timeout=timeout, progress=progress)

    return there if own else run
