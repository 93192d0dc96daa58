"""The runner on the vendor's C ABI: both phases of every case, in a worker process that may die.

Outputs are prefilled with canaries, workspaces with noise. A device answers for one product: cases
of others are skipped, and so are those of operators that its libraries do not have.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from math import prod

import numpy as np

from opgen.bundle.format.dtypes import numpy_dtype
from opgen.bundle.read.case import CaseView
from opgen.bundle.read.reader import Bundle
from opgen.bundle.results.reader import Result
from opgen.calls.vocabulary import vocabulary
from opgen.devices import Backend, DeviceError
from opgen.devices.abi import ArgumentValue, TensorArgument
from opgen.devices.messages import Buffer, CallRequest, Setup
from opgen.devices.process import CALLS_PER_PROCESS, PAUSES, CallAnswer, Worker
from opgen.model import CRASH, NOT_RUN, OVERRUN, TIME_LIMIT, Argument, TensorDesc, natural
from opgen.numerics import canary
from opgen.numerics.views import index
from opgen.spec.catalog import catalog


class AclnnBackend(Backend):
    """A device of the vendor's, ``npu`` or ``npu:1``; the rest is that of
    :class:`opgen.devices.process.Worker`.
    """

    worker: Worker | None = None

    def __init__(
        self,
        device: str = "",
        timeout: float = TIME_LIMIT,
        calls_per_process: int = CALLS_PER_PROCESS,
        pauses: Sequence[float] = PAUSES,
    ) -> None:
        super().__init__(device or "npu:0", timeout)
        self.calls_per_process, self.pauses = calls_per_process, pauses

    def open(self, bundle: Bundle, cases: Sequence[str]) -> Mapping[str, object]:
        """Start the worker; DeviceError where the runtime, every operator or the device is not
        there.
        """
        self.cases = [bundle[case] for case in cases]
        kinds = catalog().kinds
        apis = sorted({case.op for case in self.cases} & kinds.keys())
        setup = Setup(device_index(self.device), {api: tuple(kinds[api].values()) for api in apis})
        self.worker = Worker(setup, self.timeout, self.calls_per_process, self.pauses)
        return {
            **self.worker.facts,
            "device": self.device,
            "backend": "aclnn",
            "environment": {
                name: value
                for name, value in sorted(os.environ.items())
                if name.startswith(("ASCEND_", "OPGEN_", "LD_LIBRARY_PATH"))
            },
        }

    def answers(self) -> Iterator[Result]:
        """One case after the other, until a device does not come back after a crash."""
        assert self.worker is not None
        for case in self.cases:
            if why := _skipped(case, self.worker):
                yield Result(case.id, NOT_RUN, error=why)
                continue
            try:
                answer = self.worker.execute(request_of(case))
            except DeviceError as error:
                text = f"the device did not come back: {error}"
                yield Result(case.id, CRASH, error=text)
                return
            yield read_back(case, answer)

    def close(self) -> None:
        """End the worker."""
        if self.worker is not None:
            self.worker.stop()


def _skipped(case: CaseView, worker: Worker) -> str:
    """Why a device cannot run a case; empty where it can."""
    if case.op not in worker.setup.apis:
        return f"no spec describes the signature of {case.op}"
    if case.op in worker.absent:
        return f"no library has {', '.join(worker.absent[case.op])}"
    product = vocabulary().product_of(worker.facts["soc"])
    if product and case.product != product:
        return f"the device is {worker.facts['soc']}; the case is for {case.product}"
    return ""


def device_index(device: str) -> int:
    """The number in ``npu:1``; 0 for ``npu``.

    >>> device_index("npu:1")
    1
    """
    name, _, number = device.partition(":")
    index = natural(number or "0")
    if name != "npu" or index is None:
        text = f"no such device {device!r}; the aclnn backend knows npu and npu:0, npu:1, ..."
        raise DeviceError("aclnn", text)
    return index


# there --------------------------------------------------------------------------------------------
def request_of(case: CaseView) -> CallRequest:
    """A case as numbers and bytes: descriptors alone for a first-phase case."""
    args, storages = case.args, case.storage
    buffers: dict[int, Buffer] = {}
    for position, (name, value) in enumerate(args.items()):
        if case.phase == 2 and isinstance(value, TensorDesc):
            storage = storages.get(name)
            output = storage is None
            if storage is None:
                itemsize = numpy_dtype(value.dtype).itemsize
                storage = canary.prefilled(value.dtype, itemsize, value.storage_elements)
            buffers[position] = Buffer(np.ascontiguousarray(storage).view(np.uint8), output)
    values = tuple(map(_value, args.values()))
    return CallRequest(case.op, values, buffers, case.phase == 2, zlib.crc32(case.id.encode()))


def _value(value: Argument) -> ArgumentValue:
    if not isinstance(value, TensorDesc):
        return value
    tables = vocabulary()
    dtype, layout = tables.dtypes[value.dtype]["acl"], tables.formats[value.format]
    return TensorArgument(
        value.shape, dtype, layout, value.strides, value.offset, value.storage_extents
    )


# and back -----------------------------------------------------------------------------------------
def read_back(case: CaseView, answer: CallAnswer) -> Result:
    """The outputs that were asked for, as the views that were passed, and what is noteworthy. A
    device that wrote where nothing is its to write has the run status ``overrun``.
    """
    if answer.run_status != 0:
        return Result(case.id, answer.status, answer.run_status, answer.time, answer.error)
    named = list(case.args.items())
    outputs: dict[str, np.ndarray] = {}
    notes = [f"{named[position][0]}: the input was overwritten" for position in answer.changed]
    overrun = bool(notes)
    for position, raw in answer.outputs.items():
        name, desc = named[position]
        assert isinstance(desc, TensorDesc)
        dtype, elements, asked = numpy_dtype(desc.dtype), desc.storage_elements, name in case.golden
        inside = canary.in_view(desc.shape, desc.strides, desc.offset, elements)
        more, foreign = canary.inspect(name, raw, desc.dtype, dtype.itemsize, inside, asked)
        notes, overrun = notes + more, overrun or foreign
        if asked:
            outputs[name] = logical(raw[: elements * dtype.itemsize].view(dtype), desc)
    status, text = OVERRUN if overrun else 0, "; ".join(filter(None, (answer.error, *notes)))
    return Result(case.id, answer.status, status, answer.time, text, outputs)


def logical(storage: np.ndarray, desc: TensorDesc) -> np.ndarray:
    """The elements of a view on its storage, in the view's shape."""
    if desc.strides is None:
        return storage[desc.offset : desc.offset + prod(desc.shape)].reshape(desc.shape)
    return storage[index(desc.shape, desc.steps, desc.offset)].reshape(desc.shape)
