"""Results change with a version, and with nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest

from opgen.generation.probes import Fingerprint, digests, probes
from opgen.golden import reflection_pad2d_backward
from opgen.numerics import recipes, rounding
from opgen.numerics.distributions import ZEROS
from tests.generation.probes import COMMAND, FILE, every_probe, lines, read, unraised, write


@pytest.fixture(scope="module")
def now() -> Mapping[str, tuple[str, str]]:
    return lines(every_probe())


def test_results_change_with_a_version_alone(now: Mapping[str, tuple[str, str]]) -> None:
    assert not (faults := unraised(read(), now)), "\n".join(faults)
    assert read() == now, f"{FILE} is not of these versions and probes: run {COMMAND}"


def changed_kernel(patch: pytest.MonkeyPatch) -> None:
    right = reflection_pad2d_backward.golden
    patch.setattr(
        reflection_pad2d_backward,
        "golden",
        lambda *of: {name: array * (1 + 2.0**-50) for name, array in right(*of).items()},
    )


def changed_recipe(patch: pytest.MonkeyPatch) -> None:
    other = {**recipes.RECIPES, "normal": replace(recipes.RECIPES["normal"], gradient=ZEROS)}
    patch.setattr(recipes, "RECIPES", MappingProxyType(other))
    patch.setattr("opgen.numerics.fill.RECIPES", MappingProxyType(other))


def changed_rounding(patch: pytest.MonkeyPatch) -> None:
    """Ties away from zero."""
    patch.setattr(rounding, "_even", lambda values, to: rounding._away(values, to, to.digits))


@pytest.mark.parametrize(
    ("change", "where", "version"),
    [
        (changed_kernel, "kernel reflection_pad2d_backward", "kernel reflection_pad2d_backward 2"),
        (changed_recipe, "recipe normal", "recipe normal 1"),
        (changed_rounding, "rounding", "rounding 1"),
    ],
)
def test_a_change_without_a_version_is_told_with_its_remedy(
    change: object, where: str, version: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert callable(change)
    path = tmp_path / "probes.txt"
    path.write_bytes(FILE.read_bytes())
    change(monkeypatch)
    faults = write(path, lines(probes(["reflection_pad2d_backward"], ["normal"])))
    (fault,) = [fault for fault in faults if fault.startswith(f"{where}: ")]
    assert f"raise the VERSION (of a recipe, its version) whose results these are: {version}" in (
        fault
    )
    assert COMMAND in fault and path.read_bytes() == FILE.read_bytes()


def test_what_has_a_new_version_or_is_new_is_written(
    now: Mapping[str, tuple[str, str]], tmp_path: Path
) -> None:
    name, (versions, digest) = next(iter(now.items()))
    path = tmp_path / "probes.txt"
    path.write_text(f"{name} | {versions[:-1]}0 | {digest[::-1]}\ngone | x 1 | 0\n")
    assert write(path, now) == [] and read(path) == now
    assert unraised({name: (versions, "0")}, now) and not unraised({name: ("x 1", "0")}, now)


def test_a_suite_needs_the_probes_of_its_operators_and_recipes(
    now: Mapping[str, tuple[str, str]],
) -> None:
    some = digests(["group_norm_backward"], ["grid", "zeros"])
    assert some == {name: now[name][1] for name in some}
    assert set(some) == {
        "kernel group_norm_backward",
        "recipe grid",
        "recipe zeros",
        *("indices", "streams", "rounding", "exact", "bounds"),
        "call group_norm_backward grid",
        "call group_norm_backward zeros",
    }


def test_zeros_and_nans_of_either_sign_are_one() -> None:
    one, other = (
        Fingerprint(
            "", {}, lambda sign=sign: [np.array([0.0, np.nan, 1.0]) * [sign, sign, 1.0]]
        ).digest
        for sign in (1, -1)
    )
    assert one == other != Fingerprint("", {}, lambda: [np.array([0.0, 1.0, 1.0])]).digest
