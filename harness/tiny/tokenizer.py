"""A real byte-level tokenizer with no merges: every byte is a token, nothing is unknown."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

BASIC = ("<pad>", "<eos>", "<bos>", "<unk>")
VOCAB_SIZE = 320
"""Rows of the embedding: 4 basic tokens, up to 60 special ones of a family, 256 bytes."""
PROMPT = tuple(range(100, 124))
"""24 token ids, bytes all of them: longer than the sliding windows of the tiny configs."""


def token_ids(special: dict[str, str]) -> dict[str, int]:
    """Token -> id: basic tokens first, then the family's special ones, then the 256 bytes
    from id 64 on.
    """
    ids = {token: i for i, token in enumerate((*BASIC, *special.values()))}
    from tokenizers import pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    return ids | {token: 64 + i for i, token in enumerate(alphabet)}


def tokenizer(special: dict[str, str]) -> "PreTrainedTokenizerFast":
    """The tokenizer of a family whose special tokens are ``{attribute: token}``."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    core = Tokenizer(models.BPE(vocab=token_ids(special), merges=[]))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    pad, eos, bos, unk = BASIC
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token=pad,
        eos_token=eos,
        bos_token=bos,
        unk_token=unk,
        extra_special_tokens=dict(special),
    )
