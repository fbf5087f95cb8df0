"""One family of tiny checkpoints, as data, and the sizes that several of them share.

``head_dim`` must be at least 32: smaller heads have no attention kernel on the CPU. Sub-configs sit
in ``config`` as plain dicts; special token ids go in by name (``token_ids``), so the config and the
tokenizer cannot disagree.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.tiny.tokenizer import VOCAB_SIZE


@dataclass(frozen=True)
class Family:
    """How to build the healthy tiny checkpoint of one model family."""

    architecture: str
    """Class name in transformers; its ``config_class`` takes ``config``."""
    config: Mapping[str, Any]
    special: Mapping[str, str] = field(default_factory=dict)
    """Special tokens of the tokenizer: attribute -> token."""
    token_ids: Mapping[str, str] = field(default_factory=dict)
    """Config field -> special token whose id it holds."""
    tokenizer: str | None = None
    """Class name of the tokenizer in transformers, where the processor insists on one."""
    processor: str | None = None
    """Class name of the multimodal processor in transformers."""
    processor_parts: Mapping[str, tuple[str, Mapping[str, Any]]] = field(default_factory=dict)
    """Argument of the processor -> class name in transformers and its arguments."""
    files: Mapping[str, Any] = field(default_factory=dict)
    """JSON files beside the model: path -> content."""
    post: tuple[str, ...] = ()
    """Defects that make it what it is on the Hub, where transformers saves it in another form."""


SPECIAL = {"pad_token_id": 0, "eos_token_id": 1, "bos_token_id": 2}
SIZES = {
    "vocab_size": VOCAB_SIZE,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 4,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "max_position_embeddings": 512,
    **SPECIAL,
}
QWEN3_VL_PARTS: dict[str, Any] = {
    "special": {
        "vision_bos_token": "<|vision_start|>",
        "vision_eos_token": "<|vision_end|>",
        "image_token": "<|image_pad|>",
        "video_token": "<|video_pad|>",
    },
    "token_ids": {
        "vision_start_token_id": "<|vision_start|>",
        "vision_end_token_id": "<|vision_end|>",
        "image_token_id": "<|image_pad|>",
        "video_token_id": "<|video_pad|>",
    },
    "tokenizer": "Qwen2TokenizerFast",
    "processor": "Qwen3VLProcessor",
    "processor_parts": {
        "image_processor": ("Qwen2VLImageProcessor", {"patch_size": 16}),
        "video_processor": ("Qwen3VLVideoProcessor", {}),
    },
}
QWEN_VISION_SPECIAL = QWEN3_VL_PARTS["special"]
QWEN2_VL_PIXELS = {"min_pixels": 784, "max_pixels": 3136}
QWEN2_VL_PARTS: Any = {
    "image_processor": ("Qwen2VLImageProcessor", QWEN2_VL_PIXELS),
    "video_processor": ("Qwen2VLVideoProcessor", QWEN2_VL_PIXELS),
}
