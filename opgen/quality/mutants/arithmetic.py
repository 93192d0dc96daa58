"""Wrong kernels: what is divided, summed and normalised, and in which precision."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from zlib import crc32

import numpy as np

from opgen.golden import Array
from opgen.numerics.arrays import by_parts
from opgen.numerics.formats import format_of
from opgen.numerics.rounding import binade, rounded, stored
from opgen.quality.mutants.device import cast, store
from opgen.quality.mutants.mutant import Golden, Mutant, Names, Outputs, Values, Work, axes

PIECES = 8
"""Partial sums that a narrow accumulator adds up."""
PARAMETERS = ("gradWeight", "gradBias", "gradGammaOut", "gradBetaOut")
"""Outputs that are sums over samples."""
TERMS = 128
"""Terms of a sum that a device adds which forgets the others."""
Kernel = Callable[[Work, Golden, Values, Names, tuple[str, ...]], Mapping[str, Array]]


def named(change: Callable[[Work, Names], Mapping[str, int]]) -> Callable[[Work, Names], Names]:
    """The same names but for some."""
    return lambda work, given: given | dict(change(work, given))


# pooling ------------------------------------------------------------------------------------------
def unclipped(work: Work, n: Names) -> Mapping[str, int]:
    """Every window counts all of its elements, also those that hang over the padding."""
    elements = prod(n["k" + axis] for axis in axes(work, "k"))
    return (
        {"divisorOverride": elements} if not n["divisorOverride"] and n["countIncludePad"] else {}
    )


def default_stride_of_1(work: Work, n: Names) -> Mapping[str, int]:
    """A stride that the call leaves out is 1."""
    return {"s" + axis: 1 for axis in axes(work, "s")} if work.args["stride"] == () else {}


# normalisation ------------------------------------------------------------------------------------
def replaced(**tensors: Callable[[Work, Array], Array]) -> Callable[[Work, Values], Values]:
    """Tensors with some changed; a null pointer stays one."""

    def change(work: Work, given: Values) -> Values:
        return given | {
            name: make(work, array)
            for name, make in tensors.items()
            if (array := given[name]) is not None
        }

    return change


def regrouped(groups: Callable[[Names], int], pick: Callable[[Array, Names], Array]) -> Kernel:
    """Another number of groups, and the means and rstd that ``pick`` makes of the given (B, N,
    group) ones.
    """

    def kernel(
        work: Work, golden: Golden, tensors: Values, names: Names, wanted: tuple[str, ...]
    ) -> Mapping[str, Array]:
        spread = {}
        for name in ("mean", "rstd"):
            array = tensors[name]
            assert array is not None
            spread[name] = pick(array.reshape(len(array), names["N"], names["group"]), names)
        return golden({**tensors, **spread}, {**names, "group": groups(names)}, wanted)

    return kernel


def unbiased(
    work: Work, golden: Golden, tensors: Values, names: Names, wanted: tuple[str, ...]
) -> Outputs:
    """The sums of a group divided by M - 1: what is not rstd * gamma * gradOut grows by M / (M -
    1).
    """
    outputs = dict(golden(tensors, names, wanted))
    group, d, space = names["group"], names["C"] // names["group"], names["HxW"]
    if "gradInput" in outputs and d * space > 1:
        dy, rstd, gamma, whole = (
            tensors["gradOut"],
            tensors["rstd"],
            tensors["gamma"],
            outputs["gradInput"],
        )
        assert dy is not None and rstd is not None
        scale = np.ones((1, 1, group, d, 1)) if gamma is None else gamma.reshape(-1, 1, group, d, 1)
        plain = (
            dy.reshape(-1, names["N"], group, d, space)
            * scale
            * rstd.reshape(-1, names["N"], group, 1, 1)
        )
        outputs["gradInput"] = plain.reshape(whole.shape) - (plain.reshape(whole.shape) - whole) * (
            d * space / (d * space - 1)
        )
    return outputs


def other_way_round(one: str, other: str) -> Kernel:
    """Two outputs, each written where the other belongs."""

    def kernel(
        work: Work, golden: Golden, tensors: Values, names: Names, wanted: tuple[str, ...]
    ) -> Outputs:
        outputs = dict(golden(tensors, names, {*wanted, one, other}))
        outputs |= {one: outputs[other], other: outputs[one]}
        return {name: outputs[name] for name in wanted}

    return kernel


def adding(some: Callable[[Array], Array]) -> Kernel:
    """Of sums over samples and space some terms alone; they are numbered, (N, elements of a
    channel).
    """

    def kernel(
        work: Work, golden: Golden, tensors: Values, names: Names, wanted: tuple[str, ...]
    ) -> Outputs:
        gradient = tensors[work.gradient]
        assert gradient is not None
        channels = names["C"] if "C" in names else gradient.shape[2]
        terms = gradient.reshape(len(gradient), names["N"], channels, -1)
        there = some(np.arange(names["N"] * terms.shape[3]).reshape(names["N"], terms.shape[3]))
        part = golden(
            {**tensors, work.gradient: np.where(there[:, None], terms, 0).reshape(gradient.shape)},
            names,
            wanted,
        )
        return {
            name: part[name] if name in PARAMETERS else array
            for name, array in golden(tensors, names, wanted).items()
        }

    return kernel


# precision ----------------------------------------------------------------------------------------
def accumulated(form: str) -> Kernel:
    """Partial sums kept in a narrow format: every eighth element of the gradient goes to the same
    one.
    """

    def kernel(
        work: Work, golden: Golden, tensors: Values, names: Names, wanted: tuple[str, ...]
    ) -> Outputs:
        gradient = tensors[work.gradient]
        assert gradient is not None
        piece = (np.arange(gradient[0].size) % PIECES).reshape(gradient.shape[1:])
        total: Outputs = {}
        for p in range(min(PIECES, gradient[0].size)):
            for name, part in golden(
                {**tensors, work.gradient: np.where(piece == p, gradient, 0)}, names, wanted
            ).items():
                total[name] = rounded(total.get(name, 0.0) + rounded(part, form), form)
        return total or dict(golden(tensors, names, wanted))

    return kernel


def truncated(values: Array, to: str) -> Array:
    """Rounded towards zero to a format or a dtype."""
    if np.iscomplexobj(values):
        return by_parts(lambda part: truncated(part, to), values)
    form = format_of(to)
    with np.errstate(all="ignore"):
        quantum = binade(values, form.low) * 2.0 ** (1 - form.digits)
        whole = np.clip(np.trunc(values / quantum) * quantum, -form.max, form.max)
    return np.where(np.isfinite(values), whole, values)


def truncating(work: Work, values: Array, storage: str, to: str | None) -> Array:
    """Inputs truncated to the compute dtype."""
    return (
        values if cast(work, values, storage, to) is values or to is None else truncated(values, to)
    )


def always(form: str) -> Callable[[Work, Array, str, str | None], Array]:
    """Inputs rounded to a format where FLOAT is asked for."""

    def rounding(work: Work, values: Array, storage: str, to: str | None) -> Array:
        return (
            rounded(values, form)
            if to == "FLOAT" and storage == "FLOAT"
            else cast(work, values, storage, to)
        )

    return rounding


def with_race(work: Work, tensors: Values) -> Values:
    """One element of the gradient, another one in every run, comes too late."""
    gradient = tensors[work.gradient]
    assert gradient is not None
    late = gradient.copy().reshape(len(gradient), -1)
    if late.shape[1]:
        late[
            np.arange(len(late)), [crc32(case.encode()) % late.shape[1] for case in work.batch.ids]
        ] = 0
    return {**tensors, work.gradient: late.reshape(gradient.shape)}


def clipped(values: Array, dtype: str, through: str | None) -> Array:
    """The largest finite number for Inf."""
    limit = min(format_of(through or dtype).max, format_of(dtype).max)

    def part(array: Array) -> Array:
        return np.clip(array, -limit, limit)

    return store(by_parts(part, values), dtype, through)


MUTANTS = (
    Mutant(
        "pad_counted",
        "padding is counted whatever countIncludePad says",
        ("countIncludePad",),
        names=named(lambda w, n: {"countIncludePad": 1}),
    ),
    Mutant(
        "pad_not_counted",
        "padding is never counted",
        ("countIncludePad",),
        names=named(lambda w, n: {"countIncludePad": 0}),
    ),
    Mutant(
        "ceil_unclipped",
        "windows that hang over under ceilMode are divided by all their elements",
        ("ceilMode", "countIncludePad", "divisorOverride"),
        names=named(unclipped),
    ),
    Mutant(
        "divisor_ignored",
        "divisorOverride is ignored",
        ("divisorOverride",),
        names=named(lambda w, n: {"divisorOverride": 0}),
    ),
    Mutant(
        "divisor_sign_dropped",
        "divisorOverride is taken without its sign",
        ("divisorOverride",),
        names=named(lambda w, n: {"divisorOverride": abs(n["divisorOverride"])}),
    ),
    Mutant(
        "divisor_missing",
        "sums instead of averages",
        ("divisorOverride",),
        names=named(lambda w, n: {"divisorOverride": 1}),
    ),
    Mutant(
        "default_stride_1",
        "a stride that is left out is 1, not the kernel",
        ("kernelSize", "stride"),
        names=named(default_stride_of_1),
    ),
    Mutant(
        "gamma_ignored",
        "gamma is taken for ones",
        ("gamma",),
        tensors=replaced(gamma=lambda w, a: np.ones_like(a)),
    ),
    Mutant(
        "rstd_ignored",
        "rstd is taken for ones",
        ("rstd",),
        tensors=replaced(rstd=lambda w, a: np.ones_like(a)),
    ),
    Mutant(
        "rstd_squared",
        "rstd is multiplied by twice",
        ("rstd",),
        tensors=replaced(rstd=lambda w, a: a * a),
    ),
    Mutant(
        "mean_ignored",
        "mean is taken for zeros",
        ("mean",),
        tensors=replaced(mean=lambda w, a: np.zeros_like(a)),
    ),
    Mutant(
        "mean_per_channel",
        "means over one channel instead of over the channels of a group",
        ("group", "HxW"),
        kernel=regrouped(lambda n: n["C"], lambda a, n: np.repeat(a, n["C"] // n["group"], axis=2)),
    ),
    Mutant(
        "group_ignored",
        "one group of all channels, with the first one's mean and rstd",
        ("group", "HxW", "N"),
        kernel=regrouped(lambda n: 1, lambda a, n: a[:, :, :1]),
    ),
    Mutant(
        "unbiased",
        "the sums of a group are divided by M - 1",
        ("group", "HxW", "N", "rstd", "gamma"),
        kernel=unbiased,
    ),
    Mutant(
        "gamma_beta_swapped",
        "the gradients of gamma and beta change places",
        ("gradGammaOut",),
        kernel=other_way_round("gradGammaOut", "gradBetaOut"),
    ),
    Mutant(
        "batch_sum_missing",
        "sums over N hold the last sample only",
        ("N", "gradWeight|gradGammaOut"),
        kernel=adding(lambda terms: terms >= terms.size - terms.shape[1]),
    ),
    Mutant(
        "long_sums_cut",
        "sums over samples and space end after 128 terms",
        ("N", "gradWeight|gradGammaOut"),
        kernel=adding(lambda terms: terms < TERMS),
    ),
    Mutant(
        "bias_in_cube_mode",
        "gradBias is computed from inputs rounded to the compute dtype",
        ("gradBias",),
        cast=lambda w, a, storage, to: cast(w, a, storage, to or w.batch.compute),
    ),
    Mutant(
        "accumulates_float16", "partial sums are kept in FLOAT16", kernel=accumulated("FLOAT16")
    ),
    Mutant(
        "accumulates_bfloat16", "partial sums are kept in BFLOAT16", kernel=accumulated("BFLOAT16")
    ),
    Mutant(
        "inputs_truncated",
        "inputs are truncated to the compute dtype, not rounded",
        ("cubeMathType",),
        cast=truncating,
    ),
    Mutant(
        "output_truncated",
        "results are truncated to the output's dtype, not rounded",
        store=lambda values, dtype, through: stored(
            truncated(values if through is None else truncated(values, through), dtype), dtype
        ),
    ),
    Mutant(
        "hfloat32_for_float",
        "inputs are rounded to HFLOAT32 where FLOAT is asked for",
        ("cubeMathType",),
        cast=always("HFLOAT32"),
    ),
    Mutant(
        "float16_for_float",
        "inputs are rounded to FLOAT16 where FLOAT is asked for",
        ("cubeMathType",),
        cast=always("FLOAT16"),
    ),
    Mutant(
        "imaginary_dropped",
        "the imaginary part is lost",
        ("padLeft", "W"),
        store=lambda v, dtype, through: store(v.real.astype(v.dtype), dtype, through),
    ),
    Mutant(
        "conjugated",
        "complex results are conjugated",
        ("padLeft", "W"),
        store=lambda v, dtype, through: store(np.conj(v), dtype, through),
    ),
    Mutant(
        "not_reproducible",
        "a race: one element of the gradient is lost, another in every run",
        tensors=with_race,
    ),
    Mutant(
        "nan_lost",
        "NaN becomes 0",
        store=lambda v, dtype, through: store(
            by_parts(lambda a: np.where(np.isnan(a), 0.0, a), v), dtype, through
        ),
    ),
    Mutant("inf_clipped", "Inf becomes the largest finite number", store=clipped),
)
