# SPDX-License-Identifier: Apache-2.0
"""Runs the tests named on standard input, one a line, and answers each with a line of JSON: the cause of its failure, or an empty string.

    worker.py THREADS ISA DEVICE
"""
import json
import os
import pathlib
import sys

import ml_dtypes
import numpy
import onnx
from onnx import numpy_helper

import suite

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import reference_steps  # noqa: E402
import rynd_ctypes  # noqa: E402  (found by the line above)

# The defaults of the suite's own runner; a test's data.json may say otherwise. Two units in bfloat16's last place are allowed.
TOLERANCES = {"rtol": 1e-3, "atol": 1e-7}
BFLOAT16_RTOL = 2**-6


def read_tensors(folder, kind):
    """The arrays of input_0.pb, input_1.pb, ... of a data set."""
    arrays = []
    for index in range(len(list(folder.glob(f"{kind}_*.pb")))):
        tensor = onnx.TensorProto()
        tensor.ParseFromString((folder / f"{kind}_{index}.pb").read_bytes())
        arrays.append(numpy_helper.to_array(tensor))
    return arrays


def difference(index, got, expected, rtol, atol):
    """How an output differs from what is expected, or an empty string."""
    if got.shape != expected.shape:
        return f"output {index} has shape {list(got.shape)}, expected {list(expected.shape)}"
    if got.dtype != expected.dtype:
        return f"output {index} is {got.dtype}, expected {expected.dtype}"
    wide_got, wide_expected = (array.astype(numpy.float64) if array.dtype.kind not in "iub" else array for array in (got, expected))
    rtol = max(rtol, BFLOAT16_RTOL) if got.dtype == ml_dtypes.bfloat16 else rtol
    near = numpy.isclose(wide_got, wide_expected, rtol=rtol, atol=atol, equal_nan=True)
    if near.all():
        return ""
    first = tuple(int(i) for i in numpy.argwhere(~near)[0]) if near.ndim else ()
    return f"output {index}: {int((~near).sum())} of {near.size} elements differ, the first at {list(first)}: {got[first]}, expected {expected[first]}"


def run_test(context, name):
    folder = suite.path(name)
    tolerances = dict(TOLERANCES)
    if (folder / "data.json").exists():
        stated = json.loads((folder / "data.json").read_text())
        tolerances.update({key: stated[key] for key in tolerances if key in stated})
    sets = sorted(folder.glob("test_data_set*"))
    if not sets:
        return "the test has no data"
    for data in sets:
        inputs, expected = read_tensors(data, "input"), read_tensors(data, "output")
        for with_data in (True, False):
            plan = rynd_ctypes.plan(context, folder / "model.onnx", inputs, with_data)
            slow = reference_steps.unlisted(plan.steps())
            if slow:
                return f"a reference in the plan: {slow[0]}"
            outputs = rynd_ctypes.Session(plan).run(plan.feeds)
            if len(outputs) != len(expected):
                return f"{len(outputs)} outputs, expected {len(expected)}"
            for index, (got, wanted) in enumerate(zip(outputs, expected)):
                why = difference(index, got, wanted, **tolerances)
                if why:
                    return why + ("" if with_data else " (planned without the inputs' content)")
    return ""


def main():
    # Answers go to the real standard output; whatever else prints goes to standard error.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    context = rynd_ctypes.Context(threads=int(sys.argv[1]), isa=sys.argv[2] or None, device=sys.argv[3])
    for line in sys.stdin:
        try:
            why = run_test(context, line.strip())
        except (rynd_ctypes.Error, OSError, ValueError, KeyError) as error:
            why = str(error) or type(error).__name__
        answers.write(json.dumps(why) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
