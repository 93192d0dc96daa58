"""Text files that people and other programs give: read whole, with one message where that cannot
be.
"""

from __future__ import annotations

import logging
from pathlib import Path

from opgen.model import FileError, size

_log = logging.getLogger(__name__)
MOST = 1 << 28
"""Bytes of a text that is read. An endless file, a device say, is noticed here, before it takes all
memory."""


_HDF5 = b"\x89HDF\r\n"


def no_text(error: UnicodeDecodeError) -> str:
    """What is said of bytes that are no text."""
    if _HDF5 in error.object:
        return "is an HDF5 file, such as a bundle or results, and no text; see opgen inspect"
    return f"not UTF-8: byte {error.start} is {error.object[error.start]:#04x}"


def read_text(path: str | Path, shown: str | None = None, most: int = MOST) -> str:
    """The text of a file in UTF-8; raises FileError where it cannot be opened, is none, or has more
    than ``most`` bytes. ``shown`` is what messages call the file.
    """
    file = shown or str(path)
    try:
        with open(path, "rb") as stream:
            content = stream.read(most + 1)
        if len(content) > most:
            raise FileError.of(file, "", f"cannot be read: has more than {size(most)}")
        _log.debug("%s: read, %s", file, size(len(content)))
        return content.decode()
    except UnicodeDecodeError as error:
        raise FileError.of(file, "", no_text(error)) from None
    except OSError as error:
        raise FileError.of(file, "", f"cannot be read: {error.strerror or error}") from None
