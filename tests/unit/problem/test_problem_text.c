/* SPDX-License-Identifier: Apache-2.0 */
/* Problems as text: canonical both ways, equality, hash, counts, and that no text is too odd to be
 * refused politely. */
#include "base/number.h"
#include "expr/expr.h"
#include "graph/infer.h"
#include "problem/problem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct pair {
    const char *text, *canonical;
} pair;

/* clang-format off */
static const pair shorts[] = {
    {"conv c=3 h=224 w=224 k=64 r=7 s=7 pad=3 stride=2", "conv n=1 c=3 h=224 w=224 k=64 r=7 s=7 pad=3 stride=2"},
    {"conv n=1 c=64 h=56 w=56 k=64 r=3 s=3 pad=1 stride=1 dilation=1 groups=1 dtype=f32 layout=nchw dir=fwd", "conv n=1 c=64 h=56 w=56 k=64 r=3 s=3 pad=1"},
    {"conv c=64 h=56 w=56 k=256 r=1 s=1", "conv n=1 c=64 h=56 w=56 k=256 r=1 s=1"},
    {"conv c=64 h=56 w=56 k=256", "conv n=1 c=64 h=56 w=56 k=256 r=1 s=1"},
    {"conv c=144 h=56 w=56 k=144 r=3 s=3 pad=1 groups=144", "conv n=1 c=144 h=56 w=56 k=144 r=3 s=3 pad=1 groups=144"},
    {"conv c=512 w=512 k=512 s=3 pad=1", "conv n=1 c=512 w=512 k=512 s=3 pad=1"},
    {"conv c=64 d=8 h=56 w=56 k=64 t=3 r=3 s=3 pad=1", "conv n=1 c=64 d=8 h=56 w=56 k=64 t=3 r=3 s=3 pad=1"},
    {"convt c=256 h=14 w=14 k=128 r=4 s=4 pad=1 stride=2", "convt n=1 c=256 h=14 w=14 k=128 r=4 s=4 pad=1 stride=2"},
    {"convt c=4 d=3 h=3 w=3 k=8 t=2 r=2 s=2 stride=2,3,2 opad=1,0,1 groups=2", "convt n=1 c=4 d=3 h=3 w=3 k=8 t=2 r=2 s=2 stride=2,3,2 groups=2 opad=1,0,1"},
    {"conv c=4 h=9 w=9 k=4 r=3 s=5 pad=1,2", "conv n=1 c=4 h=9 w=9 k=4 r=3 s=5 pad=1,2"},
    {"conv c=4 h=9 w=9 k=4 r=3 s=5 pad=1,2,1,2", "conv n=1 c=4 h=9 w=9 k=4 r=3 s=5 pad=1,2"},
    {"conv c=4 h=9 w=9 k=4 r=3 s=5 pad=1,2,3,4", "conv n=1 c=4 h=9 w=9 k=4 r=3 s=5 pad=1,2,3,4"},
    {"conv c=4 h=9 w=9 k=4 r=3 s=3 pad=2,2,2,2 stride=2,2 dilation=1,2", "conv n=1 c=4 h=9 w=9 k=4 r=3 s=3 pad=2 stride=2 dilation=1,2"},
    {"conv c=4 w=9 k=4 s=3 pad=1,0", "conv n=1 c=4 w=9 k=4 s=3 pad=1,0"},
    {"conv c=4 w=9 k=4 s=3 pad=1,1", "conv n=1 c=4 w=9 k=4 s=3 pad=1"},
    {"  conv\tk=4 c=4   w=9 s=3\n", "conv n=1 c=4 w=9 k=4 s=3"},
    {"conv c=4 h=9 w=9 k=8 r=3 s=3 bias=1 residual=1 act=clip alpha=-0.5 beta=6", "conv n=1 c=4 h=9 w=9 k=8 r=3 s=3 bias=1 residual=1 act=clip alpha=-0.5 beta=6"},
    {"conv c=4 h=9 w=9 k=8 r=3 s=3 residual=1 act=relu", "conv n=1 c=4 h=9 w=9 k=8 r=3 s=3 residual=1 act=relu"},
    {"conv c=4 h=9 w=9 k=8 r=3 s=3 layout=nhwc dtype=f16 accuracy=bf16", "conv n=1 c=4 h=9 w=9 k=8 r=3 s=3 dtype=f16 layout=nhwc accuracy=bf16"},
    {"conv c=1 h=9 w=9 k=1 r=3 s=3 layout=nhwc", "conv n=1 c=1 h=9 w=9 k=1 r=3 s=3"}, /* the same memory */
    {"conv c=1 h=9 w=9 k=8 r=3 s=3 layout=nhwc", "conv n=1 c=1 h=9 w=9 k=8 r=3 s=3 layout=nhwc"},
    {"conv c=4 h=9 w=9 k=8 r=3 s=3 dir=bwd_data", "convt n=1 c=8 h=7 w=7 k=4 r=3 s=3"},
    {"conv c=4 h=10 w=9 k=8 r=3 s=3 stride=2 dir=bwd_data layout=nhwc", "convt n=1 c=8 h=4 w=4 k=4 r=3 s=3 stride=2 opad=1,0 layout=nhwc"},
    {"conv n=2 c=6 h=9 w=9 k=8 r=3 s=3 pad=1,0,2,1 dilation=2 groups=2 dir=bwd_data dtype=f16 accuracy=strict", "convt n=2 c=8 h=8 w=6 k=6 r=3 s=3 pad=1,0,2,1 dilation=2 groups=2 dtype=f16 accuracy=strict"},
    {"convt c=4 h=9 w=9 k=8 r=6 s=6 pad=2 stride=2,3 bias=phases", "convt n=1 c=4 h=9 w=9 k=8 r=6 s=6 pad=2 stride=2,3 bias=phases"},
    {"conv c=4 h=9 w=9 k=8 r=3 s=3 dir=bwd_weights bias=1", "conv n=1 c=4 h=9 w=9 k=8 r=3 s=3 bias=1 dir=bwd_weights"},
    {"conv c=4 h=9 w=9 k=8 r=3 s=3 accuracy=strict", "conv n=1 c=4 h=9 w=9 k=8 r=3 s=3 accuracy=strict"},
    {"conv n=0 c=4 h=9 w=9 k=8 r=3 s=3", "conv n=0 c=4 h=9 w=9 k=8 r=3 s=3"},
    {"conv n=2 c=4 h=0 w=9 k=8 r=3 s=3", "conv n=2 c=4 h=0 w=9 k=8 r=3 s=3"},
};

static const pair generics[] = {
    {"pool x0=1x64x112x112:f32 y0=1x64x56x56:f32 kernel=3,3 stride=2,2 pads=1,1,1,1", NULL},
    {"pool x0=1x64x112x112:f32:nchw y0=1x64x112x112:f32 kernel=1,1 stride=1,1", "pool x0=1x64x112x112:f32 y0=1x64x112x112:f32 kernel=1,1"},
    {"pool x0=1x64x112x112:f32:nhwc y0=1x64x56x56:f32:nhwc y1=1x64x56x56:i64 kernel=2,2 stride=2,2", NULL},
    {"matmul x0=2x3:f32 x1=3x4:f32:1,3 y0=2x4:f32 alpha=0.1 accuracy=strict", NULL},
    {"matmul x0=2x3:f32 x1=3x4:f32 x3=2x4:f32 y0=2x4:f32 activation=gelu", NULL},
    {"matmul x0=2x3:f32:3,1 x1=3x1:f32:77,5 y0=2x1:f32", "matmul x0=2x3:f32 x1=3x1:f32:77,0 y0=2x1:f32"},
    {"expr x0=2x3:f32 x1=scalar:f32 y0=2x3:f32 program='y0 = max(x0, x1) * 0.30000001'", "expr x0=2x3:f32 x1=scalar:f32 y0=2x3:f32 program='max(x0, x1) * 0.30000001'"},
    {"expr x0=2x3:f32 y0=2x1:f32 program='sum(x0)' axes=1", NULL},
    {"einsum x0=2x3:f32 x1=3x4:f32 y0=2x4:f32 equation='ij,jk->ik'", NULL},
    {"topk x0=2x30:f32 y0=2x4:f32 y1=2x4:i64 axis=1 k=4 largest=0", NULL},
    {"resize x0=1x3x7x8:f32 y0=1x3x3x16:f32 mode=linear scales=1,1,0.42857142857142855,2 roi=0,0,0,0,1,1,1,1", NULL},
    {"slice x0=10x4:f32 y0=3x4:f32 starts=1,0 steps=3,1", NULL},
    {"nms x0=1x10x4:f32 x1=1x2x10:f32 y0=10x3:i64 max_output=5 score_threshold=inf", NULL},
    {"shape x0=2x3:f32 y0=2:i64", NULL},
    {"conv x0=1x3x8x8:f32 x1=4x3x3x3:f32 y0=1x4x6x6:f32", "conv n=1 c=3 h=8 w=8 k=4 r=3 s=3"},
    {"conv x0=1x3x8x8:f32 x1=4x3x3x3:f32 y0=1x4x6x6:f32:nhwc", NULL}, /* mixed layouts have no short form */
    {"conv x0=1x3x8x8:u8 x1=4x3x3x3:i8 y0=1x4x6x6:i32 pads=0,0,0,0 stride=2,2", "conv x0=1x3x8x8:u8 x1=4x3x3x3:i8 y0=1x4x6x6:i32 stride=2,2"},
    {"identity x0=0x3:bool y0=0x3:bool", NULL},
    {"copy x0=2x3x4x5:f32:60,1,15,3 y0=2x3x4x5:f32", "copy x0=2x3x4x5:f32:nhwc y0=2x3x4x5:f32"},
    {"gather x0=5:f32:-1 x1=2:i64 y0=2:f32", NULL},
};

/* What is wrong, and a part of what the message says. */
static const pair refusals[] = {
    {"", "column 1, '': expected an operator"},
    {"foo c=1", "column 1, 'foo': expected an operator"},
    {"conv c=3 h=8 w=8 k=4 r=3 s=3 pad=x", "column 30, 'pad=x': expected 1 to 6 numbers of at least 0"},
    {"conv c=3 h=8 w=8 k=4 r=3 s=3 pad=1,", "column 30, 'pad=1,'"},
    {"conv c=3 h=8 w=8 k=4 r=3 s=3 pad=-1", "'pad=-1': expected 1 to 6 numbers of at least 0"},
    {"conv c=3 h=8 w=8 k=4 r=3 s=3 pad=1,2,3", "pad= needs 1 or 2 numbers, or begins and then ends"},
    {"conv c=3 h=8 w=8 k=4 r=3 s=3 stride=0", "'stride=0': expected 1 to 6 numbers of at least 1"},
    {"conv c=3 h=8 w=8 k=4 r=3 s=3 stride=1,1,1", "stride= needs 1 or 2 numbers"},
    {"conv c=3 h=8 w=8 k=4 r=0 s=3", "'r=0': expected a number from 1"},
    {"conv c=3 h=8 w=8 k=4 r=3 s=3 foo=1", "column 30, 'foo=1': unknown word; expected n, c"},
    {"conv c=3 h=8 w=8 k=4 foo", "column 22, 'foo': expected key=value"},
    {"conv c=3 h=8 w=8 k=4 r=", "column 22, 'r': expected key=value"},
    {"conv c=3 h=8 w=8 k=4 =3", "column 22, '': expected key=value"},
    {"conv h=8 w=8 k=4 r=3 s=3", "c= (input channels) is missing"},
    {"conv c=8 h=8 w=8 r=3 s=3", "k= (output channels) is missing"},
    {"conv c=3 w=8 k=4 r=3 s=3", "h= is missing"},
    {"conv c=3 d=8 w=8 k=4 s=3", "h= is missing"},
    {"conv c=3 h=8 k=4 r=3 s=3", "w= is missing"},
    {"conv c=3 h=8 w=8 k=4 r=9 s=3", "h=8 with 0 of padding is too small for a window that covers 9"},
    {"conv c=3 h=8 w=8 k=4 r=3 s=3 groups=2", "groups=2 does not divide c=3 and k=4"},
    {"conv c=3 h=8 w=8 k=4 r=3 s=3 opad=1", "conv has no opad="},
    {"convt c=3 h=8 w=8 k=4 r=3 s=3 dir=bwd_data", "convt has no dir="},
    {"convt c=3 h=1 w=8 k=4 r=1 s=3 pad=1", "h=1 with 2 of padding is too small"},
    {"conv c=3 h=8 w=8 k=4 r=3 s=3 bias=phases", "conv has no bias=phases"},
    {"convt c=3 h=8 w=8 k=4 r=3 s=3 bias=2", "'bias=2': expected one of 0, 1, phases"},
    {"conv c=3 h=8 w=8 k=4 r=3 s=3 dir=bwd_data bias=1", "belong to dir=fwd"},
    {"conv c=3 h=8 w=8 k=4 r=3 s=3 dir=back", "'dir=back': expected one of fwd, bwd_data, bwd_weights"},
    {"conv c=3 h=8 w=8 k=4 r=3 s=3 layout=chw", "'layout=chw': expected one of nchw, nhwc"},
    {"conv c=3 h=8 w=8 k=4 r=3 s=3 act=relu6", "expected one of none, relu"},
    {"conv c=3 h=8 w=8 k=4 r=3 s=3 dtype=float", "'dtype=float': expected an element type"},
    {"conv c=3 h=8 w=8 k=4 r=3 s=3 accuracy=good", "expected one of strict, near32"},
    {"conv c=3 h=8 w=8 k=4 r=3 s=3 alpha=1.5x", "'alpha=1.5x': expected a number"},
    {"conv c=3 h=2147483648 w=8 k=4 r=3 s=3", "'h=2147483648': expected a number from 0 to 2147483647"},
    {"conv c=99999 h=2147483647 w=2147483647 k=99999 r=3 s=3", "more than 2^62 bytes"},
    {"pool x0=1x3x8x8:f32 kernel=3,3", "y0= (the output) is missing"},
    {"pool x0=1x3x8x8 y0=1x3x8x8:f32", "column 6, 'x0=1x3x8x8': expected dims, a type"},
    {"pool x0=1x-3:f32 y0=1:f32", "expected dims, a type"},
    {"pool x0=1xx3:f32 y0=1:f32", "expected dims, a type"},
    {"pool x0=1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1:f32 y0=1:f32", "expected dims, a type"},
    {"pool x0=1x3:real y0=1:f32", "expected an element type after the dims"},
    {"pool x0=1x3:f32:hwc y0=1:f32", "expected a layout after the type"},
    {"pool x0=1x3:f32:1 y0=1:f32", "expected a layout after the type"},
    {"pool x0=1x3:f32:1,9223372036854775807 y0=1:f32", "expected a layout after the type"},
    {"pool x0=1x3:f32:1,-9223372036854775808 y0=1:f32", "expected a layout after the type"},
    {"pool x0=9223372036854775807x3:f32 y0=1:f32", "more than 2^62 bytes"},
    {"pool x0=0x9223372036854775807x3:f32 y0=1:f32", "more than 2^62 bytes"},
    {"pool x256=1:f32 y0=1:f32", "'x256=1:f32': expected an index below 256"},
    {"pool y0=1:f32 kind=median", "'kind=median': expected one of max, average, lp"},
    {"pool y0=1:f32 kernel=1,2,", "expected at most 32 integers"},
    {"pool y0=1:f32 y0=2:f32", "column 15, 'y0=2:f32': given twice"},
    {"pool y0=1:f32 ceil=1", "'ceil=1': unknown word; expected x0.. (inputs), y0.. (outputs), kind, kernel, stride"},
    {"pool y0=1:f32 p=1.5", "'p=1.5': expected an integer"},
    {"resize y0=1:f32 scales=1,two", "expected at most 32 numbers"},
    {"resize y0=1:f32 cubic_a=", "'cubic_a': expected key=value"},
    {"einsum y0=1:f32 equation='ij", "and a closing quote"},
    {"expr y0=1:f32 program='max('", "problem text, column 15: "},
};
/* clang-format on */

typedef struct fixture {
    ry_arena arena;
    ry_error error;
} fixture;

static fixture begin(void)
{
    fixture f = {0};
    ry_arena_init(&f.arena, &ry_system_allocator);
    return f;
}

static ry_problem parse(fixture *f, const char *text)
{
    ry_problem problem;
    if (ry_problem_parse(text, &f->arena, &problem, &f->error) != RYND_OK) {
        fail_msg("'%s': %s", text, f->error.text);
    }
    return problem;
}

static void check_pairs(const pair *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        fixture f = begin();
        ry_problem p = parse(&f, pairs[i].text);
        const char *text = ry_problem_print(&p, &f.arena);
        assert_string_equal(text, pairs[i].canonical ? pairs[i].canonical : pairs[i].text);
        ry_problem again = parse(&f, text);
        assert_string_equal(ry_problem_print(&again, &f.arena), text);
        assert_true(ry_problem_equal(&p, &again));
        assert_int_equal(ry_problem_hash(&p), ry_problem_hash(&again));
        ry_arena_free(&f.arena);
    }
}

static void test_short_form(void **state)
{
    (void)state;
    check_pairs(shorts, sizeof shorts / sizeof *shorts);
}

static void test_generic_form(void **state)
{
    (void)state;
    check_pairs(generics, sizeof generics / sizeof *generics);
}

static void test_refusals(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        fixture f = begin();
        ry_problem problem;
        if (ry_problem_parse(refusals[i].text, &f.arena, &problem, &f.error) == RYND_OK ||
            !strstr(f.error.text, refusals[i].canonical)) {
            fail_msg("'%s': '%s' does not say '%s'", refusals[i].text, f.error.text,
                     refusals[i].canonical);
        }
        ry_arena_free(&f.arena);
    }
}

/* All problems of the tables differ from each other, and their hashes too. */
static void test_different(void **state)
{
    (void)state;
    enum {
        SHORTS = sizeof shorts / sizeof *shorts,
        GENERICS = sizeof generics / sizeof *generics,
        COUNT = SHORTS + GENERICS
    };
    fixture f = begin();
    ry_problem problems[COUNT];
    const char *texts[COUNT];
    for (int i = 0; i < COUNT; i++) {
        problems[i] = parse(&f, i < SHORTS ? shorts[i].text : generics[i - SHORTS].text);
        texts[i] = ry_problem_print(&problems[i], &f.arena);
    }
    for (int i = 0; i < COUNT; i++) {
        for (int k = 0; k < i; k++) {
            bool same = strcmp(texts[i], texts[k]) == 0;
            assert_int_equal(ry_problem_equal(&problems[i], &problems[k]), same);
            assert_int_equal(ry_problem_hash(&problems[i]) == ry_problem_hash(&problems[k]), same);
        }
    }
    ry_arena_free(&f.arena);
}

/* A problem as the planner makes it: empty window lists, absent inputs at the end. */
static void test_equal_forms(void **state)
{
    (void)state;
    fixture f = begin();
    ry_problem p = parse(&f, "conv c=3 h=8 w=8 k=4 r=3 s=3"), q = p;
    ry_tensor in[4] = {p.in[0], p.in[1]};
    q.attrs.conv.stride.count = q.attrs.conv.dilation.count = q.attrs.conv.pads.count = 0;
    q.in = in;
    q.inputs = 4;
    assert_true(ry_problem_equal(&p, &q));
    assert_int_equal(ry_problem_hash(&p), ry_problem_hash(&q));
    assert_string_equal(ry_problem_print(&q, &f.arena), "conv n=1 c=3 h=8 w=8 k=4 r=3 s=3");
    in[0].stride[0] = 12345; /* of a batch of one */
    assert_true(ry_problem_equal(&p, &q));
    assert_int_equal(ry_problem_hash(&p), ry_problem_hash(&q));
    in[0].stride[1] = 12345;
    assert_false(ry_problem_equal(&p, &q));
    q.attrs.conv.stride = (ry_ints){2, {1, 2}};
    in[0] = p.in[0];
    assert_false(ry_problem_equal(&p, &q));
    ry_arena_free(&f.arena);
}

static void test_directions(void **state)
{
    (void)state;
    fixture f = begin();
    ry_problem p = parse(&f, "conv n=2 c=4 h=9 w=9 k=8 r=3 s=3 stride=2 dir=bwd_weights bias=1");
    assert_int_equal(p.inputs, 2);
    assert_int_equal(p.outputs, 2);
    assert_int_equal(p.in[1].dim[1], 8); /* dy */
    assert_int_equal(p.in[1].dim[2], 4);
    assert_int_equal(p.out[0].dim[0], 8); /* dw */
    assert_int_equal(p.out[1].dim[0], 8); /* db */
    p = parse(&f, "conv n=2 c=4 h=9 w=9 k=8 r=3 s=3 stride=2 dir=bwd_data");
    assert_int_equal(p.in[0].dim[1], 8);
    assert_int_equal(p.out[0].dim[1], 4);
    assert_int_equal(p.out[0].dim[2], 9);
    p = parse(&f, "conv n=2 c=4 h=9 w=9 k=8 r=3 s=3 residual=1");
    assert_int_equal(p.inputs, 4);
    assert_false(ry_problem_has_input(&p, 2));
    assert_true(ry_problem_has_input(&p, 3));
    ry_arena_free(&f.arena);
}

static void test_counts(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double flop, bytes;
    } cases[] = {
        {"conv n=2 c=4 h=9 w=10 k=8 r=3 s=3", 2.0 * 2 * 8 * 7 * 8 * 4 * 9,
         4.0 * (2 * 4 * 90 + 8 * 4 * 9 + 2 * 8 * 56)},
        {"conv n=2 c=4 h=9 w=10 k=8 r=3 s=3 groups=4", 2.0 * 2 * 8 * 7 * 8 * 9,
         4.0 * (2 * 4 * 90 + 8 * 9 + 2 * 8 * 56)},
        {"conv n=2 c=4 h=9 w=10 k=8 r=3 s=3 dir=bwd_data", 2.0 * 2 * 8 * 7 * 8 * 4 * 9,
         4.0 * (2 * 4 * 90 + 8 * 4 * 9 + 2 * 8 * 56)},
        {"conv n=2 c=4 h=9 w=10 k=8 r=3 s=3 dir=bwd_weights", 2.0 * 2 * 8 * 7 * 8 * 4 * 9,
         4.0 * (2 * 4 * 90 + 8 * 4 * 9 + 2 * 8 * 56)},
        {"convt c=4 w=5 k=6 s=3 stride=2 dtype=f16", 2.0 * 4 * 5 * 6 * 3,
         2.0 * (4 * 5 + 4 * 6 * 3 + 6 * 11)},
        {"matmul x0=5x2x3:f32 x1=3x4:f32 y0=5x2x4:f32", 2.0 * 5 * 2 * 3 * 4, 4.0 * (30 + 12 + 40)},
        {"matmul x0=3x2:f32 x1=3x4:f32 y0=2x4:f32 trans_a=1", 2.0 * 2 * 3 * 4, 4.0 * (6 + 12 + 8)},
        {"einsum x0=7x2x3:f32 x1=7x3x4:f32 y0=7x2x4:f32 equation='...ij,...jk->...ik'",
         2.0 * 7 * 2 * 3 * 4, 4.0 * (42 + 84 + 56)},
        {"einsum x0=3x4:f32 y0=4x3:f32 equation='ij->ji'", 0, 4.0 * 24},
        {"softmax x0=3x4:f64 y0=3x4:f64", 0, 8.0 * 24},
        {"deform_conv y0=3x4:f64", 0, 8.0 * 12},
        {"expr x0=2x3:f32 x2=scalar:f32 y0=2x3:bool program='x0 < x2'", 0, 24 + 4 + 6},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f = begin();
        ry_problem p = parse(&f, cases[i].text);
        assert_true(ry_problem_flop(&p) == cases[i].flop);
        assert_true(ry_problem_bytes(&p) == cases[i].bytes);
        ry_arena_free(&f.arena);
    }
}

static void test_check(void **state)
{
    (void)state;
    static const pair cases[] = {
        {"pool x0=1x3x8x8:f32 y0=1x3x4x4:f32 kernel=2,2 stride=2,2", NULL},
        {"pool x0=1x3x8x8:f32 y0=1x3x4x5:f32 kernel=2,2 stride=2,2",
         "y0 is f32 1x3x4x5, but its inputs and attributes give f32 1x3x4x4"},
        {"matmul x0=2x3:f32 x1=4x4:f32 y0=2x4:f32", "value 'x1'"},
        {"slice x0=11:f32 y0=4:f32 starts=1 steps=3", NULL},
        {"slice x0=10:f32 y0=4:f32 starts=2 steps=3", "too few for 4 from 2 by 3"},
        {"cumsum x0=10:f32 y0=10:f32 axis=0", NULL},
        {"topk x0=2x30:f32 y0=2x4:f32 y1=2x4:i64 axis=1 k=4", NULL},
        {"topk x0=2x30:f32 y0=2x5:f32 y1=2x5:i64 axis=1 k=4", "y0 is f32 2x5"},
        {"resize x0=1x3x7x8:f32 y0=1x3x3x16:f32 scales=1,1,0.42857142857142855,2 "
         "roi=0,0,0,0,1,1,1,1",
         NULL},
        {"conv x0=1x3x8x8:f32 x1=4x3x3x3:f32 y0=1x4x6x6:f32:nhwc", NULL},
        {"conv x0=1x3x8x8:f32 y0=1x4x6x6:f32", "input 1"},
        {"softmax x0=2x3:f32 y0=2x3:f64", "y0 is f64 2x3"},
        {"conv n=2 c=4 h=9 w=9 k=8 r=3 s=3 stride=2 dir=bwd_weights bias=1", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f = begin();
        ry_problem p = parse(&f, cases[i].text);
        rynd_status status = ry_problem_check(&p, &ry_system_allocator, &f.error);
        if ((status == RYND_OK) != (cases[i].canonical == NULL) ||
            (status != RYND_OK && !strstr(f.error.text, cases[i].canonical))) {
            fail_msg("'%s': '%s'", cases[i].text, f.error.text);
        }
        ry_arena_free(&f.arena);
    }
}

/* Texts cut, doubled and with bytes exchanged: parsed or refused, and what is parsed prints and
 * parses to itself. */
static void test_damaged_texts(void **state)
{
    (void)state;
    enum { SHORTS = sizeof shorts / sizeof *shorts, GENERICS = sizeof generics / sizeof *generics };
    static const char alphabet[] = "0123456789=x:,.-' \\abckrswyef";
    uint32_t seed = 1;
    for (int round = 0; round < 20000; round++) {
        fixture f = begin();
        char text[256];
        int which = round % (SHORTS + GENERICS);
        snprintf(text, sizeof text, "%s",
                 which < SHORTS ? shorts[which].text : generics[which - SHORTS].text);
        size_t length = strlen(text);
        for (int k = 0; k < 1 + round % 3; k++) {
            seed = seed * 1664525u + 1013904223u;
            text[(seed >> 8) % length] = alphabet[(seed >> 3) % (sizeof alphabet - 1)];
        }
        text[round % 7 == 0 ? (seed >> 5) % length : length] = 0;
        ry_problem p, again;
        if (ry_problem_parse(text, &f.arena, &p, &f.error) == RYND_OK) {
            const char *printed = ry_problem_print(&p, &f.arena);
            assert_non_null(printed);
            if (ry_problem_parse(printed, &f.arena, &again, &f.error) != RYND_OK ||
                !ry_problem_equal(&p, &again)) {
                fail_msg("'%s' prints as '%s': %s", text, printed, f.error.text);
            }
            ry_problem_check(&p, &ry_system_allocator, &f.error);
        } else {
            assert_true(f.error.text[0] != 0);
        }
        ry_arena_free(&f.arena);
    }
}

static void test_numbers(void **state)
{
    (void)state;
    static const double numbers[] = {0,
                                     1,
                                     -1,
                                     0.1,
                                     1.0 / 3,
                                     1e300,
                                     5e-324,
                                     1e-5,
                                     6,
                                     2147483648.0,
                                     INFINITY,
                                     -INFINITY,
                                     0.30000001192092896};
    char text[RY_NUMBER_SIZE];
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        double back = -7;
        ry_number_print(numbers[i], text);
        assert_true(ry_number_parse(text, strlen(text), &back) && back == numbers[i]);
    }
    ry_number_print(0.1, text);
    assert_string_equal(text, "0.1");
    double number;
    int64_t integer;
    static const char *const bad[] = {"",   "-",  ".",   "1e",       "1.2.3", "0x10",
                                      "1 ", " 1", "1,5", "infinity", "e5"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(ry_number_parse(bad[i], strlen(bad[i]), &number));
        assert_false(ry_integer_parse(bad[i], strlen(bad[i]), &integer));
    }
    assert_true(ry_integer_parse("-9223372036854775808", 20, &integer) && integer == INT64_MIN);
    assert_true(ry_integer_parse("9223372036854775807", 19, &integer) && integer == INT64_MAX);
    assert_false(ry_integer_parse("9223372036854775808", 19, &integer));
    assert_false(ry_integer_parse("-9223372036854775809", 20, &integer));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short_form),    cmocka_unit_test(test_generic_form),
        cmocka_unit_test(test_refusals),      cmocka_unit_test(test_different),
        cmocka_unit_test(test_equal_forms),   cmocka_unit_test(test_directions),
        cmocka_unit_test(test_counts),        cmocka_unit_test(test_check),
        cmocka_unit_test(test_damaged_texts), cmocka_unit_test(test_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
