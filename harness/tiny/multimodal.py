"""Multimodal models: towers, special tokens, and a processor."""

from dataclasses import replace
from typing import Any

from harness.tiny.family import QWEN2_VL_PARTS, QWEN2_VL_PIXELS, QWEN_VISION_SPECIAL, SIZES, Family
from harness.tiny.tokenizer import VOCAB_SIZE

_TOWER = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "head_dim": 32,
}
_GEMMA4_TEXT = {
    **SIZES,
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
_PUBLISHED_TOWER = ("rename=vision_tower.=>vision_tower.vision_model.",)
"""transformers 5.19 saves SigLIP and CLIP without the inner name."""
_PINPOINTS = [[56, 112], [112, 56]]
_CLIP_CROP = {"size": {"shortest_edge": 56}, "crop_size": {"height": 56, "width": 56}}

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
    "exaone4.5": Family(
        architecture="Exaone4_5_ForConditionalGeneration",
        config={
            "text_config": {**SIZES, "head_dim": 32},
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
        special=QWEN_VISION_SPECIAL,
        token_ids={"image_token_id": "<|image_pad|>", "video_token_id": "<|video_pad|>"},
        processor="Exaone4_5_Processor",
        processor_parts=QWEN2_VL_PARTS,
    ),
    "paddleocr-vl": Family(
        architecture="PaddleOCRVLForConditionalGeneration",
        config={
            "text_config": {
                **SIZES,
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
        processor_parts={"image_processor": ("PaddleOCRVLImageProcessor", QWEN2_VL_PIXELS)},
    ),
    "gemma3": Family(
        architecture="Gemma3ForConditionalGeneration",
        config={
            "text_config": {
                **SIZES,
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
            "text_config": {**SIZES, "model_type": "mistral", "head_dim": 32},
            "vision_config": _PIXTRAL,
        },
        **_PIXTRAL_PARTS,
    ),
    "mistral3-untied": Family(
        architecture="Mistral3ForConditionalGeneration",
        config={
            "text_config": {**SIZES, "model_type": "mistral", "head_dim": 32},
            "vision_config": _PIXTRAL,
            "tie_word_embeddings": False,
        },
        **_PIXTRAL_PARTS,
    ),
    "pixtral": Family(
        architecture="LlavaForConditionalGeneration",
        config={
            "text_config": {**SIZES, "model_type": "mistral", "head_dim": 32},
            "vision_config": _PIXTRAL,
            "vision_feature_select_strategy": "full",
            "vision_feature_layer": -1,
        },
        **_PIXTRAL_PARTS,
    ),
    "llava": Family(
        architecture="LlavaForConditionalGeneration",
        config={"text_config": {**SIZES, "model_type": "llama"}, "vision_config": _CLIP},
        special={"image_token": "<image>"},
        token_ids={"image_token_index": "<image>"},
        processor="LlavaProcessor",
        processor_parts={"image_processor": ("CLIPImageProcessor", _CLIP_CROP)},
    ),
    "llava-next": Family(
        architecture="LlavaNextForConditionalGeneration",
        config={
            "text_config": {**SIZES, "model_type": "llama"},
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
            "text_config": {**SIZES, "model_type": "qwen2"},
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
            "text_config": {**SIZES, "model_type": "llama"},
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
                **SIZES,
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
                **SIZES,
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
    "paligemma": Family(
        architecture="PaliGemmaForConditionalGeneration",
        config={
            # the engine attends in both directions among image tokens only
            "text_config": {
                **SIZES,
                "head_dim": 32,
                "num_hidden_layers": 3,
                "use_bidirectional_attention": False,
            },
            "vision_config": {**_SIGLIP, "vision_use_head": False},
            "hidden_size": 64,
            "projection_dim": 64,
            "vocab_size": VOCAB_SIZE,
        },
        special={"image_token": "<image>", "newline": "\n"},  # vLLM looks it up
        token_ids={"image_token_index": "<image>"},
        processor="PaliGemmaProcessor",
        processor_parts={
            "image_processor": (
                "SiglipImageProcessor",
                {"size": {"height": 56, "width": 56}, "image_seq_length": 16},
            ),
        },
        post=_PUBLISHED_TOWER,
    ),
    "cohere2-vision": Family(
        architecture="Cohere2VisionForConditionalGeneration",
        config={
            # The engine's windows hold one token more than transformers', which leaves the scale of
            # the logits out under the multimodal class.
            "text_config": {**SIZES, "head_dim": 32, "sliding_window": 64, "logit_scale": 1.0},
            "vision_config": {**_SIGLIP, "vision_use_head": False},
            "alignment_intermediate_size": 64,
        },
        special={
            "boi_token": "<|START_OF_IMG|>",
            "eoi_token": "<|END_OF_IMG|>",
            "image_token": "<|IMG_PATCH|>",
            "img_line_break_token": "<|IMG_LINE_BREAK|>",
        },
        token_ids={"image_token_id": "<|IMG_PATCH|>"},
        processor="Cohere2VisionProcessor",
        processor_parts={
            "image_processor": (
                "Cohere2VisionImageProcessor",
                {"size": {"height": 56, "width": 56}, "patch_size": 14},
            ),
        },
        post=("rename=model.vision_tower.=>model.vision_tower.vision_model.",),
    ),
    "qwen2-audio": Family(
        architecture="Qwen2AudioForConditionalGeneration",
        config={
            "text_config": {**SIZES, "tie_word_embeddings": False},
            "audio_config": {
                "d_model": 64,
                "encoder_layers": 1,
                "encoder_attention_heads": 2,
                "encoder_ffn_dim": 128,
                "num_mel_bins": 128,
            },
        },
        special={
            "audio_token": "<|AUDIO|>",
            "audio_bos_token": "<|audio_bos|>",
            "audio_eos_token": "<|audio_eos|>",
        },
        token_ids={"audio_token_index": "<|AUDIO|>"},
        processor="Qwen2AudioProcessor",
        processor_parts={"feature_extractor": ("WhisperFeatureExtractor", {"feature_size": 128})},
        post=("rename=language_model.model.model.=>language_model.model.",),
    ),
    "granite-speech": Family(
        architecture="GraniteSpeechForConditionalGeneration",
        config={
            "text_config": {**SIZES, "model_type": "granite", "tie_word_embeddings": False},
            "encoder_config": {
                "num_layers": 2,
                "hidden_dim": 64,
                "num_heads": 2,
                "dim_head": 32,
                "output_dim": 32,
            },
            "projector_config": {
                "model_type": "blip_2_qformer",
                "hidden_size": 64,
                "intermediate_size": 128,
                "num_hidden_layers": 1,
                "num_attention_heads": 2,
                "encoder_hidden_size": 64,
            },
            "has_lora_adapter": False,
            "tie_word_embeddings": False,
        },
        special={"audio_token": "<|audio|>"},
        token_ids={"audio_token_index": "<|audio|>"},
        processor="GraniteSpeechProcessor",
        processor_parts={"audio_processor": ("GraniteSpeechFeatureExtractor", {})},
        post=("rename=language_model.model.model.=>language_model.model.",),
    ),
}
FAMILIES |= {  # as they are on the Hub
    f"{name}-published": replace(FAMILIES[name], post=_PUBLISHED_TOWER)
    for name in ("gemma3", "llava", "llava-next")
}
