"""The harness as a pytest plugin: claims as test parameters, the same cells as ``harness verify``.

A test that takes ``preset_cell`` runs once for every claim: of the presets' Hub checkpoints where
it is marked ``gpu``, of their tiny ones otherwise. A list ``PRESETS`` in the test's module names
the presets it takes where ``--preset`` does not; without either it takes all. Loaded in every
pytest session of an environment that has vllm-presets, so nothing heavy is imported before a test
asks for it.
"""

import argparse
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from harness.cells import Cell
    from harness.isolation import Isolation
    from harness.outcome import Environment
    from harness.records import Record
    from harness.verify import Verifier

MARKERS = {
    "engine": "runs the real vLLM on tiny checkpoints (extra cpu or gpu)",
    "gpu": "loads Hub checkpoints on a GPU; run with -m gpu",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("vllm-presets")
    group.addoption(
        "--preset",
        action="append",
        type=_preset_name,
        metavar="NAME",
        help="only this preset's claims",
    )
    group.addoption(
        "--checkpoint", action="append", metavar="NAME", help="only claims about this checkpoint"
    )
    group.addoption(
        "--require-gpu", action="store_true", help="a skipped test marked gpu fails the run"
    )
    group.addoption(
        "--rehearse-gpu", action="store_true", help="run tests marked gpu on the CPU engine"
    )
    group.addoption(
        "--records", type=Path, metavar="FILE", help="append a JSON line for every cell"
    )


def _preset_name(name: str) -> str:
    import presets

    try:
        presets.registry.resolve(name)
    except presets.UnknownNameError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return name


def pytest_configure(config: pytest.Config) -> None:
    for name, text in MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {text}")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "preset_cell" not in metafunc.fixturenames:
        return
    on_hub = metafunc.definition.get_closest_marker("gpu") is not None
    default = getattr(metafunc.module, "PRESETS", None)
    found = _cells(metafunc.config, default, on_hub=on_hub)
    metafunc.parametrize("preset_cell", found, ids=[f"{c.preset.name}: {c.label}" for c in found])


def _cells(config: pytest.Config, default: list[str] | None, *, on_hub: bool) -> "list[Cell]":
    import presets
    from harness.cells import cells

    version = presets.registry.default_vllm()
    bound = []
    for name in config.getoption("preset") or default or presets.names():
        try:
            bound.append(presets.Preset(presets.registry.resolve(name), version))
        except presets.UnsupportedVersionError:
            continue  # not offered for the installed vLLM
    wanted = config.getoption("checkpoint")
    found = cells(bound, version, hub=on_hub)
    return [c for c in found if not wanted or c.claim.checkpoint in wanted]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, None, None]:
    return (yield from _fail_if_skipped(item))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    return (yield from _fail_if_skipped(item))


def _fail_if_skipped(item: pytest.Item) -> Generator[None, None, None]:
    """``--require-gpu``, around the setup and the call of a test marked gpu."""
    try:
        return (yield)
    except pytest.skip.Exception as skipped:
        if item.get_closest_marker("gpu") and item.config.getoption("require_gpu"):
            reason = f"--require-gpu: {skipped}"
            raise pytest.fail.Exception(reason, pytrace=False) from None
        raise


@pytest.fixture(scope="session")
def isolation() -> "Isolation":
    """The forkserver with vLLM in memory."""
    from harness.isolation import Isolation

    return Isolation()


@pytest.fixture(scope="session")
def environment(isolation: "Isolation") -> "Environment":
    """What is installed and which device there is."""
    from harness.outcome import Environment
    from harness.probe import probe

    return isolation.call(probe, answer=Environment)


@pytest.fixture(scope="session")
def verifier(isolation: "Isolation", environment: "Environment") -> "Verifier":
    """Runs cells; builds every checkpoint and computes every reference once a session."""
    from harness.verify import Verifier

    return Verifier(isolation, environment)


@pytest.fixture
def prove(request: pytest.FixtureRequest, verifier: "Verifier") -> "Callable[[Cell], Record]":
    """Run a cell without and with its preset, keep its record (``--records``) and return it.

    Skips a cell that this device cannot run, and says why.
    """
    from harness import records
    from harness.errors import HubError
    from harness.hub import cannot_run, download

    def run(cell: "Cell") -> "Record":
        environment = verifier.environment
        if cell.unknown:
            pytest.skip(cell.unknown)
        if cell.claim.device not in (None, environment.device):
            pytest.skip(f"the claim is about {cell.claim.device}, this is {environment.device}")
        if cell.claim.on_hub:
            if environment.device != "cuda" and not request.config.getoption("rehearse_gpu"):
                pytest.skip("no CUDA device (--rehearse-gpu runs it on the CPU)")
            if reason := cannot_run(cell.claim, environment):
                pytest.skip(reason)
            try:
                download(cell.claim.checkpoint)
            except HubError as error:
                pytest.skip(str(error))
        entry = verifier.run(cell)
        if path := request.config.getoption("records"):
            records.append(path, entry)
        return entry

    return run
