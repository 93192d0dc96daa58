"""The process that talks to the device: one call at a time, until its end of the pipe is closed.

The host side of an operator may crash, hang or leave the device unusable, so all of it happens
here, and nothing in this process is worth keeping. It needs numpy and ctypes only.
"""

from __future__ import annotations

import ctypes
import signal
import sys
from contextlib import suppress
from ctypes import byref, c_uint32, c_uint64, c_void_p
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any

import numpy as np

from opgen.devices import abi
from opgen.devices.libraries import DeviceError, Libraries
from opgen.devices.messages import Failed, First, Ready, Request, Second, Setup, Unusable

PACKAGES = ("runtime", "toolkit", "opp", "compiler")
"""The packages whose versions are asked for."""


class RuntimeFault(Exception):
    """A function of the runtime returned something else than 0."""


class Device:
    """The device and the functions of its libraries. Raises DeviceError where one of them is not
    there.
    """

    def __init__(self, setup: Setup) -> None:
        self.libraries = Libraries()
        self.functions = self.libraries.require(list(abi.RUNTIME))
        self.functions.update({name: self.libraries.symbol(name) for name in abi.OPTIONAL})
        abi.declare(self.functions, {**abi.RUNTIME, **abi.OPTIONAL})
        found, self.absent = self.libraries.operators(list(setup.apis))
        self.kinds = setup.apis
        self.first = {
            api: abi.first_phase(first, setup.apis[api]) for api, (first, _) in found.items()
        }
        self.second = {api: abi.second_phase(second) for api, (_, second) in found.items()}
        self._open(setup.index)

    def _open(self, index: int) -> None:
        status = self.functions["aclInit"](None)
        if status not in (0, abi.ACL_ERROR_REPEAT_INITIALIZE):
            raise DeviceError(f"aclInit returned {status}: {self.error() or 'no text'}")
        count = c_uint32()
        status = self.functions["aclrtGetDeviceCount"](byref(count))
        if status or index >= count.value:
            found = f"aclrtGetDeviceCount found {count.value} (status {status}) {self.error()}"
            raise DeviceError(f"there is no device npu:{index}: {found}".rstrip())
        for name, arguments in (("aclrtSetDevice", (index,)), ("aclnnInit", (None,))):
            status = self.functions[name](*arguments) if self.functions[name] is not None else 0
            if status:
                raise DeviceError(
                    f"npu:{index}: {name} returned {status}: {self.error() or 'no text'}"
                )
        self.stream = c_void_p()
        status = self.functions["aclrtCreateStream"](byref(self.stream))
        if status:
            raise DeviceError(
                f"npu:{index}: aclrtCreateStream returned {status}: {self.error() or 'no text'}"
            )

    def facts(self) -> dict[str, str]:
        """SoC, versions and the libraries in use."""
        soc = self.functions["aclrtGetSocName"]
        versions = {
            package: abi.version(self.functions["aclsysGetVersionStr"], package)
            for package in PACKAGES
        }
        return {
            "soc": abi.text(soc()) if soc is not None else "",
            "versions": ", ".join(f"{name} {text}" for name, text in versions.items() if text),
            "libraries": ", ".join(self.libraries.loaded),
        }

    def error(self) -> str:
        """The runtime's last message; empty where it has none."""
        function = self.functions["aclGetRecentErrMsg"]
        return abi.text(function()) if function is not None else ""

    def runtime(self, name: str, *arguments: Any) -> None:
        """Call a function of the runtime; RuntimeFault unless it returns 0."""
        status = self.functions[name](*arguments)
        if status:
            raise RuntimeFault(f"{name} returned {status}: {self.error() or 'no text'}")


class Memory:
    """Device memory of one call, given back when the block ends."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self._pointers: list[c_void_p] = []

    def __enter__(self) -> Memory:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for pointer in self._pointers:
            self.device.functions["aclrtFree"](pointer)

    def hold(self, data: np.ndarray) -> c_void_p:
        """The bytes of an array on the device; at least one byte is allocated."""
        pointer = c_void_p()
        self.device.runtime(
            "aclrtMalloc", byref(pointer), max(data.nbytes, 1), abi.ACL_MEM_MALLOC_HUGE_FIRST
        )
        self._pointers.append(pointer)
        if data.nbytes:
            self.device.runtime(
                "aclrtMemcpy",
                pointer,
                data.nbytes,
                data.ctypes.data,
                data.nbytes,
                abi.ACL_MEMCPY_HOST_TO_DEVICE,
            )
        return pointer

    def fetch(self, pointer: c_void_p, size: int) -> np.ndarray:
        """(size,) uint8 from the device."""
        data = np.empty(size, dtype=np.uint8)
        if size:
            self.device.runtime(
                "aclrtMemcpy", data.ctypes.data, size, pointer, size, abi.ACL_MEMCPY_DEVICE_TO_HOST
            )
        return data


def execute(device: Device, request: Request, tell: Connection) -> Second:
    """Both phases of one call, or the first alone, whose end is told at once. Memory that the call
    has spoilt may show only when it is given back: the end is the end of that.
    """
    with Memory(device) as memory, abi.Arguments(device.functions) as arguments:
        held = {at: memory.hold(buffer.data) for at, buffer in request.buffers.items()}
        values = [
            arguments.make(kind, value, held[at].value if at in held else None)
            for at, (kind, value) in enumerate(
                zip(device.kinds[request.api], request.arguments, strict=True)
            )
        ]
        size, executor = c_uint64(), c_void_p()
        status = device.first[request.api](*values, byref(size), byref(executor))
        last = bool(status) or not request.data
        tell.send(First(status, device.error() if status else "", last))
        if last:
            return Second(0, "")
        noise = np.random.default_rng(request.seed).integers(0, 256, size.value, dtype=np.uint8)
        workspace = memory.hold(noise) if size.value else None
        status = device.second[request.api](workspace, size, executor, device.stream)
        what = f"{request.api} returned {status}"
        if not status:
            status = device.functions["aclrtSynchronizeStream"](device.stream)
            what = f"aclrtSynchronizeStream returned {status}"
        if status:
            return Second(status, ": ".join(filter(None, (what, device.error()))))
        back = {
            at: memory.fetch(held[at], buffer.data.nbytes) for at, buffer in request.buffers.items()
        }
        changed = tuple(
            at
            for at, buffer in request.buffers.items()
            if not buffer.output and not np.array_equal(back[at], buffer.data)
        )
        return Second(
            0, "", {at: data for at, data in back.items() if request.buffers[at].output}, changed
        )


def serve(connection: Connection) -> None:
    """Set up, say so, and execute requests until nobody asks any more."""
    try:
        device = Device(connection.recv())
    except DeviceError as error:
        connection.send(Failed(tuple(problem.text for problem in error.problems)))
        return
    connection.send(Ready(device.facts(), device.absent))
    while True:
        try:
            request = connection.recv()
        except EOFError:
            return
        try:
            connection.send(execute(device, request, connection))
        except (RuntimeFault, RuntimeError, MemoryError) as error:
            connection.send(Unusable(str(error) or type(error).__name__))


def _die_with_parent() -> None:
    """A worker that hangs must not outlive the program that started it."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)


if __name__ == "__main__":
    _die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    serve(Connection(int(sys.argv[1])))
