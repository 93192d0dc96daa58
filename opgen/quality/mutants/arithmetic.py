"""Wrong kernels: what is divided, summed and normalised."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from opgen.golden import Array, kernel
from opgen.quality.mutants.mutant import (
    Computation,
    Mutant,
    Outputs,
    WrongKernel,
    on_gradient,
    on_names,
    on_tensors,
    with_output,
)

PARAMETERS = ("gradWeight", "gradBias", "gradGammaOut", "gradBetaOut")
"""Outputs that are sums over samples."""
TERMS = 128
"""Terms of a sum that a device adds which forgets the others."""


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


def of_the_other_phase(training: bool) -> WrongKernel:
    """The statistics of training, or of inference, whatever ``training`` says, where a call has
    them.
    """
    needed = ("saveMean", "saveInvstd") if training else ("runningMean", "runningVar")

    def kernel(given: Computation) -> Outputs:
        channels = given.gradient.shape[2]
        known = all(
            (tensor := given.tensors[name]) is not None and tensor.shape[1] == channels
            for name in needed
        )
        return given.run(names={"training": int(training)} if known else {})

    return kernel


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
        shapes = given.of.spec.parameters[given.of.gradient].shapes
        letters = [*enumerate(map(str, shapes.get(given.gradient.ndim - 1, ())), 1)]
        places = [axis for first in "NC" for axis, letter in letters if letter[0] == first]
        behind = range(1, len(places) + 1)  # N, then channels, wherever the page has them
        gradient, samples = np.moveaxis(given.gradient, places, behind), given.names["N"]
        channels = given.names["C"] if "C" in given.names else gradient.shape[2]
        terms = gradient.reshape(len(gradient), samples, channels, -1)
        kept = chosen(np.arange(samples * terms.shape[3]).reshape(samples, terms.shape[3]))
        changed = np.where(kept[:, None], terms, 0).reshape(gradient.shape)
        part = given.run({given.of.gradient: np.moveaxis(changed, behind, places)})
        return given.run() | {name: part[name] for name in PARAMETERS if name in part}

    return kernel


def with_race(given: Computation) -> Array:
    """One element of the gradient, another one in every run, comes too late."""
    late = given.gradient.copy().reshape(len(given.gradient), -1)
    late[np.arange(len(late)), given.of.element_of_each(late.shape[1])] = 0
    return late.reshape(given.gradient.shape)


MUTANTS = (
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
        "the sums of a group of M elements are divided by M - 1",
        ("group", "HxW", "N", "rstd", "gamma"),
        kernel=unbiased,
    ),
    Mutant(
        "saved_computed_again",
        "what the forward operator saved is computed again, and not read",
        ("rstd|saveInvstd|gelu|indices",),
        kernel=lambda given: given.run(vars(given.kernel)["saved"](given.tensors, given.names)),
        where=lambda spec: hasattr(kernel(spec.op), "saved"),
    ),
    Mutant(
        "eps_ignored",
        "eps is 0",
        ("eps",),
        kernel=on_names(lambda given: {"eps": 0}),
    ),
    Mutant(
        "saved_statistics_always",
        "saved statistics are used, whatever training says",
        ("training", "saveMean"),
        kernel=of_the_other_phase(training=True),
    ),
    Mutant(
        "running_statistics_always",
        "running statistics are used, whatever training says",
        ("training", "runningMean"),
        kernel=of_the_other_phase(training=False),
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
        "scaled_1_001",
        "results are 1.001 times as large",
        kernel=on_gradient(lambda given: given.gradient * 1.001),
    ),
    Mutant(
        "not_reproducible",
        "a race loses one element of the gradient, a different one in every run",
        kernel=on_gradient(with_race),
    ),
)
