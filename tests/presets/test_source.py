"""A local folder as the source of a checkpoint's files: what is read, and what is not."""

import os
import socket
import stat
from pathlib import Path

import pytest

from presets import source
from presets.errors import CheckpointError
from presets.facts import read_facts
from presets.source import Folder


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "checkpoint"
    made.mkdir()
    (made / "config.json").write_text("{}")
    return made


def odd(folder):
    found = Folder(folder)
    assert not found.files.keys() & found.odd.keys()
    return found.odd


def test_files_have_their_size_and_ranges_are_read(folder):
    (folder / "data").write_bytes(b"0123456789")
    found = Folder(folder)
    assert found.files == {"config.json": 2, "data": 10}
    assert found.odd == {}
    assert found.read("data", 3, 4) == b"3456"
    assert found.read("data", 8, 99) == b"89"
    assert found.read("data", 99, 1) == b""


def test_a_folder_that_cannot_be_listed_is_named(folder):
    for path in (folder / "absent", folder / "config.json", Path(f"{folder}\0")):
        with pytest.raises(CheckpointError, match="checkpoint"):
            Folder(path)


def test_a_folder_of_too_many_files_is_not_listed_to_the_end(folder, monkeypatch):
    monkeypatch.setattr(source, "MAX_FILES", 3)
    for name in "abc":
        assert Folder(folder).files
        (folder / name).touch()
    with pytest.raises(CheckpointError, match="more than 3 files"):
        Folder(folder)


def test_what_is_no_regular_file_is_not_opened(folder):
    os.mkfifo(folder / "fifo.json")
    (folder / "null.safetensors").symlink_to("/dev/null")
    (folder / "named.json").mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "socket"))
        assert odd(folder) == {
            "fifo.json": "not a regular file",
            "null.safetensors": "not a regular file",
            "named.json": "a directory",
            "socket": "not a regular file",
        }


def test_a_device_is_not_opened(folder):
    try:
        os.mknod(folder / "zero.json", stat.S_IFCHR | 0o666, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("only root makes a device")
    assert odd(folder) == {"zero.json": "not a regular file"}


def test_links_that_lead_nowhere(folder):
    (folder / "dangling.json").symlink_to("absent")
    (folder / "loop.json").symlink_to("loop.json")
    assert odd(folder) == {
        "dangling.json": "No such file or directory",
        "loop.json": "Too many levels of symbolic links",
    }


def test_links_are_followed_within_the_folder_only(folder, tmp_path):
    (tmp_path / "secret.json").write_text("{}")
    (tmp_path / "checkpoint-2").mkdir()
    (tmp_path / "checkpoint-2" / "near.json").write_text("{}")
    (folder / "within.json").symlink_to("config.json")
    (folder / "absolute.json").symlink_to(folder / "config.json")
    (folder / "out.json").symlink_to("../secret.json")
    (folder / "near.json").symlink_to("../checkpoint-2/near.json")
    (folder / "twice.json").symlink_to("out.json")
    assert odd(folder) == dict.fromkeys(
        ["out.json", "near.json", "twice.json"], "a link that leaves the folder"
    )
    assert Folder(folder).read("within.json", 0, 9) == b"{}"


def test_the_folder_itself_may_be_a_link(folder, tmp_path):
    (folder / "within.json").symlink_to("config.json")
    (tmp_path / "link").symlink_to("checkpoint")
    found = Folder(tmp_path / "link")
    assert found.files == {"config.json": 2, "within.json": 2}
    assert found.read("within.json", 0, 9) == b"{}"


def test_a_snapshot_of_a_hub_cache_leads_into_its_blobs(tmp_path):
    snapshot = tmp_path / "models--org--name" / "snapshots" / "abc"
    blobs = tmp_path / "models--org--name" / "blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    (blobs / "123").write_text("{}")
    (tmp_path / "models--org--name" / "refs").write_text("{}")
    (snapshot / "config.json").symlink_to("../../blobs/123")
    (snapshot / "refs.json").symlink_to("../../refs")
    found = Folder(snapshot)
    assert found.files == {"config.json": 2}
    assert found.odd == {"refs.json": "a link that leaves the folder"}
    assert found.read("config.json", 0, 9) == b"{}"


def test_an_unreadable_file_is_named(folder, monkeypatch):
    if os.geteuid():
        (folder / "config.json").chmod(0)
    else:  # root reads everything: the kernel's answer, without its reason

        def refuse(*_):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(CheckpointError, match=r"config\.json: Permission denied"):
        Folder(folder).read("config.json", 0, 2)


def longer(path):
    path.write_text("{    }")


def shorter(path):
    path.write_text("{")


def replaced(path):
    path.rename(path.with_name("old"))
    path.write_text("[]")


def fifo(path):
    path.unlink()
    os.mkfifo(path)


def directory(path):
    path.unlink()
    path.mkdir()


def link(path):
    path.rename(path.with_name("old"))  # a new file may get the number of one that is gone
    path.with_name("other").write_text("[]")
    path.symlink_to("other")


def endless(path):
    path.unlink()
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("change", [longer, shorter, replaced, fifo, directory, link, endless])
def test_a_file_that_is_no_longer_what_was_listed_is_not_read(folder, change):
    found = Folder(folder)
    change(folder / "config.json")
    with pytest.raises(CheckpointError, match=r"config\.json: changed while it was read"):
        found.read("config.json", 0, 2)


def test_a_file_that_is_gone_is_named(folder):
    found = Folder(folder)
    (folder / "config.json").unlink()
    with pytest.raises(CheckpointError, match=r"config\.json: No such file"):
        found.read("config.json", 0, 2)


@pytest.mark.parametrize("change", [fifo, directory, endless])
def test_a_shard_that_changes_is_a_mark_and_a_config_an_error(folder, change):
    (folder / "model.safetensors").write_bytes(b"\2\0\0\0\0\0\0\0{}")
    found = Folder(folder)
    change(folder / "model.safetensors")
    facts = read_facts(found)
    assert list(facts.marks) == ["unreadable-file"]
    assert facts.unread
    change(folder / "config.json")
    with pytest.raises(CheckpointError, match="changed"):
        read_facts(found)
