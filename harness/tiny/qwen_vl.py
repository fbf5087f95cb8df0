"""Multimodal models of the Qwen line."""

from typing import Any

from harness.tiny.family import QWEN2_VL_PARTS, QWEN3_VL_PARTS, QWEN_VISION_SPECIAL, SIZES, Family

_QWEN3_5_TEXT: dict[str, Any] = {
    **SIZES,
    "head_dim": 256,
    # no linear attention: the CPU engine has it in bfloat16 only. Without it the engine needs
    # enable_prefix_caching=False, since it looks for a linear layer to align the cache with.
    "layer_types": ["full_attention"] * 4,
    "rope_parameters": {
        "rope_type": "default",
        "rope_theta": 10000000,
        "partial_rotary_factor": 0.25,
        "mrope_section": [11, 11, 10],
        "mrope_interleaved": True,
    },
}
_QWEN3_5_VISION = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "depth": 1,
    "num_heads": 2,
    "out_hidden_size": 64,
    "num_position_embeddings": 256,
}
_QWEN_VISION_IDS = QWEN3_VL_PARTS["token_ids"]

FAMILIES: dict[str, Family] = {
    "qwen3-vl-reranker": Family(
        architecture="Qwen3VLForConditionalGeneration",
        config={
            "text_config": {
                **SIZES,
                "head_dim": 32,
                "tie_word_embeddings": True,
                "rope_parameters": {
                    "rope_type": "default",
                    "rope_theta": 5000000,
                    "mrope_section": [6, 5, 5],
                    "mrope_interleaved": True,
                },
            },
            "vision_config": {**_QWEN3_5_VISION, "deepstack_visual_indexes": [0]},
            "tie_word_embeddings": True,
        },
        **{
            **QWEN3_VL_PARTS,
            "special": {**QWEN3_VL_PARTS["special"], "no_token": "no", "yes_token": "yes"},
        },
    ),
    "qwen2.5-vl": Family(
        architecture="Qwen2_5_VLForConditionalGeneration",
        config={
            "text_config": {
                **SIZES,
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
    "qwen3.5": Family(
        architecture="Qwen3_5ForConditionalGeneration",
        config={"text_config": _QWEN3_5_TEXT, "vision_config": _QWEN3_5_VISION},
        **QWEN3_VL_PARTS,
    ),
    "qwen3.5-moe": Family(
        architecture="Qwen3_5MoeForConditionalGeneration",
        config={
            "text_config": {
                **{k: v for k, v in _QWEN3_5_TEXT.items() if k != "intermediate_size"},
                "moe_intermediate_size": 64,
                "shared_expert_intermediate_size": 64,
                "num_experts": 4,
                "num_experts_per_tok": 2,
            },
            "vision_config": _QWEN3_5_VISION,
        },
        **QWEN3_VL_PARTS,
    ),
    "qwen3.5-yarn": Family(
        architecture="Qwen3_5ForConditionalGeneration",
        config={
            "text_config": {
                **_QWEN3_5_TEXT,
                "max_position_embeddings": 262144,
                "rope_parameters": {
                    **_QWEN3_5_TEXT["rope_parameters"],
                    "rope_type": "yarn",
                    "factor": 4.0,
                    "original_max_position_embeddings": 262144,
                },
            },
            "vision_config": _QWEN3_5_VISION,
        },
        **QWEN3_VL_PARTS,
    ),
    # multimodal models: for text-only use
    "qwen2-vl": Family(
        architecture="Qwen2VLForConditionalGeneration",
        config={
            "text_config": {
                **SIZES,
                "tie_word_embeddings": False,
                "rope_scaling": {"type": "mrope", "mrope_section": [4, 6, 6]},
            },
            "vision_config": {
                "embed_dim": 64,
                "hidden_size": 64,
                "depth": 1,
                "num_heads": 2,
                "mlp_ratio": 2,
            },
            "tie_word_embeddings": False,
        },
        special=QWEN_VISION_SPECIAL,
        token_ids=_QWEN_VISION_IDS,
        tokenizer="Qwen2TokenizerFast",
        processor="Qwen2VLProcessor",
        processor_parts=QWEN2_VL_PARTS,
    ),
    "qwen3-vl": Family(
        architecture="Qwen3VLForConditionalGeneration",
        config={
            "text_config": {
                **SIZES,
                "head_dim": 32,
                "rope_scaling": {
                    "rope_type": "default",
                    "mrope_section": [8, 4, 4],
                    "mrope_interleaved": True,
                },
            },
            "vision_config": {
                "hidden_size": 64,
                "intermediate_size": 128,
                "depth": 2,
                "num_heads": 2,
                "out_hidden_size": 64,
                "deepstack_visual_indexes": [0],
                "num_position_embeddings": 16,
            },
        },
        **QWEN3_VL_PARTS,
    ),
}
