"""torch as a device: the gradients that it computes on a CPU, a CUDA device or an NPU. Valid calls
only.

On a CPU or a CUDA device the inputs are rounded to the compute dtype first and everything is
computed in FLOAT (DOUBLE for DOUBLE), with TF32 and sums of reduced precision switched off: TF32
keeps 10 bits of a value and HFLOAT32 11, so the device's own switch would break the bound. On an
NPU the tensors go as they are, and its switches stand for the cube mode.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping, Sequence
from time import perf_counter
from typing import Any

import numpy as np
import torch

from opgen.bundle.format.dtypes import BundleError
from opgen.bundle.read.case import CaseView
from opgen.bundle.read.reader import Bundle
from opgen.bundle.results.reader import Result
from opgen.devices import Backend, DeviceError
from opgen.devices.torch_adapter import Adapter, TensorsByName, Unable
from opgen.devices.torch_dtypes import NATIVE, WIDE
from opgen.devices.torch_operators import ADAPTERS, MODES
from opgen.model import NOT_RUN, Argument, TensorDesc
from opgen.numerics.arrays import Array
from opgen.numerics.formats import DTYPES, FORMATS
from opgen.numerics.rounding import in_compute, stored
from opgen.spec.catalog import catalog, edition_of

_CUBE = {0: (False, False), 1: (True, True), 2: (False, True), 3: (True, False)}
"""cubeMathType -> (allow_hf32, FLOAT to FLOAT16)."""


class TorchBackend(Backend):
    """A device of torch (``cpu``, ``cuda``, ``npu:0``). ``timeout`` is not kept: torch cannot be
    interrupted.
    """

    name, usual, every_product = "torch", "cpu", True
    adapters: Mapping[str, Adapter] = ADAPTERS
    npu: Any = None  # torch.npu, where that is the device

    def open(self, bundle: Bundle, cases: Sequence[str]) -> Mapping[str, object]:
        """Open the device; DeviceError where torch does not have it."""
        self.bundle = bundle
        self.torch_device = _opened(self.device)
        self.npu = torch.npu if self.torch_device.type == "npu" else None
        _compute_exactly()
        return {
            "torch": str(torch.__version__),
            "name": _name(self.torch_device),
            "host": platform.platform(),
        }

    def answers(self, cases: Sequence[str]) -> Iterator[Result]:
        """One case after the other."""
        for case in cases:
            with torch.inference_mode():
                answer = self.answer(self.bundle[case])
            yield answer

    def skips(self, case: CaseView) -> str:
        """Why torch cannot run a case; empty where it can."""
        if case.op not in self.adapters:
            return f"no torch operator is known for {case.op}"
        if 0 not in case.expect.codes:
            return "torch runs valid calls only"
        if case.phase != 2:
            return "the case has no data"
        if self.npu and case.args.get("cubeMathType") not in (None, *MODES.get(case.op, _CUBE)):
            return "torch_npu cannot ask for this cubeMathType"
        return ""

    def answer(self, case: CaseView) -> Result:
        """One case: a call that torch refuses has the run status 1."""
        if why := self.skips(case):
            return Result(case.id, NOT_RUN, error=why)
        start = perf_counter()
        try:
            outputs = self.outputs(case)
        except Unable as unable:
            return Result(case.id, NOT_RUN, error=str(unable))
        except BundleError:  # the device has not been asked
            raise
        except Exception as error:  # noqa: BLE001 whatever torch raises is an answer
            text = f"{type(error).__name__}: {(str(error) or 'no message').splitlines()[0]}"
            if case.expect.bucket != "valid":
                return Result(case.id, NOT_RUN, error=f"torch refuses what the page doubts: {text}")
            return Result(case.id, 0, 1, perf_counter() - start, text)
        return Result(case.id, 0, 0, perf_counter() - start, outputs=outputs)

    def outputs(self, case: CaseView) -> dict[str, Array]:
        """The outputs asked for; those that no compute mode rounds come from inputs as they are."""
        spec = catalog(edition_of(self.bundle.header)).by_page[case.op, case.product]
        asked = frozenset(case.golden)
        outputs: dict[str, Array] = {}
        for wanted, compute in (
            (asked - set(spec.exact), case.compute),
            (asked & set(spec.exact), ""),
        ):
            if wanted:
                tensors = {p.name: self._input(case, p.name, compute) for p in spec.inputs}
                outputs |= {
                    name: _output(tensor, case.args[name])
                    for name, tensor in self._call(case, tensors, wanted).items()
                    if name in wanted and tensor is not None
                }
        return outputs

    def _call(
        self, case: CaseView, tensors: TensorsByName, wanted: frozenset[str]
    ) -> TensorsByName:
        args = case.call["args"]
        if self.npu and args.get("cubeMathType") is not None:
            _set_cube(self.npu, *_CUBE[args["cubeMathType"]])
        return self.adapters[case.op](tensors, args, wanted)

    def _input(self, case: CaseView, name: str, compute: str) -> torch.Tensor | None:
        """An input with the strides of the call, in what the device computes in, rounded to the
        compute dtype if one is named.
        """
        desc = case.args[name]
        if not isinstance(desc, TensorDesc):
            return None
        storage = case.storage[name]
        flat = (
            _as_stored(storage, desc.dtype) if self.npu else _wide(storage, desc.dtype, compute)
        ).to(self.torch_device)
        if desc.plain:
            return flat.reshape(desc.shape)
        if 0 in desc.shape:
            return flat.new_empty(desc.shape)
        if min(desc.steps) < 0:
            raise Unable("torch has no negative strides")
        return flat.as_strided(desc.shape, desc.steps, desc.offset)


def _output(tensor: torch.Tensor, desc: Argument) -> Array:
    """An output in the shape and dtype of the call, cast once."""
    assert isinstance(desc, TensorDesc)
    tensor = tensor.reshape(desc.shape).detach().contiguous().cpu()
    if tensor.dtype == torch.bfloat16:
        return np.asarray(tensor.view(torch.int16).numpy().view(DTYPES[desc.dtype].numpy))
    if str(tensor.dtype) == f"torch.{NATIVE.get(desc.dtype)}":
        return np.asarray(tensor.numpy())
    wide = tensor.to(torch.complex128 if tensor.is_complex() else torch.float64).numpy()
    return stored(wide, desc.dtype)


def _wide(storage: Array, dtype: str, compute: str) -> torch.Tensor:
    """Stored values rounded once to the compute dtype, as FLOAT; those of wide dtypes as they are,
    whole numbers as DOUBLE.
    """
    if dtype in WIDE:
        return torch.from_numpy(storage.astype(WIDE[dtype], copy=False))
    if compute in FORMATS:
        storage = in_compute(storage.astype(np.float64), dtype, compute)
    return torch.from_numpy(storage.astype(np.float32))


def _as_stored(storage: Array, dtype: str) -> torch.Tensor:
    if dtype == "BFLOAT16":
        return torch.from_numpy(storage.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(storage)


def _opened(name: str) -> torch.device:
    """A device that a tensor can be laid on."""
    if name.split(":", maxsplit=1)[0] == "npu":
        try:
            import torch_npu  # noqa: F401
        except Exception as error:  # noqa: BLE001  it needs the vendor's libraries, and fails in many ways without them
            reason = (str(error) or type(error).__name__).splitlines()[0]
            text = f"torch_npu cannot be imported: {reason}"
            raise DeviceError(f"--device {name}", text) from None
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except Exception as error:  # noqa: BLE001 whatever torch raises is an answer
        reason = (str(error) or type(error).__name__).splitlines()[0]
        text = f"torch {torch.__version__} has no such device: {reason}"
        raise DeviceError(f"--device {name}", text) from None
    return device


def _compute_exactly() -> None:
    """No TF32, no sums of reduced precision, no convolution by transforms (cuDNN's, of Fourier and
    of Winograd, whose sums round where none need to), the same kernels in every run.
    """
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    torch.backends.cudnn.enabled = False


def _set_cube(npu: Any, hf32: bool, half: bool) -> None:
    """The switches of torch_npu that make up a cubeMathType."""
    npu.set_compile_mode(jit_compile=False)
    npu.config.allow_internal_format = False
    npu.conv.allow_hf32 = hf32
    npu.aclnn.allow_hf32 = hf32
    npu.set_option(
        {"ACL_PRECISION_MODE": "allow_fp32_to_fp16" if half else "must_keep_origin_dtype"}
    )


def _name(device: torch.device) -> str:
    if device.type == "cuda":
        return str(torch.cuda.get_device_name(device))
    if device.type == "npu":
        return str(torch.npu.get_device_name(device))
    return platform.processor() or platform.machine()
