# SPDX-License-Identifier: Apache-2.0
"""A process that ends while it writes: the file is the old one, or not there, and what a signal can be asked to leave is nothing."""

import os
import signal
import subprocess
import time

import numpy as np
import pytest
from conftest import RYND, load

MEGABYTES = 32


@pytest.fixture
def large(identity, tmp_path):
    """A model and its input, and so its output: so large that writing can be watched."""
    array = np.ones(MEGABYTES << 18, "float32")
    np.save(tmp_path / "x.npy", array)
    (tmp_path / "out").mkdir()
    return identity([array.size]), tmp_path / "x.npy", tmp_path / "out"


def temporary_in(folder):
    return [name for name in os.listdir(folder) if name.startswith(".rynd-")]


def stopped_while_writing(large, name, **options):
    """Starts the process and stops it while its temporary file exists."""
    model, file, folder = large
    for _ in range(100):
        process = subprocess.Popen([RYND, "run", model, "-i", file, "-o", folder / name], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **options)
        while process.poll() is None and not temporary_in(folder):
            time.sleep(0.0005)
        process.send_signal(signal.SIGSTOP)
        if process.poll() is None:
            os.waitpid(process.pid, os.WUNTRACED)
            if temporary_in(folder):
                return process
        process.kill()
        process.wait()
        (folder / name).unlink(missing_ok=True)
    raise AssertionError("the command was never seen while it wrote")


def ended(process):
    err = process.stderr.read()
    process.wait()
    return process.returncode, err


@pytest.mark.parametrize("number, name, old", [(signal.SIGINT, "y.npy", None), (signal.SIGTERM, "y.npz", "old"), (signal.SIGHUP, "y.npy", "old")])
def test_signal_while_writing(large, number, name, old):
    folder = large[2]
    process = stopped_while_writing(large, name)
    if old:
        (folder / name).write_text(old)
    process.send_signal(number)
    process.send_signal(signal.SIGCONT)
    assert ended(process) == (-number, b"")  # as if nothing had caught it
    assert os.listdir(folder) == ([name] if old else [])
    assert not old or (folder / name).read_text() == old


def test_ignored_signal(large):
    """As under nohup."""
    process = stopped_while_writing(large, "y.npy", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGCONT)
    assert ended(process)[0] == 0
    assert os.listdir(large[2]) == ["y.npy"]


def test_kill_while_writing(large, ran):
    """What cannot be caught leaves the temporary file, which is in nobody's way."""
    model, file, folder = large
    process = stopped_while_writing(large, "y.npy")
    (folder / "y.npy").write_text("old")
    process.kill()
    assert ended(process)[0] == -signal.SIGKILL
    assert (folder / "y.npy").read_text() == "old" and len(temporary_in(folder)) == 1
    ran("run", model, "-i", file, "-o", folder / "y.npy")
    np.testing.assert_array_equal(load(folder / "y.npy"), load(file))
    assert len(temporary_in(folder)) == 1


def test_signal_before_and_after_writing(large):
    """Nothing is removed but what is unfinished."""
    model, file, folder = large
    (folder / "y.npy").write_text("old")
    process = subprocess.Popen([RYND, "run", model, "-i", "-", "-o", folder / "y.npy"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    process.stdin.write(file.read_bytes()[: 1 << 20])
    process.stdin.flush()
    process.send_signal(signal.SIGTERM)
    assert ended(process) == (-signal.SIGTERM, b"")
    process.stdin = None
    assert (folder / "y.npy").read_text() == "old" and os.listdir(folder) == ["y.npy"]
