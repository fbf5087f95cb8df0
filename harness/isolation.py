"""Run a function in a forked child of the preloaded forkserver; survive whatever happens there.

The child leads its own session, writes its output to a log file and answers with one message.
The parent waits for the message, the child's death or the deadline, whichever is first, and then
kills the whole process group, so no engine process outlives its run.
"""

import contextlib
import faulthandler
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from harness.errors import WorkerError

T = TypeVar("T")
GRACE = 5.0
"""Seconds between TERM and KILL."""
_LATE = "still running after {:.0f} s"


class Death(msgspec.Struct, frozen=True):
    """The child ended without an answer."""

    how: str
    """E.g. "killed by SIGSEGV", "exited with code 3", "still running after 60 s"."""
    functions: list[str]
    """Names of the functions on the child's stack, outermost first, where it could be asked."""
    log: str
    """The end of the child's output."""


class Isolation:
    """Children of one forkserver that has ``preload`` in memory."""

    def __init__(self, preload: str = "harness.preload", memory_gib: float | None = None) -> None:
        # A killed child leaves its semaphores to the resource tracker, which removes them at exit;
        # that it says so is noise. The tracker reads the filter when the first child starts it.
        quiet = "ignore:resource_tracker:UserWarning"
        os.environ["PYTHONWARNINGS"] = ",".join(
            dict.fromkeys([*filter(None, os.environ.get("PYTHONWARNINGS", "").split(",")), quiet])
        )
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload([preload])
        self._memory_gib = memory_gib

    def run(
        self, function: Callable[..., T], *args: Any, answer: type[T], deadline: float
    ) -> T | Death:
        """``function(*args)`` in a child. Both must pickle; the result, of type ``answer``,
        travels as JSON. ``deadline`` is in seconds. WorkerError if the function raised.
        """
        receiver, sender = self._context.Pipe(duplex=False)
        with tempfile.TemporaryDirectory(prefix="vllm-presets-") as folder, receiver:
            log = Path(folder) / "log"
            process = self._context.Process(
                target=_child, args=(sender, str(log), self._memory_gib, function, args)
            )
            process.start()
            sender.close()
            try:
                in_time = wait([receiver, process.sentinel], timeout=deadline)
                message = _receive(receiver)
                if message is None and in_time:
                    process.join(GRACE)  # its end of the pipe closes a moment before it is gone
                how = _how_it_ended(process.exitcode) if in_time else _LATE.format(deadline)
            finally:
                _kill_group(process)
            if message is None:
                text = log.read_text(errors="replace") if log.exists() else ""
                return Death(how, _stack_in(text), text[-4000:])
        kind, _, body = message.partition(b" ")
        if kind == b"raised":
            raise WorkerError(body.decode())
        return msgspec.json.decode(body, type=answer, dec_hook=lambda kind, raw: kind(raw))

    def call(
        self, function: Callable[..., T], *args: Any, answer: type[T], deadline: float = 600.0
    ) -> T:
        """Like ``run``, but a child that dies is a WorkerError too."""
        result = self.run(function, *args, answer=answer, deadline=deadline)
        if isinstance(result, Death):
            raise WorkerError(f"{function.__name__} {result.how}\n{result.log[-1000:]}")
        return result


def _child(
    sender: Connection,
    log: str,
    memory_gib: float | None,
    function: Callable[..., Any],
    args: tuple[Any, ...],
) -> None:
    os.setsid()
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(output, 1)
    os.dup2(output, 2)
    faulthandler.enable(file=output, all_threads=False)
    faulthandler.register(signal.SIGTERM, file=output, all_threads=False, chain=True)
    if memory_gib is not None:
        limit = int(memory_gib * 2**30)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    try:
        message = b"ok " + msgspec.json.encode(function(*args), enc_hook=_encode)
    except Exception as error:
        said = f"{function.__name__}: {type(error).__name__}: {error}\n{traceback.format_exc()}"
        message = b"raised " + said.encode()
    sender.send_bytes(message)
    sender.close()
    sys.stdout.flush()
    os._exit(0)  # no engine teardown: the group is killed anyway


def _encode(value: object) -> str:
    if isinstance(value, Path):
        return str(value)
    raise NotImplementedError


def _receive(receiver: Connection) -> bytes | None:
    try:
        return receiver.recv_bytes() if receiver.poll(0) else None
    except EOFError:
        return None


def _how_it_ended(code: int | None) -> str:
    if code is not None and code < 0:
        return f"killed by {signal.Signals(-code).name}"
    return f"exited with code {code} before it answered"


def _kill_group(process: Any) -> None:
    """TERM, then KILL, to the child's whole group; returns when the child is gone."""
    for number, patience in ((signal.SIGTERM, GRACE), (signal.SIGKILL, 30.0)):
        if number == signal.SIGTERM and not process.is_alive():
            continue
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        until = time.monotonic() + patience
        while process.is_alive() and time.monotonic() < until:
            process.join(0.05)
    process.join()


def _stack_in(log: str) -> list[str]:
    """Function names of the last stack that faulthandler wrote, outermost first."""
    _, _, dump = log.rpartition("(most recent call first):")
    lines = [line for line in dump.splitlines() if line.startswith("  File ")]
    return [line.rpartition(" in ")[2] for line in reversed(lines)]
