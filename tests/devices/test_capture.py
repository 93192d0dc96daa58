"""opgen capture: the calls of a torch program, held against the torch backend and module hooks."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from itertools import compress
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import opgen
from opgen.cli import main
from opgen.oracle.callfiles import judge_given
from opgen.spec.catalog import catalog

torch = pytest.importorskip("torch")

from opgen.devices.recording import Capture, capture  # noqa: E402
from opgen.devices.torch import TorchBackend  # noqa: E402
from opgen.devices.torch_adapter import Unable  # noqa: E402
from opgen.devices.torch_calls import pages  # noqa: E402
from opgen.devices.torch_operators import ADAPTERS  # noqa: E402


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("capture") / "smoke.h5"
    opgen.generate(products=["ascend910b"], output=path, workers=1)
    return path


def inputs_of(line: dict, folder: Path) -> Iterator[tuple[str, torch.Tensor | None]]:
    with np.load(folder / line["data"]) as held:
        for name in catalog().kinds[line["op"]]:
            if name in held.files:
                yield name, torch.from_numpy(held[name])
            elif line["args"][name] is None:
                yield name, None


def test_the_backend_makes_of_a_captured_call_the_torch_call_that_it_was(
    smoke: Path, tmp_path: Path
) -> None:
    seen: Counter[str] = Counter()
    known = {spec.api for spec in pages("ascend910b").values()}
    with opgen.open(smoke) as bundle, torch.no_grad():
        device = TorchBackend()
        device.open(bundle, [])
        for number, case in enumerate(bundle):
            if case.op not in known or case.phase != 2 or device.skips(case):
                continue
            file = tmp_path / f"{number}.jsonl"
            with suppress(Unable), Capture(file, "ascend910b", data=True) as first:
                device.outputs(case)
            for text in first.lines:
                line = json.loads(text)
                outputs = catalog().by_page[line["op"], "ascend910b"].outputs
                wanted = frozenset(output.name for output in outputs)
                tensors = dict(inputs_of(line, tmp_path))
                if mask := line["args"].get("outputMask"):
                    wanted = frozenset(compress((output.name for output in outputs), mask))
                with Capture(tmp_path / "again.jsonl", "ascend910b", force=True) as second:
                    results = ADAPTERS[line["op"]](tensors, line["args"], wanted)
                assert {*results} >= wanted
                (again,) = map(json.loads, second.lines)
                assert line["op"] == case.op == again["op"]
                assert attributes(line) == attributes(again), case.id
                seen[line["op"]] += 1
            assert not first.unwritable
    assert known - {*seen} == {"aclnnConvTbcBackward"}  # which torch makes of other functions
    assert len(seen) > 20


def attributes(line: dict) -> dict:
    """Arguments without how tensors lie in memory, which a dump does not keep."""
    memory = ("strides", "offset", "storage_shape")
    return {
        name: {key: value[key] for key in value if key not in memory}
        if isinstance(value, dict)
        else value
        for name, value in line["args"].items()
    }


def network() -> torch.nn.Module:
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False),
        torch.nn.BatchNorm2d(8),
        torch.nn.ReLU(),
        torch.nn.Conv2d(8, 8, 3, padding=1, groups=8),
        torch.nn.MaxPool2d(3, 2, 1),
        torch.nn.Conv2d(8, 8, (1, 3), padding="same"),
        torch.nn.Conv2d(8, 8, (1, 3), padding="same"),
        torch.nn.ConvTranspose2d(8, 8, 3, stride=2, output_padding=1),
        torch.nn.AvgPool2d(2, ceil_mode=True),
        torch.nn.GroupNorm(2, 8),
        torch.nn.Tanh(),
    )


BACKWARD = {
    torch.nn.Conv2d: "aclnnConvolutionBackward",
    torch.nn.ConvTranspose2d: "aclnnConvolutionBackward",
    torch.nn.BatchNorm2d: "aclnnBatchNormBackward",
    torch.nn.ReLU: "aclnnThresholdBackward",
    torch.nn.MaxPool2d: "aclnnMaxPool2dWithIndicesBackward",
    torch.nn.AvgPool2d: "aclnnAvgPool2dBackward",
    torch.nn.GroupNorm: "aclnnGroupNormBackward",
    torch.nn.Tanh: "aclnnTanhBackward",
}


def test_every_layer_of_a_network_is_captured_and_its_calls_pass(tmp_path: Path) -> None:
    torch.manual_seed(0)
    net, hooked = network(), Counter[str]()
    for module in net:
        if type(module) in BACKWARD:
            module.register_full_backward_hook(
                lambda module, *_: hooked.update([BACKWARD[type(module)]])
            )
    image = torch.randn(2, 3, 21, 23, requires_grad=True)
    with capture(tmp_path / "calls.jsonl", data=True) as seen:
        net(image).square().mean().backward()
    lines = list(map(json.loads, (tmp_path / "calls.jsonl").read_text("utf-8").splitlines()))
    counted: Counter[str] = Counter()
    for line in lines:
        counted[line["op"]] += line["count"]
    assert counted == hooked and len(lines) == counted.total() - 1  # two layers are alike
    assert [line["count"] for line in lines if line["args"].get("padding") == [0, 1]] == [2]
    assert seen.unknown["aten.pow"] == 2 and not seen.unwritable
    (relu,) = [line["args"]["threshold"] for line in lines if "threshold" in line["args"]]
    assert relu == {"value": 0, "dtype": "FLOAT"}
    assert all(judged.page.bucket == "valid" for judged in judge_given(tmp_path / "calls.jsonl"))
    made = opgen.generate(calls=tmp_path / "calls.jsonl", output=tmp_path / "c.h5", workers=1)
    assert made.with_data == len(lines)
    opgen.run(tmp_path / "c.h5", "torch", tmp_path / "r.h5")
    totals = opgen.diff(tmp_path / "c.h5", tmp_path / "r.h5").totals
    assert totals == {"passed": len(lines)}
    with opgen.open(tmp_path / "c.h5") as bundle:
        (last,) = [case for case in bundle if case.op == "aclnnTanhBackward"]
        output = torch.from_numpy(last.inputs["output"])
    assert torch.equal(output, net(image))


def test_views_are_kept_as_they_lie_in_memory(tmp_path: Path) -> None:
    whole = torch.randn(2, 6, 8, 3).bfloat16()
    image = whole.permute(0, 3, 1, 2)[:, 1:]
    with capture(tmp_path / "calls.jsonl", data=True) as seen:
        torch.ops.aten.avg_pool2d_backward(
            torch.ones(2, 2, 3, 4).bfloat16(), image, [2, 2], [2, 2], [0, 0], False, True, None
        )
    (line,) = map(json.loads, seen.lines)
    assert line["args"]["self"] == {
        **{"shape": [2, 2, 6, 8], "dtype": "BFLOAT16", "format": "NCHW"},
        **{"strides": [144, 1, 24, 3], "offset": 1, "storage_shape": [288]},
    }
    with np.load(tmp_path / line["data"]) as held:
        bits = torch.from_numpy(held["self"].view(np.int16)).view(torch.bfloat16)
    assert torch.equal(bits, image)


FAILS = """
import sys, torch
layer = torch.nn.Conv2d(2, 3, 3)
layer(torch.ones(1, 2, 5, 5)).sum().backward()
{end}
"""


@pytest.mark.parametrize(
    ("end", "code", "said"),
    [
        ("assert sys.argv[1:] == ['--lr', '0.1', '-q']", 0, "1 call, which came 1 time"),
        ("sys.exit(0)", 0, "unknown torch operators"),
        ("sys.exit(3)", 1, "1 call"),
        ("sys.exit('no data')", 1, "no data"),
        ("layer.wieght", 1, "object has no attribute 'wieght'"),
    ],
)
def test_a_program_that_ends_in_any_way_keeps_its_calls(
    end: str, code: int, said: str, tmp_path: Path
) -> None:
    program, output = tmp_path / "train.py", tmp_path / "calls.jsonl"
    program.write_text(FAILS.format(end=end), encoding="utf-8")
    line = ["capture", "-o", str(output), str(program), "--lr", "0.1", "-q"]
    shown = CliRunner().invoke(main, line, prog_name="opgen")
    assert shown.exit_code == code and said in shown.stderr, shown.output
    assert len(output.read_text("utf-8").splitlines()) == 1
    if "wieght" in end:
        assert 'train.py", line 5' in shown.stderr and "runpy" not in shown.stderr
    again = CliRunner().invoke(main, line, prog_name="opgen")
    assert again.exit_code == 2 and "exists already; --force replaces it" in again.stderr


def test_a_mask_of_bools_is_no_call_of_a_mask_of_bits(tmp_path: Path) -> None:
    with capture(tmp_path / "calls.jsonl", force=True) as seen, torch.no_grad():
        torch.ops.aten.native_dropout_backward(torch.ones(8), torch.ones(8, dtype=torch.bool), 2.0)
        torch.ops.aten.tanh_backward(torch.ones(2), torch.ones(2))
    assert [json.loads(line)["op"] for line in seen.lines] == ["aclnnTanhBackward"]


def test_what_no_call_says_is_counted_with_its_reason(tmp_path: Path) -> None:
    with pytest.raises(opgen.FileError, match="ascend910c: no such product"):
        opgen.capture(tmp_path / "calls.jsonl", "ascend910c")
    with capture(tmp_path / "calls.jsonl") as seen, torch.no_grad():
        torch.ops.aten.tanh_backward(*[torch.empty(2, dtype=torch.float8_e5m2, device="meta")] * 2)
        torch.ops.aten.tanh_backward(*[torch.ones(2)] * 2)
    assert len(seen.lines) == 1
    assert seen.unwritable == {
        ("aten.tanh_backward", "opgen holds no data of torch.float8_e5m2, torch.strided"): 1
    }
    with (
        pytest.raises(ZeroDivisionError),
        capture(tmp_path / "half.jsonl") as seen,
    ):
        torch.ops.aten.tanh_backward(*[torch.ones(2)] * 2)
        1 / 0  # noqa: B018
    assert len((tmp_path / "half.jsonl").read_text("utf-8").splitlines()) == 1
