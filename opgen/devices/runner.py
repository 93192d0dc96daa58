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
as float32. ``from runner import described, tensor`` helps: ``tensor(call, storage, "self")`` is an
input in its shape. BACKENDS.md describes the frames in which the two sides talk.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import re
import struct
import sys
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Mapping  # noqa: UP035  Python 3.8

import numpy as np

MAGIC = b"opg1"
"""How each frame begins; the digit is the version of the protocol."""
IN_FLIGHT = 16
"""Cases that may wait here, so that the board is never idle: opgen sends half as many at once."""
_ANSWER = '{"status": 0, "run_status": 0, "outputs": {NAME: ARRAY}}'
if TYPE_CHECKING:
    from typing import Protocol, TypedDict

    Frame = tuple[dict[str, object], dict[str, np.ndarray]]

    class Described(TypedDict):
        """What a call says of a tensor; strides (None: contiguous) and offset are in elements."""

        shape: list[int]
        dtype: str
        strides: list[int] | None
        offset: int

    Call = Mapping[str, Mapping[str, Described | list[Described]]]

    class Stream(Protocol):
        """A binary stream, or what reads and writes as one."""

        def read(self, count: int, /) -> bytes: ...
        def write(self, content: bytes, /) -> object: ...
        def flush(self) -> object: ...


def described(call: Call, name: str) -> Described:
    """What a call says of a tensor by its name, such as ``self``, or ``x[1]`` in a list ``x``."""
    parameter, _, item = name.partition("[")
    argument = call["args"][parameter]
    return argument[int(item[:-1])] if isinstance(argument, list) else argument


def tensor(call: Call, storage: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    """An input in its shape: a view of its buffer, which must not be written to. BFLOAT16 becomes
    float32, which is exact.
    """
    about = described(call, name)
    shape, buffer = about["shape"], storage[name][about["offset"] :]
    strides = about["strides"] or [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    steps = [step * buffer.itemsize for step in strides]
    view = np.lib.stride_tricks.as_strided(buffer, shape, steps, writeable=False)
    if about["dtype"] == "BFLOAT16":
        return (view.astype(np.uint32) << 16).view(np.float32)
    return view


def write_frame(
    stream: Stream, head: Mapping[str, object], arrays: Mapping[str, np.ndarray] | None = None
) -> None:
    """Write a frame: the magic bytes, the length of the head (uint32), the head as JSON, and the
    bytes of the arrays in the order in which the head lists them. All numbers are little-endian.
    Raises before it writes anything if something cannot be sent.
    """
    arrays = {name: _little(name, array) for name, array in (arrays or {}).items()}
    listed = [
        {"name": name, "dtype": array.dtype.str, "shape": array.shape}
        for name, array in arrays.items()
    ]
    text = _ENCODE({**head, "arrays": listed}).encode()
    stream.write(MAGIC + struct.pack("<I", len(text)) + text)
    for array in arrays.values():
        stream.write(array.tobytes())
    stream.flush()


def _number(value: object) -> object:
    """A number of numpy's as one that JSON has."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r:.60} is neither a number nor a text, and cannot be sent")


_ENCODE = json.JSONEncoder(check_circular=False, default=_number).encode


def read_frame(stream: Stream) -> Frame | None:
    """(head, arrays) of the next frame; None at the end of the stream. ValueError for anything
    else.
    """
    begin = stream.read(len(MAGIC) + 4)
    if not begin:
        return None
    if begin[: len(MAGIC)] != MAGIC or len(begin) < len(MAGIC) + 4:
        raise ValueError(f"not a frame of this protocol: {begin + stream.read(80)!r}")
    head = json.loads(_exactly(stream, struct.unpack("<I", begin[len(MAGIC) :])[0]).decode())
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


def _little(name: str, array: np.ndarray) -> np.ndarray:
    array = np.asarray(array)
    if array.dtype.hasobject:
        raise TypeError(f"{name} holds objects of Python, and cannot be sent")
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def main() -> None:
    """Answer cases in the order in which they come, until there are no more."""
    if len(sys.argv) != 2:
        print("usage: python3 runner.py MODULE (my_device for my_device.py)", file=sys.stderr)
        sys.exit(2)
    answers, requests = os.fdopen(os.dup(1), "wb"), sys.stdin.buffer
    os.dup2(2, 1)  # what the device's software prints is no frame
    sys.path.insert(0, str(Path.cwd()))
    try:
        device = importlib.import_module(re.sub(r"\.py$", "", sys.argv[1]))
        call, folder = device.call, Path(str(device.__file__)).resolve().parent
    except Exception as error:  # noqa: BLE001  whatever a module does when it is imported
        traceback.print_exc()
        sys.exit(_told(error, Path.cwd()))  # the last line is what opgen shows
    write_frame(answers, {"in_flight": IN_FLIGHT, "facts": getattr(device, "FACTS", {})})
    while (frame := read_frame(requests)) is not None:
        head, storage = frame
        begin = time.perf_counter()
        try:
            answer = call(head["call"], storage, head["outputs"])
            if not isinstance(answer, dict):
                raise TypeError(f"call returned {answer!r:.60}; it returns a dict: {_ANSWER}")
            answer = {"time": time.perf_counter() - begin, **answer, "case": head["case"]}
            write_frame(answers, answer, answer.pop("outputs", {}))
        except Exception as error:  # noqa: BLE001  even one of a wrapper is no crash
            told = {"status": "unusable", "error": _told(error, folder), "raised": True}
            write_frame(answers, {**told, "case": head["case"]})


def _told(error: Exception, folder: Path) -> str:
    """What was raised, and the lines of the files of a folder on the way there, the innermost
    first.
    """
    places = [
        f"{Path(frame.filename).name}:{frame.lineno}"
        for frame in reversed(traceback.extract_tb(error.__traceback__))
        if not frame.filename.startswith((__file__, "<"))  # such as <frozen importlib._bootstrap>
        and Path(frame.filename).resolve().parent == folder
    ]
    text = f"{type(error).__name__}: {error}"
    return f"{text} ({', '.join(places[:5])})" if places else text


if __name__ == "__main__":
    main()
