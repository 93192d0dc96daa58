"""Layers of real networks: torch's backward of a convolution in float64, the golden kernel, and the
same without tiles, one thread each.

Medians of process CPU time of interleaved rounds, in milliseconds; a ratio above 1 means that the
kernel is faster than torch.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from math import exp, log
from unittest import mock

from opgen.golden import _products
from tests.bench._shapes import Row, convolution
from tests.bench.goldens import seconds

ROUNDS = 5


def layers() -> Iterator[Row]:
    """A line per layer: batch, channels of input and output, extents, kernel, stride, padding."""
    square = [
        ("ResNet-50 conv1", 1, (3, 64), 224, 7, 2, 3),
        *(("ResNet-50 conv2", n, (64, 64), 56, 3, 1, 1) for n in (1, 8)),
        ("ResNet-50 conv2 out", 1, (64, 256), 56, 1, 1, 0),
        *(("ResNet-50 conv3", n, (128, 128), 28, 3, 1, 1) for n in (1, 8)),
        ("ResNet-50 conv3 down", 1, (128, 128), 56, 3, 2, 1),
        *(("ResNet-50 conv4", n, (256, 256), 14, 3, 1, 1) for n in (1, 8)),
        *(("ResNet-50 conv5", n, (512, 512), 7, 3, 1, 1) for n in (1, 8)),
        ("ResNet-50 conv5 out", 1, (512, 2048), 7, 1, 1, 0),
        ("UNet top", 1, (64, 64), 128, 3, 1, 1),
        ("Stable Diffusion 64", 1, (320, 320), 64, 3, 1, 1),
        ("Stable Diffusion 32", 1, (640, 640), 32, 3, 1, 1),
        ("ViT patches", 1, (3, 768), 224, 16, 16, 0),
    ]
    for name, n, channels, extent, kernel, stride, pad in square:
        label = f"{name} N{n} {channels[0]}>{channels[1]} {extent} k{kernel}s{stride}"
        yield convolution("", label, n, channels, (extent, extent), kernel, stride, pad=(pad, pad))
    depthwise = {"pad": (2, 2), "groups": 72}
    yield convolution("", "MobileNetV3 depthwise k5s2", 1, (72, 72), (56, 56), 5, 2, **depthwise)
    yield convolution("", "DeepLab k3 dilation 2", 1, (256, 256), (33, 33), 3, 1, (2, 2), 2)
    yield convolution("", "wav2vec features k3s2", 1, (512, 512), (1999,), 3, 2)
    yield convolution("", "3D UNet k3", 1, (32, 64), (32, 32, 32), 3, pad=(1, 1))


def main(words: Sequence[str]) -> None:
    """Prints the table; with words, of the lines alone that contain one of them."""
    import torch

    torch.set_num_threads(1)
    print(f"{'':44}{'torch':>9}{'golden':>9}{'ratio':>7}{'columns':>9}{'ratio':>7}")
    ratios: list[tuple[float, float]] = []
    for row in layers():
        if words and not any(word in row.label for word in words):
            continue
        ours, theirs = row.ours(), row.theirs(torch)
        ours(), theirs()
        times: list[list[float]] = []
        for _ in range(ROUNDS):
            times.append([seconds(theirs, 1), seconds(ours, 1)])
            with mock.patch.object(_products, "choices", return_value=()):
                times[-1].append(seconds(ours, 1))
        other, golden, columns = (1e3 * statistics.median(of) for of in zip(*times, strict=True))
        ratios.append((other / golden, other / columns))
        print(
            f"{row.label:44}{other:9.1f}{golden:9.1f}{ratios[-1][0]:7.2f}{columns:9.1f}"
            f"{ratios[-1][1]:7.2f}",
            flush=True,
        )
    golden, columns = (exp(sum(map(log, of)) / len(of)) for of in zip(*ratios, strict=True))
    print(f"{'geometric mean':62}{golden:7.2f}{columns:16.2f}")
