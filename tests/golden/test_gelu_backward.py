"""The gradient of GELU where the way is left to the device; what both ways give is tested in
test_gelu_backward_v2.py.
"""

from __future__ import annotations

from tests.golden import torch_or_skip
from tests.golden.elementwise import assert_torch_agrees


def test_the_golden_is_that_of_the_error_function() -> None:
    torch = torch_or_skip()
    assert_torch_agrees(
        "gelu_backward", torch.ops.aten.gelu_backward.default, shapes=((4, 50), (4, 50))
    )
