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
from opgen.devices.messages import CallRequest, FirstPhase, Ready, SecondPhase, Setup
from opgen.model import UNUSABLE

PACKAGES = ("runtime", "toolkit", "opp", "compiler")
"""The packages whose versions are asked for."""


class RuntimeFault(Exception):
    """A function of the runtime returned something else than 0."""


class Device:
    """The device and the functions of its libraries. DeviceError where one of them is not there."""

    def __init__(self, setup: Setup) -> None:
        self.libraries = Libraries()
        self.functions = self.libraries.require(list(abi.RUNTIME))
        self.optional = {name: self.libraries.symbol(name) for name in abi.OPTIONAL}
        abi.declare(self.functions, abi.RUNTIME)
        abi.declare(self.optional, abi.OPTIONAL)
        self.kinds = setup.apis
        self.operators, self.absent = self.libraries.operators(list(setup.apis))
        for api, (first, second) in self.operators.items():
            abi.declare_first_phase(first, setup.apis[api])
            abi.declare_second_phase(second)
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
                raise RuntimeFault(f"there is no device npu:{index}: {known}".rstrip())
            where = f"npu:{index}: "
            self.runtime("aclrtSetDevice", index)
            if self.optional["aclnnInit"] is not None:
                self.runtime("aclnnInit", None)
            self.runtime("aclrtCreateStream", byref(self.stream))
        except RuntimeFault as fault:
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
        """Call a function of the runtime; RuntimeFault unless it returns 0."""
        function = self.functions[name] if name in self.functions else self.optional[name]
        assert function is not None
        status = function(*arguments)
        if status not in accepted:
            raise RuntimeFault(f"{name} returned {status}: {self.error() or 'no text'}")

    def upload(self, data: np.ndarray, owner: ExitStack) -> c_void_p:
        """The bytes of an array on the device, at least one, until ``owner`` frees them."""
        pointer = c_void_p()
        size = max(data.nbytes, 1)
        self.runtime("aclrtMalloc", byref(pointer), size, abi.ACL_MEM_MALLOC_HUGE_FIRST)
        owner.callback(self.functions["aclrtFree"], pointer)
        if data.nbytes:
            host, kind = data.ctypes.data, abi.ACL_MEMCPY_HOST_TO_DEVICE
            self.runtime("aclrtMemcpy", pointer, data.nbytes, host, data.nbytes, kind)
        return pointer

    def download(self, pointer: c_void_p, size: int) -> np.ndarray:
        """(size,) uint8 from the device."""
        data = np.empty(size, dtype=np.uint8)
        if size:
            host, kind = data.ctypes.data, abi.ACL_MEMCPY_DEVICE_TO_HOST
            self.runtime("aclrtMemcpy", host, size, pointer, size, kind)
        return data


def phases(device: Device, request: CallRequest) -> Iterator[FirstPhase | SecondPhase]:
    """Both phases of one call, or the first alone. Memory that the call has spoilt may show only
    when it is given back: the end of the second is the end of that.
    """
    second = SecondPhase(0, "")
    with ExitStack() as memory, ExitStack() as objects:
        pointers = {i: device.upload(buffer.data, memory) for i, buffer in request.buffers.items()}
        addresses = {i: pointer.value for i, pointer in pointers.items()}
        pairs = zip(device.kinds[request.api], request.arguments, strict=True)
        values = [
            abi.make_argument(device.functions, objects, kind, value, addresses.get(i))
            for i, (kind, value) in enumerate(pairs)
        ]
        size, executor = c_uint64(), c_void_p()
        status = device.operators[request.api][0](*values, byref(size), byref(executor))
        yield FirstPhase(status, device.error() if status else "")
        if not status and request.data:
            noise = np.random.default_rng(request.seed).integers(0, 256, size.value, dtype=np.uint8)
            workspace = device.upload(noise, memory) if size.value else None
            second = _run(device, request, pointers, (workspace, size, executor))
    yield second


def _run(
    device: Device,
    request: CallRequest,
    pointers: Mapping[int, c_void_p],
    planned: tuple[c_void_p | None, c_uint64, c_void_p],
) -> SecondPhase:
    """The second phase with workspace, its size and the executor; and what is then in memory."""
    name, status = request.api, device.operators[request.api][1](*planned, device.stream)
    if not status:
        name = "aclrtSynchronizeStream"
        status = device.functions[name](device.stream)
    if status:
        texts = (f"{name} returned {status}", device.error())
        return SecondPhase(status, ": ".join(filter(None, texts)))
    after = {
        i: device.download(pointers[i], buffer.data.nbytes) for i, buffer in request.buffers.items()
    }
    outputs = {i: data for i, data in after.items() if request.buffers[i].output}
    inputs = after.keys() - outputs.keys()
    changed = (i for i in inputs if not np.array_equal(after[i], request.buffers[i].data))
    return SecondPhase(0, "", outputs, tuple(sorted(changed)))


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
            for kind in (FirstPhase, SecondPhase):
                try:
                    message = next(messages, kind(0, ""))
                except (RuntimeFault, RuntimeError, MemoryError) as error:
                    message = kind(UNUSABLE, str(error) or type(error).__name__)
                connection.send(message)


def _die_with_parent() -> None:
    """A worker that hangs must not outlive the program that started it."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)


if __name__ == "__main__":
    _die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    serve(Connection(int(sys.argv[1])))
