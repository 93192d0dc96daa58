"""What a runner and its worker process say to each other: a setup, then calls one by one.

The worker answers a :class:`Setup` with :class:`Ready`, or with the error that keeps it from
working; and a :class:`CallRequest` with a :class:`Phase`, and another.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from opgen.devices.abi import ArgumentValue
from opgen.model import Code


@dataclass(frozen=True, slots=True)
class Setup:
    """The worker's first message: which device, and the kinds of every api's parameters."""

    index: int
    apis: dict[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Ready:
    """The worker is up: what it found out about its device and libraries.

    ``absent``: operator -> the symbols of it that no library has.
    """

    facts: dict[str, str]
    absent: dict[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Buffer:
    """The storage of one tensor on the device, as bytes: inputs with their data, outputs with what
    they hold until they are written.
    """

    data: np.ndarray
    output: bool


@dataclass(frozen=True, slots=True)
class CallRequest:
    """One call: arguments in prototype order, and the ``places`` of each among them and the tensors
    of lists. ``buffers`` by place; without any, descriptors alone are passed.

    ``data`` is false where only the first phase is to run. ``guard`` bytes lie before and after
    every buffer and the workspace; ``seed`` gives what these and the workspace hold.
    """

    api: str
    arguments: tuple[ArgumentValue, ...]
    places: tuple[int, ...]
    buffers: dict[int, Buffer]
    data: bool
    guard: int
    seed: int


class Overwritten(NamedTuple):
    """How many bytes of a buffer were written that are not the device's to write: of the guard
    before it, of itself where it is an input, of the guard after it.
    """

    before: int
    within: int
    behind: int


WORKSPACE = -1
"""The position of the workspace among buffers."""


@dataclass(frozen=True, slots=True)
class Phase:
    """A phase is over: its status, ``unusable`` where the runtime refused memory or a copy.

    The second is over, even where nothing ran, when what the call held is given back.
    ``outputs``: position -> bytes of the storage; ``overwritten``: position -> what was written
    that is not the device's.
    """

    status: Code
    error: str
    outputs: dict[int, np.ndarray] = field(default_factory=dict)
    overwritten: dict[int, Overwritten] = field(default_factory=dict)
