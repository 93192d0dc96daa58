"""Wrong kernels: what is divided, summed and normalised, and in which precision."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

import numpy as np

from opgen.golden import Array
from opgen.numerics.arrays import by_parts
from opgen.numerics.formats import format_of
from opgen.numerics.rounding import binade, rounded, stored
from opgen.quality.mutants.mutant import (
    Computation,
    DeviceBatch,
    Mutant,
    Outputs,
    WrongKernel,
    cast,
    on_gradient,
    on_names,
    on_tensors,
    store,
    with_output,
)

PIECES = 8
"""Partial sums that a narrow accumulator adds up."""
PARAMETERS = ("gradWeight", "gradBias", "gradGammaOut", "gradBetaOut")
"""Outputs that are sums over samples."""
TERMS = 128
"""Terms of a sum that a device adds which forgets the others."""


# pooling ------------------------------------------------------------------------------------------
def unclipped(given: Computation) -> Mapping[str, int]:
    """Every window counts all of its elements, also those that hang over the padding."""
    elements = prod(given.names["k" + axis] for axis in given.axes("k"))
    divided = given.names["divisorOverride"] or not given.names["countIncludePad"]
    return {} if divided else {"divisorOverride": elements}


def default_stride_of_1(given: Computation) -> Mapping[str, int]:
    """A stride that the call leaves out is 1."""
    return {"s" + axis: 1 for axis in given.axes("s")} if given.of.args["stride"] == () else {}


# normalisation ------------------------------------------------------------------------------------
def regrouped(
    groups: Callable[[Mapping[str, int]], int], pick: Callable[[Array, Mapping[str, int]], Array]
) -> WrongKernel:
    """Another number of groups, and the means and rstd that ``pick`` makes of the given (B, N,
    group) ones.
    """

    def kernel(given: Computation) -> Outputs:
        n = given.names
        spread = {
            name: pick(given[name].reshape(-1, n["N"], n["group"]), n) for name in ("mean", "rstd")
        }
        return given.run(spread, {"group": groups(n)})

    return kernel


def unbiased(given: Computation) -> Outputs:
    """The sums of a group divided by M - 1: what is not rstd * gamma * gradOut grows by M / (M -
    1).
    """
    n, outputs = given.names, given.run()
    channels = n["C"] // n["group"]
    count = channels * n["HxW"]

    def grown(whole: Array) -> Array:
        plain = given.gradient.reshape(-1, n["N"], n["group"], channels, n["HxW"])
        if given.tensors["gamma"] is not None:
            plain = plain * given["gamma"].reshape(-1, 1, n["group"], channels, 1)
        plain = plain * given["rstd"].reshape(-1, n["N"], n["group"], 1, 1)
        plain = plain.reshape(whole.shape)
        return plain - (plain - whole) * (count / (count - 1))

    return with_output(outputs, "gradInput", grown) if count > 1 else outputs


def gamma_beta_swapped(given: Computation) -> Outputs:
    """Two outputs, each written where the other belongs."""
    gamma, beta = "gradGammaOut", "gradBetaOut"
    outputs = given.run(wanted={*given.wanted, gamma, beta})
    outputs |= {gamma: outputs[beta], beta: outputs[gamma]}
    return {name: outputs[name] for name in given.wanted}


def adding(chosen: Callable[[Array], Array]) -> WrongKernel:
    """Of sums over samples and space some terms alone; they are numbered, (N, elements of a
    channel).
    """

    def kernel(given: Computation) -> Outputs:
        gradient, samples = given.gradient, given.names["N"]
        channels = given.names["C"] if "C" in given.names else gradient.shape[2]
        terms = gradient.reshape(len(gradient), samples, channels, -1)
        kept = chosen(np.arange(samples * terms.shape[3]).reshape(samples, terms.shape[3]))
        part = given.run(
            {given.of.gradient: np.where(kept[:, None], terms, 0).reshape(gradient.shape)}
        )
        return given.run() | {name: part[name] for name in PARAMETERS if name in part}

    return kernel


# precision ----------------------------------------------------------------------------------------
def accumulated(form: str) -> WrongKernel:
    """Partial sums kept in a narrow format: every eighth element of the gradient goes to the same
    one.
    """

    def kernel(given: Computation) -> Outputs:
        gradient = given.gradient
        piece = (np.arange(gradient[0].size) % PIECES).reshape(gradient.shape[1:])
        total: Outputs = {}
        for p in range(min(PIECES, gradient[0].size)):
            part = given.run({given.of.gradient: np.where(piece == p, gradient, 0)})
            for name, array in part.items():
                total[name] = rounded(total.get(name, 0.0) + rounded(array, form), form)
        return total

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


def truncating(cases: DeviceBatch, values: Array, storage: str, to: str | None) -> Array:
    """Inputs truncated to the compute dtype."""
    right = cast(cases, values, storage, to)
    return values if right is values or to is None else truncated(values, to)


def always(form: str) -> Callable[[DeviceBatch, Array, str, str | None], Array]:
    """Inputs rounded to a format where FLOAT is asked for."""

    def rounding(cases: DeviceBatch, values: Array, storage: str, to: str | None) -> Array:
        if to == "FLOAT" and storage == "FLOAT":
            return rounded(values, form)
        return cast(cases, values, storage, to)

    return rounding


def with_race(given: Computation) -> Array:
    """One element of the gradient, another one in every run, comes too late."""
    late = given.gradient.copy().reshape(len(given.gradient), -1)
    late[np.arange(len(late)), given.of.element_of_each(late.shape[1])] = 0
    return late.reshape(given.gradient.shape)


def clipped(values: Array, dtype: str, through: str | None) -> Array:
    """The largest finite number for Inf."""
    limit = min(format_of(through or dtype).max, format_of(dtype).max)

    def part(array: Array) -> Array:
        return np.clip(array, -limit, limit)

    return store(by_parts(part, values), dtype, through)


MUTANTS = (
    Mutant(
        "pad_counted",
        "padding is always counted, whatever countIncludePad says",
        ("countIncludePad",),
        kernel=on_names(lambda given: {"countIncludePad": 1}),
    ),
    Mutant(
        "pad_not_counted",
        "padding is never counted, whatever countIncludePad says",
        ("countIncludePad",),
        kernel=on_names(lambda given: {"countIncludePad": 0}),
    ),
    Mutant(
        "ceil_unclipped",
        "a window that hangs over the edge under ceilMode is divided by its full size",
        ("ceilMode", "countIncludePad", "divisorOverride"),
        kernel=on_names(unclipped),
    ),
    Mutant(
        "divisor_ignored",
        "divisorOverride is ignored",
        ("divisorOverride",),
        kernel=on_names(lambda given: {"divisorOverride": 0}),
    ),
    Mutant(
        "divisor_sign_dropped",
        "the sign of divisorOverride is ignored",
        ("divisorOverride",),
        kernel=on_names(lambda given: {"divisorOverride": abs(given.names["divisorOverride"])}),
    ),
    Mutant(
        "divisor_missing",
        "outputs are sums instead of averages",
        ("divisorOverride",),
        kernel=on_names(lambda given: {"divisorOverride": 1}),
    ),
    Mutant(
        "default_stride_1",
        "a stride that is left out is 1, not the kernel size",
        ("kernelSize", "stride"),
        kernel=on_names(default_stride_of_1),
    ),
    Mutant(
        "gamma_ignored",
        "gamma is replaced by ones",
        ("gamma",),
        kernel=on_tensors(gamma=np.ones_like),
    ),
    Mutant(
        "rstd_ignored",
        "rstd is replaced by ones",
        ("rstd",),
        kernel=on_tensors(rstd=np.ones_like),
    ),
    Mutant(
        "rstd_squared",
        "rstd is applied twice",
        ("rstd",),
        kernel=on_tensors(rstd=lambda a: a * a),
    ),
    Mutant(
        "mean_ignored",
        "mean is replaced by zeros",
        ("mean",),
        kernel=on_tensors(mean=np.zeros_like),
    ),
    Mutant(
        "mean_per_channel",
        "means are taken over one channel, not over a group of channels",
        ("group", "HxW"),
        kernel=regrouped(lambda n: n["C"], lambda a, n: np.repeat(a, n["C"] // n["group"], axis=2)),
    ),
    Mutant(
        "group_ignored",
        "all channels are one group, with the mean and rstd of the first group",
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
        "the gradients of gamma and beta are exchanged",
        ("gradGammaOut",),
        kernel=gamma_beta_swapped,
    ),
    Mutant(
        "batch_sum_missing",
        "sums over N hold only the last sample",
        ("N", "gradWeight|gradGammaOut"),
        kernel=adding(lambda terms: terms >= terms.size - terms.shape[1]),
    ),
    Mutant(
        "long_sums_cut",
        "sums over samples and space stop after 128 terms",
        ("N", "gradWeight|gradGammaOut"),
        kernel=adding(lambda terms: terms < TERMS),
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
        "inputs are rounded to HFLOAT32 where the compute dtype is FLOAT",
        ("cubeMathType",),
        cast=always("HFLOAT32"),
    ),
    Mutant(
        "float16_for_float",
        "inputs are rounded to FLOAT16 where the compute dtype is FLOAT",
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
        "scaled_1_001",
        "results are 1.001 times as large",
        kernel=on_gradient(lambda given: given.gradient * 1.001),
    ),
    Mutant(
        "not_reproducible",
        "a race loses one element of the gradient, a different one in every run",
        kernel=on_gradient(with_race),
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
