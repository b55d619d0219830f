/* SPDX-License-Identifier: Apache-2.0 */
/* The form of a plan: text, effect of its knobs, and source. */
#include "api/api_plan.h"
#include "api/api_wisdom.h"
#include "small_net.h"

#include "api/api_tune_plans.h"
#include "plan/choose_form.h"
#include "plan/fuse_separable.h"
#include "plan/layouts.h"
#include "plan/plan_identity.h"
#include "wisdom_file.h"

#include "tiny_model.h"

#include <stdio.h>

static void texts_are_read_back(void **state)
{
    (void)state;
    ry_plan_form form = ry_plan_form_predicted(), read;
    char text[RY_PLAN_FORM_TEXT];
    ry_plan_form_print(&form, text);
    assert_string_equal(text, "");
    assert_true(ry_plan_form_parse("", &read) && ry_plan_form_equal(&form, &read));
    for (int k = 0; k < RY_PLAN_KNOBS; k++) {
        assert_int_equal(ry_plan_knob_find(ry_plan_knob_name((ry_plan_knob)k)), k);
        form.percent[k] = RY_PLAN_MOST - k;
    }
    ry_plan_form_print(&form, text);
    assert_true(ry_plan_form_parse(text, &read) && ry_plan_form_equal(&form, &read));
    static const char *const wrong[] = {"channels_last",
                                        "channels_last=",
                                        "channels_last=-1",
                                        "channels_last=1e2",
                                        "conversions=1001",
                                        "channels=80",
                                        "=5",
                                        "channels_last=80,shuffles=0"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_false(ry_plan_form_parse(wrong[i], &read));
    }
}

/* Lays a network of three convolutions out; how many values are stored channels last. */
static int lay_out(int channels_last, int conversions, size_t *concerned)
{
    small_net n;
    int last = 0;
    small_net_begin(&n, 1e12);
    n.plan.whole.form.percent[RY_PLAN_channels_last] = channels_last;
    n.plan.whole.form.percent[RY_PLAN_conversions] = conversions;
    ry_value_id v = small_net_convolve(&n, small_net_input(&n), 3, 1);
    v = small_net_convolve(&n, small_net_pool(&n, v), 1, 1);
    assert_true(ry_graph_add_output(n.builder.graph, small_net_convolve(&n, v, 3, 1)));
    float x[CHANNELS * SIDE * SIDE];
    small_net_noise(x);
    void *inputs[] = {x};
    graph_run_result before = graph_run(n.builder.graph, inputs);
    assert_int_equal(ry_plan_choose_layouts(&n.builder, &n.error), RYND_OK);
    graph_run_result after =
        graph_run_laid_out(n.builder.graph, inputs, n.builder.layouts.channels_last);
    small_net_same(&n, &before, &after);
    for (ry_value_id id = 0; id < n.builder.graph->value_count; id++) {
        last += n.builder.layouts.channels_last[id];
    }
    assert_int_equal(n.plan.whole.asked, 1u << RY_PLAN_channels_last | 1u << RY_PLAN_conversions);
    *concerned = n.builder.concerned.used;
    graph_run_free(&before);
    graph_run_free(&after);
    small_net_end(&n);
    return last;
}

static void layouts_turn(void **state)
{
    (void)state;
    size_t concerned;
    const int predicted = lay_out(100, 100, &concerned);
    assert_true(predicted > 0 && concerned == 0);
    assert_int_equal(lay_out(RY_PLAN_MOST, RY_PLAN_MOST, &concerned), 0);
    assert_true(concerned > 0);
    assert_true(lay_out(0, 100, &concerned) >= predicted);
}

static void pairs_turn(void **state)
{
    (void)state;
    static const int percents[] = {0, RY_PLAN_MOST};
    for (int i = 0; i < 2; i++) {
        small_net n;
        small_net_begin(&n, 1e9);
        n.plan.whole.form.percent[RY_PLAN_separable] = percents[i];
        const ry_value_id v = small_net_convolve(&n, small_net_input(&n), 3, CHANNELS);
        assert_true(ry_graph_add_output(n.builder.graph, small_net_convolve(&n, v, 1, 1)));
        assert_int_equal(ry_plan_fuse_separable(&n.builder, &n.error), RYND_OK);
        assert_int_equal(n.builder.graph->nodes[0].op, i ? RY_OP_conv : RY_OP_separable_conv);
        assert_int_equal(n.plan.whole.asked, 1u << RY_PLAN_separable);
        assert_int_equal(n.builder.concerned.used, i ? 2 : 0);
        small_net_end(&n);
    }
}

typedef struct planned {
    rynd_context *context;
    rynd_model *model;
    char network[RY_NETWORK_TEXT];
    uint64_t steps; /* steps of the recorded form */
} planned;

static const char TOLD[] = "channels_last=1000 conversions=0";
static const rynd_plan_options OPTIONS =
    RYND_SIZED(rynd_plan_options, .batch = 2, .without_weights = 1);

static void begin(planned *p, int frozen)
{
    static uint8_t bytes[TINY_MODEL_CAPACITY];
    const rynd_context_options options =
        RYND_SIZED(rynd_context_options, .threads = 2, .wisdom = wisdom_path, .frozen = frozen);
    ry_form_known known = {{{0}}, ""};
    ry_error error;
    rynd_plan *plan;
    assert_int_equal(rynd_context_create(&options, &p->context), RYND_OK);
    assert_int_equal(rynd_model_load_memory(p->context, bytes, tiny_model(bytes), &p->model),
                     RYND_OK);
    assert_true(ry_plan_form_parse(TOLD, &known.form));
    const ry_adviser adviser = ry_api_form_adviser(&known);
    assert_int_equal(ry_api_plan_create(p->model, &OPTIONS, &adviser, &plan, &error), RYND_OK);
    assert_int_equal(ry_plan_hash_steps(plan->plan, &p->steps, &error), RYND_OK);
    assert_string_equal(plan->form.knobs, TOLD);
    strcpy(p->network, known.network);
    rynd_plan_destroy(plan);
}

static void end(planned *p)
{
    rynd_model_destroy(p->model);
    rynd_context_destroy(p->context);
}

static void tell(const planned *p, const char *form, uint64_t steps)
{
    ry_error error;
    const ry_wisdom_key key = {p->network, 0, 2, p->context->fingerprint};
    const ry_wisdom_record record = {.kernel = RY_PLAN_KERNEL,
                                     .form = form,
                                     .source = steps,
                                     .samples = 5,
                                     .mean = 1e-3,
                                     .median = 1e-3,
                                     .min = 1e-3,
                                     .max = 1e-3};
    assert_int_equal(ry_wisdom_put(p->context->wisdom, &key, &record, 1, &error), RYND_OK);
}

static void expect(const planned *p, const char *knobs, const char *reason)
{
    rynd_plan *plan;
    rynd_plan_form form = RYND_SIZED(rynd_plan_form);
    assert_int_equal(rynd_plan_create(p->model, &OPTIONS, &plan), RYND_OK);
    assert_int_equal(rynd_plan_get_form(plan, &form), RYND_OK);
    assert_string_equal(form.knobs, knobs);
    assert_string_equal(form.reason, reason);
    assert_true(form.measured == (reason[0] == 'm' ? 1e-3 : 0));
    rynd_plan_destroy(plan);
}

static void plans_take_what_was_measured(void **state)
{
    (void)state;
    planned p;
    wisdom_file_forget();
    begin(&p, 0);
    expect(&p, "", "predicted");
    tell(&p, TOLD, p.steps);
    expect(&p, TOLD, "measured 1.00 ms (wisdom)");
    end(&p);
    begin(&p, 1);
    expect(&p, TOLD, "measured 1.00 ms (wisdom)");
    end(&p);
}

/* A recorded form is refused if its steps differ from the measured ones, or its knobs from this
 * build's. */
static void stale_plans_are_not_taken(void **state)
{
    (void)state;
    planned p;
    wisdom_file_forget();
    begin(&p, 0);
    tell(&p, TOLD, p.steps + 1);
    expect(&p, "", "predicted");
    tell(&p, "warp=9", p.steps);
    expect(&p, "", "predicted");
    end(&p);
}

static void another_shape_is_another_network(void **state)
{
    (void)state;
    planned p;
    rynd_plan *plan;
    rynd_plan_form form = RYND_SIZED(rynd_plan_form);
    rynd_plan_options other = OPTIONS;
    wisdom_file_forget();
    begin(&p, 0);
    tell(&p, TOLD, 0);
    other.batch = 3;
    assert_int_equal(rynd_plan_create(p.model, &other, &plan), RYND_OK);
    assert_int_equal(rynd_plan_get_form(plan, &form), RYND_OK);
    assert_string_equal(form.reason, "predicted");
    rynd_plan_destroy(plan);
    other.batch = OPTIONS.batch;
    other.accuracy = RYND_ACCURACY_STRICT;
    assert_int_equal(rynd_plan_create(p.model, &other, &plan), RYND_OK);
    assert_int_equal(rynd_plan_get_form(plan, &form), RYND_OK);
    assert_string_equal(form.reason, "predicted");
    rynd_plan_destroy(plan);
    end(&p);
}

static void settings_go_first(void **state)
{
    (void)state;
    planned p;
    rynd_plan *plan;
    rynd_plan_form form = RYND_SIZED(rynd_plan_form);
    rynd_knob knob = RYND_SIZED(rynd_knob);
    rynd_setting setting = {"plan", "conversions", "40"};
    rynd_plan_options options = OPTIONS;
    options.settings = &setting;
    options.setting_count = 1;
    wisdom_file_forget();
    begin(&p, 0);
    tell(&p, TOLD, p.steps);
    assert_int_equal(rynd_plan_create(p.model, &options, &plan), RYND_OK);
    assert_int_equal(rynd_plan_get_form(plan, &form), RYND_OK);
    assert_string_equal(form.knobs, "conversions=40");
    assert_string_equal(form.reason, "set");
    assert_int_equal(rynd_plan_knob_count(plan, RYND_PLAN_WHOLE), RY_PLAN_KNOBS);
    assert_int_equal(rynd_plan_get_knob(plan, RYND_PLAN_WHOLE, RY_PLAN_conversions, &knob),
                     RYND_OK);
    assert_string_equal(knob.name, "conversions");
    char value[RYND_KNOB_TEXT];
    assert_int_equal(knob.value_count, RY_PLAN_MOST + 1);
    assert_int_equal(strncmp(knob.unit, "percent of ", strlen("percent of ")), 0);
    assert_int_equal(rynd_plan_get_knob_value(plan, RYND_PLAN_WHOLE, RY_PLAN_conversions,
                                              knob.value_count - 1, value, sizeof value),
                     RYND_OK);
    assert_string_equal(value, "1000");
    assert_int_equal(rynd_plan_get_knob_value(plan, RYND_PLAN_WHOLE, RY_PLAN_conversions,
                                              knob.value_count, value, sizeof value),
                     RYND_ERROR_ARGUMENT);
    assert_string_equal(knob.value, "40");
    assert_int_equal(rynd_plan_get_knob(plan, RYND_PLAN_WHOLE, RY_PLAN_KNOBS, &knob),
                     RYND_ERROR_ARGUMENT);
    rynd_plan_destroy(plan);
    setting.value = "forty";
    assert_int_equal(rynd_plan_create(p.model, &options, &plan), RYND_ERROR_ARGUMENT);
    assert_non_null(strstr(rynd_last_error(), "plan.conversions is 'forty'"));
    setting.knob = "warp";
    assert_int_equal(rynd_plan_create(p.model, &options, &plan), RYND_ERROR_ARGUMENT);
    assert_non_null(strstr(rynd_last_error(), "channels_last"));
    end(&p);
}

/* Whichever of the plans that were timed the verdict names, that one is taken from then on. */
static void the_verdict_is_kept_not_chance(void **state)
{
    (void)state;
    planned p;
    rynd_tuning *tuning;
    ry_error error;
    wisdom_file_forget();
    begin(&p, 0);
    const rynd_tune_options options = RYND_SIZED(rynd_tune_options, .budget = 20);
    rynd_tuning_info info = RYND_SIZED(rynd_tuning_info);
    assert_int_equal(rynd_tune_model(p.model, &OPTIONS, &options, &tuning), RYND_OK);
    assert_int_equal(rynd_tuning_get_info(tuning, &info), RYND_OK);
    assert_true(info.plans_listed >= 1 && info.plans >= 2 && info.plan < info.plans);
    assert_true(info.taken || info.plan == 0);
    for (size_t i = 0; i < info.plans; i++) {
        rynd_tuned_plan plan = RYND_SIZED(rynd_tuned_plan);
        assert_int_equal(rynd_tuning_get_plan(tuning, i, &plan), RYND_OK);
        assert_int_equal(plan.knobs[0] == 0, i == 0);
        assert_true(plan.predicted > 0 && plan.ratio > 0);
        if (plan.n == 0) {
            continue; /* every round was disturbed */
        }
        assert_true(plan.min <= plan.median && plan.median <= plan.max);
        assert_int_equal(ry_api_plans_keep(tuning, &options, i, &error), RYND_OK);
        rynd_plan *made;
        rynd_plan_form form = RYND_SIZED(rynd_plan_form);
        assert_int_equal(rynd_plan_create(p.model, &OPTIONS, &made), RYND_OK);
        assert_int_equal(rynd_plan_get_form(made, &form), RYND_OK);
        assert_string_equal(form.knobs, plan.knobs);
        assert_true(form.measured > 0);
        rynd_plan_destroy(made);
    }
    assert_int_equal(rynd_tuning_get_plan(tuning, info.plans, &(rynd_tuned_plan){.size = 8}),
                     RYND_ERROR_ARGUMENT);
    rynd_tuning_destroy(tuning);
    end(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_read_back),
        cmocka_unit_test(layouts_turn),
        cmocka_unit_test(pairs_turn),
        cmocka_unit_test(plans_take_what_was_measured),
        cmocka_unit_test(stale_plans_are_not_taken),
        cmocka_unit_test(another_shape_is_another_network),
        cmocka_unit_test(settings_go_first),
        cmocka_unit_test(the_verdict_is_kept_not_chance),
    };
    return cmocka_run_group_tests(tests, wisdom_file_set_up, wisdom_file_tear_down);
}
