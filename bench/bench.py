# SPDX-License-Identifier: Apache-2.0
"""rynd beside ONNX Runtime, on whole networks: one table.

    build/venv/bin/python bench/bench.py [--threads 2] [--rounds 15] [--batch 1] [NETWORK...]

Each runs in a process of its own; turns are interleaved in random order, so that what else the machine does hits both. A turn runs for about a
tenth of a second; its first run is left out. Time is the median over all turns; memory is what the process's peak exceeds by what it had before the model was loaded.
"""
import argparse
import json
import pathlib
import random
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build/networks"
NETWORKS = ["resnet50", "resnet18", "mobilenet_v2", "mobilenet_v3_large", "squeezenet1_0", "densenet161", "efficientnet_b0", "vgg16"]
TURN = 0.1  # seconds
ENGINES = ["rynd", "onnxruntime"]


class Peer:
    """An engine with a model, in worker.py."""

    def __init__(self, engine, model, arrays, threads, batch):
        command = [sys.executable, ROOT / "bench/worker.py", engine, model, arrays, str(threads), str(batch)]
        self.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ready = self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"a worker ended with exit code {self.process.wait()}")
        return json.loads(line)

    def run(self, times):
        self.process.stdin.write(f"{times}\n")
        self.process.stdin.flush()
        return self.answer()["seconds"]

    def stop(self):
        self.process.stdin.close()
        return self.answer()["memory"]


def measure(network, arguments):
    """Seconds (all turns) and bytes of each engine."""
    subprocess.run([sys.executable, ROOT / "tests/networks/export.py", FOLDER, network], check=True)
    peers = {engine: Peer(engine, FOLDER / f"{network}.onnx", FOLDER / f"{network}.npz", arguments.threads, arguments.batch) for engine in ENGINES}
    times = {engine: max(2, 1 + round(TURN / min(peer.run(3)))) for engine, peer in peers.items()}
    seconds = {engine: [] for engine in peers}
    for _ in range(arguments.rounds):
        for engine in random.sample(ENGINES, len(ENGINES)):
            seconds[engine] += peers[engine].run(times[engine])[1:]
    return seconds, {engine: peer.stop() for engine, peer in peers.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--batch", type=int, default=1, choices=[1, 3])
    parser.add_argument("networks", nargs="*", default=NETWORKS)
    arguments = parser.parse_args()
    print(f"{'network':20} {'rynd ms':>9} {'ORT ms':>9} {'ratio':>6}   {'rynd MiB':>8} {'ORT MiB':>8} {'ratio':>6}   (batch {arguments.batch}, {arguments.threads} threads)")
    for network in arguments.networks:
        seconds, memory = measure(network, arguments)
        ours, theirs = (statistics.median(seconds[engine]) * 1e3 for engine in ENGINES)
        mine, other = (memory[engine] / 2**20 for engine in ENGINES)
        print(f"{network:20} {ours:9.2f} {theirs:9.2f} {ours / theirs:6.2f}   {mine:8.0f} {other:8.0f} {mine / other:6.2f}", flush=True)


if __name__ == "__main__":
    main()
