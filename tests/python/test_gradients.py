# SPDX-License-Identifier: Apache-2.0
"""Gradients of convolutions as operators: against their definition, and which kernels compute them."""
import numpy
import rynd

SHAPE = "n=2 c=6 h=9 w=10 k=8 r=3 s=3 pad=1 stride=2 groups=2"


def windows(x):
    """[n, c, r, s, p, q]: what each tap of each position meets."""
    padded = numpy.pad(x.astype(numpy.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    return numpy.stack([[padded[:, :, r : r + 9 : 2, s : s + 9 : 2] for s in range(3)] for r in range(3)]).transpose(2, 3, 0, 1, 4, 5)


def test_weights_and_bias():
    random = numpy.random.default_rng(5)
    x, dy = random.standard_normal((2, 6, 9, 10), numpy.float32), random.standard_normal((2, 8, 5, 5), numpy.float32)
    op = rynd.Op(f"conv {SHAPE} bias=1 dir=bwd_weights", threads=2)
    assert op.step.kernel.startswith("conv_bwd_weights_f32_")
    dw, db = op.run(x, dy)
    taps = windows(x)
    for group in range(2):
        expected = numpy.einsum("nkpq,ncrspq->kcrs", dy[:, 4 * group : 4 * group + 4], taps[:, 3 * group : 3 * group + 3])
        numpy.testing.assert_allclose(numpy.asarray(dw)[4 * group : 4 * group + 4], expected, atol=1e-4)
    numpy.testing.assert_allclose(numpy.asarray(db), dy.sum((0, 2, 3), dtype=numpy.float64), atol=1e-4)


def test_data_gradient_is_a_transposed_convolution():
    random = numpy.random.default_rng(6)
    dy, w = random.standard_normal((2, 8, 5, 5), numpy.float32), random.standard_normal((8, 3, 3, 3), numpy.float32)
    op = rynd.Op(f"conv {SHAPE} dir=bwd_data", threads=2)
    assert op.step.problem.startswith("convt ") and op.step.kernel.startswith("convt_fwd_f32_")
    dx = numpy.asarray(op.run(dy, w)).astype(numpy.float64)
    # the transposed map: <conv(x), dy> = <x, dx>
    x = random.standard_normal((2, 6, 9, 10), numpy.float32)
    y = numpy.concatenate([numpy.einsum("ncrspq,kcrs->nkpq", windows(x)[:, 3 * g : 3 * g + 3], w[4 * g : 4 * g + 4]) for g in range(2)], 1)
    assert abs((y * dy).sum() - (x * dx).sum()) < 1e-3 * numpy.abs(x * dx).sum()
