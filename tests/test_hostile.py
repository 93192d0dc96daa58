"""Every reader against files that nobody meant: one clear refusal or a good reading, never a
traceback, a hang or a blow-up.

OPGEN_FUZZ sets how many mutated inputs each reader is given; the default suits a run of all tests.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import resource
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import yaml
from click.testing import CliRunner

import opgen
from opgen.bundle.format import container
from opgen.bundle.format.dtypes import BundleError
from opgen.bundle.format.root_digest import digest_table
from opgen.bundle.read import opening
from opgen.bundle.read.verify import verify
from opgen.bundle.results.reader import ResultsFile
from opgen.calls.jsonl import read_calls
from opgen.calls.table import from_calls
from opgen.cli import main
from opgen.files import yamlfile
from opgen.files.resources import cases_folder, specs_folder
from opgen.generation import engine
from opgen.lock.lockfile import Lock, read_lock
from opgen.lock.refresh import refresh
from opgen.model import FileError
from opgen.oracle import erratafile
from opgen.oracle.judgement import judge
from opgen.spec import specfile
from opgen.spec.catalog import catalog
from opgen.suite.planned_suite import plan_suite
from opgen.suite.planning.compiled_plan import CompiledPlan
from opgen.suite.planning.plan import load_plan, plan_for
from opgen.suite.planning.plan_check import checked_plan
from tests.support.suites import of_calls

COUNT = int(os.environ.get("OPGEN_FUZZ", "120"))
REFUSALS = (FileError, BundleError)
WORDS = [
    b"&a ",
    b"*a",
    b"[" * 60,
    b"{",
    b"}",
    b"null",
    b"no",
    b"1e999",
    b"-9223372036854775809",
    b"!!python/object/apply:os.system [id]",
    b"\x00",
    b"\xff\xfe",
    b"9" * 400,
    b'"',
    b"'",
    b": ",
    b"- ",
    b"\n",
    b"\t",
    b"!!binary abc",
    b"<<: *a",
    b"1:30",
    b"2020-01-01",
]


def mutated(content: bytes, rng: random.Random) -> bytes:
    """A few random faults: bytes flipped, pieces removed, repeated or swapped, hostile words put
    in.
    """
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 4, 9))):
        at = rng.randrange(len(data) + 1)
        size = min(rng.choice((1, 2, 8, 64, 512)), max(len(data) - at, 0))
        match rng.randrange(5):
            case 0 if size:
                data[at] ^= 1 << rng.randrange(8)
            case 1:
                del data[at : at + size]
            case 2:
                data[at:at] = data[at : at + size]
            case 3:
                data[at:at] = rng.choice(WORDS)
            case _:
                other = rng.randrange(len(data) + 1)
                data[at : at + size] = data[other : other + size]
    return bytes(data)


def hammer(content: bytes, path: Path, read, count: int = COUNT, seed: int = 0) -> tuple[int, int]:
    """(readings, refusals) of mutated inputs; anything but a refusal ends the test, and so does a
    slow one.
    """
    rng = random.Random(seed)
    good = refused = 0
    for _ in range(count):
        path.write_bytes(mutated(content, rng))
        began = time.monotonic()
        try:
            read(path)
            good += 1
        except REFUSALS as error:
            refused += 1
            assert str(error).strip()
        assert time.monotonic() - began < 20, "hangs"
    return good, refused


def a_spec(path: Path) -> None:
    """What is read judges calls."""
    spec = specfile.load(path)
    assert judge(spec, from_calls(spec.api, spec.kinds, [])).expectations().values == () and all(
        rule.text for rule in spec.rules
    )


def a_plan(path: Path) -> None:
    plan = load_plan(path)
    for spec in catalog().specs:
        if spec.api == plan.op:
            for tier in plan.tiers:
                CompiledPlan(spec, plan, tier)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A bundle, its results and its lock, of one operator."""
    folder = tmp_path_factory.mktemp("small")
    pages = [
        (spec, plan_for(spec.op))
        for spec in catalog().specs
        if spec.op == "reflection_pad2d_backward"
    ]
    suite = plan_suite(pages, "smoke", patterns=["*.pad*"]).subset(range(6))
    engine.write(suite, folder / "small.h5", {"seed": 0}, seed=0)
    with (
        opgen.open(folder / "small.h5") as bundle,
        opgen.Results.create(folder / "small-results.h5", bundle) as results,
    ):
        for case in bundle:
            results.add(case.id, status=0, outputs=dict(case.golden.items()))
    refresh(pages, "smoke", Lock()).lock.write(folder / "small.lock")
    return folder


@pytest.mark.parametrize(
    "name", ["avg_pool2d_backward", "reflection_pad2d_backward", "group_norm_backward"]
)
def test_specs(tmp_path, name):
    good, refused = hammer(
        (specs_folder() / f"{name}.yaml").read_bytes(), tmp_path / f"{name}.yaml", a_spec
    )
    assert good > 0 and refused > 0


@pytest.mark.parametrize("name", ["avg_pool2d_backward", "group_norm_backward"])
def test_plans(tmp_path, name):
    _, refused = hammer(
        (cases_folder() / f"{name}.yaml").read_bytes(), tmp_path / f"{name}.yaml", a_plan
    )
    assert refused > 0


KINDS = [[["x"]], {"a": 1}, {"a": {"b": [1]}}, 3, -1, True, None, "", "word", [], {}, 1.5, 10**30]


def places(value: Any, at: tuple = ()) -> Iterator[tuple]:
    yield at
    for key, item in (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    ):
        yield from places(item, (*at, key))


def put(value: Any, at: tuple, new: Any) -> Any:
    """``value`` with something else at one place."""
    if not at:
        return new
    changed = value.copy()
    changed[at[0]] = put(value[at[0]], at[1:], new)
    return changed


WRITTEN = {
    "spec": (specs_folder() / "reflection_pad2d_backward.yaml", specfile.load),
    "plan": (
        cases_folder() / "reflection_pad2d_backward.yaml",
        lambda path: checked_plan(path, catalog()),
    ),
    "errata": (
        specs_folder() / "errata" / "reflection_pad2d_backward.yaml",
        lambda path: erratafile.load(path, catalog()),
    ),
}


@pytest.mark.parametrize("what", WRITTEN)
def test_a_value_of_another_kind_anywhere(tmp_path, what):
    """Every place of a good file may hold anything: the file is read or refused."""
    source, read = WRITTEN[what]
    read(source)
    data, rng, refused = yamlfile.read(source).data, random.Random(3), 0
    every = [(at, new) for at in places(data) for new in KINDS]
    some = rng.sample(every, min(COUNT, len(every)))
    for at, new in some:
        path = tmp_path / source.name
        path.write_text(yaml.safe_dump(put(data, at, new), sort_keys=False), encoding="utf-8")
        try:
            read(path)
        except FileError as error:
            refused += 1
            assert all(problem.text for problem in error.problems)
    assert refused > len(some) // 3


def test_calls(tmp_path):
    lines = gzip.decompress(
        (Path(__file__).parent / "data" / "library_sample.jsonl.gz").read_bytes()
    ).split(b"\n")[:3]
    _, refused = hammer(
        b"\n".join(lines),
        tmp_path / "calls.jsonl",
        lambda path: read_calls(path, catalog().kinds),
        COUNT * 3,
    )
    assert refused > 0


def test_compressed_calls(tmp_path):
    packed = gzip.compress(b'{"id": "x"}\n' * 50)
    _, refused = hammer(
        packed, tmp_path / "calls.jsonl.gz", lambda path: read_calls(path, catalog().kinds)
    )
    assert refused > COUNT // 2


def test_locks(tmp_path, small):
    _, refused = hammer((small / "small.lock").read_bytes(), tmp_path / "x.lock", read_lock)
    assert refused > 0


def everything(path: Path) -> dict[str, Any]:
    """All that a reader is told of the cases of a bundle."""
    with opgen.open(path) as bundle:
        return {
            case.id: (
                case.call,
                case.expect,
                {
                    (role, name): (tensor.dtype, tensor.shape, tensor.tobytes())
                    for role in ("inputs", "storage", "golden", "bound")
                    for name, tensor in getattr(case, role).items()
                },
            )
            for case in bundle
        }


def test_bundles(tmp_path, small):
    """Nothing is ever read as good that is not: a changed byte is refused, or lies where it changes
    nothing.
    """
    content, whole = (small / "small.h5").read_bytes(), everything(small / "small.h5")
    assert len(whole) == 6 and all(tensors for _, _, tensors in whole.values())

    def read(path: Path) -> None:
        assert everything(path) == whole

    good, _ = hammer(content, tmp_path / "x.h5", read)
    assert 0 < good < COUNT // 4


def resealed(source: Path, target: Path, change: Callable[[dict[str, np.ndarray]], object]) -> None:
    """A copy with changed tables, and with digests of them as if they had been written so."""
    target.write_bytes(source.read_bytes())
    file = opening.OpenedFile(source, "bundle")
    file.close()
    with h5py.File(source) as whole:
        names = [
            name
            for name in (*file.tables, *(f"data/{one}" for one in whole["data"]))
            if whole[name].size
        ]
        offsets = {name: whole[name].id.get_offset() for name in names}
    order = [name.decode() for name in file.tables["digests"]["table"].tolist()]
    tables = {name: file.tables[name].copy() for name in order if name in file.tables}
    change(tables)
    ranges = tuple(
        (blob.start, blob.start + blob.elements * blob.dtype.itemsize)
        for blob in file.blobs.values()
        if blob.elements
    )
    skeleton = container.Skeleton(target, offsets, ranges, target.stat().st_size)
    with open(target, "r+b", buffering=0) as raw:
        for name, table in tables.items():
            container.write_table(raw.fileno(), skeleton, name, table)
    container.seal(skeleton, "bundle", digest_table(file.header, tables, file.strings))


COMMANDS = (
    ["inspect"],
    ["inspect", "--json"],
    ["verify"],
    ["unpack", "-o", "unpacked"],
    ["export", "npz", "-o", "npz"],
)


def test_tables_under_digests_of_their_own(tmp_path, small, monkeypatch):
    """Whoever writes a file writes its digests as well: numbers that stand for nothing are told,
    and no command dies of others.
    """
    monkeypatch.chdir(tmp_path)
    resealed(small / "small.h5", Path("x.h5"), lambda tables: None)
    assert Path("x.h5").read_bytes() == (small / "small.h5").read_bytes()
    with opgen.open("x.h5") as whole:
        spots = [
            (name, column)
            for name, table in whole.tables.items()
            if name != "digests"
            for column in table.dtype.names or ("",)
        ]
    rng, sound = random.Random(9), 0
    rng.shuffle(spots)
    for turn in range(COUNT // 2):
        name, column = spots[turn % len(spots)]
        value = rng.choice((0, 1, 2, 7, 99, -1, "least", "most"))

        def change(tables: dict[str, np.ndarray], name=name, column=column, value=value) -> None:
            cells = tables[name][column] if column else tables[name]
            some = slice(None) if rng.random() < 0.3 else rng.randrange(max(len(cells), 1))
            if len(cells) and cells.dtype.kind in "iu":
                info = np.iinfo(cells.dtype)
                number = {"least": info.min, "most": info.max}.get(value, value)
                cells[some] = min(max(number, info.min), info.max)
            elif len(cells) and cells.dtype.kind == "S":
                cells[some] = rng.choice((b"", b"\xff\xfe", b"x" * cells.dtype.itemsize))

        resealed(small / "small.h5", Path("x.h5"), change)
        what = (name, column, value)
        if lines := verify("x.h5"):
            assert all("Error" not in line for line in lines), (what, lines)
        with suppress(*REFUSALS):
            everything(Path("x.h5"))
            sound += 1
        for command, *options in COMMANDS:
            shutil.rmtree("unpacked", ignore_errors=True)
            shutil.rmtree("npz", ignore_errors=True)
            told = CliRunner().invoke(
                main,
                [command, *options[: command == "export"], "x.h5", *options[command == "export" :]],
            )
            assert told.exit_code in (0, 1, 2) and "fault of opgen" not in told.output, (
                what,
                command,
                told.output,
            )
    assert COUNT // 40 < sound < COUNT // 2


def test_verify_says_and_never_raises(tmp_path, small):
    content, rng, path = (small / "small.h5").read_bytes(), random.Random(5), tmp_path / "v.h5"
    assert verify(small / "small.h5") == []
    for _ in range(COUNT):
        path.write_bytes(changed := mutated(content, rng))
        assert bool(verify(path)) == (changed != content)


def test_results(tmp_path, small):
    content = (small / "small-results.h5").read_bytes()
    _, refused = hammer(content, tmp_path / "r.h5", lambda path: list(ResultsFile(path)))
    assert refused > COUNT // 2


def test_an_alias_bomb_is_refused_quickly():
    bomb = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
        f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 12)
    )
    began = time.monotonic()
    with pytest.raises(FileError, match="aliases that repeat each other"):
        yamlfile.parse(bomb)
    assert time.monotonic() - began < 20


def test_deep_nesting_is_refused():
    with pytest.raises(FileError):
        yamlfile.parse("a: " + "[" * 100_000)
    with pytest.raises(FileError):
        yamlfile.parse("a: " + "[" * 300 + "]" * 300)


def test_a_deep_or_huge_call_is_refused(tmp_path):
    path = tmp_path / "deep.jsonl"
    call = {"id": "x", "op": "aclnnReflectionPad2dBackward", "product": "ascend910b", "args": {}}
    path.write_text('{"a": ' + "[" * 100_000 + "\n" + json.dumps(call) + "\n")
    with pytest.raises(FileError) as error:
        read_calls(path, catalog().kinds)
    assert len(error.value.problems) == 2


def test_a_tensor_that_claims_the_world_costs_nothing(tmp_path):
    side = 2**30
    tensor = {"shape": [side, side], "dtype": "FLOAT", "format": "ND"}
    args = {
        "gradOutput": {**tensor, "shape": [side, side, side]},
        "self": {**tensor, "shape": [side, side, side]},
        "padding": [0, 0, 0, 0],
        "gradInput": {**tensor, "shape": [side, side, side]},
    }
    path = tmp_path / "world.jsonl"
    path.write_text(
        json.dumps(
            {"id": "w", "op": "aclnnReflectionPad2dBackward", "product": "ascend910b", "args": args}
        )
        + "\n"
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    known = catalog()
    suite = of_calls(read_calls(path, known.kinds))
    assert suite.cases[0].page.codes == (0,)
    assert suite.cases[0].phase == 1
    engine.write(suite, tmp_path / "world.h5", {"seed": 0}, seed=0)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000
