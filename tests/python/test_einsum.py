# SPDX-License-Identifier: Apache-2.0
"""Einstein summations compared with numpy. Products, sums, views and expressions replace the reference kernel."""
import random

import numpy
import pytest
from onnx import TensorProto, helper

import rynd

FIXED = [("ij->ji", (3, 4)),
         ("bij,bjk->bik", (3, 7, 5), (3, 5, 6)),
         (" b n h d , b m h d -> b h n m", (2, 3, 4, 5), (2, 6, 4, 5)),
         ("bhnm,bmhd->bnhd", (2, 4, 3, 6), (2, 6, 4, 5)),
         ("...ij,...jk->...ik", (2, 1, 3, 4), (5, 4, 6)),
         ("...ij,...jk", (2, 1, 3, 4), (5, 4, 6)),
         ("bij,jk->bik", (2, 3, 4), (4, 5)),
         ("abcd,cd->ab", (2, 3, 4, 5), (4, 5)),
         ("bchw,bkhw->bkc", (2, 3, 4, 5), (2, 6, 4, 5)),
         ("ij,jk,kl->il", (3, 40), (40, 5), (5, 60)),
         ("i,j", (4,), (5,)),
         ("i,i->", (4,), (4,)),
         ("ij,ij->i", (4, 3), (4, 3)),
         ("ii->i", (5, 5)),
         ("ii", (5, 5)),
         ("ijijk->kj", (3, 4, 3, 4, 2)),
         ("iji,j->i", (3, 4, 3), (4,)),
         (",ij->ij", (), (3, 4)),
         ("i->", (1,)),
         ("ab,bc->ca", (1, 5), (5, 1)),
         ("abcdefgh->hgfedcba", (2,) * 8),
         ("abcdefgh,ijklmnop->aibjckdl", (2,) * 8, (2,) * 8),  # products of rank 16
         ("abcde,fghij,aeifbjcg->dh", (2,) * 5, (2,) * 5, (2,) * 8),
         (",".join("abcdefghij") + "->jihgfedc",) + ((2,),) * 10]


def random_case(draw):
    dims = {letter: draw.choice([1, 2, 3, 4, 5]) for letter in "abcdefg"}
    terms = [draw.choices("abcdefg", k=draw.randint(0, 4)) if draw.random() < 0.2 else draw.sample("abcdefg", draw.randint(0, 4))
             for _ in range(draw.choice([1, 2, 2, 2, 3, 4]))]
    used = sorted(set(sum(terms, [])))
    output = draw.sample(used, draw.randint(0, len(used)))
    # An extent of 1 broadcasts.
    shapes = [tuple(1 if draw.random() < 0.1 else dims[letter] for letter in term) for term in terms]
    shapes = [tuple(dims[letter] if term.count(letter) > 1 else extent for letter, extent in zip(term, shape)) for term, shape in zip(terms, shapes)]
    return (",".join(map("".join, terms)) + "->" + "".join(output), *shapes)


def model_of(equation, shapes, dtype=numpy.float32):
    element = helper.np_dtype_to_tensor_dtype(numpy.dtype(dtype))
    names = [f"x{i}" for i in range(len(shapes))]
    graph = helper.make_graph([helper.make_node("Einsum", names, ["y"], equation=equation)], "graph",
                              [helper.make_tensor_value_info(name, element, shape) for name, shape in zip(names, shapes)],
                              [helper.make_tensor_value_info("y", element, None)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8).SerializeToString()


def expected(equation, arrays):
    """numpy.einsum of operands broadcast to one extent for each letter."""
    text = equation.replace(" ", "")
    if "..." not in text and "->" in text:
        terms = text.split("->")[0].split(",")
        dims = {}
        for term, array in zip(terms, arrays):
            for letter, extent in zip(term, array.shape):
                dims[letter] = max(dims.get(letter, 1), extent)
        arrays = [numpy.broadcast_to(array, [dims[letter] for letter in term]) for term, array in zip(terms, arrays)]
    return numpy.einsum(text, *arrays)


def check(equation, shapes):
    draw = numpy.random.default_rng(3)
    arrays = [draw.standard_normal(shape).astype(numpy.float32) for shape in shapes]
    model = rynd.Model(model_of(equation, shapes), threads=2)
    y = numpy.asarray(model(*arrays))
    wanted = expected(equation, [array.astype(numpy.float64) for array in arrays])
    assert y.shape == wanted.shape
    numpy.testing.assert_allclose(y, wanted, atol=2e-6 * max(1, numpy.abs(wanted).max(initial=0)))
    plan = model.plan()
    kernels = [step.kernel for step in plan.steps]
    assert not [kernel for kernel in kernels if kernel.endswith("_ref")], kernels
    return plan.steps


@pytest.mark.parametrize("case", FIXED, ids=lambda case: case[0])
def test_fixed(case):
    check(case[0], case[1:])


def test_random():
    draw = random.Random(11)
    for _ in range(120):
        equation, *shapes = random_case(draw)
        check(equation, shapes)


def test_the_cheapest_order():
    """(2x300 300x2) 2x300 takes 2,400 multiplications; 2x300 (300x2 2x300) takes 360,000."""
    for equation, shapes in (("ij,jk,kl->il", ((2, 300), (300, 2), (2, 300))), ("ji,kj,lk->li", ((300, 2), (2, 300), (300, 2)))):
        steps = [step for step in check(equation, shapes) if "matmul" in step.kernel]
        assert sum(step.flop for step in steps) == 2 * (2 * 300 * 2 + 2 * 2 * 300)
    # The product reads a transposed operand without a copy.
    assert len(check("ji,jk->ik", ((30, 20), (30, 40)))) == 1


def test_more_labels_than_a_set_holds():
    """An ellipsis of 13 dims."""
    shape = (2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2)
    x = numpy.arange(8, dtype=numpy.float32).reshape(*shape, 2)
    y = numpy.asarray(rynd.Model(model_of("...i->i...", [x.shape]), threads=1)(x))
    numpy.testing.assert_array_equal(y, numpy.moveaxis(x, -1, 0))


@pytest.mark.parametrize("dtype", [numpy.float64, numpy.int64, numpy.int32, numpy.float16])
def test_dtypes(dtype):
    arrays = [numpy.arange(24).reshape(2, 3, 4).astype(dtype) % 7, numpy.arange(40).reshape(2, 4, 5).astype(dtype) % 5]
    y = numpy.asarray(rynd.Model(model_of("bij,bjk->kib", [(2, 3, 4), (2, 4, 5)], dtype), threads=1)(*arrays))
    numpy.testing.assert_array_equal(y, numpy.einsum("bij,bjk->kib", *arrays))


def test_nothing_to_sum():
    y = numpy.asarray(rynd.Model(model_of("ij,jk->ik", [(3, 0), (0, 4)]), threads=1)(numpy.zeros((3, 0), "f4"), numpy.zeros((0, 4), "f4")))
    numpy.testing.assert_array_equal(y, numpy.zeros((3, 4)))


@pytest.mark.parametrize("equation,shapes", [(row[0], row[1:]) for row in FIXED])
def test_alone(equation, shapes):
    """An operator takes the steps of the model."""
    arrays = [numpy.random.default_rng(1).random(shape, dtype=numpy.float32) for shape in shapes]
    expected = numpy.einsum(equation, *arrays)
    dims = ["x".join(map(str, shape)) or "scalar" for shape in (*shapes, expected.shape)]
    inputs = " ".join(f"x{i}={text}:f32" for i, text in enumerate(dims[:-1]))
    op = rynd.Op(f"einsum {inputs} y0={dims[-1]}:f32 equation='{equation}'", threads=1)
    kernels = [step.kernel for step in op.steps]
    assert kernels == [step.kernel for step in rynd.Model(model_of(equation, shapes), threads=1).plan().steps]
    assert not any(kernel.endswith("_ref") for kernel in kernels) and op.step.kernel == (" + ".join(kernels) or "copy")
    numpy.testing.assert_allclose(op.run(*arrays), expected, rtol=1e-5, atol=1e-5)
    assert not op.steps or op.explain(op.steps[-1]).chosen.kernel == kernels[-1]
