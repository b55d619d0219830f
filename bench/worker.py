# SPDX-License-Identifier: Apache-2.0
"""One engine, one model, in a process of its own: worker.py rynd|onnxruntime MODEL ARRAYS THREADS BATCH

A line with N on standard input runs the model N times and is answered with the seconds of each; at the end of input the peak memory is answered."""
import json
import pathlib
import sys
import time

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/support"))


def make_rynd(model, x, threads):
    import rynd_ctypes as rynd

    before = resident("VmRSS")
    session = rynd.Session(rynd.Plan(rynd.Model(rynd.Context(threads=threads), model), {"x": x}))
    session.bind("x", x)
    return before, lambda: rynd.call("rynd_session_run", session.pointer)


def make_onnxruntime(model, x, threads):
    import onnxruntime

    before = resident("VmRSS")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return before, lambda: session.run(None, {"x": x})


def resident(field):
    """Bytes of a line of /proc/self/status: VmRSS now, VmHWM the peak."""
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    return 0


def answer(**values):
    print(json.dumps(values), flush=True)


def main():
    engine, model, arrays, threads, batch = sys.argv[1:]
    x = numpy.ascontiguousarray(numpy.load(arrays)["x"][: int(batch)])
    before, run = {"rynd": make_rynd, "onnxruntime": make_onnxruntime}[engine](model, x, int(threads))
    run()
    answer(ready=True)
    for line in sys.stdin:
        seconds = []
        for _ in range(int(line)):
            start = time.perf_counter()
            run()
            seconds.append(time.perf_counter() - start)
        answer(seconds=seconds)
    answer(memory=resident("VmHWM") - before)


if __name__ == "__main__":
    main()
