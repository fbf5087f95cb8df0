"""Imported once by the forkserver, so that every child starts with vLLM in memory.

Sets the engine's environment before vLLM reads it, and must not initialise CUDA: a forked child
could not use it. An import error is kept for ``probe`` to report instead of being lost.
"""

import contextlib
import gc
import importlib
import os
from collections.abc import Iterator
from pathlib import Path

DEFAULTS = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",  # the engine core in the child: errors keep their type
    "VLLM_CPU_KVCACHE_SPACE": "1",  # GiB
    "VLLM_NO_USAGE_STATS": "1",
    "HF_HUB_OFFLINE": "1",  # a child sees local folders only
    "TOKENIZERS_PARALLELISM": "false",
}
os.environ.update({key: os.environ.get(key, value) for key, value in DEFAULTS.items()})

IMPORT_ERROR: ImportError | None = None

MODULES = (
    # Imported by every run: paid once here, not in each child. They moved between vLLM versions,
    # so a missing one is not an error.
    "vllm.v1.engine.llm_engine",
    "vllm.v1.engine.core",
    "vllm.v1.worker.cpu_worker",
    "vllm.v1.worker.gpu_worker",
    "vllm.model_executor.model_loader.default_loader",
    "transformers.processing_utils",
    "torchvision",
)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Import chatter (no GPU, no Triton) would land in the middle of the progress lines."""
    saved = os.dup(1), os.dup(2)
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        for copy, original in zip(saved, (1, 2), strict=True):
            os.dup2(copy, original)
            os.close(copy)


with _quiet():
    try:
        import torch  # noqa: F401
        import transformers  # noqa: F401
        import vllm  # noqa: F401
        from vllm import LLM, SamplingParams  # noqa: F401
    except ImportError as error:
        IMPORT_ERROR = error
    else:
        for module in MODULES:
            with contextlib.suppress(ImportError):
                importlib.import_module(module)

gc.collect()
gc.freeze()  # the engine collects garbage several times a run: not over what is loaded here
