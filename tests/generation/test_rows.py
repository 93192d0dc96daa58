"""Large cases, computed a few rows at a time: the bits are those of all at once, in less memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opgen
from opgen.bundle.format.digest import Digested, digest_of
from opgen.bundle.read.verify import verify
from opgen.calls.jsonl import NamedCall
from opgen.generation import computing, rows
from opgen.generation.resources import memory_of
from opgen.generation.seeding import unheld as without
from opgen.model import Call, TensorDesc
from opgen.suite.batch import Batch
from opgen.suite.selection import Request
from tests.support.suites import SLOW, of_calls

LAYERS: Mapping[str, tuple[Mapping[int, int], tuple[str, ...]]] = {
    "resnet50.b8.layer3.0.conv2": ({256: 64}, ("gradOutput", "input", "gradInput")),
    "resnet50.b8.maxpool": ({64: 8}, ("gradOutput", "self", "indices", "gradInput")),
    "resnet50.b8.avgpool": ({2048: 256}, ("gradOutput", "self", "gradInput")),
    "unet.b8.up1.upconv": ({1024: 128, 512: 64}, ("gradOutput", "input", "gradInput")),
    "stable_diffusion.b8.unet.mid.norm": (
        {1280: 320},
        ("gradOut", "input", "mean", "rstd", "gradInput"),
    ),
    "vit_b16.b8.norm": ({197: 50}, ("gradOut", "input", "mean", "rstd", "gradInputOut")),
    "vit_b16.b8.attention": ({197: 50}, ("gradOutput", "output", "out")),
    "mobilenet_v3_large.b8.stem.hardswish": ({112: 40}, ("gradOutput", "self", "out")),
}
"""Layers, which of their extents are smaller here, and which of their tensors are cut."""
SAMPLES = 64


@pytest.fixture(scope="module")
def batches() -> dict[str, Batch]:
    cases = Request(plan="models", patterns=tuple(LAYERS)).suite().cases
    calls = [
        NamedCall(case.id, smaller(case.call, LAYERS[case.id][0]), {"recipe": case.recipe})
        for case in cases
    ]
    return {batch.ids[0]: batch for batch in of_calls(calls).batches}


def smaller(call: Call, extents: Mapping[int, int]) -> Call:
    """A call whose numbers are others wherever they stand, but where the tests take their time."""

    def of(argument: Any) -> Any:
        if isinstance(argument, TensorDesc):
            return replace(argument, shape=of(argument.shape))
        if isinstance(argument, tuple):
            return tuple(map(of, argument))
        return extents.get(argument, argument)

    return (
        call
        if SLOW
        else replace(call, args={name: of(argument) for name, argument in call.args.items()})
    )


@pytest.mark.parametrize("layer", LAYERS)
def test_a_few_rows_at_a_time_have_the_bits_of_all(batches: dict[str, Batch], layer: str) -> None:
    batch, room = batches[layer], 1 << 15
    whole = computing.compute([batch], 0, SAMPLES)[0]
    parts, seeded = (
        rows.compute([batch], 0, SAMPLES, seeded=seeded, large=1, room=room)[0]
        for seeded in (False, True)
    )
    tensors = rows.cuttable(batch, large=1)
    assert set(tensors) == set(LAYERS[layer][1]) and whole.keys() == parts.keys() == seeded.keys()
    some = rows.part_of(batch, tensors, room=room)
    assert some.tensors[tensors[0]].shape[0] < batch.tensors[tensors[0]].shape[0]
    for key, array in whole.items():
        own, unheld = parts[key], seeded[key]
        assert isinstance(own, np.ndarray)
        if key[1] == "sums":  # of what is not exact, in the order of the rows
            added, bound = array[0]
            near = np.abs(own[0][0] - added) <= np.minimum(bound, 2.0**-20 * abs(added).max())
            assert near.all() and np.allclose(own[0][1], bound, 1e-9), key
        else:
            assert own.tobytes() == array.tobytes(), key
        assert isinstance(unheld, Digested) == (
            key[1] == "input" and key[0] in without(batch) and key[0] in tensors
        )
        if isinstance(unheld, Digested):
            assert (unheld.dtype, unheld.size) == (array.dtype, array.size)
            assert unheld.digest == digest_of(array.tobytes())


def test_a_file_says_of_what_it_does_not_hold_what_it_would_have_held(tmp_path: Path) -> None:
    ways: list[dict[str, str]] = [{}, {"inputs": "seeded"}]
    made = [
        opgen.generate(
            plan="models",
            cases=["resnet50.b8.layer2.0.conv2"],
            output=tmp_path / f"{len(way)}.h5",
            golden="sampled",
            workers=1,
            **way,
        ).path
        for way in ways
    ]
    with opgen.open(made[0]) as whole, opgen.open(made[1]) as bundle:
        assert (whole.tables["tensors"]["digest"] == bundle.tables["tensors"]["digest"]).all()
        assert whole.tables["cases"][0]["phase"] == 2
    assert [verify(path) for path in made] == [[], []]
    sizes = [path.stat().st_size for path in made]
    assert sizes[1] < sizes[0] / 10


def test_memory_is_that_of_rows_and_of_inputs_that_the_file_holds() -> None:
    [batch] = Request(plan="models", patterns=("unet.b32.down1.conv2",)).suite().batches
    held = 2 * sum(batch.tensors[name].storage_elements for name in ("gradOutput", "input"))
    whole, stored, seeded = (memory_of(batch, *way) for way in ((), (SAMPLES,), (SAMPLES, True)))
    assert stored == seeded + held and seeded < 2 << 30 < held < whole / 4
