"""A cluster writes the bytes that one process writes, also when a worker is lost."""

from __future__ import annotations

import os
import signal
import sys

import pytest

from opgen.generation import cluster, engine
from opgen.model import FileError
from opgen.spec.catalog import catalog
from opgen.suite.planned_suite import plan_suite
from opgen.suite.planning.plan import plan_for
from tests.support.suites import SLOW

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def suite():
    pages = [
        (spec, plan_for(spec.op))
        for spec in catalog().specs
        if spec.op in ("group_norm_backward", "avg_pool2d_backward")
    ]
    return plan_suite(pages, "standard")


@pytest.fixture(scope="module")
def expected(suite, tmp_path_factory):
    path = tmp_path_factory.mktemp("one") / "one.h5"
    engine.write(suite, path, {"seed": 3}, seed=3)
    return path.read_bytes()


def started(workers):
    return distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        dashboard_address=":0",
        silence_logs=50,
    )


def write(suite, path, cluster, **more):
    engine.write(suite, path, {"seed": 3}, seed=3, dask=cluster.scheduler_address, **more)


@pytest.fixture
def mortal():
    """Two workers that a test may spoil or kill; three where the tests take their time."""
    with started(3 if SLOW else 2) as found:
        yield found


def test_three_workers_write_what_one_process_writes(suite, expected, tmp_path):
    told: list[int] = []
    with started(3) as local:
        write(suite, tmp_path / "many.h5", local, progress=told.append)
    assert (tmp_path / "many.h5").read_bytes() == expected
    assert sum(told) == len(suite.cases)


def test_a_worker_that_dies_loses_nothing(suite, expected, mortal, tmp_path):
    victim, done, killed_at = next(iter(mortal.workers.values())).process.process.pid, 0, 0

    def advance(cases):
        nonlocal done, killed_at
        done += cases
        if not killed_at and done > sum(
            case.phase == 1 for case in suite.cases
        ):  # the first answers with data are there
            os.kill(victim, signal.SIGKILL)
            killed_at = done

    write(suite, tmp_path / "lost.h5", mortal, progress=advance, chunk=1 << 10)
    assert 0 < killed_at < done == len(suite.cases)
    assert (tmp_path / "lost.h5").read_bytes() == expected


def doctored() -> None:
    """Another version of a kernel: what it returns is wrong by a unit in the last place."""
    import opgen.golden.group_norm_backward as kernel

    right = kernel.golden
    kernel.golden = lambda *of: {out: array * (1 + 2.0**-52) for out, array in right(*of).items()}


def test_a_worker_with_other_code_is_refused_by_name(suite, mortal, tmp_path):
    spoilt = list(mortal.workers.values())[1]
    with distributed.Client(mortal.scheduler_address) as client:
        client.run(doctored, workers=[spoilt.worker_address])
    with pytest.raises(FileError) as caught:
        write(suite, tmp_path / "x.h5", mortal)
    said = str(caught.value)
    assert f"worker 1 ({spoilt.worker_address}) has another opgen" in said
    assert "other results of kernel group_norm_backward;" in said
    assert not (tmp_path / "x.h5").exists()


def test_work_that_every_worker_dies_of_is_one_message(suite, mortal, tmp_path):
    with distributed.Client(mortal.scheduler_address) as client:
        client.run_on_scheduler(
            lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 0)
        )
    found = cluster.computed(
        lambda chunk: os._exit(1),
        lambda threads: [suite.batches[:1]],
        ((), ()),
        mortal.scheduler_address,
    )
    with pytest.raises(
        FileError,
        match=(
            "^`dask`: .*one worker after the other died of the same piece of work; give them more"
            " memory"
        ),
    ):
        list(found)


def test_a_cluster_without_a_worker_is_one_message(suite, tmp_path):
    with (
        distributed.LocalCluster(
            n_workers=0, processes=False, dashboard_address=":0", silence_logs=50
        ) as empty,
        pytest.raises(
            FileError,
            match="^`dask`: .*the cluster has no worker; start one with 'dask worker ADDRESS'$",
        ),
    ):
        engine.write(suite, tmp_path / "none.h5", {"seed": 3}, seed=3, dask=empty.scheduler_address)


def test_without_its_package_a_cluster_is_one_message(suite, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(FileError, match=r"needs dask.distributed: pip install distributed"):
        engine.write(suite, tmp_path / "none.h5", {"seed": 3}, seed=3, dask="tcp://127.0.0.1:1")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("address", ["zzz", "pigeon://coop:1", ""])
def test_what_is_no_address_is_one_message(suite, tmp_path, address):
    with pytest.raises(FileError, match="^`dask`: .*no scheduler answers: .*address"):
        list(cluster.computed(lambda chunk: [], lambda threads: [], ((), ()), address))


def test_nobody_at_the_address_is_one_message():
    with pytest.raises(FileError, match="no scheduler answers"):
        list(
            cluster.computed(
                lambda chunk: [], lambda threads: [], ((), ()), "tcp://127.0.0.1:1", "1s"
            )
        )
