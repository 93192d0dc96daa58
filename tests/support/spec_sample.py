"""A small page as a spec, for tests that need one of their own: a scaled window sum."""

from __future__ import annotations

TEXT = """\
api: aclnnWindowBackward
page: none
products: [ascend910, ascend910b]
judges: [ascend310p, ascend910, ascend910b, ascend910_93]

parameters:
  gradOutput:
    kind: tensor
    at: 10
    dtype: {any: [FLOAT16, FLOAT], ascend910b: [FLOAT16, FLOAT, BFLOAT16]}
    format: [ND]
    shape: {3: [N, Hout, Wout], 2: [Hout, Wout]}
  self:
    kind: tensor
    at: {parameter: 11, empty: 21}
    dtype: [FLOAT16, FLOAT, BFLOAT16]
    shape: {3: [N, H, W], 2: [H, W]}
    dims: [0, null]
    empty: false
  scale:
    kind: tensor
    null: true
    shape: {1: [2]}
  kernel:
    kind: int_array
    at: 12
    length: [1, 2]
    items: {1: [[kH, kW]], 2: [kH, kW]}
    min: 1
    max: 255
  stride:
    kind: int_array
    length: [0, 1, 2]
    items: {1: [[sH, sW]], 2: [sH, sW]}
    otherwise: {0: {sH: kH, sW: kW}}
  mode: {kind: int8, at: 13, enum: {0: KEEP, 1: LOWER}}
  divisor: {kind: int64, range: [-255, 255]}
  ceil: {kind: bool}
  mask: {kind: bool_array, length: [2]}
  gradInput: {kind: output, mask: "mask[0]", null: "not mask[0]", dtype: [FLOAT16, FLOAT, BFLOAT16]}

rules:
  same_dtype: {at: 14, require: gradOutput.dtype == self.dtype}
  out_height: {require: "Hout == pooled(H, kH, sH, 0, ceil)"}
  out_width: {require: "Wout == pooled(W, kW, sW, 0, ceil)"}
  grad_shape: {require: gradInput.shape == self.shape}
  keep_half: {when: "product == 'ascend910' and self.dtype == 'FLOAT16'", require: mode != KEEP, note: two sentences disagree}
  half_kernel: {require: kH <= W / 2}

compute:
  modes: [{when: "mode == LOWER", dtype: FLOAT16}]
  exact: [gradInput]

clauses:
  161001: {1: 30}
  161002: {1: 31, 2: 32, 3: 33}

returns:
  161001: {1: [gradOutput.null, self.null, kernel.null]}
  161002: {1: [gradOutput.dtype, self.dtype, gradInput.dtype], 2: [same_dtype, kernel.length], 3: [kernel.min, mode.enum, divisor.range]}
  561103: [kernel.max]
  unstated: [product, gradOutput.format, gradOutput.rank, self.rank, self.shape, self.dims, scale.rank, scale.shape, stride.length, half_kernel]
  disputed: [keep_half]
  assumed: [self.empty, stride.null, mask.null, mask.length, gradInput.null, out_height, out_width, grad_shape]
"""

PAIR = """\
api: aclnnPairBackward
page: none
products: [ascend910]
parameters:
  x: {kind: tensor, dtype: {any: [FLOAT, FLOAT16], ascend910: [FLOAT]}, format: [ND], rank: [1, 2]}
  y: {kind: tensor, dtype: [FLOAT, FLOAT16], format: [ND], rank: [1, 2]}
  out: {kind: output, dtype: [FLOAT, FLOAT16], format: [ND], shape: {1: [W], 2: [H, W]}}
  width: {kind: int64, range: [1, 9]}
rules:
  y_dtype: {require: y.dtype == x.dtype}
  y_shape: {require: y.shape == x.shape}
  out_dtype: {require: out.dtype == y.dtype}
  out_axes: {require: "out.shape[-1] == x.shape[-1]"}
  out_width: {require: W == width}
returns:
  161001: [x.null, y.null, out.null]
  161002: [x.dtype, x.rank, y_shape, width.range]
  unstated: [product, y.dtype, out.dtype, y.rank, out.rank, x.format, y.format, out.format,
             y_dtype, out_dtype, out_axes, out_width]
"""
"""What x and width must be has a code, and so has the shape of y; the rest has none."""
