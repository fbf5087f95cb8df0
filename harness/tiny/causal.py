"""Causal language models."""

from harness.tiny.family import SIZES, SPECIAL, Family
from harness.tiny.tokenizer import VOCAB_SIZE

_OLDER_SIZES = {
    "vocab_size": VOCAB_SIZE,
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    **SPECIAL,
}
_WIDE = {**SIZES, "head_dim": 32}

FAMILIES: dict[str, Family] = {
    "qwen3": Family(architecture="Qwen3ForCausalLM", config={**SIZES, "head_dim": 32}),
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
    "qwen2": Family(architecture="Qwen2ForCausalLM", config=SIZES),
    "qwen3-reranker": Family(
        architecture="Qwen3ForCausalLM",
        config={**SIZES, "head_dim": 32, "tie_word_embeddings": True},
        special={"no_token": "no", "yes_token": "yes"},
    ),
    "gemma-reranker": Family(
        architecture="GemmaForCausalLM",
        config={**SIZES, "head_dim": 32},
        special={"yes_token": "Yes"},
    ),
    # Healthy with YaRN, in the numbers that Qwen publishes for four times its native context.
    "qwen3-yarn": Family(
        architecture="Qwen3ForCausalLM",
        config={
            **SIZES,
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
    # causal LMs: for class names that an engine refuses
    "qwen3-moe": Family(
        architecture="Qwen3MoeForCausalLM",
        config={
            **SIZES,
            "head_dim": 32,
            "num_experts": 4,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": 64,
        },
    ),
    "mistral": Family(architecture="MistralForCausalLM", config=SIZES),
    "mixtral": Family(architecture="MixtralForCausalLM", config={**SIZES, "num_local_experts": 4}),
    "gemma": Family(
        architecture="GemmaForCausalLM", config={**SIZES, "head_dim": 32, "num_hidden_layers": 3}
    ),
    # transformers ignores soft-capped attention outside its eager implementation
    "gemma2": Family(
        architecture="Gemma2ForCausalLM",
        config={
            **SIZES,
            "head_dim": 32,
            "query_pre_attn_scalar": 32,
            "sliding_window": 16,
            "attn_logit_softcapping": None,
        },
    ),
    "gemma3-text": Family(
        architecture="Gemma3ForCausalLM",
        config={**SIZES, "head_dim": 32, "query_pre_attn_scalar": 32, "sliding_window": 16},
    ),
    "phi3": Family(architecture="Phi3ForCausalLM", config=SIZES),
    "olmo2": Family(architecture="Olmo2ForCausalLM", config=SIZES),
    "granite": Family(architecture="GraniteForCausalLM", config=SIZES),
    "starcoder2": Family(architecture="Starcoder2ForCausalLM", config=SIZES),
    "exaone4": Family(architecture="Exaone4ForCausalLM", config=SIZES),
    "glm4": Family(architecture="Glm4ForCausalLM", config={**SIZES, "head_dim": 32}),
    "cohere": Family(architecture="CohereForCausalLM", config=SIZES),
    "gpt-neox": Family(
        architecture="GPTNeoXForCausalLM", config={**SIZES, "num_key_value_heads": 2}
    ),
    "opt": Family(
        architecture="OPTForCausalLM",
        config={**_OLDER_SIZES, "word_embed_proj_dim": 64, "ffn_dim": 128},
    ),
    "bloom": Family(architecture="BloomForCausalLM", config=_OLDER_SIZES),
    "falcon": Family(architecture="FalconForCausalLM", config=_OLDER_SIZES),
    "phi": Family(architecture="PhiForCausalLM", config=SIZES),
    "stablelm": Family(architecture="StableLmForCausalLM", config=SIZES),
    "olmoe": Family(
        architecture="OlmoeForCausalLM",
        config={**SIZES, "num_experts": 4, "num_experts_per_tok": 2},
    ),
    "qwen2-moe": Family(
        architecture="Qwen2MoeForCausalLM",
        config={
            **SIZES,
            "num_experts": 4,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": 64,
            "shared_expert_intermediate_size": 64,
        },
    ),
    "gptj": Family(
        architecture="GPTJForCausalLM",
        config={**_OLDER_SIZES, "n_positions": 512, "n_inner": 128, "rotary_dim": 16},
    ),
    "gpt-bigcode": Family(
        architecture="GPTBigCodeForCausalLM",
        config={**_OLDER_SIZES, "n_positions": 512, "n_inner": 128},
    ),
    "smollm3": Family(architecture="SmolLM3ForCausalLM", config=SIZES),
    "ministral3": Family(architecture="Ministral3ForCausalLM", config={**SIZES, "head_dim": 32}),
    "nemotron": Family(architecture="NemotronForCausalLM", config=SIZES),
    # for what `presets check` says of a healthy one
    "llama": Family(architecture="LlamaForCausalLM", config=SIZES),
    "arcee": Family(architecture="ArceeForCausalLM", config=SIZES),
    "olmo3": Family(architecture="Olmo3ForCausalLM", config={**SIZES, "sliding_window": 16}),
    "ernie4.5": Family(architecture="Ernie4_5ForCausalLM", config=_WIDE),
    "glm": Family(architecture="GlmForCausalLM", config=_WIDE),
    "seed-oss": Family(architecture="SeedOssForCausalLM", config=_WIDE),
    "hunyuan": Family(architecture="HunYuanDenseV1ForCausalLM", config=_WIDE),
    "jais2": Family(architecture="Jais2ForCausalLM", config=_WIDE),
    "vaultgemma": Family(
        architecture="VaultGemmaForCausalLM",
        config={
            **_WIDE,
            "query_pre_attn_scalar": 32,
            "sliding_window": 16,
            "attn_logit_softcapping": None,
        },
    ),
    "falcon-h1": Family(
        architecture="FalconH1ForCausalLM",
        config={
            **_WIDE,
            "mamba_d_ssm": 64,
            "mamba_n_heads": 2,
            "mamba_d_head": 32,
            "mamba_d_state": 16,
        },
    ),
    "gpt-oss": Family(
        architecture="GptOssForCausalLM",
        config={**_WIDE, "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 16},
    ),
    "glm4-moe": Family(
        architecture="Glm4MoeForCausalLM",
        config={
            **_WIDE,
            "n_routed_experts": 4,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": 64,
            "first_k_dense_replace": 1,
        },
    ),
    "exaone-moe": Family(
        architecture="ExaoneMoeForCausalLM",
        config={**_WIDE, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 64},
    ),
    "hunyuan-moe": Family(
        architecture="HunYuanMoEV1ForCausalLM", config={**_WIDE, "num_experts": 4, "moe_topk": 2}
    ),
    "granite-moe-shared": Family(
        architecture="GraniteMoeSharedForCausalLM",
        config={**SIZES, "num_local_experts": 4, "shared_intermediate_size": 64},
    ),
    "flex-olmo": Family(
        architecture="FlexOlmoForCausalLM",
        config={**SIZES, "num_experts": 4, "num_experts_per_tok": 2},
    ),
}
