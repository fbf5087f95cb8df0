"""The families that have a tiny checkpoint, as data: a transformers class and a small config.

A new family is one entry of ``FAMILIES``. ``head_dim`` must be at least 32: smaller heads have
no attention kernel on the CPU. Sub-configs sit in ``config`` as plain dicts; special token ids
go in by name (``tokens``), so the config and the tokenizer cannot disagree.
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


_SPECIAL = {"pad_token_id": 0, "eos_token_id": 1, "bos_token_id": 2}
_SIZES = {
    "vocab_size": VOCAB_SIZE,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 4,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "max_position_embeddings": 512,
    **_SPECIAL,
}
_TOWER = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "head_dim": 32,
}

_GEMMA4_TEXT = {
    **_SIZES,
    "head_dim": 32,
    "global_head_dim": 64,
    "sliding_window": 16,
    "layer_types": ["sliding_attention", "full_attention"] * 2,
    "final_logit_softcapping": 30.0,
}
_GEMMA4_SPECIAL = {
    "boi_token": "<|image>",
    "eoi_token": "<image|>",
    "image_token": "<|image|>",
    "boa_token": "<|audio>",
    "eoa_token": "<audio|>",
    "audio_token": "<|audio|>",
    "video_token": "<|video|>",
}
_GEMMA4_IDS = {
    "boi_token_id": "<|image>",
    "eoi_token_id": "<image|>",
    "image_token_id": "<|image|>",
    "boa_token_id": "<|audio>",
    "eoa_token_index": "<audio|>",
    "audio_token_id": "<|audio|>",
    "video_token_id": "<|video|>",
}

FAMILIES: dict[str, Family] = {
    "gemma4": Family(
        architecture="Gemma4ForConditionalGeneration",
        config={
            "text_config": {
                **_GEMMA4_TEXT,
                "hidden_size_per_layer_input": 16,
                "vocab_size_per_layer_input": VOCAB_SIZE,
            },
            # default_output_length is not in the config class; vLLM reads it off the file
            "vision_config": {
                **_TOWER,
                "position_embedding_size": 128,
                "default_output_length": 280,
            },
            "audio_config": {
                "hidden_size": 64,
                "num_hidden_layers": 1,
                "num_attention_heads": 2,
                "output_proj_dims": 64,
                "subsampling_conv_channels": [16, 8],
            },
        },
        special=_GEMMA4_SPECIAL,
        token_ids=_GEMMA4_IDS,
        processor="Gemma4Processor",
        processor_parts={
            "feature_extractor": ("Gemma4AudioFeatureExtractor", {}),
            "image_processor": ("Gemma4ImageProcessor", {}),
            "video_processor": ("Gemma4VideoProcessor", {}),
        },
    ),
    "gemma4-unified": Family(
        architecture="Gemma4UnifiedForConditionalGeneration",
        config={
            "text_config": _GEMMA4_TEXT,
            "vision_config": {
                "mm_embed_dim": 64,
                "mm_posemb_size": 128,
                "output_proj_dims": 64,
                "default_output_length": 280,
                "num_soft_tokens": 280,
            },
            "audio_config": {"audio_embed_dim": 64},
        },
        special=_GEMMA4_SPECIAL,
        token_ids=_GEMMA4_IDS,
        processor="Gemma4UnifiedProcessor",
        processor_parts={
            "feature_extractor": ("Gemma4UnifiedAudioFeatureExtractor", {}),
            "image_processor": ("Gemma4UnifiedImageProcessor", {}),
            "video_processor": ("Gemma4UnifiedVideoProcessor", {}),
        },
    ),
    "qwen3": Family(architecture="Qwen3ForCausalLM", config={**_SIZES, "head_dim": 32}),
    "gpt2": Family(
        architecture="GPT2LMHeadModel",
        config={
            "vocab_size": VOCAB_SIZE,
            "n_embd": 64,
            "n_layer": 2,
            "n_head": 2,
            "n_positions": 512,
            "bos_token_id": 1,
            "eos_token_id": 1,
        },
    ),
    "qwen2.5-vl": Family(
        architecture="Qwen2_5_VLForConditionalGeneration",
        config={
            "text_config": {
                **_SIZES,
                "tie_word_embeddings": False,
                "rope_scaling": {"type": "mrope", "mrope_section": [4, 6, 6]},
            },
            "vision_config": {
                "hidden_size": 64,
                "intermediate_size": 128,
                "depth": 1,
                "num_heads": 2,
                "out_hidden_size": 64,
                "fullatt_block_indexes": [0],
            },
            "tie_word_embeddings": False,
        },
        special={
            "vision_bos_token": "<|vision_start|>",
            "vision_eos_token": "<|vision_end|>",
            "image_token": "<|image_pad|>",
            "video_token": "<|video_pad|>",
        },
        token_ids={
            "vision_start_token_id": "<|vision_start|>",
            "vision_end_token_id": "<|vision_end|>",
            "image_token_id": "<|image_pad|>",
            "video_token_id": "<|video_pad|>",
        },
        tokenizer="Qwen2TokenizerFast",
        processor="Qwen2_5_VLProcessor",
        processor_parts={
            "image_processor": ("Qwen2VLImageProcessor", {"min_pixels": 784, "max_pixels": 3136}),
            "video_processor": ("Qwen2VLVideoProcessor", {"min_pixels": 784, "max_pixels": 3136}),
        },
    ),
}
