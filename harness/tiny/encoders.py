"""Encoders, embedders and classifiers."""

from typing import Any

from harness.tiny.family import SIZES, Family

# Two layers: each one blurs the difference of the tokens, and with it that of ways to pool them.
_ENCODER = {k: v for k, v in SIZES.items() if k != "num_key_value_heads"} | {"num_hidden_layers": 2}
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

FAMILIES: dict[str, Family] = {
    "qwen3-embedding": Family(
        architecture="Qwen3ForCausalLM",
        config={**SIZES, "head_dim": 32, "tie_word_embeddings": True},
        files=_LAST_POOLED,
    ),
    "qwen2-embedding": Family(architecture="Qwen2Model", config=SIZES, files=_MEAN_POOLED),
    "qwen2-bidirectional": Family(
        architecture="Qwen2Model", config={**SIZES, "is_causal": False}, files=_LAST_POOLED
    ),
    "qwen3-bidirectional": Family(
        architecture="Qwen3Model",
        config={**SIZES, "head_dim": 32, "is_causal": False},
        files=_LAST_POOLED,
    ),
    "llama-bidirectional": Family(
        architecture="LlamaModel", config={**SIZES, "is_causal": False}, files=_LAST_POOLED
    ),
    "gemma3-embedding": Family(
        architecture="Gemma3TextModel",
        config={
            **SIZES,
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
        architecture="Qwen2ForSequenceClassification", config={**SIZES, "num_labels": 3}
    ),
    "qwen3-classifier": Family(
        architecture="Qwen3ForSequenceClassification",
        config={**SIZES, "head_dim": 32, "num_labels": 3},
    ),
    "llama-reward": Family(
        architecture="LlamaForSequenceClassification", config={**SIZES, "num_labels": 1}
    ),
    "qwen3-reward": Family(
        architecture="Qwen3ForSequenceClassification",
        config={**SIZES, "head_dim": 32, "num_labels": 1},
    ),
}

# Models whose projection lies beside the encoder, as PyLate and Voyage publish them.
_LATE_INTERACTION = {
    "modules.json": [
        {
            "idx": 0,
            "name": "0",
            "path": "",
            "type": "sentence_transformers.models.Transformer",
        },
        {"idx": 1, "name": "1", "path": "1_Dense", "type": "pylate.models.Dense.Dense"},
    ],
    "1_Dense/config.json": {
        "in_features": 64,
        "out_features": 32,
        "bias": False,
        "activation_function": "torch.nn.modules.linear.Identity",
    },
}
_DENSE = "add-tensor=1_Dense/model.safetensors:linear.weight=32x64"
_CLS_POOLED = _sentence_transformer("pooling_mode_cls_token")
_NOMIC_KEYS = (  # of the repository's own config class, beside those of transformers
    'set-key=activation_function="swiglu"',
    "set-key=n_embd=64",
    "set-key=n_inner=128",
    "set-key=n_layer=2",
    "set-key=layer_norm_epsilon=1e-12",
    *(f"set-key={key}=false" for key in ("mlp_fc1_bias", "mlp_fc2_bias", "qkv_proj_bias")),
    "set-key=rotary_emb_scale_base=null",
    "set-key=rotary_emb_interleaved=false",
)

FAMILIES |= {
    "modernbert-colbert": Family(
        architecture="ModernBertModel",
        config={**_MODERNBERT, "global_attn_every_n_layers": 2},
        files=_LATE_INTERACTION,
        post=(_DENSE,),
    ),
    "lfm2-colbert": Family(
        architecture="Lfm2Model",
        config={
            **SIZES,
            "num_hidden_layers": 2,
            "num_attention_heads": 1,  # on the CPU the engine is right with one only
            "layer_types": ["conv", "full_attention"],
        },
        files=_LATE_INTERACTION,
        # sizes that transformers takes from hidden_size and the engine from keys of their own
        post=(_DENSE, "set-key=conv_dim=64", "set-key=block_dim=64"),
    ),
    "bge-m3": Family(
        architecture="XLMRobertaModel",
        config=_XLM_ROBERTA,
        files=_CLS_POOLED,
        post=(
            "add-tensor=colbert_linear.pt:weight=64x64",
            "add-tensor=colbert_linear.pt:bias=64",
            "add-tensor=sparse_linear.pt:weight=1x64",
            "add-tensor=sparse_linear.pt:bias=1",
        ),
    ),
    "voyage-4": Family(
        architecture="Qwen3Model",
        config={**SIZES, "head_dim": 32, "is_causal": False},
        files=_MEAN_POOLED,
        post=("rename==>model.", "add-tensor=linear.weight=2048x64"),
    ),
    "gte": Family(
        architecture="GteModel",
        config={**_ENCODER, "hidden_act": "gelu"},
        files=_CLS_POOLED,
    ),
    "gte-reranker": Family(
        architecture="GteForSequenceClassification",
        config={**_ENCODER, "hidden_act": "gelu", "num_labels": 1},
    ),
    "jina-v3": Family(architecture="JinaEmbeddingsV3Model", config=_ENCODER, files=_MEAN_POOLED),
    "jina-colbert": Family(
        architecture="JinaEmbeddingsV3Model",
        config=_ENCODER,
        post=("add-tensor=linear.weight=32x64",),
    ),
    "nomic-yarn": Family(
        architecture="NomicBertModel",
        config={
            **_ENCODER,
            "max_position_embeddings": 8192,
            "rope_parameters": {
                "rope_type": "yarn",
                "rope_theta": 1000.0,
                "factor": 4.0,
                "original_max_position_embeddings": 2048,
            },
        },
        files=_MEAN_POOLED,
        post=_NOMIC_KEYS,
    ),
    "deepseek-v3-bidirectional": Family(
        architecture="DeepseekV3Model",
        config={
            **SIZES,
            "num_hidden_layers": 2,
            "num_attention_heads": 1,  # as in lfm2-colbert
            "is_causal": False,
            "q_lora_rank": 32,
            "kv_lora_rank": 32,
            "qk_nope_head_dim": 32,
            "qk_rope_head_dim": 32,
            "v_head_dim": 32,
            "first_k_dense_replace": 1,
            "moe_intermediate_size": 64,
            "n_routed_experts": 4,
            "num_experts_per_tok": 2,
            "n_group": 1,
            "topk_group": 1,
        },
        files=_MEAN_POOLED,
        post=('set-key=topk_method="noaux_tc"', 'set-key=scoring_func="sigmoid"'),
    ),
    "matryoshka": Family(
        architecture="BertModel",
        config={**_ENCODER, "matryoshka_dimensions": [32], "asked_dimensions": 32},
        files=_CLS_POOLED,
    ),
    "bert-cross-encoder": Family(
        architecture="BertForSequenceClassification", config={**_ENCODER, "num_labels": 1}
    ),
}
