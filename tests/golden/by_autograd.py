"""Gradients that torch derives from the forward, in float64; a device in FLOAT stays within their
bounds, and one that is wrong in an input does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from opgen.golden import kernel
from opgen.numerics.bounds import bound
from tests.golden import distance, torch_or_skip

Shapes = Mapping[str, tuple[int, ...]]


class Gradient(NamedTuple):
    """The forward of an operator, of torch tensors and names: what it returns, and what it saves;
    the shapes of all inputs of the gradient, the incoming one first; output -> its input.
    """

    forward: Callable[[Any, Any, Any], tuple[Any, dict[str, Any]]]
    shapes: Shapes
    outputs: Mapping[str, str]
    names: Mapping[str, Any] = {}


def normal(torch: Any, x: Any, axes: tuple[int, ...]) -> tuple[Any, Any, Any]:
    """Normalised numbers, their mean and rstd."""
    mean = x.mean(axes, keepdim=True)
    rstd = 1 / torch.sqrt(((x - mean) ** 2).mean(axes, keepdim=True) + 1e-5)
    return (x - mean) * rstd, mean, rstd


def drawn(shapes: Shapes, dtype: type) -> dict[str, np.ndarray]:
    random = np.random.default_rng(3)
    return {
        name: random.standard_normal(shape).astype(dtype).astype(np.float64)
        for name, shape in shapes.items()
    }


def by_torch(of: Gradient, tensors: Mapping[str, np.ndarray], dtype: str) -> dict[str, np.ndarray]:
    """The gradients, and what the forward saved."""
    torch = torch_or_skip()
    given = {
        name: torch.from_numpy(a).to(getattr(torch, dtype)).requires_grad_()
        for name, a in tensors.items()
    }
    result, saved = of.forward(torch, given, of.names)
    incoming = given[next(iter(of.shapes))]
    found = torch.autograd.grad(
        (result * incoming).sum(), [given[name] for name in of.outputs.values()]
    )
    every = {**dict(zip(of.outputs, found, strict=True)), **saved}
    return {name: tensor.detach().double().numpy() for name, tensor in every.items()}


def agrees(op: str, of: Gradient) -> None:
    """The kernel has the gradients that torch derives in float64."""
    tensors = drawn(of.shapes, np.float64)
    expected = by_torch(of, tensors, "float64")
    saved = {name: a for name, a in expected.items() if name in of.shapes}
    inputs = {name: a[None] for name, a in {**tensors, **saved}.items()}
    found = kernel(op).golden(inputs, of.names, tuple(of.outputs))
    for name in of.outputs:
        assert distance(found[name][0], expected[name]) <= 1e-11, name


def bounds_a_device(op: str, of: Gradient) -> None:
    """A device that computes in FLOAT is within the bound; one that is wrong is mostly not."""
    of_kernel = kernel(op)
    tensors = drawn(of.shapes, np.float32)
    saved = {n: a for n, a in by_torch(of, tensors, "float64").items() if n in of.shapes}
    inputs = {name: a[None] for name, a in {**tensors, **saved}.items()}
    names = of.names, tuple(of.outputs)
    values, sizes = of_kernel.golden(inputs, *names), of_kernel.magnitude(inputs, *names)
    shapes = {name: a.shape[1:] for name, a in inputs.items()}
    device = by_torch(of, tensors, "float32")
    first = next(iter(of.shapes))
    wrong = by_torch(of, {**tensors, first: tensors[first] * 1.01}, "float32")
    for name in of.outputs:
        depth = of_kernel.depth(of.names, shapes, name)
        limit = bound(values[name], sizes[name], depth, "FLOAT")[0]
        # torch computes saved numbers itself, which costs a few roundings more
        assert (np.abs(device[name] - values[name][0]) <= 4 * limit).all(), name
        assert (np.abs(wrong[name] - values[name][0]) > limit).mean() > 0.5, name
