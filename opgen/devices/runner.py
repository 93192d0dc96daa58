"""A runner for a board: copy this file there and start it through ``opgen run --backend cmd:...``.

It needs Python 3.8 and numpy, not opgen. ``python runner.py my_device`` imports ``my_device``,
which has

* ``call(call, storage, outputs)``, which runs one case. ``call`` is a line of a call file as a
  dict. Its tensors have ``strides`` and an ``offset``, in elements; ``strides`` is None if the
  tensor is contiguous. ``storage`` maps the name of each input to its 1-D buffer; if it is empty,
  only the first phase is asked for. ``outputs`` are the names of the outputs to return.

  It returns a dict: always ``status``, what the first phase returned, or a word such as "skipped";
  where they apply ``run_status``, ``outputs`` (name -> array in the shape of the call),
  ``unwritten`` (name -> count of elements that were never written), ``error`` (a text) and ``time``
  (seconds).
* optionally ``FACTS``, a dict of what is worth knowing about the device, such as its versions.

numpy has no BFLOAT16: such buffers hold the bits as uint16, and such outputs may be returned so, or
as float32. BACKENDS.md describes the frames in which the two sides talk.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import struct
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Mapping  # noqa: UP035  Python 3.8

import numpy as np

MAGIC = b"opg1"
"""How each frame begins; the digit is the version of the protocol."""
IN_FLIGHT = 8
"""Cases that may wait here, so that the board is never idle."""
if TYPE_CHECKING:
    from typing import Protocol

    Frame = tuple[dict[str, object], dict[str, np.ndarray]]

    class Stream(Protocol):
        """A binary stream, or what reads and writes as one."""

        def read(self, count: int, /) -> bytes: ...
        def write(self, content: bytes, /) -> object: ...
        def flush(self) -> object: ...


def write_frame(
    stream: Stream, head: Mapping[str, object], arrays: Mapping[str, np.ndarray] | None = None
) -> None:
    """Write a frame: the magic bytes, the length of the head (uint32), the head as JSON, and the
    bytes of the arrays in the order in which the head lists them. All numbers are little-endian.
    """
    arrays = {name: _little(array) for name, array in (arrays or {}).items()}
    listed = [
        {"name": name, "dtype": array.dtype.str, "shape": list(array.shape)}
        for name, array in arrays.items()
    ]
    text = json.dumps({**head, "arrays": listed}).encode()
    stream.write(MAGIC + struct.pack("<I", len(text)) + text)
    for array in arrays.values():
        stream.write(array.tobytes())
    stream.flush()


def read_frame(stream: Stream) -> Frame | None:
    """(head, arrays) of the next frame; None at the end of the stream. ValueError for anything
    else.
    """
    begin = stream.read(len(MAGIC) + 4)
    if not begin:
        return None
    if begin[: len(MAGIC)] != MAGIC or len(begin) < len(MAGIC) + 4:
        raise ValueError(f"not a frame of this protocol: {begin + stream.read(80)!r}")
    head = json.loads(_exactly(stream, struct.unpack("<I", begin[len(MAGIC) :])[0]))
    arrays = {}
    for listing in head.pop("arrays"):
        dtype = np.dtype(listing["dtype"])
        content = _exactly(stream, math.prod(listing["shape"]) * dtype.itemsize)
        arrays[listing["name"]] = np.frombuffer(content, dtype).reshape(listing["shape"])
    return head, arrays


def _exactly(stream: Stream, count: int) -> bytes:
    content = stream.read(count) if count > 0 else b""
    if len(content) != count:
        raise ValueError(f"a frame ends after {len(content)} of {count} bytes")
    return content


def _little(array: np.ndarray) -> np.ndarray:
    array = np.asarray(array)
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def main() -> None:
    """Answer cases in the order in which they come, until there are no more."""
    answers, requests = os.fdopen(os.dup(1), "wb"), sys.stdin.buffer
    os.dup2(2, 1)  # what the device's software prints is no frame
    sys.path.insert(0, str(Path.cwd()))
    device = importlib.import_module(sys.argv[1])
    write_frame(answers, {"in_flight": IN_FLIGHT, "facts": getattr(device, "FACTS", {})})
    while (frame := read_frame(requests)) is not None:
        head, storage = frame
        begin = time.perf_counter()
        try:
            answer = dict(device.call(head["call"], storage, head["outputs"]))
        except Exception as error:  # noqa: BLE001  even one of a wrapper is no crash
            answer = {"status": "unusable", "error": f"{type(error).__name__}: {error}"}
        arrays = answer.pop("outputs", {})
        answer.setdefault("time", time.perf_counter() - begin)
        write_frame(answers, {**answer, "case": head["case"]}, arrays)


if __name__ == "__main__":
    main()
