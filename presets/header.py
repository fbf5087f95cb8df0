"""The header of a safetensors file, read as strictly as the safetensors library reads it.

The format: 8 bytes with the length of the header, little-endian; the header, a JSON object of
tensors; then their bytes, without a gap, to the end of the file. Own code, because the library
opens a file only where numpy or torch is installed, and the base install has neither.
"""

import math
import re
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

_ESCAPED_COLON = re.compile(rb"\\u003a", re.IGNORECASE)
_Size = Annotated[int, msgspec.Meta(ge=0, lt=2**62)]


class Tensor(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
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


def read_header(
    read: Callable[[int, int], bytes], size: int, limit: int = LIMIT
) -> dict[str, Tensor]:
    """The tensors of a safetensors file of ``size`` bytes, by name.

    ``read(start, length)`` gives bytes of the file; it is asked for the first 8 and for the header,
    unless that has more than ``limit`` bytes. HeaderError says what is wrong; whatever the
    safetensors library refuses is refused, and so is what only a forger writes: names given twice,
    fields that the format does not have, sizes of 2**62 and more.
    """
    if size < 8:
        raise HeaderError(f"a file of {size} bytes has no header")
    length = int.from_bytes(read(0, 8), "little")
    if length > size - 8:
        raise HeaderError(f"the header should have {length} bytes, the file has {size}: truncated?")
    if length > limit:
        raise TooLargeError(f"a header of {length} bytes, at most {limit} are read")
    return parse_header(read(8, length), size - 8 - length)


def parse_header(text: bytes, size: int) -> dict[str, Tensor]:
    """The tensors that a header names, for ``size`` bytes of data behind it."""
    if not text.startswith(b"{"):
        raise HeaderError("the header is no JSON object")
    try:
        entries = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
        colons = text.count(b":")
        if metadata := entries.pop("__metadata__", b""):
            msgspec.json.decode(metadata, type=dict[str, str] | None)
            colons -= 1 + bytes(metadata).count(b":")
        body = b"[" + b",".join(entries.values()) + b"]"
        tensors = dict(zip(entries, msgspec.json.decode(body, type=list[Tensor]), strict=True))
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise HeaderError(f"the header is malformed: {error}") from None
    _check_layout(tensors, size)
    # Of members with the same name the decoder keeps the last and does not look at the others,
    # and it takes -0 for 0. Every member has one colon of its own; only a name may have more.
    inside = body.count(b":")
    if inside != 3 * len(tensors) or b"-" in body:
        raise HeaderError("the header is malformed: a field is there twice, or a number is -0")
    in_names = sum(name.count(":") for name in tensors)
    if colons != inside + len(tensors) + in_names or _ESCAPED_COLON.search(text):
        raise HeaderError("the header is malformed: a name is there twice")
    return tensors


def _check_layout(tensors: dict[str, Tensor], size: int) -> None:
    """Every byte of the data belongs to exactly one tensor, and each has the bytes it needs."""
    end = 0
    for name, tensor in sorted(tensors.items(), key=_offsets):
        first, after = tensor.data_offsets
        if first != end:
            raise HeaderError(f"{name!r}: bytes {first} to {after} overlap others or leave a hole")
        bits = _BITS.get(tensor.dtype)
        if bits is None:
            raise HeaderError(f"{name!r}: unknown dtype {tensor.dtype!r}")
        # The library multiplies from left to right in 64 bits, where even x * x * 0 overflows.
        wide = first == after and math.prod(filter(None, tensor.shape)) * bits >= 2**64
        if wide or math.prod(tensor.shape) * bits != (after - first) * 8:
            shape = list(tensor.shape)
            raise HeaderError(f"{name!r}: {after - first} bytes for {tensor.dtype} {shape}")
        end = after
    if end != size:
        raise HeaderError(f"the tensors need {end} bytes, the file has {size}: truncated?")


def _offsets(item: tuple[str, Tensor]) -> tuple[int, int]:
    return item[1].data_offsets
