# SPDX-License-Identifier: Apache-2.0
"""Tests whose stored output contradicts the operator's own text; they are held to the text instead.

QLinearMatMul with int8 output: the text says y = saturate((x / y_scale) + y_zero_point), and ONNX Runtime does that; the stored outputs let
what is below -128 wrap around to positive numbers (-236 became 20).
"""
import numpy


def qlinear_matmul(inputs):
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = inputs
    x = (a.astype(numpy.int64) - a_zero) @ (b.astype(numpy.int64) - b_zero)
    y = numpy.rint(x * (a_scale.astype(numpy.float64) * b_scale.astype(numpy.float64) / y_scale.astype(numpy.float64))) + y_zero
    limits = numpy.iinfo(y_zero.dtype)
    return [y.clip(limits.min, limits.max).astype(y_zero.dtype)]


OUTPUTS = {f"node/test_qlinearmatmul_{rank}_int8_{dtype}": qlinear_matmul for rank in ("2D", "3D") for dtype in ("float16", "float32")}
