"""The bundle of calls of every bucket, for all tests of this room."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import opgen
from opgen.bundle.read.reader import Bundle
from tests.support import device_sample as sample


@pytest.fixture(scope="session")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample.write(tmp_path_factory.mktemp("diff") / "suite.h5")


@pytest.fixture(scope="session")
def bundle(path: Path) -> Iterator[Bundle]:
    with opgen.open(path) as opened:
        yield opened
