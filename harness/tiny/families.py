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
    files: Mapping[str, Any] = field(default_factory=dict)
    """JSON files beside the model: path -> content."""


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

_QWEN3_5_TEXT: dict[str, Any] = {
    **_SIZES,
    "head_dim": 256,
    "layer_types": ["linear_attention", "full_attention"] * 2,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 2,
    "linear_key_head_dim": 32,
    "linear_value_head_dim": 32,
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
_QWEN3_VL_PARTS: dict[str, Any] = {
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

# Two layers: each one blurs the difference of the tokens, and with it that of ways to pool them.
_ENCODER = {k: v for k, v in _SIZES.items() if k != "num_key_value_heads"} | {
    "num_hidden_layers": 2
}
_MODERNBERT = {**_ENCODER, "local_attention": 16, "cls_token_id": 2, "sep_token_id": 1}
_XLM_ROBERTA = {**_ENCODER, "position_embedding_type": "absolute"}  # as transformers 4 wrote it


def _sentence_transformer(pooling: str) -> dict[str, Any]:
    """The files by which sentence-transformers, and vLLM, know how a model was trained to pool."""
    modules = {"transformers": "Transformer", "1_Pooling": "Pooling", "2_Normalize": "Normalize"}
    return {
        "modules.json": [
            {
                "idx": index,
                "name": str(index),
                "path": "" if kind == "Transformer" else path,
                "type": f"sentence_transformers.models.{kind}",
            }
            for index, (path, kind) in enumerate(modules.items())
        ],
        "1_Pooling/config.json": {"word_embedding_dimension": 64, pooling: True},
    }


_MEAN_POOLED = _sentence_transformer("pooling_mode_mean_tokens")
_LAST_POOLED = _sentence_transformer("pooling_mode_lasttoken")

_OLDER_SIZES = {
    "vocab_size": VOCAB_SIZE,
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    **_SPECIAL,
}
_SIGLIP = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "image_size": 56,
    "patch_size": 14,
}
_CLIP = {**_SIGLIP, "model_type": "clip_vision_model", "projection_dim": 64}
_PIXTRAL = {**_TOWER, "model_type": "pixtral", "image_size": 56, "patch_size": 14}
_PIXTRAL_PARTS: Any = {
    "special": {
        "image_token": "[IMG]",
        "image_break_token": "[IMG_BREAK]",
        "image_end_token": "[IMG_END]",
    },
    "token_ids": {"image_token_index": "[IMG]"},
    "processor": "PixtralProcessor",
    "processor_parts": {
        "image_processor": ("PixtralImageProcessor", {"size": {"longest_edge": 56}}),
    },
}
_PINPOINTS = [[56, 112], [112, 56]]
_CLIP_CROP = {"size": {"shortest_edge": 56}, "crop_size": {"height": 56, "width": 56}}
_QWEN_VISION_SPECIAL = _QWEN3_VL_PARTS["special"]
_QWEN_VISION_IDS = _QWEN3_VL_PARTS["token_ids"]
_QWEN2_VL_PIXELS = {"min_pixels": 784, "max_pixels": 3136}
_QWEN2_VL_PARTS: Any = {
    "image_processor": ("Qwen2VLImageProcessor", _QWEN2_VL_PIXELS),
    "video_processor": ("Qwen2VLVideoProcessor", _QWEN2_VL_PIXELS),
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
    # Pooling models. Rerankers are causal LMs whose answer is one of the named tokens.
    "qwen2": Family(architecture="Qwen2ForCausalLM", config=_SIZES),
    "qwen3-reranker": Family(
        architecture="Qwen3ForCausalLM",
        config={**_SIZES, "head_dim": 32, "tie_word_embeddings": True},
        special={"no_token": "no", "yes_token": "yes"},
    ),
    "qwen3-vl-reranker": Family(
        architecture="Qwen3VLForConditionalGeneration",
        config={
            "text_config": {
                **_SIZES,
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
            **_QWEN3_VL_PARTS,
            "special": {**_QWEN3_VL_PARTS["special"], "no_token": "no", "yes_token": "yes"},
        },
    ),
    "gemma-reranker": Family(
        architecture="GemmaForCausalLM",
        config={**_SIZES, "head_dim": 32},
        special={"yes_token": "Yes"},
    ),
    "qwen3-embedding": Family(
        architecture="Qwen3ForCausalLM",
        config={**_SIZES, "head_dim": 32, "tie_word_embeddings": True},
        files=_LAST_POOLED,
    ),
    "qwen2-embedding": Family(architecture="Qwen2Model", config=_SIZES, files=_MEAN_POOLED),
    "qwen2-bidirectional": Family(
        architecture="Qwen2Model", config={**_SIZES, "is_causal": False}, files=_LAST_POOLED
    ),
    "qwen3-bidirectional": Family(
        architecture="Qwen3Model",
        config={**_SIZES, "head_dim": 32, "is_causal": False},
        files=_LAST_POOLED,
    ),
    "llama-bidirectional": Family(
        architecture="LlamaModel", config={**_SIZES, "is_causal": False}, files=_LAST_POOLED
    ),
    "gemma3-embedding": Family(
        architecture="Gemma3TextModel",
        config={
            **_SIZES,
            "head_dim": 32,
            "query_pre_attn_scalar": 32,
            # transformers halves it, as it is built and as it is loaded: 512 in the file, then 257
            "sliding_window": 1022,
            "layer_types": ["sliding_attention", "full_attention"] * 2,
            "use_bidirectional_attention": True,
        },
        files=_MEAN_POOLED,
    ),
    "bert": Family(architecture="BertModel", config=_ENCODER, files=_MEAN_POOLED),
    "roberta": Family(architecture="RobertaModel", config=_ENCODER, files=_MEAN_POOLED),
    "xlm-roberta": Family(architecture="XLMRobertaModel", config=_XLM_ROBERTA, files=_MEAN_POOLED),
    "modernbert": Family(
        architecture="ModernBertModel",
        config={**_MODERNBERT, "global_attn_every_n_layers": 2},
        files=_MEAN_POOLED,
    ),
    "bert-mlm": Family(
        architecture="BertForMaskedLM", config={**_ENCODER, "tie_word_embeddings": False}
    ),
    "xlm-roberta-mlm": Family(architecture="XLMRobertaForMaskedLM", config=_XLM_ROBERTA),
    "modernbert-mlm": Family(
        architecture="ModernBertForMaskedLM",
        config={**_MODERNBERT, "global_attn_every_n_layers": 2},
    ),
    "bert-multi-label": Family(
        architecture="BertForSequenceClassification",
        config={**_ENCODER, "num_labels": 3, "problem_type": "multi_label_classification"},
    ),
    "modernbert-multi-label": Family(
        architecture="ModernBertForSequenceClassification",
        config={
            **_MODERNBERT,
            "num_labels": 3,
            "problem_type": "multi_label_classification",
        },
    ),
    "qwen2-classifier": Family(
        architecture="Qwen2ForSequenceClassification", config={**_SIZES, "num_labels": 3}
    ),
    "qwen3-classifier": Family(
        architecture="Qwen3ForSequenceClassification",
        config={**_SIZES, "head_dim": 32, "num_labels": 3},
    ),
    "llama-reward": Family(
        architecture="LlamaForSequenceClassification", config={**_SIZES, "num_labels": 1}
    ),
    "qwen3-reward": Family(
        architecture="Qwen3ForSequenceClassification",
        config={**_SIZES, "head_dim": 32, "num_labels": 1},
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
    "qwen3.5": Family(
        architecture="Qwen3_5ForConditionalGeneration",
        config={"text_config": _QWEN3_5_TEXT, "vision_config": _QWEN3_5_VISION},
        **_QWEN3_VL_PARTS,
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
        **_QWEN3_VL_PARTS,
    ),
    # Healthy with YaRN, in the numbers that Qwen publishes for four times its native context.
    "qwen3-yarn": Family(
        architecture="Qwen3ForCausalLM",
        config={
            **_SIZES,
            "head_dim": 32,
            "max_position_embeddings": 40960,
            "rope_parameters": {
                "rope_type": "yarn",
                "rope_theta": 1000000,
                "factor": 4.0,
                "original_max_position_embeddings": 32768,
            },
        },
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
        **_QWEN3_VL_PARTS,
    ),
    # causal LMs: for class names that an engine refuses
    "qwen3-moe": Family(
        architecture="Qwen3MoeForCausalLM",
        config={
            **_SIZES,
            "head_dim": 32,
            "num_experts": 4,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": 64,
        },
    ),
    "mistral": Family(architecture="MistralForCausalLM", config=_SIZES),
    "mixtral": Family(architecture="MixtralForCausalLM", config={**_SIZES, "num_local_experts": 4}),
    "gemma": Family(
        architecture="GemmaForCausalLM", config={**_SIZES, "head_dim": 32, "num_hidden_layers": 3}
    ),
    # transformers ignores soft-capped attention outside its eager implementation
    "gemma2": Family(
        architecture="Gemma2ForCausalLM",
        config={
            **_SIZES,
            "head_dim": 32,
            "query_pre_attn_scalar": 32,
            "sliding_window": 16,
            "attn_logit_softcapping": None,
        },
    ),
    "gemma3-text": Family(
        architecture="Gemma3ForCausalLM",
        config={**_SIZES, "head_dim": 32, "query_pre_attn_scalar": 32, "sliding_window": 16},
    ),
    "phi3": Family(architecture="Phi3ForCausalLM", config=_SIZES),
    "olmo2": Family(architecture="Olmo2ForCausalLM", config=_SIZES),
    "granite": Family(architecture="GraniteForCausalLM", config=_SIZES),
    "starcoder2": Family(architecture="Starcoder2ForCausalLM", config=_SIZES),
    "exaone4": Family(architecture="Exaone4ForCausalLM", config=_SIZES),
    "glm4": Family(architecture="Glm4ForCausalLM", config={**_SIZES, "head_dim": 32}),
    "cohere": Family(architecture="CohereForCausalLM", config=_SIZES),
    "gpt-neox": Family(
        architecture="GPTNeoXForCausalLM", config={**_SIZES, "num_key_value_heads": 2}
    ),
    "opt": Family(
        architecture="OPTForCausalLM",
        config={**_OLDER_SIZES, "word_embed_proj_dim": 64, "ffn_dim": 128},
    ),
    "bloom": Family(architecture="BloomForCausalLM", config=_OLDER_SIZES),
    "falcon": Family(architecture="FalconForCausalLM", config=_OLDER_SIZES),
    # multimodal models: for text-only use
    "qwen2-vl": Family(
        architecture="Qwen2VLForConditionalGeneration",
        config={
            "text_config": {
                **_SIZES,
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
        special=_QWEN_VISION_SPECIAL,
        token_ids=_QWEN_VISION_IDS,
        tokenizer="Qwen2TokenizerFast",
        processor="Qwen2VLProcessor",
        processor_parts=_QWEN2_VL_PARTS,
    ),
    "qwen3-vl": Family(
        architecture="Qwen3VLForConditionalGeneration",
        config={
            "text_config": {
                **_SIZES,
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
        **_QWEN3_VL_PARTS,
    ),
    "exaone4.5": Family(
        architecture="Exaone4_5_ForConditionalGeneration",
        config={
            "text_config": {**_SIZES, "head_dim": 32},
            "vision_config": {
                "hidden_size": 64,
                "intermediate_size": 128,
                "depth": 1,
                "num_heads": 2,
                "num_key_value_heads": 2,
                "out_hidden_size": 64,
                "fullatt_block_indexes": [0],
            },
        },
        special=_QWEN_VISION_SPECIAL,
        token_ids={"image_token_id": "<|image_pad|>", "video_token_id": "<|video_pad|>"},
        processor="Exaone4_5_Processor",
        processor_parts=_QWEN2_VL_PARTS,
    ),
    "paddleocr-vl": Family(
        architecture="PaddleOCRVLForConditionalGeneration",
        config={
            "text_config": {
                **_SIZES,
                "head_dim": 32,
                "rope_parameters": {
                    "rope_type": "default",
                    "rope_theta": 500000.0,
                    "mrope_section": [4, 6, 6],
                },
            },
            "vision_config": _SIGLIP,
        },
        special={"image_token": "<|IMAGE_PLACEHOLDER|>"},
        token_ids={"image_token_id": "<|IMAGE_PLACEHOLDER|>"},
        processor="PaddleOCRVLProcessor",
        processor_parts={"image_processor": ("PaddleOCRVLImageProcessor", _QWEN2_VL_PIXELS)},
    ),
    "gemma3": Family(
        architecture="Gemma3ForConditionalGeneration",
        config={
            "text_config": {
                **_SIZES,
                "head_dim": 32,
                "query_pre_attn_scalar": 32,
                "sliding_window": 16,
            },
            "vision_config": _SIGLIP,
            "mm_tokens_per_image": 4,
        },
        special={
            "boi_token": "<start_of_image>",
            "eoi_token": "<end_of_image>",
            "image_token": "<image_soft_token>",
            # vLLM looks them up by name
            **{f"newline_{i}": "\n" * i for i in range(1, 5)},
        },
        token_ids={
            "boi_token_index": "<start_of_image>",
            "eoi_token_index": "<end_of_image>",
            "image_token_index": "<image_soft_token>",
        },
        processor="Gemma3Processor",
        processor_parts={
            "image_processor": ("Gemma3ImageProcessor", {"size": {"height": 56, "width": 56}}),
        },
    ),
    "mistral3": Family(
        architecture="Mistral3ForConditionalGeneration",
        config={
            "text_config": {**_SIZES, "model_type": "mistral", "head_dim": 32},
            "vision_config": _PIXTRAL,
        },
        **_PIXTRAL_PARTS,
    ),
    "pixtral": Family(
        architecture="LlavaForConditionalGeneration",
        config={
            "text_config": {**_SIZES, "model_type": "mistral", "head_dim": 32},
            "vision_config": _PIXTRAL,
            "vision_feature_select_strategy": "full",
            "vision_feature_layer": -1,
        },
        **_PIXTRAL_PARTS,
    ),
    "llava": Family(
        architecture="LlavaForConditionalGeneration",
        config={"text_config": {**_SIZES, "model_type": "llama"}, "vision_config": _CLIP},
        special={"image_token": "<image>"},
        token_ids={"image_token_index": "<image>"},
        processor="LlavaProcessor",
        processor_parts={"image_processor": ("CLIPImageProcessor", _CLIP_CROP)},
    ),
    "llava-next": Family(
        architecture="LlavaNextForConditionalGeneration",
        config={
            "text_config": {**_SIZES, "model_type": "llama"},
            "vision_config": _CLIP,
            "image_grid_pinpoints": _PINPOINTS,
        },
        special={"image_token": "<image>"},
        token_ids={"image_token_index": "<image>"},
        processor="LlavaNextProcessor",
        processor_parts={
            "image_processor": (
                "LlavaNextImageProcessor",
                {**_CLIP_CROP, "image_grid_pinpoints": _PINPOINTS},
            ),
        },
    ),
    "internvl": Family(
        architecture="InternVLForConditionalGeneration",
        config={
            "text_config": {**_SIZES, "model_type": "qwen2"},
            "vision_config": {**_SIGLIP, "image_size": [56, 56], "patch_size": [14, 14]},
            "image_seq_length": 4,
        },
        special={
            "start_image_token": "<img>",
            "end_image_token": "</img>",
            "context_image_token": "<IMG_CONTEXT>",
            "video_token": "<video>",
        },
        token_ids={"image_token_id": "<IMG_CONTEXT>"},
        processor="InternVLProcessor",
        processor_parts={
            "image_processor": ("GotOcr2ImageProcessor", {"size": {"height": 56, "width": 56}}),
            "video_processor": ("InternVLVideoProcessor", {"size": {"height": 56, "width": 56}}),
        },
    ),
    "idefics3": Family(
        architecture="Idefics3ForConditionalGeneration",
        config={
            "text_config": {**_SIZES, "model_type": "llama"},
            "vision_config": {**_SIGLIP, "size": {"longest_edge": 56}},
            "scale_factor": 2,
        },
        special={
            "image_token": "<image>",
            "fake_image_token": "<fake_token_around_image>",
            "global_image_token": "<global-img>",
            "end_of_utterance_token": "<end_of_utterance>",
        },
        token_ids={"image_token_id": "<image>"},
        processor="Idefics3Processor",
        processor_parts={
            "image_processor": (
                "Idefics3ImageProcessor",
                {"size": {"longest_edge": 112}, "max_image_size": {"longest_edge": 56}},
            ),
        },
    ),
    # a chunk shorter than a block of the CPU's cache has no attention kernel
    "llama4": Family(
        architecture="Llama4ForConditionalGeneration",
        config={
            "text_config": {
                **_SIZES,
                "head_dim": 32,
                "intermediate_size_mlp": 128,
                "num_local_experts": 2,
                "num_experts_per_tok": 1,
                "attention_chunk_size": 128,
            },
            "vision_config": {
                **_SIGLIP,
                "intermediate_size": 256,
                "vision_output_dim": 64,
                "projector_input_dim": 64,
                "projector_output_dim": 64,
            },
        },
        special={
            "image_token": "<|image|>",
            "start_of_image_token": "<|image_start|>",
            "end_of_image_token": "<|image_end|>",
            "patch_token": "<|patch|>",
            "tile_x_separator_token": "<|tile_x_separator|>",
            "tile_y_separator_token": "<|tile_y_separator|>",
        },
        token_ids={
            "image_token_index": "<|patch|>",
            "boi_token_index": "<|image_start|>",
            "eoi_token_index": "<|image_end|>",
        },
        processor="Llama4Processor",
        processor_parts={
            "image_processor": ("Llama4ImageProcessor", {"size": {"height": 56, "width": 56}}),
        },
    ),
    "glm4v": Family(
        architecture="Glm4vForConditionalGeneration",
        config={
            "text_config": {
                **_SIZES,
                "head_dim": 32,
                "attention_bias": True,
                "rope_parameters": {
                    "rope_type": "default",
                    "rope_theta": 10000.0,
                    "mrope_section": [4, 2, 2],
                    "partial_rotary_factor": 0.5,
                },
            },
            "vision_config": {
                "hidden_size": 64,
                "intermediate_size": 128,
                "out_hidden_size": 64,
                "depth": 1,
                "num_heads": 2,
                "image_size": 56,
                "patch_size": 14,
            },
        },
        special={
            "image_token": "<|image|>",
            "video_token": "<|video|>",
            "image_start_token": "<|begin_of_image|>",
            "image_end_token": "<|end_of_image|>",
            "video_start_token": "<|begin_of_video|>",
            "video_end_token": "<|end_of_video|>",
        },
        token_ids={
            "image_token_id": "<|image|>",
            "video_token_id": "<|video|>",
            "image_start_token_id": "<|begin_of_image|>",
            "image_end_token_id": "<|end_of_image|>",
            "video_start_token_id": "<|begin_of_video|>",
            "video_end_token_id": "<|end_of_video|>",
        },
        processor="Glm4vProcessor",
        processor_parts={
            "image_processor": ("Glm4vImageProcessor", {}),
            "video_processor": ("Glm4vVideoProcessor", {}),
        },
    ),
}
