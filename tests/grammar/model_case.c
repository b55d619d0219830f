/* SPDX-License-Identifier: Apache-2.0 */
/* A model through the library, beside the references. */
#include "model_case.h"

#include "api/handles.h"
#include "budget.h"
#include "case_compare.h"
#include "graph/infer.h"
#include "reference.h"
#include "reference_steps.h"

#include <stdlib.h>
#include <string.h>

/* What one case may take, of sums and of the references' values. */
static const double FLOP_LIMIT = 6e6;
static const size_t MEMORY_LIMIT = (size_t)16 << 20;

/* Where a value's name leads: of the model's inputs and outputs. */
enum { MAX_INPUTS = GRAMMAR_VALUES };

typedef struct model_case {
    grammar *g;
    case_report *report;
    rynd_context *one, *three;
    onnx_bytes bytes;
    rynd_model *model;
    rynd_tensor inputs[MAX_INPUTS]; /* in the model's order, with content */
    rynd_tensor known[MAX_INPUTS];  /* the same for the plan, some without content */
    rynd_plan_options options;
    reference_run reference;
    rynd_status reference_status;
    ry_error reference_error;
} model_case;

bool case_engine_create(case_engine *engine, const char *isa, bool threads)
{
    *engine = (case_engine){0};
    ry_cpu_info info;
    ry_cpu_detect(&info);
    for (int i = 0; i <= (int)info.isa; i++) {
        if (isa && strcmp(isa, ry_isa_name((ry_isa)i)) != 0) {
            continue;
        }
        rynd_context **contexts[] = {engine->one, engine->three};
        for (unsigned t = 0; t < (threads ? 2 : 1); t++) {
            const rynd_context_options options =
                RYND_SIZED(rynd_context_options, .threads = 1 + 2 * t,
                           .allocator = &budget_allocator, .isa = ry_isa_name((ry_isa)i));
            if (rynd_context_create(&options, &contexts[t][engine->isas]) != RYND_OK) {
                return false;
            }
        }
        engine->isas++;
    }
    return engine->isas > 0;
}

void case_engine_destroy(case_engine *engine)
{
    for (int i = 0; i < RY_ISAS; i++) {
        rynd_context_destroy(engine->one[i]);
        rynd_context_destroy(engine->three[i]);
    }
}

static bool end(model_case *c, case_outcome outcome, const char *what, const char *message)
{
    c->report->outcome = outcome;
    snprintf(c->report->message, sizeof c->report->message, "%s%s%s", what, *message ? ": " : "",
             message);
    return false;
}

static bool wrong(model_case *c, const char *what, const char *message)
{
    return end(c, CASE_WRONG, what, message);
}

/* A refusal says why; anything else is wrong. */
static bool refused(model_case *c, case_outcome outcome, const char *what)
{
    return rynd_last_error()[0] ? end(c, outcome, what, rynd_last_error())
                                : wrong(c, what, "no message");
}

static const grammar_value *find_value(const grammar *g, const char *name)
{
    for (int i = 0; i < g->value_count; i++) {
        if (strcmp(g->values[i].name, name) == 0) {
            return &g->values[i];
        }
    }
    return NULL;
}

/* False where an input is too large to have content. */
static bool take_inputs(model_case *c)
{
    /* the plan knows small inputs' content, and holds for it alone */
    const bool tell = chance(&c->g->c, 40);
    for (size_t i = 0; i < rynd_model_input_count(c->model); i++) {
        rynd_value_info info = RYND_SIZED(rynd_value_info);
        const grammar_value *v = rynd_model_get_input(c->model, i, &info) == RYND_OK
                                     ? find_value(c->g, info.name)
                                     : NULL;
        if (!v || v->rank > RYND_MAX_RANK) {
            return wrong(c, "an input that the model does not have", "");
        }
        c->inputs[i] = rynd_tensor_of(v->data, (rynd_dtype)v->dtype, v->rank, v->dim);
        c->known[i] = c->inputs[i];
        if (!v->data) {
            return end(c, CASE_TOO_LARGE, "an input without content", "");
        }
        c->known[i].data = tell ? v->data : NULL;
    }
    return true;
}

static rynd_status bound_graph(model_case *c, ry_graph **graph, ry_error *error)
{
    RY_TRY(ry_graph_clone(c->model->onnx.graph, graph, error));
    ry_shape shapes[MAX_INPUTS];
    for (size_t i = 0; i < (*graph)->input_count; i++) {
        shapes[i] = ry_tensor_shape(&c->inputs[i]);
    }
    RY_TRY(ry_graph_bind(*graph, shapes, NULL, 0, error));
    for (size_t i = 0; i < (*graph)->input_count; i++) {
        (*graph)->values[(*graph)->inputs[i]].constant = c->inputs[i].data;
    }
    return ry_graph_compact(*graph, error);
}

static rynd_status run_reference(model_case *c, uint64_t seed, reference_run *run, ry_error *error)
{
    const reference_options options = {seed, c->options.accuracy >= RYND_ACCURACY_TF32, FLOP_LIMIT,
                                       MEMORY_LIMIT};
    ry_graph *graph = NULL;
    rynd_status status = bound_graph(c, &graph, error);
    *run = (reference_run){.certain = true};
    if (status == RYND_OK) {
        status = reference_execute(graph, &options, run, error);
    }
    run->graph = graph;
    return status;
}

/* The problem, kernel and layouts of every step. */
static bool same_plans(const rynd_plan *a, const rynd_plan *b)
{
    if (rynd_plan_step_count(a) != rynd_plan_step_count(b)) {
        return false;
    }
    for (size_t i = 0; i < rynd_plan_step_count(a); i++) {
        rynd_step_info x = RYND_SIZED(rynd_step_info), y = RYND_SIZED(rynd_step_info);
        if (rynd_plan_get_step(a, i, &x) != RYND_OK || rynd_plan_get_step(b, i, &y) != RYND_OK) {
            return false;
        }
        const char *const pairs[][2] = {{x.name, y.name},           {x.problem, y.problem},
                                        {x.kernel, y.kernel},       {x.knobs, y.knobs},
                                        {x.layout_in, y.layout_in}, {x.layout_out, y.layout_out},
                                        {x.fused, y.fused},         {x.reason, y.reason}};
        for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
            if (strcmp(pairs[k][0], pairs[k][1]) != 0) {
                return false;
            }
        }
    }
    rynd_memory m = RYND_SIZED(rynd_memory), n = RYND_SIZED(rynd_memory);
    return rynd_plan_get_memory(a, &m) == RYND_OK && rynd_plan_get_memory(b, &n) == RYND_OK &&
           memcmp(&m, &n, sizeof m) == 0;
}

static rynd_status bind_and_run(const model_case *c, rynd_session *session)
{
    for (size_t i = 0; i < rynd_model_input_count(c->model); i++) {
        rynd_value_info info = RYND_SIZED(rynd_value_info);
        RY_TRY(rynd_model_get_input(c->model, i, &info));
        RY_TRY(rynd_session_bind(session, info.name, &c->inputs[i]));
    }
    return rynd_session_run(session);
}

/* The failure of a plan or a run, when the references are known to have failed or not. */
static bool failed(model_case *c, case_outcome outcome, const char *what, rynd_status status)
{
    const bool comparable =
        c->reference.certain && !c->reference.too_large && status != RYND_ERROR_OUT_OF_MEMORY;
    if (comparable && c->reference_status == RYND_OK) {
        return wrong(c, "it fails where the references do not", rynd_last_error());
    }
    return refused(c, outcome, what);
}

/* One thread: twice the same plan, twice the same bits, and what the references say. */
static bool run_alone(model_case *c, case_outputs *outputs)
{
    rynd_plan *plan = NULL, *again = NULL;
    rynd_session *session = NULL;
    case_outputs second = {0};
    char reference[512];
    bool good = false;
    rynd_status status = rynd_plan_create(c->model, &c->options, &plan);
    status = status ? status : rynd_plan_create(c->model, &c->options, &again);
    if (status != RYND_OK) {
        failed(c, CASE_REFUSED, "the plan", status);
    } else if (!same_plans(plan, again)) {
        wrong(c, "two plans of one model differ", "");
    } else if (!reference_steps_are_listed(plan, reference, sizeof reference)) {
        wrong(c, "a reference in the plan", reference);
    } else {
        status = rynd_session_create(plan, &session);
        status = status ? status : bind_and_run(c, session);
        if (status != RYND_OK) {
            failed(c, CASE_FAILED, "the run", status);
        } else {
            good = case_outputs_take(session, c->model, outputs) &&
                   rynd_session_run(session) == RYND_OK &&
                   case_outputs_take(session, c->model, &second) &&
                   case_outputs_same(outputs, &second);
            good = good || wrong(c, "a second run differs", "");
        }
    }
    case_outputs_free(&second);
    rynd_session_destroy(session);
    rynd_plan_destroy(again);
    rynd_plan_destroy(plan);
    return good;
}

static bool run_together(model_case *c, const case_outputs *alone)
{
    rynd_model *model = NULL;
    rynd_plan *plan = NULL;
    rynd_session *session = NULL;
    case_outputs outputs = {0};
    rynd_status status = rynd_model_load_memory(c->three, c->bytes.data, c->bytes.size, &model);
    status = status ? status : rynd_plan_create(model, &c->options, &plan);
    status = status ? status : rynd_session_create(plan, &session);
    status = status ? status : bind_and_run(c, session);
    bool good = status == RYND_OK && case_outputs_take(session, c->model, &outputs) &&
                case_outputs_same(alone, &outputs);
    good = good || status == RYND_ERROR_OUT_OF_MEMORY ||
           wrong(c, "three threads differ from one", status ? rynd_last_error() : "");
    case_outputs_free(&outputs);
    rynd_session_destroy(session);
    rynd_plan_destroy(plan);
    rynd_model_destroy(model);
    return good;
}

/* Two runs with noise tell mostly how far a result may be off; before it is called wrong, more are
 * asked. */
static bool compare(model_case *c, const case_outputs *outputs)
{
    case_expected *expected = calloc(1, sizeof *expected);
    if (!expected) {
        abort();
    }
    expected->reference = &c->reference;
    expected->sixteen_bits = c->options.accuracy >= RYND_ACCURACY_TF32;
    ry_error error = {""};
    char difference[512] = "";
    bool good = true;
    int compared = -1;
    for (int most = 2; good && compared < 0 && most <= CASE_NOISY_RUNS;
         most += CASE_NOISY_RUNS - 2) {
        for (; good && expected->runs < most; expected->runs++) {
            const uint64_t seed = (uint64_t)expected->runs + 1;
            good = run_reference(c, seed, &expected->noisy[expected->runs], &error) == RYND_OK ||
                   wrong(c, "the references fail with noise", error.text);
        }
        compared = good ? case_outputs_agree(outputs, expected, difference, sizeof difference) : -1;
    }
    if (good && compared < 0) {
        good = wrong(c, "it differs from the references", difference);
    }
    c->report->compared = compared < 0 ? 0 : compared;
    for (int run = 0; run < CASE_NOISY_RUNS; run++) {
        ry_graph_destroy(expected->noisy[run].graph);
    }
    free(expected);
    return good;
}

static void run_loaded(model_case *c)
{
    case_outputs outputs = {0};
    if (!take_inputs(c)) {
        return;
    }
    c->options = RYND_SIZED(rynd_plan_options, .inputs = c->known);
    static const rynd_accuracy accuracies[] = {RYND_ACCURACY_DEFAULT, RYND_ACCURACY_STRICT,
                                               RYND_ACCURACY_DEFAULT, RYND_ACCURACY_BF16};
    c->options.accuracy = accuracies[choose(&c->g->c, 4)];
    c->reference_status = run_reference(c, 0, &c->reference, &c->reference_error);
    if (c->reference_status == RYND_OK && (c->reference.too_large || !c->reference.certain)) {
        end(c, CASE_TOO_LARGE,
            c->reference.too_large ? "beyond the limits" : "a shape hangs on rounded numbers", "");
        return;
    }
    const bool together = chance(&c->g->c, 100) && c->three;
    const bool ran = run_alone(c, &outputs) && (!together || run_together(c, &outputs));
    if (ran && c->reference_status != RYND_OK) {
        wrong(c, "it runs where the references fail", c->reference_error.text);
    } else if (ran && compare(c, &outputs)) {
        c->report->outcome = CASE_RAN;
    }
    case_outputs_free(&outputs);
}

void model_case_run(const case_engine *engine, grammar *g, case_report *report)
{
    *report = (case_report){.outcome = CASE_REFUSED};
    const unsigned isa = choose(&g->c, (unsigned)engine->isas);
    model_case *c = calloc(1, sizeof *c);
    if (!c) {
        abort();
    }
    *c = (model_case){.g = g,
                      .report = report,
                      .one = engine->one[isa],
                      .three = engine->three[isa],
                      .bytes = grammar_write(g)};
    /* The model borrows the bytes. No spare room behind them: AddressSanitizer sees reads beyond.
     */
    c->bytes.data = realloc(c->bytes.data, c->bytes.size);
    if (rynd_model_load_memory(c->one, c->bytes.data, c->bytes.size, &c->model) != RYND_OK) {
        refused(c, CASE_REFUSED, "the model");
    } else {
        run_loaded(c);
    }
    ry_graph_destroy(c->reference.graph);
    rynd_model_destroy(c->model);
    onnx_bytes_free(&c->bytes);
    free(c);
}
