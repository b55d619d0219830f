/* SPDX-License-Identifier: Apache-2.0 */
/* A problem that is planned alone takes the steps that it takes in a model: no reference runs,
 * results are the reference's up to rounding, at any number of threads and in any strides, and a
 * run takes no memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <rynd/rynd.h>

#include "tensor/tensor.h"

#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct row {
    const char *problem, *reference;
    unsigned constants; /* bit i: input i is constant in one of the two operators */
} row;

static const row rows[] = {
    {"einsum x0=2x5x7:f32 x1=2x7x3:f32 y0=2x5x3:f32 equation='bij,bjk->bik'", "einsum_ref", 2},
    {"einsum x0=5x7:f32 y0=7x5:f32 equation='ij->ji'", "einsum_ref", 0},
    {"einsum x0=5x7:f32 y0=5x7:f32 equation='ij->ij'", "einsum_ref", 0},
    {"einsum x0=4x6:f32 x1=6x5:f32 x2=5x3:f32 y0=4x3:f32 equation='ij,jk,kl->il'", "einsum_ref", 4},
    {"einsum x0=2x5x7:f32:1,14,2 x1=2x7x3:f32 y0=2x5x3:f32:1,6,2 equation='bij,bjk->bik'",
     "einsum_ref", 0},
    {"deform_conv x0=1x8x9x9:f32 x1=6x8x3x3:f32 x2=1x18x9x9:f32 y0=1x6x9x9:f32 pads=1,1,1,1",
     "deform_conv_ref", 2},
    {"convt n=1 c=3 w=9 k=4 s=70 stride=65 bias=1", "convt_ref", 6},
    {"convt n=2 c=3 h=4 w=5 k=4 r=12 s=11 stride=9 pad=1", "convt_ref", 2},
    {"convt n=2 c=3 h=4 w=5 k=4 r=12 s=11 stride=9 layout=nhwc", "convt_ref", 2},
    {"convt n=1 c=6 h=4 w=5 k=6 r=16 s=16 stride=12 groups=6", "convt_ref", 2},
    {"conv n=2 c=3 h=36 w=24 k=8 r=12 s=12 stride=12 dir=bwd_weights", "conv_ref", 0},
};

typedef struct counting {
    atomic_long taken;
} counting;

static void *take(void *user, size_t size, size_t alignment)
{
    atomic_fetch_add(&((counting *)user)->taken, 1);
    return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

static void give_back(void *user, void *memory)
{
    (void)user;
    free(memory);
}

enum { MOST = 8, ROOM = 1 << 15 };

typedef struct operands {
    float in[MOST][ROOM], out[MOST][ROOM];
} operands;

/* Few distinct numbers, so that offsets of deformed windows stay small. */
static void fill(operands *m)
{
    uint32_t seed = 1;
    for (int i = 0; i < MOST; i++) {
        for (int at = 0; at < ROOM; at++) {
            seed = seed * 1664525u + 1013904223u;
            m->in[i][at] = (float)(seed >> 24) / 128 - 1;
            m->out[i][at] = NAN;
        }
    }
}

static rynd_op *create(rynd_context *context, const row *r, const operands *m, unsigned constants,
                       const char *kernel)
{
    rynd_op_options options = RYND_SIZED(rynd_op_options, .kernel = kernel);
    rynd_tensor given[MOST] = {0};
    rynd_op *op = NULL;
    assert_int_equal(rynd_op_create(context, r->problem, &options, &op), RYND_OK);
    if (constants) {
        for (size_t i = 0; i < rynd_op_input_count(op); i++) {
            assert_int_equal(rynd_op_get_input(op, i, &given[i]), RYND_OK);
            given[i].data = constants >> i & 1u ? (void *)(uintptr_t)m->in[i] : NULL;
        }
        rynd_op_destroy(op);
        options.inputs = given;
        assert_int_equal(rynd_op_create(context, r->problem, &options, &op), RYND_OK);
    }
    return op;
}

static void run(rynd_op *op, operands *m)
{
    const void *in[MOST];
    void *out[MOST];
    fill(m);
    for (int i = 0; i < MOST; i++) {
        in[i] = m->in[i];
        out[i] = m->out[i];
    }
    assert_int_equal(rynd_op_execute(op, in, out), RYND_OK);
}

static void assert_near(const row *r, const rynd_op *op, const operands *got,
                        const operands *wanted)
{
    rynd_tensor y;
    assert_int_equal(rynd_op_get_output(op, 0, &y), RYND_OK);
    const size_t bytes = ry_tensor_span(&y);
    assert_true(bytes > 0 && bytes <= sizeof got->out[0]);
    for (size_t i = 0; i < bytes / sizeof(float); i++) {
        const float a = got->out[0][i], b = wanted->out[0][i];
        if (!(fabsf(a - b) <= 1e-4f * (1 + fabsf(b))) && !(isnan(a) && isnan(b))) {
            fail_msg("%s: element %zu is %g, by the reference %g", r->problem, i, (double)a,
                     (double)b);
        }
    }
}

static void assert_no_reference(const row *r, const rynd_op *op)
{
    rynd_step_info info = RYND_SIZED(rynd_step_info);
    assert_int_equal(rynd_op_get_info(op, &info), RYND_OK);
    assert_non_null(rynd_op_plan(op));
    if (strstr(info.kernel, "_ref")) {
        fail_msg("%s: planned with %s", r->problem, info.kernel);
    }
}

static void runs_are_the_references(void **state)
{
    (void)state;
    static operands wanted, got, again;
    counting counts = {0};
    const rynd_allocator hooks = {take, give_back, &counts};
    const rynd_context_options one = RYND_SIZED(rynd_context_options, .threads = 1,
                                                .allocator = &hooks),
                               three = RYND_SIZED(rynd_context_options, .threads = 3);
    rynd_context *context = NULL, *threads = NULL;
    assert_int_equal(rynd_context_create(&one, &context), RYND_OK);
    assert_int_equal(rynd_context_create(&three, &threads), RYND_OK);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const row *r = &rows[i];
        fill(&got);
        rynd_op *reference = create(context, r, &got, 0, r->reference),
                *op = create(context, r, &got, 0, NULL),
                *constant = create(context, r, &got, r->constants, NULL),
                *parallel = create(threads, r, &got, 0, NULL);
        run(reference, &wanted);
        assert_null(rynd_op_plan(reference));
        assert_no_reference(r, op);
        run(op, &got);
        assert_near(r, op, &got, &wanted);
        const long taken = atomic_load(&counts.taken);
        run(op, &again);
        assert_int_equal(atomic_load(&counts.taken), taken);
        assert_memory_equal(got.out[0], again.out[0], sizeof got.out[0]);
        run(parallel, &again);
        assert_memory_equal(got.out[0], again.out[0], sizeof got.out[0]);
        run(constant, &again);
        assert_near(r, constant, &again, &wanted);
        rynd_op_destroy(reference);
        rynd_op_destroy(op);
        rynd_op_destroy(constant);
        rynd_op_destroy(parallel);
    }
    rynd_context_destroy(threads);
    rynd_context_destroy(context);
}

/* Predictions and memory of an operator are those of its steps. */
static void steps_are_described(void **state)
{
    (void)state;
    const row *r = &rows[6];
    static operands m;
    rynd_context *context = NULL;
    assert_int_equal(rynd_context_create(NULL, &context), RYND_OK);
    rynd_op *op = create(context, r, &m, r->constants, NULL);
    const rynd_plan *plan = rynd_op_plan(op);
    rynd_prediction all = RYND_SIZED(rynd_prediction), step = RYND_SIZED(rynd_prediction);
    rynd_memory memory = RYND_SIZED(rynd_memory);
    rynd_knob knob = RYND_SIZED(rynd_knob);
    assert_true(rynd_plan_step_count(plan) > 1);
    assert_int_equal(rynd_op_predict(op, &all), RYND_OK);
    assert_int_equal(rynd_plan_predict_step(plan, 0, &step), RYND_OK);
    assert_true(step.median > 0 && all.median > step.median);
    assert_int_equal(rynd_op_get_memory(op, &memory), RYND_OK);
    assert_true(memory.weights > 0 && memory.workspace > 0 &&
                memory.total == memory.weights + memory.activations + memory.workspace);
    assert_int_equal(rynd_op_knob_count(op), 0);
    assert_int_equal(rynd_op_get_knob(op, 0, &knob), RYND_ERROR_ARGUMENT);
    assert_non_null(strstr(rynd_last_error(), "rynd_op_plan"));
    rynd_op_destroy(op);
    rynd_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_are_the_references),
        cmocka_unit_test(steps_are_described),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
