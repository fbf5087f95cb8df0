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
