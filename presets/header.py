"""The header of a safetensors file, read as strictly as the safetensors library reads it.

The format: 8 bytes with the length of the header, little-endian; the header, a JSON object of
tensors; then their bytes, without a gap, to the end of the file. Own code, because the library
opens a file only where numpy or torch is installed, and the base install has neither.
"""

import math
from collections.abc import Callable
from typing import Annotated

import msgspec

LIMIT = 32 * 2**20
"""Bytes of one header that are read at most. The library takes up to 100 MB; 150,000 tensors,
more than any published checkpoint has in one file, take 19 MB."""

_BITS = {
    "F4": 4,
    "F6_E2M3": 6,
    "F6_E3M2": 6,
    **dict.fromkeys(("BOOL", "U8", "I8", "F8_E5M2", "F8_E4M3", "F8_E8M0"), 8),
    **dict.fromkeys(("F8_E4M3FNUZ", "F8_E5M2FNUZ"), 8),
    **dict.fromkeys(("I16", "U16", "F16", "BF16"), 16),
    **dict.fromkeys(("I32", "U32", "F32"), 32),
    **dict.fromkeys(("I64", "U64", "F64", "C64"), 64),
}

_Size = Annotated[int, msgspec.Meta(ge=0, lt=2**62)]


class Tensor(msgspec.Struct, frozen=True):
    """What a header says of one tensor."""

    dtype: str
    """As safetensors names it: "F32", "BF16", ..."""
    shape: tuple[_Size, ...]
    data_offsets: tuple[_Size, _Size]
    """First byte and the byte after the last, counted from the end of the header."""


class HeaderError(Exception):
    """What is wrong with a safetensors file, for the message of whoever names the file."""


class TooLargeError(HeaderError):
    """The header is longer than is read here: nothing is known of the file."""


def read_header(read: Callable[[int, int], bytes], size: int) -> dict[str, Tensor]:
    """The tensors of a safetensors file of ``size`` bytes, by name.

    ``read(start, length)`` gives bytes of the file; it is asked for the first 8 and for the header.
    HeaderError says what is wrong; whatever the safetensors library refuses is refused.
    """
    if size < 8:
        raise HeaderError(f"a file of {size} bytes has no header")
    length = int.from_bytes(read(0, 8), "little")
    if length > size - 8:
        raise HeaderError(f"the header should have {length} bytes, the file has {size}: truncated?")
    if length > LIMIT:
        raise TooLargeError(f"a header of {length} bytes, at most {LIMIT} are read")
    return parse_header(read(8, length), size - 8 - length)


def parse_header(text: bytes, size: int) -> dict[str, Tensor]:
    """The tensors that a header names, for ``size`` bytes of data behind it."""
    if not text.startswith(b"{"):
        raise HeaderError("the header is no JSON object")
    try:
        entries = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
        metadata = entries.pop("__metadata__", None)
        if metadata is not None:
            msgspec.json.decode(metadata, type=dict[str, str] | None)
        decode = msgspec.json.Decoder(Tensor).decode
        tensors = {name: decode(entry) for name, entry in entries.items()}
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise HeaderError(f"the header is malformed: {error}") from None
    _check_layout(tensors, size)
    return tensors


def _check_layout(tensors: dict[str, Tensor], size: int) -> None:
    """Every byte of the data belongs to exactly one tensor, and each has the bytes it needs."""
    end = 0
    for name, tensor in sorted(tensors.items(), key=lambda item: item[1].data_offsets):
        first, after = tensor.data_offsets
        if first != end or after < first:
            raise HeaderError(f"{name}: bytes {first} to {after} overlap others or leave a hole")
        bits = _BITS.get(tensor.dtype)
        if bits is None:
            raise HeaderError(f"{name}: unknown dtype {tensor.dtype!r}")
        if math.prod(tensor.shape) * bits != (after - first) * 8:
            raise HeaderError(f"{name}: {after - first} bytes for {tensor.dtype} {tensor.shape}")
        end = after
    if end != size:
        raise HeaderError(f"the tensors need {end} bytes, the file has {size}: truncated?")
