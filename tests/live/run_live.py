# SPDX-License-Identifier: Apache-2.0
"""Run a command beside a real small language model that speaks the Ollama protocol on loopback.

    python tests/live/run_live.py -- evalsite run corpora/.../campaigns/live.yaml

fetches the file (once), starts the bridge on 127.0.0.1:11434, runs the command, stops the bridge and
ends with the command's exit code. ``{url}`` in the command stands for the bridge's address. Without
a command it serves until Ctrl-C. Exit 7: there is no file, no engine or no port.
"""

import argparse
import contextlib
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

HERE = Path(__file__).resolve().parent
FETCH = HERE.parent.parent / "scripts" / "fetch_judge_weights.py"
BRIDGE = HERE / "ollama_bridge.py"
MODEL_NAME = "smollm2:135m-instruct-q4_1"
OLLAMA_PORT = 11434
EXIT_ENDPOINT = 7
EXIT_INTERRUPTED = 130
_STOP_TIMEOUT_S = 15


class UnavailableError(Exception):
    """There is nothing to run on, and why."""

    def __init__(self, message: str, exit_code: int = EXIT_ENDPOINT) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def fetch() -> Path:
    """Return the path of the file.

    Raises:
        UnavailableError: It cannot be had here.
    """
    done = subprocess.run([sys.executable, str(FETCH)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise UnavailableError(done.stderr.strip(), done.returncode)
    return Path(done.stdout.strip())


@contextlib.contextmanager
def running_bridge(gguf: Path, *, port: int = 0, context: int = 4096, threads: int = 1) -> Iterator[str]:
    """Run the bridge and give its address.

    Raises:
        UnavailableError: The engine is not installed, or the port is taken.
    """
    _check_port(port)
    command = [sys.executable, str(BRIDGE), "--gguf", str(gguf), "--name", MODEL_NAME, "--port", str(port)]
    command += ["--context", str(context), "--threads", str(threads)]
    with tempfile.TemporaryFile("w+") as errors:
        # A session of its own: Ctrl-C is for the command, which then ends its record against a living server.
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True)
        try:
            yield _address(process, errors)
        finally:
            _stop(process)


def _check_port(port: int) -> None:
    if port == 0:
        return
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError as exc:
        raise UnavailableError(
            f"port {port} on loopback is taken (an Ollama server?): stop what listens there, or choose --port ({exc})"
        ) from exc


def _address(process: subprocess.Popen[str], errors: IO[str]) -> str:
    line = process.stdout.readline() if process.stdout is not None else ""
    word, _, address = line.strip().partition(" ")
    if word == "ready":
        return address
    process.wait(_STOP_TIMEOUT_S)
    errors.seek(0)
    reason = (errors.read().strip().splitlines() or ["it said nothing"])[-1]
    if "ModuleNotFoundError" in reason:
        reason += "; install what requirements/live.txt lists"
    raise UnavailableError(f"the bridge did not start: {reason}")


def _stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.communicate(timeout=_STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()


def run(command: list[str], url: str) -> int:
    """Run the command with ``{url}`` replaced and return its exit code; SIGTERM is handed on to it."""
    process = subprocess.Popen([part.replace("{url}", url) for part in command])
    before = signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    try:
        while True:
            try:
                code = process.wait()
                return code if code >= 0 else 128 - code  # ended by a signal: as a shell tells it
            except KeyboardInterrupt:  # the command got it too and ends in its own way
                continue
    finally:
        signal.signal(signal.SIGTERM, before)


def serve(url: str) -> int:
    """Wait for Ctrl-C or SIGTERM."""
    print(f"{MODEL_NAME} at {url}; Ctrl-C ends", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        signal.pause()
    return 0


def main() -> int:
    """Fetch, start, run, stop."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=OLLAMA_PORT, help="0 takes a free one")
    parser.add_argument("--threads", type=int, default=1, help="more only on an otherwise idle machine")
    parser.add_argument("--or-skip", action="store_true", help="end with 0, and say so, when the file cannot be had")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    command = given.command[1:] if given.command[:1] == ["--"] else given.command
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that the bridge never outlives this process
    try:
        gguf = fetch()
        with running_bridge(gguf, port=given.port, threads=given.threads) as url:
            return run(command, url) if command else serve(url)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except UnavailableError as exc:
        skipped = given.or_skip and exc.exit_code == EXIT_ENDPOINT
        print(f"{'SKIPPED' if skipped else 'not run'}: {exc}", file=sys.stderr)
        return 0 if skipped else exc.exit_code


if __name__ == "__main__":
    sys.exit(main())
