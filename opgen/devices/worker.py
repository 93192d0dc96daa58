"""The process that talks to the device: one call at a time, until its end of the pipe is closed.

The host side of an operator may crash, hang or leave the device unusable, so all of it happens
here, and nothing in this process is worth keeping. It needs numpy and ctypes only.
"""

from __future__ import annotations

import ctypes
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from ctypes import byref, c_uint32, c_uint64, c_void_p
from multiprocessing.connection import Connection

import numpy as np

from opgen.devices import DeviceError, abi
from opgen.devices.libraries import Libraries
from opgen.devices.messages import (
    WORKSPACE,
    CallRequest,
    Overwritten,
    Phase,
    Ready,
    Setup,
)
from opgen.model import UNUSABLE

PACKAGES = ("runtime", "toolkit", "opp", "compiler")
"""The packages whose versions are asked for."""


class Device:
    """The device and the functions of its libraries. DeviceError where one of them is not there."""

    def __init__(self, setup: Setup) -> None:
        self.libraries = Libraries()
        self.functions = self.libraries.require(abi.needed(setup.apis.values()))
        self.optional = {
            name: self.libraries.function(name, each) for name, each in abi.OPTIONAL.items()
        }
        self.kinds = setup.apis
        self.operators, self.absent = self.libraries.operators(setup.apis)
        self.stream = c_void_p()
        self._open(setup.index)

    def _open(self, index: int) -> None:
        where = ""
        try:
            self.runtime("aclInit", None, accepted=(0, abi.ACL_ERROR_REPEAT_INITIALIZE))
            count = c_uint32()
            status = self.functions["aclrtGetDeviceCount"](byref(count))
            if status or index >= count.value:
                known = f"aclrtGetDeviceCount found {count.value} (status {status}) {self.error()}"
                raise RuntimeError(f"there is no device npu:{index}: {known}".rstrip())
            where = f"npu:{index}: "
            self.runtime("aclrtSetDevice", index)
            if self.optional["aclnnInit"] is not None:
                self.runtime("aclnnInit", None)
            self.runtime("aclrtCreateStream", byref(self.stream))
        except RuntimeError as fault:
            raise DeviceError("aclnn", f"{where}{fault}") from None

    def facts(self) -> dict[str, str]:
        """SoC, versions and the libraries in use."""
        soc, version = self.optional["aclrtGetSocName"], self.optional["aclsysGetVersionStr"]
        versions = {package: abi.version(version, package) for package in PACKAGES}
        return {
            "soc": abi.text(soc()) if soc is not None else "",
            "versions": ", ".join(f"{name} {text}" for name, text in versions.items() if text),
            "libraries": ", ".join(self.libraries.loaded),
        }

    def error(self) -> str:
        """The runtime's last message; empty where it has none."""
        function = self.optional["aclGetRecentErrMsg"]
        return abi.text(function()) if function is not None else ""

    def runtime(self, name: str, *arguments: object, accepted: Sequence[int] = (0,)) -> None:
        """Call a function of the runtime; RuntimeError unless it returns 0."""
        function = self.functions[name] if name in self.functions else self.optional[name]
        assert function is not None
        status = function(*arguments)
        if status not in accepted:
            raise RuntimeError(f"{name} returned {status}: {self.error() or 'no text'}")


class Memory:
    """The bytes of a buffer on a device between two guards, until ``owner`` frees them.

    ``noise`` fills the guards. ``output``: whether the bytes are the device's to write.
    """

    def __init__(
        self,
        device: Device,
        data: np.ndarray,
        guard: int,
        noise: np.random.Generator,
        owner: ExitStack,
        output: bool,
    ) -> None:
        self.device, self.output = device, output
        self.inner = slice(guard, guard + data.nbytes)
        self.held = noise.integers(0, 256, max(data.nbytes + 2 * guard, 1), dtype=np.uint8)
        self.held[self.inner] = data
        self.pointer, size = c_void_p(), self.held.nbytes
        device.runtime("aclrtMalloc", byref(self.pointer), size, abi.ACL_MEM_MALLOC_HUGE_FIRST)
        owner.callback(device.functions["aclrtFree"], self.pointer)
        host, kind = self.held.ctypes.data, abi.ACL_MEMCPY_HOST_TO_DEVICE
        device.runtime("aclrtMemcpy", self.pointer, size, host, size, kind)
        self.address = (self.pointer.value or 0) + guard

    def read(self) -> tuple[np.ndarray, Overwritten]:
        """The bytes of the buffer as they are now, and what of it and its guards was written that
        is not the device's.
        """
        now = np.empty_like(self.held)
        size, kind = now.nbytes, abi.ACL_MEMCPY_DEVICE_TO_HOST
        self.device.runtime("aclrtMemcpy", now.ctypes.data, size, self.pointer, size, kind)
        differs = now != self.held
        differs[self.inner] &= not self.output
        first, end = self.inner.start, self.inner.stop
        counts = (differs[:first], differs[self.inner], differs[end:])
        return now[self.inner], Overwritten(*(int(part.sum()) for part in counts))


def phases(device: Device, request: CallRequest) -> Iterator[Phase]:
    """Both phases of one call, or the first alone. Memory that the call has spoilt may show only
    when it is given back: the end of the second is the end of that.
    """
    second, noise = Phase(0, ""), np.random.default_rng(request.seed)
    with ExitStack() as owner, ExitStack() as objects:

        def laid(data: np.ndarray, output: bool) -> Memory:
            return Memory(device, data, request.guard, noise, owner, output)

        memory = {i: laid(buffer.data, buffer.output) for i, buffer in request.buffers.items()}
        addresses = {place: block.address for place, block in memory.items()}
        given = zip(device.kinds[request.api], request.arguments, request.places, strict=True)
        values = [
            abi.make_argument(device.functions, objects, kind, value, addresses, place)
            for kind, value, place in given
        ]
        size, executor = c_uint64(), c_void_p()
        status = device.operators[request.api][0](*values, byref(size), byref(executor))
        yield Phase(status, device.error() if status else "")
        if not status and request.data:
            if size.value:
                content = noise.integers(0, 256, size.value, dtype=np.uint8)
                memory[WORKSPACE] = laid(content, output=True)
            second = _run(device, request.api, memory, size, executor)
    yield second


def _run(
    device: Device,
    api: str,
    memory: Mapping[int, Memory],
    size: c_uint64,
    executor: c_void_p,
) -> Phase:
    """The second phase with the workspace, its size and the executor; and what is then in
    memory.
    """
    workspace = memory[WORKSPACE].address if WORKSPACE in memory else None
    name, status = api, device.operators[api][1](workspace, size, executor, device.stream)
    if not status:
        name = "aclrtSynchronizeStream"
        status = device.functions[name](device.stream)
    if status:
        texts = (f"{name} returned {status}", device.error())
        return Phase(status, ": ".join(filter(None, texts)))
    now = {i: block.read() for i, block in memory.items()}
    outputs = {i: data for i, (data, _) in now.items() if memory[i].output and i != WORKSPACE}
    return Phase(0, "", outputs, {i: found for i, (_, found) in now.items() if any(found)})


def serve(connection: Connection) -> None:
    """Set up, say so, and execute requests until nobody asks any more."""
    try:
        device = Device(connection.recv())
    except DeviceError as error:
        connection.send(error)
        return
    connection.send(Ready(device.facts(), device.absent))
    with suppress(EOFError):
        while True:
            messages = phases(device, connection.recv())
            for _ in ("first", "second"):
                try:
                    phase = next(messages, Phase(0, ""))
                except (RuntimeError, MemoryError) as error:
                    phase = Phase(UNUSABLE, str(error) or type(error).__name__)
                connection.send(phase)


def _die_with_parent() -> None:
    """A worker that hangs must not outlive the program that started it."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)


if __name__ == "__main__":
    _die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    serve(Connection(int(sys.argv[1])))
