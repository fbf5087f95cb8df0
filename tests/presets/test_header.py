"""The reader of safetensors headers, with the safetensors library as the oracle."""

import json
import math
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from presets.header import (
    _BITS,
    LIMIT,
    HeaderError,
    TooLargeError,
    parse_header,
    read_header,
)

safetensors = pytest.importorskip("safetensors", reason="the oracle of these tests")

ONE = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}
TEXT = json.dumps(ONE)
DTYPES = st.sampled_from(sorted(_BITS))


def made(header, size=4, length=None):
    """The bytes of a file: a header, as text or to be written as JSON, and that many weights."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + bytes(size)


def ours(file):
    found = read_header(lambda start, length: file[start : start + length], len(file))
    return {name: (tensor.dtype, tensor.shape) for name, tensor in found.items()}


def theirs(file):
    found = safetensors.deserialize(file)
    return {name: (tensor["dtype"], tuple(tensor["shape"])) for name, tensor in found}


def agree(file):
    """What the reader takes, the library takes, and both say the same; whether it was taken."""
    try:
        found = ours(file)
    except HeaderError:
        return False
    assert found == theirs(file)
    return True


def entry(text, **changes):
    """A header with one tensor, ``text`` in place of it or some of its fields."""
    return b'{"a":' + (text or json.dumps({**ONE, **changes}).encode()) + b"}"


REFUSED = {
    "nothing": (b"", "a file of 0 bytes has no header"),
    "seven bytes": (b"\0" * 7, "a file of 7 bytes has no header"),
    "no header": (made(b""), "no JSON object"),
    "truncated header": (made({"a": ONE}, 0)[:-9], "truncated"),
    "length of 2**63": (made({"a": ONE}, length=2**63), "truncated"),
    "length of 2**64-1": (made({"a": ONE}, length=2**64 - 1), "truncated"),
    "truncated weights": (made({"a": ONE}, 3), "need 4 bytes, the file has 3: truncated"),
    "trailing bytes": (made({"a": ONE}, 5), "need 4 bytes, the file has 5"),
    "a list": (made([]), "no JSON object"),
    "a number": (made(b"7"), "no JSON object"),
    "not JSON": (made(b"{"), "malformed"),
    "text behind it": (made(entry(None) + b"{}"), "malformed"),
    "not UTF-8": (made(b'{"\xff":' + TEXT.encode() + b"}"), "malformed: Invalid UTF-8"),
    "half a surrogate": (made(b'{"\\ud800":' + TEXT.encode() + b"}"), "malformed"),
    "nested deeply": (made(entry(b"[" * 100_000 + b"]" * 100_000)), "malformed"),
    "NaN": (made(entry(TEXT.encode().replace(b"[1]", b"[NaN]"))), "malformed"),
    "a float": (made(entry(None, shape=[1.0])), "Expected `int`, got `float`"),
    "a bool": (made(entry(None, shape=[True])), "Expected `int`, got `bool`"),
    "a negative size": (made(entry(None, shape=[-1])), "Expected `int` >= 0"),
    "a negative offset": (made(entry(None, data_offsets=[-4, 0])), "Expected `int` >= 0"),
    "minus zero": (made(entry(TEXT.encode().replace(b"[0,", b"[-0,"))), "malformed"),
    "minus zero, spaced": (made(entry(TEXT.encode().replace(b"[0, 4]", b"[-0, 4]"))), "is -0"),
    "a huge number": (made(entry(None, data_offsets=[0, 2**64 + 4])), "malformed"),
    "sizes that overflow": (made(entry(None, shape=[2**61, 2**61, 0]), 0), "'a': 4 bytes"),
    "sizes that overflow to nothing": (
        made({"a": {**ONE, "shape": [2**61, 2**61, 0], "data_offsets": [0, 0]}}, 0),
        "'a': 0 bytes",
    ),
    "three offsets": (made(entry(None, data_offsets=[0, 4, 4])), "length 2"),
    "no shape": (made({"a": {"dtype": "F32", "data_offsets": [0, 4]}}), "`shape`"),
    "a null": (made(entry(b"null")), "got `null`"),
    "an unknown dtype": (made(entry(None, dtype="f32")), "'a': unknown dtype 'f32'"),
    "a shape too large": (made(entry(None, shape=[2])), r"'a': 4 bytes for F32 \[2\]"),
    "a shape too small": (made(entry(None, shape=[0])), r"'a': 4 bytes for F32 \[0\]"),
    "half a byte": (made({"a": {**ONE, "dtype": "F4", "shape": [7]}}), "'a': 4 bytes for F4"),
    "ends before it begins": (
        made(entry(None, data_offsets=[4, 0])),
        "'a': bytes 4 to 0|'a': -4 bytes",
    ),
    "a hole in front": (made(entry(None, data_offsets=[4, 8]), 8), "'a': bytes 4 to 8"),
    "an overlap": (made({"a": ONE, "b": {**ONE, "data_offsets": [2, 6]}}, 6), "'b': bytes 2 to 6"),
    "the same bytes": (made({"a": ONE, "b": ONE}), "'b': bytes 0 to 4"),
    "a hole": (made({"a": ONE, "b": {**ONE, "data_offsets": [8, 12]}}, 12), "'b': bytes 8 to 12"),
    "a field twice": (
        made(entry(TEXT.encode().replace(b'"shape"', b'"dtype": "F32", "shape"'))),
        "a field is there twice",
    ),
    "a name twice": (
        made(entry(TEXT.encode() + b',"a":' + TEXT.encode())),
        "a name is there twice",
    ),
    "a name twice, once wrong": (made(b'{"a":1,"a":' + TEXT.encode() + b"}"), "there twice"),
    "a name twice, hidden by a colon": (
        made(b'{"b\\u003A":1,"b\\u003A":' + TEXT.encode() + b"}"),
        "malformed",
    ),
    "a name twice, hidden by an escape": (
        made(b'{"a\\u003a":1,"a:":' + TEXT.encode() + b"}"),
        "there twice",
    ),
    "metadata twice": (made(b'{"__metadata__":{},"__metadata__":{}}', 0), "there twice"),
    "metadata that is a list": (made({"__metadata__": []}, 0), "malformed"),
    "metadata with a number": (made({"__metadata__": {"a": 1}}, 0), "Expected `str`"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_the_reader_refuses(what):
    file, said = REFUSED[what]
    with pytest.raises(HeaderError, match=said):
        ours(file)


STRICTER = {"a name twice"}
"""The library takes these, and the last of two tensors with the same name."""


@pytest.mark.parametrize("what", REFUSED.keys() - STRICTER)
def test_the_library_refuses_it_too(what):
    with pytest.raises(safetensors.SafetensorError):
        theirs(REFUSED[what][0])


@pytest.mark.parametrize(
    "text",
    [
        entry(TEXT.encode().replace(b"}", b', "x": 1}')),
        b" " + entry(None),
        entry(b'["F32",[1],[0,4]]'),
        entry(TEXT.encode() + b',"a":' + TEXT.encode()),
    ],
    ids=["a field of its own", "a space in front", "a list for a tensor", "a name twice"],
)
def test_what_only_a_forger_writes_is_refused_though_the_library_takes_it(text):
    assert theirs(made(text)) == {"a": ("F32", (1,))}
    assert not agree(made(text))


@pytest.mark.parametrize(
    ("header", "size"),
    [
        ({}, 0),
        (b"{}   ", 0),
        ({"__metadata__": {"a:b": "c:d"}, "a:b": ONE}, 4),
        (b'{"__metadata__":null,"a":' + TEXT.encode() + b"}", 4),
        (b'{"__metadata__":{"a":"b","a":"c:"},"a":' + TEXT.encode() + b"}", 4),
        ({"": ONE, "é-\n": {**ONE, "data_offsets": [4, 8]}}, 8),
        ({"b": {**ONE, "data_offsets": [4, 8]}, "a": ONE}, 8),
        ({"a": {**ONE, "shape": []}}, 4),
        ({"a": {**ONE, "shape": [0, 2**40], "data_offsets": [0, 0]}, "b": ONE}, 4),
        ({"a": {**ONE, "dtype": "F4", "shape": [8]}}, 4),
    ],
)
def test_what_the_reader_takes(header, size):
    assert agree(made(header, size))


@pytest.mark.parametrize("dtype", sorted(_BITS))
def test_every_dtype_has_the_size_that_the_library_gives_it(dtype):
    tensor = {"dtype": dtype, "shape": [8], "data_offsets": [0, _BITS[dtype]]}
    assert agree(made({"a": tensor}, _BITS[dtype]))


def test_a_header_above_the_limit_is_not_read():
    def read(start, length):
        assert (start, length) == (0, 8), "no more than the length is asked for"
        return struct.pack("<Q", LIMIT + 1)

    with pytest.raises(TooLargeError, match="at most"):
        read_header(read, 2 * LIMIT)


def test_exactly_the_header_is_read():
    file, asked = made({"a": ONE}, 4), []

    def read(start, length):
        asked.append((start, length))
        return file[start : start + length]

    read_header(read, len(file))
    assert asked == [(0, 8), (8, len(file) - 12)]


tensors = st.dictionaries(
    st.text(max_size=8).filter(lambda name: name != "__metadata__"),
    st.tuples(DTYPES, st.lists(st.integers(0, 4), max_size=3)),
    max_size=5,
)


def laid_out(tensors):
    """A header that gives each tensor its bytes, and how many there are."""
    end, header = 0, {}
    for name, (dtype, shape) in tensors.items():
        whole = [8, *shape]  # whole bytes, whatever the dtype
        size = math.prod(whole) * _BITS[dtype] // 8
        header[name] = {"dtype": dtype, "shape": whole, "data_offsets": [end, end + size]}
        end += size
    return header, end


@given(tensors, st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=2))
def test_a_header_that_is_right_is_read_as_the_library_reads_it(tensors, metadata):
    header, size = laid_out(tensors)
    file = made(json.dumps({"__metadata__": metadata, **header}, ensure_ascii=False).encode(), size)
    assert agree(file)


@given(
    st.dictionaries(
        st.text(max_size=8).filter(lambda name: name != "__metadata__"),
        st.tuples(
            st.sampled_from(["float32", "bfloat16", "int8", "bool", "float8_e4m3fn"]),
            st.lists(st.integers(0, 3), max_size=3),
        ),
        max_size=4,
    )
)
@settings(max_examples=40)
def test_what_safetensors_saves_is_read_as_safe_open_reads_it(tmp_path_factory, tensors):
    torch = pytest.importorskip("torch")
    from safetensors import safe_open
    from safetensors.torch import save

    path = tmp_path_factory.mktemp("saved") / "model.safetensors"
    made = {
        name: torch.zeros(shape, dtype=getattr(torch, d)) for name, (d, shape) in tensors.items()
    }
    file = save(made, {"format": "pt"})
    path.write_bytes(file)
    with safe_open(path, "pt") as opened:
        slices = {name: opened.get_slice(name) for name in opened.keys()}  # noqa: SIM118
        expected = {n: (s.get_dtype(), tuple(s.get_shape())) for n, s in slices.items()}
    assert ours(file) == expected
    assert expected.keys() == made.keys()


VALUES = st.one_of(
    *(st.none(), st.booleans(), st.integers(-9, 2**65), st.floats(), st.text(max_size=3)),
    st.lists(st.integers(-1, 9), max_size=3),
    st.sampled_from(sorted(_BITS)),
)


@given(tensors, st.data())
@settings(max_examples=300)
def test_of_a_header_with_a_changed_field_no_more_is_taken_than_the_library_takes(tensors, data):
    header, size = laid_out(tensors)
    where = [header, *header.values()]
    chosen = data.draw(st.sampled_from(where))
    key = data.draw(st.sampled_from(["x", "__metadata__", *ONE, *chosen]))
    chosen[key] = data.draw(VALUES)
    agree(made(json.dumps(header).encode(), size))


@given(tensors, st.data())
@settings(max_examples=500)
def test_of_changed_bytes_no_more_is_taken_than_the_library_takes(tensors, data):
    header, size = laid_out(tensors)
    file = bytearray(made(header, size))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(file)))
        piece = data.draw(
            st.binary(max_size=2) | st.sampled_from([b'"', b"-", b",", b":", b"\\", b"1"])
        )
        file[at : at + data.draw(st.integers(0, 2))] = piece
    text = bytes(file)
    agree(text)
    agree(struct.pack("<Q", max(0, len(text) - size - 8)) + text[8:])


@given(tensors, st.data())
def test_every_truncation_is_refused(tensors, data):
    header, size = laid_out(tensors)
    file = made(header, size)
    with pytest.raises(HeaderError):
        ours(file[: data.draw(st.integers(0, len(file) - 1))])


@given(st.binary(max_size=60))
def test_any_bytes_are_a_header_or_an_error(text):
    agree(made(b"{" + text, 0))
    with pytest.raises(HeaderError):
        parse_header(text, 2**62)
