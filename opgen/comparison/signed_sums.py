"""Sums over whole outputs, held against a device's where goldens are known of some elements
alone.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from opgen.bundle.format.tensorrow import TensorRow
from opgen.bundle.read.reader import Bundle
from opgen.comparison.alignment import AlignedResults, GoldenRows
from opgen.numerics.arrays import Array
from opgen.numerics.signs import signed_sums, signs


def expected(bundle: Bundle, goldens: GoldenRows, i: int) -> tuple[Array, Array]:
    """(draws,) sums over an output, and how far a correct device's may be from them."""
    row = TensorRow._make(bundle.tables["tensors"][goldens.sums[i]].item())
    sums, bounds = bundle.tensor(row).reshape(2, -1)
    return sums, bounds


def wrong(
    bundle: Bundle, goldens: GoldenRows, answers: AlignedResults, asked: Array
) -> Mapping[int, str]:
    """Golden -> what its sums say of an output that has a wrong element."""
    told = {}
    for i in asked[goldens.sums[asked] >= 0].tolist():
        sums, bounds = expected(bundle, goldens, i)
        if not np.isfinite(bounds).any():
            continue
        shape = bundle.sequence(bundle.tables["tensors"]["shape"][goldens.described[i]]) or ()
        with np.errstate(all="ignore"):
            found = signed_sums(answers.tensor(i).reshape(shape), signs(shape))
            far = np.abs(found - sums)
        bad = np.isfinite(bounds) & ~(far <= bounds)
        if bad.any():
            worst = int(np.argmax(np.where(bad, far, -1.0)))
            told[i] = (
                f"{int(bad.sum())} of {len(sums)} signed sums over all elements are wrong:"
                f" {found[worst]:.9g}, expected {sums[worst]:.9g} ± {bounds[worst]:.3g}"
            )
    return told
