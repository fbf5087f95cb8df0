"""``presets.check`` of a repository, against a Hub on localhost; each in a process of its own:
huggingface_hub reads its settings when it is imported.
"""

import json
import shutil
import struct
import subprocess
import sys
from http import HTTPStatus

import msgspec
import pytest
from hub_server import TOKEN, Hub

import presets
from presets.check import open_checkpoint

GEMMA4 = {
    "architectures": ["Gemma4ForConditionalGeneration"],
    "model_type": "gemma4",
    "text_config": {},
    "vision_config": {},
}
TEXT = "model.language_model.norm.weight"
VISION = "model.vision_tower.norm.weight"

SCRIPT = """
import json, sys
import msgspec, presets
try:
    found = presets.check(sys.argv[1], "0.32.0")
    print(json.dumps(msgspec.to_builtins(found)))
except presets.CheckpointError as error:
    print(json.dumps(str(error)))
"""


@pytest.fixture
def ask(tmp_path):
    def run(hub, name="org/name", code=SCRIPT, **environ):
        done = subprocess.run(
            [sys.executable, "-c", code, name],
            check=False,
            env=hub.environ(tmp_path / "home") | environ,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def write(folder, config=GEMMA4, tensors=(TEXT, VISION), shape=1):
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    header = {
        name: {"dtype": "U8", "shape": [shape], "data_offsets": [i * shape, (i + 1) * shape]}
        for i, name in enumerate(tensors)
    }
    text = json.dumps(header).encode()
    body = struct.pack("<Q", len(text)) + text + bytes(shape * len(tensors))
    (folder / "model.safetensors").write_bytes(body)
    return folder


@pytest.mark.parametrize(
    ("config", "tensors"),
    [
        (GEMMA4, (TEXT, VISION)),
        (GEMMA4, (TEXT,)),
        ({**GEMMA4, "vision_config": None}, (TEXT,)),
        ({**GEMMA4, "architectures": None}, ()),
    ],
)
def test_the_verdict_is_that_on_the_folder(tmp_path, ask, config, tensors):
    folder = write(tmp_path / "ckpt", config, tensors)
    expected = json.loads(json.dumps(msgspec.to_builtins(presets.check(folder, "0.32.0"))))
    with Hub({"org/name": folder}) as hub:
        assert ask(hub) == {**expected, "checkpoint": "org/name"}
        assert len(hub.requests) == 3  # the list, config.json, one shard


def test_no_more_of_a_shard_than_its_first_bytes_is_read(tmp_path, ask):
    folder = write(tmp_path / "ckpt", shape=300_000)
    with Hub({"org/name": folder}) as hub:
        ask(hub)
        assert hub.sent["org/name/model.safetensors"] == 100_000
    assert not (tmp_path / "home").exists() or not list((tmp_path / "home").rglob("*.safetensors"))


def test_a_long_header_takes_a_second_request_and_no_weight(tmp_path, ask):
    folder = write(tmp_path / "ckpt", tensors=[f"model.{i}" for i in range(3000)], shape=100)
    header = int.from_bytes((folder / "model.safetensors").read_bytes()[:8], "little")
    with Hub({"org/name": folder}) as hub:
        assert ask(hub)["facts"]["tensors"] == 3000
        assert len(hub.requests) == 4
        assert hub.sent["org/name/model.safetensors"] == header + 8 > 100_000


def test_the_revision_is_pinned_to_its_commit(tmp_path, ask):
    folders = {
        "org/name": write(tmp_path / "a"),
        "org/name@v1": write(tmp_path / "b", tensors=[TEXT]),
    }
    with Hub(folders) as hub:
        assert ask(hub, "org/name@v1")["preset"] == "gemma4-text"
        commit = hub.revisions["org/name", "v1"].commit
        assert all(f"/resolve/{commit}/" in path for _, path in hub.requests[1:])


def test_gated_and_token(tmp_path, ask):
    with Hub({"org/name": write(tmp_path / "ckpt")}, gated={"org/name"}) as hub:
        reason = "org/name is gated: accept its terms on the Hub and set HF_TOKEN"
        assert ask(hub) == reason
        assert ask(hub, HF_TOKEN="hf_of_somebody_else") == reason
        hub.tokens.clear()
        assert ask(hub, HF_TOKEN=TOKEN)["facts"]["tensors"] == 2
        assert set(hub.tokens) == {f"Bearer {TOKEN}"}


def test_a_renamed_repository_is_followed(tmp_path, ask):
    with Hub({"org/new": write(tmp_path / "ckpt")}) as hub:
        hub.renamed["org/old"] = "org/new"
        assert ask(hub, "org/old")["facts"]["tensors"] == 2
        assert len(hub.requests) == 4


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (403, "the Hub refuses access (403): set HF_TOKEN to a token that may read"),
        (429, "too many requests (429): wait some minutes, or set HF_TOKEN"),
        (500, "the Hub is failing (500): try again later"),
    ],
)
def test_what_the_hub_answers_instead(tmp_path, ask, status, said):
    with Hub({"org/name": write(tmp_path / "ckpt")}) as hub:
        hub.failing = HTTPStatus(status)
        assert ask(hub) == f"org/name: {said}"


def test_missing_repository_or_revision(tmp_path, ask):
    with Hub({"org/name": write(tmp_path / "ckpt")}) as hub:
        gone = "org/gone does not exist, or is private and HF_TOKEN is not set"
        assert ask(hub, "org/gone") == gone
        assert ask(hub, "org/name@gone") == "org/name has no revision 'gone'"


def test_offline_checks_the_cache(tmp_path, ask):
    download = "import sys, huggingface_hub as h; h.snapshot_download(sys.argv[1]); print(1)"
    config_only = "import sys, huggingface_hub as h; h.hf_hub_download(sys.argv[1], 'config.json')"
    with Hub({"org/name": write(tmp_path / "ckpt"), "org/part": tmp_path / "ckpt"}) as hub:
        reason = "org/name is not in the cache and the Hub cannot be reached"
        assert ask(hub, HF_HUB_OFFLINE="1") == reason
        ask(hub, code=download)
        ask(hub, "org/part", code=config_only + "; print(1)")
        hub.requests.clear()
        assert ask(hub, HF_HUB_OFFLINE="1")["facts"]["tensors"] == 2
        assert hub.requests == []
    assert ask(hub)["facts"]["tensors"] == 2
    assert "the cache has no weights" in ask(hub, "org/part")
    assert ask(hub, "org/gone") == "org/gone is not in the cache and the Hub cannot be reached"


def test_a_part_in_the_cache_is_not_taken_for_the_whole(tmp_path, ask):
    folder = write(tmp_path / "ckpt")
    (folder / "model.safetensors").rename(folder / "model-00001-of-00002.safetensors")
    shutil.copy(
        folder / "model-00001-of-00002.safetensors", folder / "model-00002-of-00002.safetensors"
    )
    some = "import sys, huggingface_hub as h\n"
    some += "for name in ('config.json', 'model-00001-of-00002.safetensors'):\n"
    some += "    h.hf_hub_download(sys.argv[1], name)\nprint(1)"
    with Hub({"org/name": folder}) as hub:
        ask(hub, code=some)
    assert ask(hub) == "org/name: the cache has a part of it and the Hub is out of reach"


def test_a_request_a_shard(tmp_path, ask):
    folder = write(tmp_path / "ckpt")
    for number in range(5):
        shutil.copy(folder / "model.safetensors", folder / f"model-{number}.safetensors")
    with Hub({"org/name": folder}) as hub:
        ask(hub)
        assert len(hub.requests) == 2 + 6


def test_another_host_with_the_files_is_not_sent_the_token(tmp_path, ask):
    folder = write(tmp_path / "ckpt")
    with Hub({"org/name": folder}) as hub, Hub({"org/name": folder}) as storage:
        hub.storage = storage
        assert ask(hub, HF_TOKEN=TOKEN)["facts"]["tensors"] == 2
        assert set(hub.tokens) == {f"Bearer {TOKEN}"}
        assert storage.tokens == [None, None]
        assert storage.sent["org/name/model.safetensors"] < 1000


def test_a_connection_that_breaks_is_one_line(tmp_path, ask):
    with Hub({"org/name": write(tmp_path / "ckpt")}) as hub:
        hub.cut = 20
        said = ask(hub)
    assert said.startswith("org/name")
    assert "\n" not in said


def test_a_server_without_ranges_is_not_listened_to(tmp_path, ask):
    with Hub({"org/name": write(tmp_path / "ckpt", shape=3_000_000)}) as hub:
        hub.ranges = False
        assert "no range requests: status 200" in ask(hub)
        assert "org/name/model.safetensors" not in hub.sent  # config.json was refused already


@pytest.mark.parametrize(
    "info",
    [[], {}, {"siblings": 3}, {"id": 5, "siblings": [{}]}, {"siblings": [{"rfilename": 1}]}, "x"],
)
def test_an_answer_that_is_none_is_one_line(tmp_path, ask, info):
    with Hub({"org/name": write(tmp_path / "ckpt")}) as hub:
        hub.info = info
        said = ask(hub)
    assert isinstance(said, str), said
    assert said.startswith("org/name")
    assert "\n" not in said


def test_a_local_path_wins(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "org").mkdir()
    write(tmp_path / "org" / "name")
    assert presets.check("org/name", "0.32.0").facts["tensors"] == 2


@pytest.mark.parametrize("name", ["nothing", "/no/such", "./a/b", "a/b/c", "a/b@", "../x"])
def test_neither_a_folder_nor_a_repository(name):
    with pytest.raises(presets.CheckpointError, match="no folder, and no Hub repo id"):
        open_checkpoint(name)
