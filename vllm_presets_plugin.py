"""vLLM's general plugin: does nothing, and imports nothing, unless ``VLLM_PRESET`` is set."""

import os


def register() -> None:
    """Called by vLLM in each of its processes, before the first engine's config is created."""
    if os.environ.get("VLLM_PRESET"):
        from presets.plugin import install

        install()
