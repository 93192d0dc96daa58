"""Layers of real networks whose goldens are sampled: a wrong geometry that changes an output of a
layer fails there.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import opgen
from opgen.quality.mutants import geometry
from opgen.quality.mutation_score import score

SLOW = os.environ.get("OPGEN_SLOW") == "1"
LAYERS: tuple[str, ...] = (
    "mobilenet_v3_large.b1.bneck4.depthwise",
    "mobilenet_v3_large.b1.bneck2.project",
    "resnet50.b1.layer2.0.conv2",
    "resnet50.b1.avgpool",
    "wav2vec2_base.b1.conv5",
)
if SLOW:
    LAYERS = ("mobilenet_v3_large.b1.*", "resnet50.b1.*", "wav2vec2_base.b1.*", "unet.b1.up*")


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("layers") / "layers.h5"
    opgen.generate(
        plan="models",
        cases=LAYERS,
        inputs="seeded",
        golden="sampled",
        output=path,
        workers=1,
    )
    return path


def test_every_layer_that_a_wrong_geometry_changes_fails(bundle: Path) -> None:
    with opgen.open(bundle) as file:
        found = score(file, geometry.MUTANTS)
    missed = {
        (result.mutant, case)
        for result in found.results
        for case in set(result.differing) - set(result.cases)
    }
    effects = sum(len(result.differing) for result in found.results)
    print(f"{effects} effects of {len(geometry.MUTANTS)} mutants, {len(missed)} missed")
    assert not found.control and not missed
    assert effects > 20
