"""A test per case of a bundle, for people who keep their checks in pytest.

``pytest --opgen-bundle suite.h5 --opgen-results results.h5`` judges a results file,
``--opgen-backend torch`` runs the cases first. Several bundles are judged one by one, each with the
results that stand at the same place. A test fails where the verdict is failed, crashed or missing;
lenient, unusual and known deviating cases are expected failures (failures under
``--opgen-strict``), as are those that ``--opgen-waivers FILE`` names; inconclusive and skipped ones
are skipped, all with the reason. pytest exits 1 where the cases that ran prove nothing. Other tests
run beside them only if a path is named. The id of a case, ``suite.h5::[ID]``, runs it alone.
"""

from __future__ import annotations

import pytest

from opgen.pytest_plugin.cases import PLUGIN, Cases


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options, in a group of their own."""
    from opgen.model import TRUTHS

    group = parser.getgroup("opgen", "test vectors for NPU operators")
    group.addoption(
        "--opgen-bundle",
        metavar="FILE",
        action="append",
        default=[],
        help="a test for each case of this bundle (repeatable)",
    )
    group.addoption(
        "--opgen-results",
        metavar="FILE",
        action="append",
        default=[],
        help="what the device answered, once for each bundle",
    )
    group.addoption(
        "--opgen-backend", metavar="NAME", help="run the cases instead, as opgen run --backend does"
    )
    group.addoption(
        "--opgen-device",
        metavar="DEVICE",
        default="",
        help="device of the backend: cpu, cuda, npu:0",
    )
    group.addoption(
        "--opgen-truth", choices=TRUTHS, default="both", help="whose status codes count"
    )
    group.addoption(
        "--opgen-waivers",
        metavar="FILE",
        help="YAML file of verdicts that are accepted until a day",
    )
    group.addoption(
        "--opgen-strict",
        action="store_true",
        help="lenient, unusual and known deviating cases fail",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Whether there is anything to do."""
    bundles, results, backend, waivers = (
        config.getoption(f"--opgen-{name}") for name in ("bundle", "results", "backend", "waivers")
    )
    if not bundles:
        if results or backend or waivers:
            raise pytest.UsageError(
                "--opgen-results, --opgen-backend and --opgen-waivers need --opgen-bundle FILE"
            )
        return
    if bool(results) == bool(backend):
        raise pytest.UsageError(
            "--opgen-bundle needs either --opgen-results FILE or --opgen-backend NAME"
        )
    if results and len(results) != len(bundles):
        raise pytest.UsageError("give --opgen-results FILE once for each --opgen-bundle FILE")
    cases = Cases(config)
    config.pluginmanager.register(cases, PLUGIN)
    if config.args_source is not config.ArgsSource.ARGS:  # all that is tested, unless it is named
        config.args = []
    here = config.invocation_params.dir
    if not any((here / arg.split("::")[0]).resolve() in cases.bundles for arg in config.args):
        config.args += cases.bundles.values()
