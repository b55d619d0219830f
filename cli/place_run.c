/* SPDX-License-Identifier: Apache-2.0 */
/* A pipeline over the devices of a placement. Values that cross cuts are in the host's memory, a
 * set for each input; a part of an input is begun when the one in front of it is done. */
#include "place_run.h"

#include "bench_subject.h"
#include "ending.h"
#include "statistics.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A value that parts read or give, of each input. */
typedef struct value {
    const char *name;
    bool given; /* an input of the network */
    size_t network;
    cli_tensor *held;
} value;

/* A part that is ready to run. */
typedef struct stage {
    rynd_placed_part part;
    rynd_plan *plan;
    rynd_session *session;
    const cli_tensor **ports; /* values of the part's inputs, then of its outputs; each has a tensor
                               * for each input of the pipeline */
    size_t input_count, port_count;
} stage;

typedef struct pipeline {
    const rynd_placement *placement;
    const cli_common *common;
    stage *stages;
    size_t stage_count, inputs;
    value *values;
    size_t value_count;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool *begun, *done; /* [input * stage_count + stage] */
    bool failed;
    cli_failure failure; /* from the first thread that failed */
} pipeline;

typedef struct worker {
    pipeline *p;
    size_t device;
    pthread_t thread;
    bool started;
} worker;

static size_t find_value(pipeline *p, size_t network, const char *name)
{
    size_t i = 0;
    while (i < p->value_count &&
           (p->values[i].network != network || strcmp(p->values[i].name, name) != 0)) {
        i++;
    }
    return i;
}

/* The memory of a value, of each input; made where no part before has named it. NULL: failed. */
static const cli_tensor *hold_value(pipeline *p, size_t network, const char *name,
                                    const rynd_tensor *shape, bool given, cli_failure *failure)
{
    const size_t index = find_value(p, network, name);
    if (index < p->value_count) {
        return p->values[index].held;
    }
    value *values = realloc(p->values, (index + 1) * sizeof *values);
    if (!values) {
        cli_fail_memory(failure);
        return NULL;
    }
    p->values = values;
    value *v = &values[p->value_count++];
    *v = (value){name, given, network, calloc(p->inputs, sizeof *v->held)};
    for (size_t i = 0; v->held && i < p->inputs; i++) {
        if (!cli_tensor_make(&v->held[i], shape->dtype, shape->rank, shape->dim, failure)) {
            return NULL;
        }
        if (given) {
            cli_fill_random(&v->held[i].view, 1 + i * 1000 + index);
        }
    }
    if (!v->held) {
        cli_fail_memory(failure);
    }
    return v->held;
}

static bool add_ports(pipeline *p, stage *s, bool outputs, cli_failure *failure)
{
    const rynd_model *model = s->part.model;
    const size_t count = outputs ? rynd_model_output_count(model) : rynd_model_input_count(model);
    for (size_t i = 0; i < count; i++) {
        rynd_value_info info = RYND_SIZED(rynd_value_info);
        rynd_tensor shape;
        if ((outputs ? rynd_model_get_output(model, i, &info)
                     : rynd_model_get_input(model, i, &info)) != RYND_OK ||
            (outputs ? rynd_plan_get_output(s->plan, i, &shape)
                     : rynd_plan_get_input(s->plan, i, &shape)) != RYND_OK) {
            return cli_fail_library(failure);
        }
        const cli_tensor *held =
            hold_value(p, s->part.network, info.name, &shape, !outputs, failure);
        if (!held) {
            return false;
        }
        s->ports[s->port_count++] = held;
    }
    return true;
}

static bool open_stage(pipeline *p, const rynd_fleet *fleet, size_t index, cli_failure *failure)
{
    stage *s = &p->stages[index];
    rynd_fleet_device device = RYND_SIZED(rynd_fleet_device);
    const rynd_plan_options options =
        RYND_SIZED(rynd_plan_options, .accuracy = (rynd_accuracy)p->common->accuracy);
    s->part = RYND_SIZED(rynd_placed_part);
    if (rynd_placement_get_part(p->placement, index, &s->part) != RYND_OK ||
        rynd_fleet_get_device(fleet, s->part.device, &device) != RYND_OK) {
        return cli_fail_library(failure);
    }
    if (device.machine) {
        return cli_fail(
            failure,
            "--run: device '%s' is another machine (machine=%s), so its parts cannot run here",
            device.name, device.machine);
    }
    s->input_count = rynd_model_input_count(s->part.model);
    const size_t ports = s->input_count + rynd_model_output_count(s->part.model);
    s->ports = calloc(ports + 1, sizeof *s->ports);
    if (!s->ports) {
        return cli_fail_memory(failure);
    }
    if (rynd_plan_create(s->part.model, &options, &s->plan) != RYND_OK) {
        s->plan = NULL;
        return cli_fail_library(failure);
    }
    if (!rynd_plan_complete(s->plan)) {
        return cli_fail(failure, "--run: cannot run a placed network whose shapes depend on data");
    }
    if (rynd_session_create(s->plan, &s->session) != RYND_OK) {
        s->session = NULL;
        return cli_fail_library(failure);
    }
    return add_ports(p, s, false, failure) && add_ports(p, s, true, failure);
}

static bool run_stage(const stage *s, size_t input, cli_failure *failure)
{
    for (size_t i = 0; i < s->port_count; i++) {
        const rynd_tensor *tensor = &s->ports[i][input].view;
        if ((i < s->input_count
                 ? rynd_session_bind_input(s->session, i, tensor)
                 : rynd_session_bind_output(s->session, i - s->input_count, tensor)) != RYND_OK) {
            return cli_fail_library(failure);
        }
    }
    return rynd_session_run(s->session) == RYND_OK ? true : cli_fail_library(failure);
}

/* Which part of which input the device does next: the earliest input that can go on. `left`: some
 * are not begun yet. */
static bool next_task(const pipeline *p, size_t device, size_t *input, size_t *index, bool *left)
{
    *left = false;
    for (size_t i = 0; i < p->inputs; i++) {
        for (size_t s = 0; s < p->stage_count; s++) {
            const rynd_placed_part *part = &p->stages[s].part;
            const bool *done = p->done + i * p->stage_count;
            if (part->device != device || p->begun[i * p->stage_count + s]) {
                continue;
            }
            *left = true;
            if (s == 0 || p->stages[s - 1].part.network != part->network || done[s - 1]) {
                *input = i;
                *index = s;
                return true;
            }
        }
    }
    return false;
}

static void *work(void *argument)
{
    const worker *w = argument;
    pipeline *p = w->p;
    bool left = true;
    pthread_mutex_lock(&p->lock);
    while (left && !p->failed) {
        size_t input, index;
        if (!next_task(p, w->device, &input, &index, &left)) {
            if (left) {
                pthread_cond_wait(&p->changed, &p->lock);
            }
            continue;
        }
        p->begun[input * p->stage_count + index] = true;
        pthread_mutex_unlock(&p->lock);
        cli_failure failure = {0};
        const bool good = run_stage(&p->stages[index], input, &failure);
        pthread_mutex_lock(&p->lock);
        p->done[input * p->stage_count + index] = true;
        if (!good && !p->failed) {
            p->failed = true;
            p->failure = failure;
        }
        pthread_cond_broadcast(&p->changed);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* Each part once, in order: what a first run does besides is not measured. */
static bool warm_up(const pipeline *p, cli_failure *failure)
{
    for (size_t s = 0; s < p->stage_count; s++) {
        if (!run_stage(&p->stages[s], 0, failure)) {
            return false;
        }
    }
    return true;
}

static bool run_all(pipeline *p, size_t devices, double *seconds, cli_failure *failure)
{
    worker *workers = calloc(devices, sizeof *workers);
    sigset_t before;
    if (!workers) {
        return cli_fail_memory(failure);
    }
    const double begin = cli_now();
    cli_ending_hold(&before); /* signals are for this thread */
    for (size_t d = 0; d < devices; d++) {
        workers[d] = (worker){.p = p, .device = d};
        workers[d].started = pthread_create(&workers[d].thread, NULL, work, &workers[d]) == 0;
        if (!workers[d].started) {
            pthread_mutex_lock(&p->lock);
            p->failed = true;
            cli_fail(&p->failure, "--run: cannot start one thread per device");
            pthread_cond_broadcast(&p->changed);
            pthread_mutex_unlock(&p->lock);
        }
    }
    cli_ending_release(&before);
    for (size_t d = 0; d < devices; d++) {
        if (workers[d].started) {
            pthread_join(workers[d].thread, NULL);
        }
    }
    *seconds = cli_now() - begin;
    free(workers);
    if (p->failed) {
        *failure = p->failure;
    }
    return !p->failed;
}

/* Root mean square of a - b over that of b. */
static double difference_of(const rynd_tensor *a, const rynd_tensor *b)
{
    double error = 0, size = 0;
    cli_walk at = cli_walk_begin(a);
    for (cli_walk w = cli_walk_begin(b); w.left > 0; cli_walk_next(&w, b), cli_walk_next(&at, a)) {
        const double x = (double)cli_element_get(a->dtype, a->data, at.offset),
                     y = (double)cli_element_get(b->dtype, b->data, w.offset);
        error += (x - y) * (x - y);
        size += y * y;
    }
    return error == 0 ? 0 : sqrt(error / (size > 0 ? size : 1));
}

/* Binds a whole network's inputs to those of the pipeline, and runs it. */
static bool run_whole(const pipeline *p, rynd_session *session, size_t network, size_t input,
                      cli_failure *failure)
{
    for (size_t i = 0; i < p->value_count; i++) {
        const value *v = &p->values[i];
        if (v->given && v->network == network &&
            rynd_session_bind(session, v->name, &v->held[input].view) != RYND_OK) {
            return cli_fail_library(failure);
        }
    }
    return rynd_session_run(session) == RYND_OK ? true : cli_fail_library(failure);
}

static bool compare(pipeline *p, rynd_session *session, const rynd_model *model, size_t network,
                    size_t input, double *largest, cli_failure *failure)
{
    for (size_t o = 0; o < rynd_model_output_count(model); o++) {
        rynd_value_info info = RYND_SIZED(rynd_value_info);
        rynd_tensor output;
        if (rynd_model_get_output(model, o, &info) != RYND_OK ||
            rynd_session_get_output(session, o, &output) != RYND_OK) {
            return cli_fail_library(failure);
        }
        const size_t index = find_value(p, network, info.name);
        if (index < p->value_count) {
            const double d = difference_of(&p->values[index].held[input].view, &output);
            *largest = d > *largest || isnan(d) ? d : *largest;
        }
    }
    return true;
}

static bool run_unplaced(pipeline *p, rynd_session *session, const rynd_model *model,
                         size_t network, cli_place_outcome *outcome, cli_failure *failure)
{
    bool done = run_whole(p, session, network, 0, failure);
    for (size_t i = 0; done && i < p->inputs; i++) {
        const double begin = cli_now();
        done = run_whole(p, session, network, i, failure);
        outcome->unplaced += cli_now() - begin;
        done = done && compare(p, session, model, network, i, &outcome->difference, failure);
    }
    return done;
}

static bool open_unplaced(pipeline *p, const rynd_model *whole, rynd_context *context,
                          size_t network, cli_place_outcome *outcome, cli_failure *failure)
{
    const cli_common *common = p->common;
    const rynd_part_options options =
        RYND_SIZED(rynd_part_options, .dims = common->dims.items, .dim_count = common->dims.count,
                   .batch = common->batch);
    const rynd_plan_options planned =
        RYND_SIZED(rynd_plan_options, .accuracy = (rynd_accuracy)common->accuracy);
    rynd_model *model = NULL;
    rynd_plan *plan = NULL;
    rynd_session *session = NULL;
    const bool made = rynd_model_create_part(whole, context, &options, &model) == RYND_OK &&
                      rynd_plan_create(model, &planned, &plan) == RYND_OK &&
                      rynd_session_create(plan, &session) == RYND_OK;
    const bool done = made ? run_unplaced(p, session, model, network, outcome, failure)
                           : cli_fail_library(failure);
    rynd_session_destroy(made ? session : NULL);
    rynd_plan_destroy(plan);
    rynd_model_destroy(model);
    return done;
}

/* The networks as they are, on all cores of the CPU that is here. */
static bool compare_all(pipeline *p, rynd_model *const *models, size_t count,
                        cli_place_outcome *outcome, cli_failure *failure)
{
    const rynd_context_options options =
        RYND_SIZED(rynd_context_options, .device = "cpu", .wisdom = p->common->wisdom,
                   .frozen = p->common->frozen);
    rynd_context *context;
    sigset_t before;
    cli_ending_hold(&before);
    bool done = rynd_context_create(&options, &context) == RYND_OK || cli_fail_library(failure);
    cli_ending_release(&before);
    for (size_t n = 0; done && n < count; n++) {
        done = open_unplaced(p, models[n], context, n, outcome, failure);
    }
    rynd_context_destroy(context);
    return done;
}

static bool open_pipeline(pipeline *p, const rynd_fleet *fleet, cli_failure *failure)
{
    rynd_placement_info info = RYND_SIZED(rynd_placement_info);
    if (rynd_placement_get_info(p->placement, &info) != RYND_OK) {
        return cli_fail_library(failure);
    }
    p->stages = calloc(info.parts, sizeof *p->stages);
    p->begun = calloc(info.parts * p->inputs, sizeof *p->begun);
    p->done = calloc(info.parts * p->inputs, sizeof *p->done);
    if (!p->stages || !p->begun || !p->done) {
        return cli_fail_memory(failure);
    }
    for (; p->stage_count < info.parts; p->stage_count++) {
        if (!open_stage(p, fleet, p->stage_count, failure)) {
            p->stage_count++; /* what it has is freed */
            return false;
        }
    }
    return true;
}

static void close_pipeline(pipeline *p)
{
    for (size_t s = 0; s < p->stage_count; s++) {
        rynd_session_destroy(p->stages[s].session);
        rynd_plan_destroy(p->stages[s].plan);
        free(p->stages[s].ports);
    }
    for (size_t v = 0; v < p->value_count; v++) {
        for (size_t i = 0; p->values[v].held && i < p->inputs; i++) {
            cli_tensor_free(&p->values[v].held[i]);
        }
        free(p->values[v].held);
    }
    free(p->stages);
    free(p->values);
    free(p->begun);
    free(p->done);
}

bool cli_place_run(const rynd_fleet *fleet, rynd_model *const *models, size_t model_count,
                   const rynd_placement *placement, const cli_common *common, size_t inputs,
                   cli_place_outcome *outcome, cli_failure *failure)
{
    pipeline p = {.placement = placement,
                  .common = common,
                  .inputs = inputs,
                  .lock = PTHREAD_MUTEX_INITIALIZER,
                  .changed = PTHREAD_COND_INITIALIZER};
    *outcome = (cli_place_outcome){0};
    bool done = open_pipeline(&p, fleet, failure) && warm_up(&p, failure) &&
                run_all(&p, rynd_fleet_device_count(fleet), &outcome->measured, failure) &&
                compare_all(&p, models, model_count, outcome, failure);
    if (done && rynd_placement_get_makespan(placement, inputs, &outcome->predicted) != RYND_OK) {
        done = cli_fail_library(failure);
    }
    close_pipeline(&p);
    return done;
}
