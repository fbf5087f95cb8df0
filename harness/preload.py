"""Imported once by the forkserver, so that every child starts with vLLM in memory.

Sets the engine's environment before vLLM reads it, and must not initialise CUDA: a forked child
could not use it. An import error is kept for ``probe`` to report instead of being lost.
"""

import contextlib
import gc
import os

DEFAULTS = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",  # the engine core in the child: errors keep their type
    "VLLM_CPU_KVCACHE_SPACE": "1",  # GiB
    "VLLM_NO_USAGE_STATS": "1",
    "HF_HUB_OFFLINE": "1",  # a child sees local folders only
    "TOKENIZERS_PARALLELISM": "false",
}
os.environ.update({key: os.environ.get(key, value) for key, value in DEFAULTS.items()})

IMPORT_ERROR: ImportError | None = None

try:
    import torch  # noqa: F401
    import transformers  # noqa: F401
    import vllm  # noqa: F401
    from vllm import LLM, SamplingParams  # noqa: F401
except ImportError as error:
    IMPORT_ERROR = error
else:
    # Modules that every run imports: paid once here, not in each child. They moved between vLLM
    # versions, so a missing one is not an error.
    for module in (
        "vllm.v1.engine.llm_engine",
        "vllm.v1.engine.core",
        "vllm.v1.worker.cpu_worker",
        "vllm.v1.worker.gpu_worker",
        "vllm.model_executor.model_loader.default_loader",
        "transformers.processing_utils",
        "torchvision",
    ):
        with contextlib.suppress(ImportError):
            __import__(module)

gc.collect()
gc.freeze()  # the engine collects garbage several times a run: not over what is loaded here
