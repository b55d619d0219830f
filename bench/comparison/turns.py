# SPDX-License-Identifier: Apache-2.0
"""The processes of a comparison, and the turns that they take."""
import json
import math
import os
import pathlib
import select
import statistics
import subprocess
import time
from dataclasses import dataclass

HERE = pathlib.Path(__file__).resolve().parent
PAUSE = 0.012  # seconds between turns: thread pools of the one before stop spinning
PATIENCE = 600  # seconds until a silent engine is given up
# Memory that is freed stays with the process: no engine is charged for the kernel's zeroing of pages that it frees and takes again at each run.
KEEP_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**33), "MALLOC_TOP_PAD_": str(2**26)}


class Failure(Exception):
    pass


@dataclass(frozen=True)
class Candidate:
    """An engine in one of its forms. The key is its name in the results."""

    engine: str
    accuracy: str = "near32"
    layout: str = "nchw"
    kernel: str = ""  # rynd: the one to use

    @property
    def key(self):
        words = [self.engine] + ["strict"] * (self.accuracy == "strict") + ["nhwc"] * (self.layout == "nhwc")
        return ".".join(words + [self.kernel] * bool(self.kernel))


class Process:
    """A worker; it is started when it is first asked, and again after it died."""

    def __init__(self, candidate, python, threads, library, log):
        self.candidate, self.log = candidate, log
        self.command = [python, HERE / "worker.py", candidate.engine]
        self.environment = os.environ | KEEP_MEMORY | {"OMP_NUM_THREADS": str(threads), "KMP_BLOCKTIME": "10", "RYND_LIBRARY": str(library),
                                                       "PYTHONDONTWRITEBYTECODE": "1",
                                                       "RYND_WISDOM": "off"}  # what is compared is the untuned choice
        self.child = None

    def ask(self, **request):
        if self.child is None:
            with open(self.log, "ab") as log:
                self.child = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=self.environment, text=True)
        try:
            self.child.stdin.write(json.dumps(request) + "\n")
            self.child.stdin.flush()
        except BrokenPipeError:
            self.stop()
            raise Failure("ended") from None
        if not select.select([self.child.stdout], [], [], PATIENCE)[0]:
            self.stop()
            raise Failure(f"no answer in {PATIENCE} s")
        line = self.child.stdout.readline()
        if not line:
            code = self.stop()
            raise Failure(f"ended with code {code}")
        answer = json.loads(line)
        if "error" in answer:
            raise Failure(answer["error"])
        return answer

    def stop(self):
        if self.child is None:
            return None
        child, self.child = self.child, None
        child.stdin.close()
        try:
            return child.wait(1)
        except subprocess.TimeoutExpired:
            child.kill()
            return child.wait()


def runs_of_a_turn(seconds, turn):
    """How often a run of so many seconds is repeated. The first of several is not counted: it finds the caches full of another's data."""
    return 1 if seconds > 4 * turn else 1 + max(2, math.ceil(turn / seconds))


def take_turn(process, runs):
    seconds = process.ask(run=runs)["seconds"]
    return statistics.median(seconds[1:] or seconds)


def take_turns(processes, rounds, turn, rng, show, failures):
    """The median of each turn of each candidate, by key. Every round has one turn of each, in random order, so that they pair up. Who fails is taken
    out, and the reason goes to failures."""
    runs, turns = {}, {key: [] for key in processes}
    for number in range(rounds):
        show(f"round {number + 1} of {rounds}")
        for key in rng.sample(list(turns), len(turns)):
            time.sleep(PAUSE)
            try:
                if key not in runs:
                    runs[key] = runs_of_a_turn(min(processes[key].ask(run=2)["seconds"]), turn)
                turns[key].append(take_turn(processes[key], runs[key]))
            except Failure as failure:
                failures[key] = str(failure)
                del turns[key]
    return turns


SAMPLES = 256
TOLERANCE = 1e-3


def disagreement(values, others):
    """Relative RMS difference."""
    difference = math.fsum((a - b) ** 2 for a, b in zip(values, others))
    return math.sqrt(difference / (math.fsum(b * b for b in others) or 1))
