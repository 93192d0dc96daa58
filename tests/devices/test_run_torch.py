"""opgen run: torch as a correct device, runs that are completed later, and what torch cannot do."""

from __future__ import annotations

import ast
import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

import opgen
from opgen import devices
from opgen.bundle.format.dtypes import numpy_dtype
from opgen.bundle.results.reader import Result, ResultsFile
from opgen.cli.run import command
from opgen.devices import DeviceError, backend
from opgen.devices.plugins import SHIPPED
from opgen.devices.running import run
from tests.support import device_sample as sample
from tests.support.backends import Scripted

VALID = [name for name in sample.CALLS if name.split("-")[0] in ("pad", "pool", "norm", "conv")]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return sample.write(tmp_path_factory.mktemp("run") / "suite.h5")


@pytest.fixture(scope="module")
def bundle(path):
    with opgen.open(path) as opened:
        yield opened


def fake(stop_after: int | None = None):
    """A backend that is right, or interrupted after some cases."""
    return Scripted(partial(answer_rightly, stop_after=stop_after))


def answer_rightly(bundle, cases, stop_after=None):
    for name in cases[:stop_after]:
        case = bundle[name]
        status = sample.status_of(case)
        outputs = sample.right(case) if status == 0 and case.golden else {}
        yield Result(name, status, 0, outputs=outputs)
    if stop_after is not None:
        raise KeyboardInterrupt


def opened(device, bundle):
    device.open(bundle, [])
    return device


def test_every_module_that_runs_bundles_is_a_backend():
    classes = {
        f"opgen.devices.{path.stem}:{part.name}"
        for path in Path(devices.__file__).parent.glob("[!_]*.py")
        for part in ast.parse(path.read_text("utf-8")).body
        if isinstance(part, ast.ClassDef)
        and any(ast.unparse(base).endswith("Backend") for base in part.bases)
    }
    assert classes == set(SHIPPED.values())
    with pytest.raises(DeviceError, match="did you mean 'torch'"):
        backend("torhc")


def test_a_backend_whose_package_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "opgen.devices.torch", raising=False)
    monkeypatch.delitem(sys.modules, "opgen.devices.torch_operators", raising=False)
    with pytest.raises(
        DeviceError, match=r"needs torch, which is not installed: pip install torch"
    ):
        backend("torch")


def test_an_interrupted_run_is_completed(bundle, tmp_path):
    results = tmp_path / "r.h5"
    with pytest.raises(KeyboardInterrupt):
        run(bundle, fake(stop_after=7), results)
    assert [path.name for path in tmp_path.iterdir()] == ["r.h5.partial"]
    opgen.Results.create(results, bundle, resume=True).close()
    assert opgen.diff(bundle, results).totals["missing"] == len(bundle) - 7
    tally = run(bundle, fake(), results, resume=True)
    assert tally["kept"] == 7
    assert sum(tally.values()) == len(bundle)
    assert opgen.diff(bundle, results).totals == {"inconclusive": 1, "passed": len(bundle) - 1}


def test_interrupted_before_its_first_answer_a_resumed_run_leaves_the_file_as_it_was(
    bundle, tmp_path
):
    results = tmp_path / "r.h5"
    run(bundle, fake(), results, cases=list(bundle.ids[:4]))
    before = results.read_bytes()
    with pytest.raises(KeyboardInterrupt):
        run(bundle, fake(stop_after=0), results, resume=True)
    assert results.read_bytes() == before and list(tmp_path.iterdir()) == [results]
    assert run(bundle, fake(), results, resume=True)["kept"] == 4


def test_a_request_to_end_keeps_what_was_answered(bundle, tmp_path):
    def asked_to_end(bundle, cases):
        yield from answer_rightly(bundle, cases[:5])
        os.kill(os.getpid(), signal.SIGTERM)
        yield from answer_rightly(bundle, cases[5:])

    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt):
        run(bundle, Scripted(asked_to_end), tmp_path / "r.h5")
    assert signal.getsignal(signal.SIGTERM) is before
    with opgen.Results.create(tmp_path / "r.h5", bundle, resume=True) as results:
        assert [case for case in bundle.ids if case in results] == list(bundle.ids[:5])


def test_a_run_in_a_thread_leaves_signals_alone(bundle, tmp_path):
    with ThreadPoolExecutor(1) as pool:
        assert sum(pool.submit(run, bundle, fake(), tmp_path / "r.h5").result().values()) == len(
            bundle
        )


def test_resume_without_an_earlier_run_and_of_another_bundle(bundle, tmp_path):
    assert run(bundle, fake(), tmp_path / "r.h5", resume=True, cases=["pad-FLOAT"])["ran"] == 1
    with (
        opgen.open(sample.write(tmp_path / "other.h5", {"pad-FLOAT": sample.pad()})) as other,
        pytest.raises(opgen.BundleError, match="another bundle"),
    ):
        run(other, fake(), tmp_path / "r.h5", resume=True)


@pytest.mark.parametrize("cases", [["pad-FLOAT"], []], ids=["some", "all"])
def test_answers_of_another_device_are_not_gone_on_from(bundle, tmp_path, cases):
    """Nor is anything rewritten where nothing is left to run."""
    path, device = tmp_path / "r.h5", "mutant:border_missing"
    run(bundle, backend(device), path, cases=cases)
    before = path.read_bytes()
    with pytest.raises(
        opgen.BundleError,
        match="results of mutant border_missing: cannot be resumed with mutant nothing",
    ):
        run(bundle, backend("mutant:nothing"), path, resume=True)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]
    run(bundle, backend("mutant", device="border_missing"), path, resume=True)
    with ResultsFile(path) as whole:
        assert len(list(whole)) == len(bundle) and whole.header["device"] == "border_missing"


def test_an_existing_file_is_not_overwritten(bundle, tmp_path):
    (tmp_path / "r.h5").write_text("mine")
    with pytest.raises(opgen.BundleError, match="exists already"):
        run(bundle, fake(), tmp_path / "r.h5")
    assert (tmp_path / "r.h5").read_text() == "mine"


@pytest.mark.parametrize("answered", [0, 3])
def test_a_backend_that_breaks_leaves_what_it_answered(bundle, tmp_path, answered):
    def breaks(bundle, cases):
        yield from answer_rightly(bundle, cases[:answered])
        raise DeviceError("here", "gone")

    with pytest.raises(DeviceError):
        run(bundle, Scripted(breaks), tmp_path / "r.h5")
    assert [path.name for path in tmp_path.iterdir()] == ["r.h5.partial"] * bool(answered)
    assert run(bundle, fake(), tmp_path / "r.h5", resume=True)["kept"] == answered


# with torch ---------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def answered(bundle, tmp_path_factory):
    pytest.importorskip("torch")
    path = tmp_path_factory.mktemp("torch") / "r.h5"
    run(bundle, backend("torch"), path)
    return path


@pytest.mark.parametrize("name", VALID)
def test_torch_passes_valid_cases(bundle, answered, name):
    verdict = opgen.diff(bundle, answered, cases=[name])[name]
    assert verdict.verdict == ("inconclusive" if name == "conv-nothing" else "passed"), (
        verdict.detail
    )


def test_torch_skips_the_rest_and_says_so(bundle, answered):
    report = opgen.diff(bundle, answered)
    skipped = {verdict.case for verdict in report if verdict.verdict == "skipped"}
    assert skipped == set(bundle.ids) - set(VALID) - {"disputed-cube"}
    assert report["disputed-cube"].verdict == "passed"  # a page that is in doubt admits an answer
    why = {"torch runs valid calls only", "the case has no data"}
    assert {report[name].detail for name in skipped} == why
    assert any("torch runs valid calls only" in reason for reason in report.not_run)
    assert report.origin["device"]["backend"] == "torch"


def test_an_output_that_no_compute_mode_rounds_comes_from_inputs_as_they_are(tmp_path):
    pytest.importorskip("torch")
    from opgen.devices.torch import TorchBackend

    fine, call = (
        1 + 2.0**-14,
        sample.CALLS["conv-hf32"],
    )  # HFLOAT32 has 11 bits, and sums of 60 such numbers are exact
    given = {
        name: np.full(call["args"][name]["shape"], fine, dtype=np.float32)
        for name in ("gradOutput", "input", "weight")
    }
    with opgen.open(
        sample.write(tmp_path / "fine.h5", {"fine": call}, given={"fine": given})
    ) as bundle:
        found = opened(TorchBackend(), bundle).outputs(bundle["fine"])
    assert found["gradBias"].tolist() == [60 * fine] * 4
    assert found["gradInput"].max() == 4 * 3 * 3  # of ones: the rest is rounded away


def test_torch_is_told_not_to_round_on_its_own(bundle):
    torch = pytest.importorskip("torch")
    from opgen.devices.torch import TorchBackend

    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    wanted = {
        (matmul, "allow_tf32"): False,
        (matmul, "allow_fp16_reduced_precision_reduction"): False,
        (matmul, "allow_bf16_reduced_precision_reduction"): False,
        (cudnn, "allow_tf32"): False,
        (cudnn, "enabled"): False,
    }
    for (place, switch), on in wanted.items():
        setattr(place, switch, not on)
    opened(TorchBackend(), bundle)
    assert {(place, switch): getattr(place, switch) for place, switch in wanted} == wanted


WITH_OPTIONAL_INPUTS = [
    "batch_norm_backward",
    "binary_cross_entropy_with_logits_backward",
    "dropout_backward",
    "group_norm_backward",
    "layer_norm_backward",
    "lstm_backward",
]


@pytest.mark.parametrize("operator", WITH_OPTIONAL_INPUTS)
def test_what_stands_for_a_null_pointer_lies_on_the_device(tmp_path, operator):
    """What is made without a device lies on torch's default one, which cannot compute here."""
    torch = pytest.importorskip("torch")
    opgen.generate([operator], output=tmp_path / "suite.h5")
    with opgen.open(tmp_path / "suite.h5") as suite, torch.device("meta"):
        run(suite, backend("torch"), tmp_path / "results.h5")
        verdicts = {found.verdict for found in opgen.diff(suite, tmp_path / "results.h5")}
    assert "passed" in verdicts and "failed" not in verdicts


def test_torch_agrees_with_itself(bundle, answered, tmp_path):
    run(bundle, backend("torch"), tmp_path / "again.h5")
    assert not any(
        "other bits" in note
        for note in opgen.diff(bundle, answered, again=[tmp_path / "again.h5"]).notes
    )


def test_an_operator_without_an_adapter_is_skipped(bundle, tmp_path):
    pytest.importorskip("torch")
    from opgen.devices.torch import TorchBackend

    device = TorchBackend()
    device.adapters = {}
    run(bundle, device, tmp_path / "r.h5", cases=["pad-FLOAT"])
    verdict = opgen.diff(bundle, tmp_path / "r.h5", cases=["pad-FLOAT"])["pad-FLOAT"]
    assert (verdict.verdict, verdict.detail) == (
        "skipped",
        "no torch operator is known for aclnnReflectionPad2dBackward",
    )


def test_a_damaged_bundle_is_not_the_devices_fault(path, tmp_path):
    pytest.importorskip("torch")
    raw, spoilt = bytearray(path.read_bytes()), tmp_path / "spoilt.h5"
    with opgen.open(path) as whole:
        row = next(
            row
            for row in whole.tables["tensors"]
            if row["position"] >= 0 and row["elements"] and row["role"] == 0
        )
        dtype, start, _ = whole.blobs[int(row["dtype"])]
        name = whole.ids[int(row["case"])]
    raw[start + int(row["position"]) * dtype.itemsize] ^= 1
    spoilt.write_bytes(bytes(raw))
    with (
        opgen.open(spoilt) as bundle,
        pytest.raises(opgen.BundleError, match=f"damaged: {name}: .* does not match its digest"),
    ):
        run(bundle, backend("torch"), tmp_path / "r.h5", cases=[name])


def test_what_torch_refuses_is_its_answer(bundle, tmp_path):
    pytest.importorskip("torch")
    from opgen.devices.torch import TorchBackend

    def refuses(tensors, args, wanted):
        raise RuntimeError("not today\nnor tomorrow")

    refusing = TorchBackend()
    refusing.adapters = {"aclnnReflectionPad2dBackward": refuses}
    run(bundle, refusing, tmp_path / "r.h5", cases=["pad-FLOAT"])
    verdict = opgen.diff(bundle, tmp_path / "r.h5", cases=["pad-FLOAT"])["pad-FLOAT"]
    assert verdict.verdict == "failed"
    assert "RuntimeError: not today" in verdict.detail


def test_views_that_say_nothing_of_their_storage(tmp_path):
    pytest.importorskip("torch")
    layouts = {
        "far": {"strides": [1000, 56, 8, 1]},
        "backwards": {"strides": [168, 56, 8, -1], "offset": 7},
        "later": {"offset": 9},
        "again": {"strides": [0, 56, 8, 1]},
        "room": {"storage_shape": [400]},
    }
    calls = {
        name: sample.pad(gradOutput=sample.tensor([2, 3, 7, 8], **layout))
        for name, layout in layouts.items()
    }
    with opgen.open(sample.write(tmp_path / "views.h5", calls)) as bundle:
        run(bundle, backend("torch"), tmp_path / "r.h5", cases=list(calls))
        run(
            bundle,
            backend("mutant:nothing", device="nothing"),
            tmp_path / "m.h5",
            cases=list(calls),
        )
        found = {name: opgen.diff(bundle, tmp_path / "r.h5")[name] for name in calls}
        assert {one.verdict for one in opgen.diff(bundle, tmp_path / "m.h5").verdicts} == {"passed"}
    assert {name: one.verdict for name, one in found.items()} == dict.fromkeys(calls, "passed") | {
        "backwards": "skipped"
    }
    assert found["backwards"].detail == "torch has no negative strides"


@pytest.mark.parametrize("device", ["npu:0", "warp", "cuda:99"])
def test_absent_devices_are_one_message(path, tmp_path, device):
    pytest.importorskip("torch")
    with opgen.open(path) as bundle, pytest.raises(DeviceError, match=f"--device {device}: "):
        run(bundle, backend("torch", device=device), tmp_path / "r.h5")
    assert not (tmp_path / "r.h5").exists()


@pytest.mark.parametrize(
    ("case", "hf32", "mode"),
    [
        ("pool-plain", False, "must_keep_origin_dtype"),
        ("pool-mode2", False, "allow_fp32_to_fp16"),
        ("conv-mode1", True, "allow_fp32_to_fp16"),
        ("conv-half-mode2", False, "allow_fp32_to_fp16"),
        ("conv-hf32", True, "must_keep_origin_dtype"),
        ("pool-bf16", False, "must_keep_origin_dtype"),
    ],
)
def test_an_npu_gets_the_switches_of_the_cube_mode_and_the_inputs_as_they_are(
    tmp_path, case, hf32, mode
):
    """A stand-in whose kernels are those of the CPU: what is seen is what would be handed over."""
    torch = pytest.importorskip("torch")
    from opgen.devices.torch import TorchBackend
    from opgen.devices.torch_dtypes import NATIVE
    from opgen.devices.torch_operators import ADAPTERS

    calls = {
        **sample.CALLS,
        "conv-half-mode2": sample.convolution(mode=2),
        "conv-mode1": sample.convolution(mode=1),
        "pool-mode2": sample.pool(cubeMathType=2),
    }
    options: dict[str, object] = {}
    npu = SimpleNamespace(
        config=SimpleNamespace(),
        conv=SimpleNamespace(),
        aclnn=SimpleNamespace(),
        set_option=options.update,
        set_compile_mode=lambda **modes: options.update(modes),
        get_device_name=lambda device: "stand-in",
    )
    seen: dict[str, object] = {}

    def adapter(tensors, args, wanted):
        seen.update({name: value for name, value in tensors.items() if value is not None})
        return {
            name: torch.zeros(args[name]["shape"], dtype=seen["gradOutput"].dtype)
            for name in wanted
        }

    with opgen.open(sample.write(tmp_path / "one.h5", {case: calls[case]})) as bundle:
        device = opened(TorchBackend(), bundle)
        device.adapters, device.npu = dict.fromkeys(ADAPTERS, adapter), npu
        view = bundle[case]
        answer = device.answer(view)
        assert answer.run_status == 0 and (npu.conv.allow_hf32, npu.aclnn.allow_hf32) == (
            hf32,
            hf32,
        )
        assert (
            options == {"jit_compile": False, "ACL_PRECISION_MODE": mode}
            and npu.config.allow_internal_format is False
        )
        for name, value in view.inputs.items():
            assert seen[name].dtype == getattr(torch, NATIVE[view.call["args"][name]["dtype"]])
            assert np.array_equal(seen[name].double().numpy(), value.astype(np.float64))
        for name, array in answer.outputs.items():
            assert (
                array.dtype == numpy_dtype(view.call["args"][name]["dtype"])
                and array.shape == view.golden[name].shape
            )


@pytest.mark.parametrize("mode", range(4))
def test_an_npu_is_not_asked_for_a_mode_that_its_torch_has_not(tmp_path, mode):
    """torch_npu forbids HFLOAT32 in poolings, whatever its switches say."""
    pytest.importorskip("torch")
    from opgen.devices.torch import TorchBackend

    calls = {"pool": sample.pool(cubeMathType=mode), "conv": sample.convolution("FLOAT", mode=mode)}
    with opgen.open(sample.write(tmp_path / "modes.h5", calls)) as bundle:
        device = opened(TorchBackend(), bundle)
        device.npu = SimpleNamespace()
        assert bool(device.skips(bundle["pool"])) == (mode in (1, 3))
        assert not device.skips(bundle["conv"])


@pytest.mark.parametrize("padding", [[0, 2, 2, 0], [2, 0, 0, 2], [1, 1, 1, 1]])
@pytest.mark.parametrize("transposed", [False, True])
def test_uneven_padding_is_laid_around(padding, transposed):
    """Against the operator on an input that has its padding inside, where torch knows one padding
    only.
    """
    torch = pytest.importorskip("torch")
    from opgen.devices.torch_operators import convolution

    torch.manual_seed(0)
    top, bottom, left, right = padding
    source, weight = (
        torch.randn(2, 3, 6, 7, dtype=torch.float64),
        torch.randn(3, 3, 3, 2, dtype=torch.float64),
    )
    args = {
        "padding": padding,
        "stride": [1, 1],
        "dilation": [1, 1],
        "outputPadding": [0, 0],
        "transposed": transposed,
        "groups": 1,
        "biasSizes": [3],
    }
    source.requires_grad_()
    weight.requires_grad_()
    if transposed:
        whole = torch.nn.functional.conv_transpose2d(source, weight)
        out = whole[:, :, top : whole.shape[2] - bottom, left : whole.shape[3] - right]
    else:
        out = torch.nn.functional.conv2d(
            torch.nn.functional.pad(source, (left, right, top, bottom)), weight
        )
    grad = torch.randn_like(out)
    expected = torch.autograd.grad(out, (source, weight), grad)
    with torch.no_grad():
        tensors = {"gradOutput": grad, "input": source.detach(), "weight": weight.detach()}
        found = convolution(tensors, args, frozenset(("gradInput", "gradWeight", "gradBias")))
    for mine, theirs in zip((found["gradInput"], found["gradWeight"]), expected, strict=True):
        assert mine.shape == theirs.shape
        assert np.allclose(mine, theirs)
    assert np.allclose(found["gradBias"], grad.sum((0, 2, 3)))


def test_command(path, tmp_path):
    pytest.importorskip("torch")
    results = str(tmp_path / "r.h5")
    result = CliRunner().invoke(
        command, [str(path), "--backend", "torch", "--case", "pad-*", "-o", results]
    )
    assert result.exit_code == 0, result.output
    assert "5 ran" in result.output
    again = CliRunner().invoke(
        command, [str(path), "--backend", "torch", "-o", results, "--resume"]
    )
    assert again.exit_code == 0 and "5 kept, 19 ran, 5 skipped" in again.output


def test_a_device_is_named_once():
    assert backend("aclnn").device == "npu:0" and backend("mutant:x", device="x").device == "x"
    with pytest.raises(DeviceError, match="--device: 'y', and --backend mutant:x names another"):
        backend("mutant:x", device="y")
