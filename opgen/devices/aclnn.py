"""The runner on the vendor's C ABI: both phases of every case, in a worker process that may die.

Outputs hold a pattern before the run, workspaces noise, and guards lie around every buffer. A
device answers for one product: cases of others are skipped, and so are those of operators that its
libraries do not have.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Unpack

import numpy as np

from opgen.bundle.format.dtypes import numpy_dtype
from opgen.bundle.read.case import CaseView
from opgen.bundle.read.reader import Bundle
from opgen.bundle.results.reader import Result
from opgen.calls import typed
from opgen.calls.kinds import members, prototype
from opgen.calls.vocabulary import vocabulary
from opgen.devices import DeviceError, DeviceLost, HeldBackend, Settings, memory
from opgen.devices.abi import ArgumentValue, ListArgument, ScalarArgument, TensorArgument
from opgen.devices.messages import Buffer, CallRequest, Setup
from opgen.devices.worker_process import CALLS_PER_PROCESS, PAUSES, CallAnswer, Worker
from opgen.model import NOT_RUN, OVERRUN, AclScalar, Argument, TensorDesc, natural
from opgen.numerics.views import index
from opgen.spec.catalog import catalog


class AclnnBackend(HeldBackend):
    """A device of the vendor's, ``npu`` or ``npu:1``; the rest is that of
    :class:`opgen.devices.worker_process.Worker`.
    """

    name, usual = "aclnn", "npu:0"
    worker: Worker | None = None

    def __init__(
        self,
        calls_per_process: int = CALLS_PER_PROCESS,
        pauses: Sequence[float] = PAUSES,
        **settings: Unpack[Settings],
    ) -> None:
        super().__init__(**settings)
        self.calls_per_process, self.pauses = calls_per_process, pauses

    def open(self, bundle: Bundle, cases: Sequence[str]) -> Mapping[str, object]:
        """Start the worker, unless one is held for these operators; DeviceError where the runtime,
        every operator or the device is not there, or nobody knows which product the device is.
        """
        self.bundle = bundle
        kinds = catalog().kinds
        apis = sorted({bundle[case].op for case in cases} & kinds.keys())
        setup = Setup(
            device_index(self.device), {api: tuple(prototype(kinds[api]).values()) for api in apis}
        )
        if self.worker is None or self.worker.stopped or self.worker.setup != setup:
            self._stop()
            self.worker = Worker(setup, self.timeout, self.calls_per_process, self.pauses)
        self.product = product_of(self.worker.facts["soc"], self.product)
        return {
            **self.worker.facts,
            "product": self.product,
            "guard": self.guard,
            "environment": {
                name: value
                for name, value in sorted(os.environ.items())
                if name.startswith(("ASCEND_", "OPGEN_", "LD_LIBRARY_PATH"))
            },
        }

    def answers(self, cases: Sequence[str]) -> Iterator[Result]:
        """One case after the other; DeviceLost where a device does not come back after a crash."""
        for case in map(self.bundle.__getitem__, cases):
            why = self._skips(case)
            yield Result(case.id, NOT_RUN, error=why) if why else self._answer(case)

    def close(self) -> None:
        """End the worker, unless it is held."""
        if not self.is_held:
            self._stop()

    def _stop(self) -> None:
        if self.worker is not None:
            self.worker.stop()

    def _skips(self, case: CaseView) -> str:
        """Why the device cannot run a case; empty where it can."""
        assert self.worker is not None
        if case.op not in self.worker.setup.apis:
            return f"no spec describes the signature of {case.op}"
        if case.op in self.worker.absent:
            return f"no library has {', '.join(self.worker.absent[case.op])}"
        return ""

    def _answer(self, case: CaseView) -> Result:
        assert self.worker is not None
        outputs = [value for name, value in case.args.items() if name in case.golden]
        runs = memory.runs(desc.dtype for desc in outputs if isinstance(desc, TensorDesc))
        answers: list[CallAnswer] = []
        try:
            for run in range(runs):
                request = request_of(case, self.guard, run)
                request = replace(request, data=request.data and not self.status_only)
                answers.append(self.worker.execute(request))
                if answers[-1].run is None or answers[-1].run.status:
                    break
        except DeviceError as error:
            raise DeviceLost(f"before {case.id}", f"it did not come back: {error}") from None
        return read_back(case, answers)


def product_of(soc: str, named: str) -> str:
    """The product that a device is, by the name of its SoC, or as ``named`` where that is unknown.

    >>> product_of("Ascend910B3", ""), product_of("Ascend999", "ascend910b")
    ('ascend910b', 'ascend910b')
    """
    known = vocabulary().product_of(soc)
    if known and named and known != named:
        raise DeviceError("`product`", f"{named}, and the device is {soc}, which is {known}")
    if not (known or named):
        text = f"nobody knows which product the device {soc!r} is"
        raise DeviceError("aclnn", f"{text}; say it with `product`")
    return known or named


def device_index(device: str) -> int:
    """The number in ``npu:1``; 0 for ``npu``.

    >>> device_index("npu:1")
    1
    """
    name, _, number = device.partition(":")
    index = natural(number or "0")
    if name != "npu" or index is None:
        raise DeviceError(
            "aclnn", f"no such device {device!r}; the aclnn backend knows npu and npu:0, npu:1, ..."
        )
    return index


# there --------------------------------------------------------------------------------------------
def request_of(case: CaseView, guard: int, run: int = 0) -> CallRequest:
    """A case as numbers and bytes: descriptors alone for a first-phase case."""
    args, storages = case.args, case.storage
    buffers: dict[int, Buffer] = {}
    for position, (name, value) in enumerate(args.items()):
        if case.phase == 2 and isinstance(value, TensorDesc):
            storage = storages.get(name)
            raw = memory.prefilled(value, run) if storage is None else storage
            output = storage is None or name in case.golden
            buffers[position] = Buffer(np.ascontiguousarray(raw).view(np.uint8), output)
    place = {name: i for i, name in enumerate(args)}
    whole = {name: _passed(name, value, args, place) for name, value in prototype(args).items()}
    places = tuple([place[name] for name in whole])
    seed = zlib.crc32(case.id.encode())
    values = tuple(whole.values())
    return CallRequest(case.op, values, places, buffers, case.phase == 2, guard, seed)


def _passed(
    name: str, value: Argument, args: Mapping[str, Argument], place: Mapping[str, int]
) -> ArgumentValue:
    """What is passed for a parameter; of a list of tensors, these."""
    inside = members(args, name)
    if not inside or value is None:
        return _value(value)
    assert isinstance(value, int)
    tensors = [_value(args[tensor]) for tensor in inside[:value]]
    return ListArgument(
        tuple([each if isinstance(each, TensorArgument) else None for each in tensors]),
        place[inside[0]],
    )


def _value(value: Argument) -> ArgumentValue:
    tables = vocabulary()
    if isinstance(value, AclScalar):
        return ScalarArgument(
            typed.raw(value.value, value.dtype), tables.dtypes[value.dtype]["acl"]
        )
    if not isinstance(value, TensorDesc):
        return value
    dtype, layout = tables.dtypes[value.dtype]["acl"], tables.formats[value.format]
    return TensorArgument(
        value.shape, dtype, layout, value.strides, value.offset, value.storage_extents
    )


# and back -----------------------------------------------------------------------------------------
def read_back(case: CaseView, answers: Sequence[CallAnswer]) -> Result:
    """The outputs that were asked for, or were written though masked out, as the views that were
    passed, and what is noteworthy of any run. A device that wrote where nothing is its to write has
    the run status ``overrun``.
    """
    first, time = answers[-1].first, answers[-1].time
    done = [answer.run for answer in answers if answer.run is not None]
    if not done or done[-1].status:
        status, error = (done[-1].status, done[-1].error) if done else (None, first.error)
        return Result(case.id, first.status, status, time, error)
    names, outputs, unwritten = [*case.args, "workspace"], {}, {}
    remarks = [
        remark
        for run in done
        for position, found in run.overwritten.items()
        for remark in memory.of_guards(names[position], found)
    ]
    for position, raw in done[-1].outputs.items():
        name, desc = names[position], case.args[names[position]]
        assert isinstance(desc, TensorDesc)
        places = index(desc.shape, desc.steps, desc.offset)
        asked, given = name in case.golden, case.storage.get(name)
        left = memory.untouched(desc, [run.outputs[position] for run in done], given)
        remarks += memory.of_output(name, left, places, asked, given is not None)
        if given is None:
            unwritten[name] = int(left[places].sum())
        if asked or unwritten.get(name, len(places)) < len(places):
            outputs[name] = raw.view(numpy_dtype(desc.dtype))[places].reshape(desc.shape)
    status = OVERRUN if any(foreign for _, foreign in remarks) else 0
    text = "; ".join(filter(None, (first.error, *dict.fromkeys(text for text, _ in remarks))))
    known = {name: count for name, count in unwritten.items() if name in outputs}
    return Result(case.id, first.status, status, time, text, outputs, known)
