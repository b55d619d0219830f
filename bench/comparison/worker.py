# SPDX-License-Identifier: Apache-2.0
"""One engine in a process of its own: worker.py ENGINE. A line of JSON is a request, another one the answer:

    {"load": {the fields of engines.Job}}   {"kernel": NAME or "", "memory": BYTES}    the previous model is dropped first; memory is the most
                                                                                       that a load and a run took, of a worker's first model
    {"run": N}                              {"seconds": [N numbers]}
    {"sample": N}                           {"values": [N numbers]}                    the output at N fixed places
    what fails                              {"error": TEXT}"""
import gc
import json
import os
import pathlib
import sys
import time

import numpy


class Worker:
    def __init__(self, engine):
        import engines

        engines.import_engine(engine)
        self.make_job, self.loader = engines.Job, engines.LOADERS[engine]
        self.run = self.output = None

    def answer(self, request):
        (name, value), = request.items()
        return {"load": self.load, "run": self.time, "sample": self.sample}[name](value)

    def load(self, fields):
        self.run = self.output = None
        gc.collect()
        before = resident("VmRSS")
        self.run, self.output = self.loader(self.make_job(**fields | {"model": pathlib.Path(fields["model"])}))
        self.run()
        return {"kernel": getattr(self.run, "kernel", ""), "memory": resident("VmHWM") - before}

    def time(self, times):
        seconds = []
        for _ in range(times):
            start = time.perf_counter()
            self.run()
            seconds.append(time.perf_counter() - start)
        return {"seconds": seconds}

    def sample(self, count):
        self.run()
        values = numpy.asarray(self.output()).ravel()
        places = numpy.random.default_rng(2).integers(0, values.size, count)
        return {"values": values[places].astype(float).tolist()}


def resident(field):
    """Bytes of a line of /proc/self/status: VmRSS now, VmHWM the peak; 0 where there is none."""
    try:
        lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(field + ":")), 0)


def main():
    # Engines print on standard output: the answers go to a copy of it, and what is printed to standard error.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    worker = Worker(sys.argv[1])
    for line in sys.stdin:
        try:
            answer = worker.answer(json.loads(line))
        except Exception as error:  # whatever an engine raises is the answer
            answer = {"error": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
