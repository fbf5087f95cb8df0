"""A Hugging Face Hub on localhost: the part of its HTTP API that downloads use.

``Hub({"org/name": folder, "org/name@v1": other})`` serves folders as model repositories, the
second one as another revision. Like the real Hub it tells who asks for a gated repository what
is in it and refuses the files; a missing repository and a private one look the same.
"""

import hashlib
import json
import os
import re
import threading
from collections.abc import Collection, Mapping
from functools import cached_property
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import unquote, urlsplit

TOKEN = "hf_let_me_in"
"""Who sends this token may read gated repositories."""

_MODEL = re.compile(r"/api/models/([^/]+/[^/]+)(?:/(revision|tree)/([^/]+))?")
_FILE = re.compile(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)")


class Revision:
    """One revision of a repository: a folder, and the hash that the Hub would call its commit."""

    def __init__(self, folder: Path) -> None:
        self.files = {
            path.relative_to(folder).as_posix(): path
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }

    @cached_property
    def etags(self) -> dict[str, str]:
        return {
            name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in self.files.items()
        }

    @cached_property
    def commit(self) -> str:
        return hashlib.sha1(json.dumps(self.etags).encode()).hexdigest()


class Hub:
    """The server; a context manager. ``requests`` holds what was asked for, ``sent`` how many
    bytes of each file ("org/name/config.json") went out.
    """

    def __init__(self, repos: Mapping[str, Path], gated: Collection[str] = ()) -> None:
        self.gated = gated
        self.renamed: dict[str, str] = {}
        self.failing: HTTPStatus | None = None
        """What every request is answered with, if set."""
        self.storage: Hub | None = None
        """Files are redirected to this host, as the real Hub does with large ones."""
        self.cut: int | None = None
        """Bytes of a file after which the connection breaks."""
        self.ranges = True
        self.info: Any = None
        """What is said of every repository instead of what is true."""
        self.tokens: list[str | None] = []
        """The Authorization header of each request."""
        self.revisions: dict[tuple[str, str], Revision] = {}
        for name, folder in repos.items():
            repo, _, revision = name.partition("@")
            found = Revision(folder)
            self.revisions[repo, revision or "main"] = found
            self.revisions[repo, found.commit] = found
        self.requests: list[tuple[str, str]] = []
        self.sent: dict[str, int] = {}
        self.lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"hub": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def environ(self, home: Path) -> dict[str, str]:
        """The environment of a process that sees this Hub alone and keeps its cache in ``home``."""
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("HF_", "TRANSFORMERS_OFFLINE"))
        }
        return inherited | {
            "HF_ENDPOINT": self.endpoint,
            "HF_HOME": str(home),
            "HF_HUB_CACHE": str(home / "hub"),
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "NO_PROXY": "127.0.0.1,localhost",
            "no_proxy": "127.0.0.1,localhost",
        }


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing; ``Hub.requests`` has it."""

    def _answer(self) -> None:
        path = unquote(urlsplit(self.path).path)
        with self.hub.lock:
            self.hub.requests.append((self.command, path))
            self.hub.tokens.append(self.headers.get("Authorization"))
        if self.hub.failing:
            self._error(self.hub.failing)
            return
        for old, new in self.hub.renamed.items():
            if f"/{old}" in path:
                self._error(
                    HTTPStatus.TEMPORARY_REDIRECT, headers={"Location": self.path.replace(old, new)}
                )
                return
        if match := _MODEL.fullmatch(path):
            repo, kind, revision = match.groups()
            if found := self._find(repo, revision or "main"):
                listed = _tree(found) if kind == "tree" else _info(repo, found)
                self._json(listed if self.hub.info is None else self.hub.info)
        elif match := _FILE.fullmatch(path):
            repo, revision, name = match.groups()
            if found := self._find(repo, revision):
                self._file(repo, found, name)
        else:
            self._error(HTTPStatus.NOT_FOUND)

    def _find(self, repo: str, revision: str) -> Revision | None:
        found = self.hub.revisions.get((repo, revision))
        if found is None and any(known == repo for known, _ in self.hub.revisions):
            self._error(HTTPStatus.NOT_FOUND, "RevisionNotFound", f"Invalid rev id: {revision}")
        elif found is None:
            self._error(HTTPStatus.NOT_FOUND, "RepoNotFound", "Repository not found")
        return found

    def _file(self, repo: str, found: Revision, name: str) -> None:
        token = self.headers.get("Authorization")
        if repo in self.hub.gated and token != f"Bearer {TOKEN}":
            status = HTTPStatus.FORBIDDEN if token else HTTPStatus.UNAUTHORIZED
            self._error(status, "GatedRepo", f"Access to model {repo} is restricted")
            return
        if self.hub.storage:
            location = self.hub.storage.endpoint.replace("127.0.0.1", "localhost") + self.path
            self._error(HTTPStatus.FOUND, headers={"Location": location})
            return
        headers = {"X-Repo-Commit": found.commit, "Accept-Ranges": "bytes"}
        if name not in found.files:
            self._error(HTTPStatus.NOT_FOUND, "EntryNotFound", "Entry not found", headers)
            return
        body = found.files[name].read_bytes()
        headers["ETag"] = f'"{found.etags[name]}"'
        status = HTTPStatus.OK
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if wanted and self.hub.ranges:
            start = int(wanted[1])
            end = min(int(wanted[2] or len(body) - 1), len(body) - 1)
            if start > end:
                headers["Content-Range"] = f"bytes */{len(body)}"
                self._error(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, headers=headers)
                return
            headers["Content-Range"] = f"bytes {start}-{end}/{len(body)}"
            body = body[start : end + 1]
            status = HTTPStatus.PARTIAL_CONTENT
        if self.command == "GET":
            with self.hub.lock:
                file = f"{repo}/{name}"
                self.hub.sent[file] = self.hub.sent.get(file, 0) + len(body)
        self._send(status, headers, body)

    def _json(self, value: Any) -> None:
        headers = {"Content-Type": "application/json"}
        self._send(HTTPStatus.OK, headers, json.dumps(value).encode())

    def _error(
        self,
        status: HTTPStatus,
        code: str | None = None,
        message: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        extra = {"X-Error-Code": code, "X-Error-Message": message} if code else {}
        self._send(status, {**(headers or {}), **extra}, b"")

    def _send(self, status: HTTPStatus, headers: Mapping[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[: self.hub.cut])
            if self.hub.cut is not None:
                self.close_connection = True


def _info(repo: str, found: Revision) -> dict[str, Any]:
    siblings = [
        {"rfilename": name, "size": path.stat().st_size} for name, path in found.files.items()
    ]
    return {"id": repo, "modelId": repo, "sha": found.commit, "siblings": siblings}


def _tree(found: Revision) -> list[dict[str, Any]]:
    return [
        {
            "type": "file",
            "path": name,
            "size": path.stat().st_size,
            "oid": found.etags[name],
        }
        for name, path in found.files.items()
    ]
