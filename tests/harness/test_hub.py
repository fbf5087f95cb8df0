"""``harness.hub`` against a Hub on localhost, each download in a process of its own:
huggingface_hub reads its settings when it is imported.
"""

import json
import socketserver
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from hub_server import TOKEN, Hub

from harness.hub import cannot_run
from harness.outcome import Environment
from presets.schema import Claim

CHILD = """
import json, sys
from harness.errors import HubError
from harness.hub import download
try:
    print(json.dumps(["folder", str(download(sys.argv[1]))]))
except HubError as error:
    print(json.dumps(["error", str(error)]))
"""


@pytest.fixture
def repo(tmp_path):
    folder = tmp_path / "repo"
    folder.mkdir()
    for name in ("config.json", "model.safetensors", "tokenizer.model", "chat_template.jinja"):
        (folder / name).write_text(f"{name} of main")
    for name in ("pytorch_model.bin", "modeling_remote.py", "model.gguf"):
        (folder / name).write_text("never fetched")
    return folder


@pytest.fixture
def ask(tmp_path):
    """``ask(hub, "org/name")`` -> what ``download`` answers there, with an own cache."""

    def run(hub: Hub, name: str, **environ: str) -> tuple[str, str]:
        command = [sys.executable, "-c", CHILD, name]
        env = hub.environ(tmp_path / "home") | environ
        result = subprocess.run(
            command, env=env, capture_output=True, text=True, check=False, timeout=120
        )
        assert result.returncode == 0, result.stderr
        return tuple(json.loads(result.stdout))

    return run


def test_download_fetches_what_an_engine_reads_and_no_more(repo, ask):
    with Hub({"org/name": repo}) as hub:
        kind, folder = ask(hub, "org/name")
        assert kind == "folder"
        assert sorted(p.name for p in Path(folder).iterdir()) == [
            "chat_template.jinja",
            "config.json",
            "model.safetensors",
            "tokenizer.model",
        ]
        assert (Path(folder) / "config.json").read_text() == "config.json of main"
        assert sorted(hub.sent) == [
            "org/name/chat_template.jinja",
            "org/name/config.json",
            "org/name/model.safetensors",
            "org/name/tokenizer.model",
        ]


def test_second_download_is_served_from_the_cache(repo, ask):
    with Hub({"org/name": repo}) as hub:
        first = ask(hub, "org/name")
        sent = dict(hub.sent)
        assert ask(hub, "org/name") == first
        assert hub.sent == sent


def test_revision_pins_the_files(repo, ask, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "config.json").write_text("config.json of v1")
    with Hub({"org/name": repo, "org/name@v1": other}) as hub:
        commit = hub.revisions["org/name", "v1"].commit
        for name in ("org/name@v1", f"org/name@{commit}"):
            kind, folder = ask(hub, name)
            assert kind == "folder"
            assert Path(folder).name == commit
            assert (Path(folder) / "config.json").read_text() == "config.json of v1"
        kind, folder = ask(hub, "org/name")
        assert (Path(folder) / "config.json").read_text() == "config.json of main"


def test_unknown_revision(repo, ask):
    with Hub({"org/name": repo}) as hub:
        assert ask(hub, "org/name@gone") == ("error", "org/name has no revision 'gone'")


def test_gated_repository_needs_a_token_that_was_let_in(repo, ask):
    reason = "org/name is gated: accept its terms on the Hub and set HF_TOKEN"
    with Hub({"org/name": repo}, gated={"org/name"}) as hub:
        assert ask(hub, "org/name") == ("error", reason)
        assert ask(hub, "org/name", HF_TOKEN="hf_of_somebody_else") == ("error", reason)
        assert hub.sent == {}
        kind, _ = ask(hub, "org/name", HF_TOKEN=TOKEN)
        assert kind == "folder"


def test_missing_repository(repo, ask):
    with Hub({"org/name": repo}) as hub:
        assert ask(hub, "org/gone") == (
            "error",
            "org/gone does not exist, or is private and HF_TOKEN is not set",
        )


def test_hub_that_cannot_be_reached(repo, ask):
    reason = "org/name is not in the cache and the Hub cannot be reached"
    with Hub({"org/name": repo}) as hub:
        assert ask(hub, "org/name", HF_HUB_OFFLINE="1") == ("error", reason)
        assert hub.requests == []
    assert ask(hub, "org/name") == ("error", reason)


def test_cached_checkpoint_needs_no_hub(repo, ask):
    with Hub({"org/name": repo}) as hub:
        found = ask(hub, "org/name")
    assert found[0] == "folder"
    assert ask(hub, "org/name") == found
    assert ask(hub, "org/name", HF_HUB_OFFLINE="1") == found


def test_name_that_is_none(repo, ask):
    with Hub({"org/name": repo}) as hub:
        kind, reason = ask(hub, "org/a/b")
        assert kind == "error"
        assert "org/a/b" in reason


def test_connection_that_breaks(repo, ask):
    class Hangup(socketserver.BaseRequestHandler):
        """Closes the connection without a word."""

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Hangup) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        endpoint = f"http://127.0.0.1:{server.server_address[1]}"
        with Hub({}) as hub:
            kind, reason = ask(hub, "org/name", HF_ENDPOINT=endpoint)
        server.shutdown()
    assert kind == "error"
    assert reason.startswith("org/name: ")
    assert "disconnected" in reason


def test_server_answers_ranges(repo):
    with Hub({"org/name": repo}) as hub:
        url = f"{hub.endpoint}/org/name/resolve/main/config.json"
        request = urllib.request.Request(url, headers={"Range": "bytes=2-5"})
        with urllib.request.urlopen(request) as answer:
            assert answer.status == 206
            assert answer.headers["Content-Range"] == "bytes 2-5/19"
            assert answer.read() == b"nfig"
        assert hub.sent == {"org/name/config.json": 4}
        request = urllib.request.Request(url, headers={"Range": "bytes=19-"})
        with pytest.raises(urllib.error.HTTPError, match="416"):
            urllib.request.urlopen(request)


def environment(device: str, memory_gib: float = 0, gpus: int = 0) -> Environment:
    return Environment(
        "0.32.0", "", "", None, "3.11", device, memory_gib=memory_gib, gpu_count=gpus
    )


@pytest.mark.parametrize(
    ("needs", "device", "reason"),
    [
        ({"memory_gib": 24}, environment("cuda", 16, 1), "needs 24 GiB of memory, the GPU has 16"),
        ({"memory_gib": 24}, environment("cuda", 24, 1), None),
        ({"memory_gib": 24}, environment("cpu", 16), None),
        ({"gpus": 2}, environment("cuda", 24, 1), "needs 2 GPUs, found 1"),
        ({"gpus": 2}, environment("cuda", 24, 2), None),
        ({}, environment("cuda", 24, 1), None),
    ],
)
def test_cannot_run(needs, device, reason):
    claim = Claim("org/name", ">=0.13.0", "ok", ["https://example.org"], **needs)
    assert cannot_run(claim, device) == reason
