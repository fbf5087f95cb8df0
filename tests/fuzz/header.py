"""Fuzz ``presets.header`` against the safetensors library: run by hand, for minutes.

    uv run --with atheris python tests/fuzz/header.py -max_total_time=300 [CORPUS_DIR]

The arguments are libFuzzer's. It stops at the first input that the library refuses and the reader
takes, or of which both say something else. An input is a whole file, or a header, or one piece of
a header a byte: the parsers are compiled, so no coverage leads the fuzzer through them.
"""

import json
import struct
import sys
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).parents[2]))

with atheris.instrument_imports(include=["presets.header"]):
    from presets.header import HeaderError, read_header

from safetensors import SafetensorError, deserialize

ENTRY = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}
SEEDS = [
    {},
    {"__metadata__": {"format": "pt"}, "a:b": ENTRY},
    {"a": {"dtype": "F4", "shape": [0, 9], "data_offsets": [0, 0]}, "b": ENTRY},
    {"a": {"dtype": "F8_E4M3", "shape": [2, 1], "data_offsets": [0, 2]}},
]


WHOLE = b'{"dtype":"F32","shape":[1],"data_offsets":[0,4]}'
PIECES = [
    *(b'{"a":', b'{"b":', b',"a":', b',"b:":', b',"__metadata__":', b'{"__metadata__":'),
    *(b'"dtype":', b'"shape":', b'"data_offsets":', b'"x":', b'"\\u003a":', b'"\\ud800":'),
    *(b'"F32"', b'"U8"', b'"F4"', b'"F6_E2M3"', b'"C64"', b'"x"', b'"\xff"', b'":"', b'"-"'),
    *(b"{", b"}", b"[", b"]", b",", b":", b" ", b"null", b"true", b"NaN", b"-", b".0", b"e1"),
    *(b"0", b"1", b"2", b"4", b"8", b"9", b"4611686018427387903", b"18446744073709551615"),
    *(WHOLE, WHOLE[:-1], WHOLE[1:-1], WHOLE.replace(b"[0,4]", b"[4,8]"), b'{"format":"pt"}'),
    *(b'{"a":' + WHOLE, b',"b":' + WHOLE, b',"a":' + WHOLE, b"[" * 200, b"]" * 200, b"[0,0]"),
]


def file_of(data: bytes) -> bytes:
    """The file that an input stands for."""
    if len(data) < 2 or data[0] % 4 == 0:
        return data[1:]
    weights = bytes(data[1] % 16)
    header = data[2:]
    if data[0] % 4 > 1:
        header = b"".join(PIECES[byte % len(PIECES)] for byte in header)
    return struct.pack("<Q", len(header)) + header + weights


def theirs(file: bytes) -> dict[str, tuple[str, tuple[int, ...]]] | None:
    try:
        return {name: (t["dtype"], tuple(t["shape"])) for name, t in deserialize(file)}
    except SafetensorError:
        return None


def ours(file: bytes) -> dict[str, tuple[str, tuple[int, ...]]] | None:
    try:
        found = read_header(lambda start, length: file[start : start + length], len(file))
    except HeaderError:
        return None
    return {name: (tensor.dtype, tensor.shape) for name, tensor in found.items()}


def one(data: bytes) -> None:
    file = file_of(data)
    found = ours(file)
    if found is not None and found != theirs(file):
        raise AssertionError(f"{file!r}: we say {found}, safetensors says {theirs(file)}")


def main() -> None:
    corpus = next((arg for arg in sys.argv[1:] if not arg.startswith("-")), None)
    if corpus:
        for index, seed in enumerate(SEEDS):
            text = json.dumps(seed).encode()
            Path(corpus, f"seed{index}").write_bytes(bytes([1, 2 * index]) + text)
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
