/* SPDX-License-Identifier: Apache-2.0 */
/* Candidates of a choice: each once, with every possible reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernels/kernel.h"
#include "tiny_model.h"

#include <math.h>
#include <rynd/rynd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_HEARD = 4096 };

static const char CONV[] = "conv n=1 c=64 h=28 w=28 k=64 r=3 s=3 pad=1";

typedef struct heard_one {
    const char *kernel;
    char knobs[512], refused[128];
    bool chosen;
    double median;
} heard_one;

static struct {
    heard_one all[MAX_HEARD];
    int count, end_after;
} heard;

static rynd_context *context;

static int hear(void *user, const rynd_candidate *c)
{
    assert_ptr_equal(user, &heard);
    assert_int_equal(c->size, sizeof *c);
    assert_true(heard.count < MAX_HEARD);
    heard_one *one = &heard.all[heard.count++];
    *one = (heard_one){.kernel = c->kernel, .chosen = c->chosen, .median = c->prediction.median};
    snprintf(one->knobs, sizeof one->knobs, "%s", c->knobs);
    snprintf(one->refused, sizeof one->refused, "%s", c->refused ? c->refused : "");
    assert_true(c->accuracy[0] != 0 && c->measured == 0);
    if (c->refused) {
        assert_true(c->refused[0] != 0 && c->knobs[0] == 0 && c->prediction.median == 0);
        assert_true(!c->chosen && c->packed == 0 && c->workspace == 0);
    } else {
        double sum = 0;
        for (size_t i = 0; i < RYND_WORK_KINDS; i++) {
            assert_true(c->kinds[i] >= 0 && rynd_work_kind_name(i)[0] != 0);
            sum += c->kinds[i];
        }
        assert_true(fabs(sum - c->prediction.arithmetic) <= 1e-9 * sum);
        assert_true(c->prediction.low > 0 && c->prediction.low < c->prediction.median &&
                    c->prediction.median < c->prediction.high && c->prediction.coverage == 0.9);
    }
    return heard.count == heard.end_after;
}

static void clear(int end_after)
{
    heard.count = 0;
    heard.end_after = end_after;
}

static rynd_op *make(const char *problem, rynd_accuracy accuracy, const char *kernel)
{
    rynd_op *op;
    const rynd_op_options options =
        RYND_SIZED(rynd_op_options, .accuracy = accuracy, .kernel = kernel, .constants = 6);
    assert_int_equal(rynd_op_create(context, problem, &options, &op), RYND_OK);
    return op;
}

static const char *reason_of(const char *kernel)
{
    for (int i = 0; i < heard.count; i++) {
        if (strcmp(heard.all[i].kernel, kernel) == 0) {
            return heard.all[i].refused;
        }
    }
    fail_msg("nothing was told of %s", kernel);
    return "";
}

/* The chosen form comes first and only once, is what the operator has, and takes as long. */
static void check_choice(const rynd_op *op)
{
    rynd_step_info info = RYND_SIZED(rynd_step_info);
    rynd_prediction prediction = RYND_SIZED(rynd_prediction);
    assert_int_equal(rynd_op_get_info(op, &info), RYND_OK);
    assert_int_equal(rynd_op_predict(op, &prediction), RYND_OK);
    assert_true(heard.all[0].chosen);
    assert_string_equal(heard.all[0].kernel, info.kernel);
    assert_string_equal(heard.all[0].knobs, info.knobs);
    assert_true(heard.all[0].median == prediction.median);
    for (int i = 1; i < heard.count; i++) {
        assert_false(heard.all[i].chosen);
    }
}

static void everything_is_told_once(void **state)
{
    (void)state;
    rynd_op *op = make(CONV, RYND_ACCURACY_DEFAULT, NULL);
    clear(0);
    assert_int_equal(rynd_op_explain(op, hear, &heard), RYND_OK);
    check_choice(op);
    for (int i = 0; i < heard.count; i++) {
        for (int j = i + 1; j < heard.count; j++) {
            assert_false(strcmp(heard.all[i].kernel, heard.all[j].kernel) == 0 &&
                         strcmp(heard.all[i].knobs, heard.all[j].knobs) == 0);
        }
    }
    for (size_t i = 0; i < ry_kernel_count; i++) {
        if (ry_kernels[i]->op == RY_OP_conv) {
            reason_of(ry_kernels[i]->name);
        }
    }
    const int all = heard.count;
    clear(0);
    assert_int_equal(rynd_op_explain(op, hear, &heard), RYND_OK);
    assert_int_equal(heard.count, all);
    rynd_op_destroy(op);
}

static void reasons(void **state)
{
    (void)state;
    rynd_op *op = make(CONV, RYND_ACCURACY_STRICT, NULL);
    clear(0);
    assert_int_equal(rynd_op_explain(op, hear, &heard), RYND_OK);
    check_choice(op);
    bool looser = false, shape = false, device = false;
    for (int i = 0; i < heard.count; i++) {
        looser = looser || strstr(heard.all[i].refused, "looser than strict");
        shape = shape || strstr(heard.all[i].refused, "not of this shape or type");
        device = device || strstr(heard.all[i].refused, "for another device");
    }
    assert_true(looser && shape && device);
    assert_string_equal(reason_of("conv_ref"), "reference: only where nothing else takes it");
    rynd_op_destroy(op);
    op = make("conv n=1 c=64 h=28 w=28 k=64 r=3 s=3 pad=1 dtype=f64", RYND_ACCURACY_DEFAULT, NULL);
    clear(0);
    assert_int_equal(rynd_op_explain(op, hear, &heard), RYND_OK);
    bool type = false;
    for (int i = 0; i < heard.count; i++) {
        type = type || strcmp(heard.all[i].refused, "not of this type") == 0;
    }
    assert_true(type);
    rynd_op_destroy(op);
}

/* The better instruction set wins; a plan for a lesser machine names the missing one. */
static void instruction_sets(void **state)
{
    (void)state;
    rynd_context *lesser;
    rynd_op *op;
    const rynd_context_options options =
        RYND_SIZED(rynd_context_options, .threads = 1, .isa = "generic");
    assert_int_equal(rynd_context_create(&options, &lesser), RYND_OK);
    assert_int_equal(rynd_op_create(lesser, CONV, NULL, &op), RYND_OK);
    clear(0);
    assert_int_equal(rynd_op_explain(op, hear, &heard), RYND_OK);
    check_choice(op);
    for (size_t i = 0; i < ry_kernel_count; i++) {
        const ry_kernel *kernel = ry_kernels[i];
        if (kernel->op == RY_OP_conv && kernel->device == RY_DEVICE_cpu &&
            kernel->isa > RY_ISA_generic) {
            char wanted[64];
            snprintf(wanted, sizeof wanted, "needs %s", ry_isa_name(kernel->isa));
            assert_string_equal(reason_of(kernel->name), wanted);
        }
    }
    rynd_op_destroy(op);
    rynd_context_destroy(lesser);
}

/* What the caller has set is the choice, though it would be refused otherwise. */
static void what_is_set(void **state)
{
    (void)state;
    rynd_op *op = make(CONV, RYND_ACCURACY_DEFAULT, "conv_ref");
    clear(0);
    assert_int_equal(rynd_op_explain(op, hear, &heard), RYND_OK);
    check_choice(op);
    assert_string_equal(heard.all[0].kernel, "conv_ref");
    assert_string_equal(reason_of("conv_ref"), "");
    rynd_op_destroy(op);
}

static void steps_of_a_plan(void **state)
{
    (void)state;
    static uint8_t bytes[TINY_MODEL_CAPACITY];
    rynd_model *model;
    rynd_plan *plan;
    const rynd_plan_options options = RYND_SIZED(rynd_plan_options, .batch = 1);
    assert_int_equal(rynd_model_load_memory(context, bytes, tiny_model(bytes), &model), RYND_OK);
    assert_int_equal(rynd_plan_create(model, &options, &plan), RYND_OK);
    const size_t steps = rynd_plan_step_count(plan);
    assert_true(steps > 0);
    for (size_t s = 0; s < steps; s++) {
        rynd_step_info info = RYND_SIZED(rynd_step_info);
        rynd_prediction prediction = RYND_SIZED(rynd_prediction);
        clear(0);
        assert_int_equal(rynd_plan_explain(plan, s, hear, &heard), RYND_OK);
        assert_int_equal(rynd_plan_get_step(plan, s, &info), RYND_OK);
        assert_int_equal(rynd_plan_predict_step(plan, s, &prediction), RYND_OK);
        assert_string_equal(heard.all[0].kernel, info.kernel);
        assert_string_equal(heard.all[0].knobs, info.knobs);
        assert_true(heard.all[0].median == prediction.median);
    }
    assert_int_equal(rynd_plan_explain(plan, steps, hear, &heard), RYND_ERROR_ARGUMENT);
    clear(2);
    assert_int_equal(rynd_plan_explain(plan, 0, hear, &heard), RYND_ERROR_CANCELLED);
    assert_int_equal(heard.count, 2);
    rynd_plan_destroy(plan);
    rynd_model_destroy(model);
}

static int begin(void **state)
{
    (void)state;
    const rynd_context_options options = RYND_SIZED(rynd_context_options, .threads = 1);
    return rynd_context_create(&options, &context) != RYND_OK;
}

static int end(void **state)
{
    (void)state;
    rynd_context_destroy(context);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_told_once), cmocka_unit_test(reasons),
        cmocka_unit_test(instruction_sets),        cmocka_unit_test(what_is_set),
        cmocka_unit_test(steps_of_a_plan),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
