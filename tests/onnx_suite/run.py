# SPDX-License-Identifier: Apache-2.0
"""Runs ONNX's own backend tests, those of the onnx package, through librynd:

    build/venv/bin/python tests/onnx_suite/run.py [--list FILE] [--threads N] [--isa ISA] [--device DEVICE] [NAME...]

NAME: a test of the list, or a part of its name; none: all. Prints each failure with its cause, and closes with N passed, N failed.
Every test runs twice: planned with the inputs' content known, and planned with their shapes only. Tolerances, and that dtype and shape must
agree, are those of onnx.backend.test.runner. The list must be the one that suite.py makes. Tests run in worker processes, so that a crash is one
failure and the rest goes on.
Exits with 77 where the machine lacks the instruction set or the device.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import queue
import select
import signal
import subprocess
import sys

import suite

HERE = pathlib.Path(__file__).resolve().parent
LIST = HERE / "tests.txt"
sys.path.insert(0, str(HERE.parent / "support"))
import rynd_ctypes  # noqa: E402  (found by the line above)

TIME_LIMIT = 120  # seconds for one test; the slowest takes well below one


class Worker:
    """A process that runs tests one by one: a line in, a line of JSON out."""

    def __init__(self, arguments):
        self.command = [sys.executable, HERE / "worker.py", str(arguments.threads), arguments.isa or "", arguments.device]
        self.process = None

    def start(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, name):
        """The cause of the failure, or an empty string."""
        if self.process is None:
            self.start()
        try:
            self.process.stdin.write(name + "\n")
            self.process.stdin.flush()
            answered = select.select([self.process.stdout], [], [], TIME_LIMIT)[0]
            line = self.process.stdout.readline() if answered else ""
        except BrokenPipeError:
            answered, line = True, ""
        if line:
            return json.loads(line)
        self.process.kill()
        code = self.process.wait()
        self.process = None
        if not answered:
            return f"no answer within {TIME_LIMIT} s"
        return f"crashed: {signal.Signals(-code).name if code < 0 else f'exit code {code}'}"

    def stop(self):
        if self.process:
            self.process.stdin.close()
            self.process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", default=LIST, help="names of tests, one a line (default: tests.txt beside this file)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--isa")
    parser.add_argument("--device", default="cpu", help="opencl, opencl:1, cuda, ...; what it lacks runs on the CPU beside it")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    tests = pathlib.Path(arguments.list).read_text().split()
    stale = set() if arguments.names or arguments.list != LIST else set(tests) ^ set(suite.expected())
    if arguments.names:
        tests = [test for test in tests if any(name in test for name in arguments.names)]
    lacks = rynd_ctypes.lacks_isa(arguments.isa) if arguments.device == "cpu" else rynd_ctypes.lacks_device(arguments.device)
    if lacks:
        print(f"skipped all: {lacks}\n0 passed, 0 failed, {len(tests)} skipped")
        return 77

    suite.folder("node")  # made now, before workers ask for it
    idle = queue.Queue()
    workers = [Worker(arguments) for _ in range(os.cpu_count())]
    for worker in workers:
        idle.put(worker)

    def run(test):
        worker = idle.get()
        try:
            return test, worker.run(test)
        finally:
            idle.put(worker)

    failed = len(stale)
    for test in sorted(stale):
        print(f"FAILED {test}: {LIST.name} and what suite.py lists differ in it")
    with concurrent.futures.ThreadPoolExecutor(len(workers)) as pool:
        for test, why in pool.map(run, tests):
            if why:
                failed += 1
                print(f"FAILED {test}: {why}", flush=True)
    for worker in workers:
        worker.stop()
    print(f"{len(tests) + len(stale) - failed} passed, {failed} failed")
    return 1 if failed or not tests else 0


if __name__ == "__main__":
    sys.exit(main())
