/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the points of a sweep, predicts them, and finds cliffs. */
#include "sweep.h"

#include <stdlib.h>
#include <string.h>

/* Words of a convolution whose larger value makes a problem that contains the one of a smaller
 * value: all of its results, and more. */
static bool makes_larger(const char *problem, const cli_range *range)
{
    static const char *const sizes[] = {"n", "c", "k", "d", "h", "w", "pad"};
    bool larger =
        range->numbers && (strncmp(problem, "conv ", 5) == 0 || strncmp(problem, "convt ", 6) == 0);
    const bool channels = cli_range_has(range, "c", 1); /* each of a group of its own */
    for (const char *word = range->words; word; word = strchr(word, '+')) {
        word += *word == '+';
        const size_t length = strcspn(word, "+");
        bool size = channels && length == 6 && memcmp(word, "groups", 6) == 0;
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            size = size || (strlen(sizes[i]) == length && memcmp(sizes[i], word, length) == 0);
        }
        larger = larger && size;
    }
    return larger;
}

/* A word in two ranges would have two values. */
static bool check_distinct(const cli_sweep *sweep, size_t range, cli_failure *failure)
{
    for (const char *word = sweep->ranges[range].words; word; word = strchr(word, '+')) {
        word += *word == '+';
        for (size_t i = 0; i < range; i++) {
            if (cli_range_has(&sweep->ranges[i], word, strcspn(word, "+"))) {
                return cli_fail_usage(failure, "the word '%.*s' is in two ranges",
                                      (int)strcspn(word, "+"), word);
            }
        }
    }
    return true;
}

bool cli_sweep_begin(cli_sweep *sweep, const cli_list *arguments, cli_failure *failure)
{
    *sweep = (cli_sweep){.problem = arguments->items[0], .count = 1};
    if (!rynd_op_is_problem(sweep->problem)) {
        return cli_fail_usage(failure,
                              "sweep: '%s' is no problem: give one operator as text, like 'conv "
                              "c=64 h=56 w=56 k=64 r=3 s=3'",
                              sweep->problem);
    }
    for (size_t i = 0; i + 1 < arguments->count; i++) {
        if (i == CLI_GRID_AXES) {
            return cli_fail_usage(failure, "sweep: more than %d ranges", CLI_GRID_AXES);
        }
        sweep->grid.axes = i + 1;
        if (!cli_range_parse(arguments->items[i + 1], &sweep->ranges[i], failure) ||
            !check_distinct(sweep, i, failure)) {
            return cli_fail_prefix(failure, "sweep: ");
        }
        sweep->grid.extent[i] = sweep->ranges[i].count;
        sweep->grid.numeric[i] = sweep->ranges[i].numbers != NULL;
        sweep->grid.contains[i] = makes_larger(sweep->problem, &sweep->ranges[i]);
        sweep->count *= sweep->ranges[i].count;
        if (sweep->count > CLI_SWEEP_POINTS) {
            return cli_fail_usage(failure,
                                  "sweep: more than %d points: give shorter ranges, or "
                                  "longer steps (A..B:STEP)",
                                  CLI_SWEEP_POINTS);
        }
    }
    sweep->points = calloc(sweep->count, sizeof *sweep->points);
    return sweep->points ? true : cli_fail_memory(failure);
}

static bool read_op(cli_sweep_point *point, const rynd_op *op, cli_failure *failure)
{
    rynd_step_info info = RYND_SIZED(rynd_step_info);
    rynd_memory memory = RYND_SIZED(rynd_memory);
    point->time = RYND_SIZED(rynd_prediction);
    if (rynd_op_get_info(op, &info) != RYND_OK || rynd_op_get_memory(op, &memory) != RYND_OK ||
        rynd_op_predict(op, &point->time) != RYND_OK) {
        return cli_fail_library(failure);
    }
    point->kernel = strdup(info.kernel);
    point->knobs = strdup(info.knobs);
    point->flop = info.flop;
    point->bytes = info.bytes;
    point->memory = memory.total + memory.weights;
    return (point->kernel && point->knobs) || cli_fail_memory(failure);
}

static bool predict_point(cli_sweep *sweep, size_t index, cli_setup *setup,
                          const cli_common *common, cli_failure *failure)
{
    cli_sweep_point *point = &sweep->points[index];
    for (size_t i = 0; i < sweep->grid.axes; i++) {
        point->value[i] = cli_grid_value(&sweep->grid, index, i);
    }
    point->problem =
        cli_range_problem(sweep->problem, sweep->ranges, sweep->grid.axes, point->value);
    if (!point->problem) {
        return cli_fail_memory(failure);
    }
    rynd_op *op = NULL;
    const bool done = cli_setup_op(setup, common, point->problem, NULL, &op, failure)
                          ? read_op(point, op, failure)
                          : cli_fail_prefix(failure, "%s: ", point->problem);
    rynd_op_destroy(op);
    return done;
}

bool cli_sweep_predict(cli_sweep *sweep, cli_setup *setup, const cli_common *common,
                       cli_progress *progress, cli_failure *failure)
{
    for (size_t i = 0; i < sweep->count; i++) {
        cli_progress_show(progress, "predicting", (double)i / (double)sweep->count);
        if (!predict_point(sweep, i, setup, common, failure)) {
            return false;
        }
    }
    return true;
}

double cli_sweep_seconds(const cli_sweep *sweep, size_t point)
{
    const cli_sweep_point *p = &sweep->points[point];
    return sweep->samples ? p->measured.median : p->time.median;
}

/* A point's samples, in the order of rounds. */
static void get_samples(const cli_sweep *sweep, size_t point, double *samples)
{
    for (size_t r = 0; r < sweep->rounds; r++) {
        samples[r] = sweep->samples[r * sweep->count + point];
    }
}

static bool judge_step(cli_sweep *sweep, size_t axis, size_t from, double *room,
                       cli_failure *failure)
{
    const size_t to = from + cli_grid_stride(&sweep->grid, axis);
    const cli_sweep_point *a = &sweep->points[from], *b = &sweep->points[to];
    const bool computes = a->flop > 0 && b->flop > 0; /* else its work is to move bytes */
    const double work = computes ? a->flop : a->bytes, next = computes ? b->flop : b->bytes;
    cli_sweep_step step = {axis, from, to, 0, 0, 0, false};
    step.predicted = cli_excess(a->time.median, b->time.median, work, next);
    step.cliff = step.predicted > CLI_EXCESS_CLIFF;
    if (sweep->samples) {
        get_samples(sweep, from, room);
        get_samples(sweep, to, room + sweep->rounds);
        step.measured = cli_excess(a->measured.median, b->measured.median, work, next);
        step.sure = cli_excess_bound(room, room + sweep->rounds, sweep->rounds, work, next);
        step.cliff = step.measured > CLI_EXCESS_CLIFF && step.sure > CLI_EXCESS_SURE;
    }
    if (step.predicted <= CLI_EXCESS_CLIFF && step.measured <= CLI_EXCESS_CLIFF) {
        return true;
    }
    cli_sweep_step *steps = realloc(sweep->steps, (sweep->step_count + 1) * sizeof *steps);
    if (!steps) {
        return cli_fail_memory(failure);
    }
    sweep->steps = steps;
    steps[sweep->step_count++] = step;
    return true;
}

static bool judge_steps(cli_sweep *sweep, double *room, cli_failure *failure)
{
    for (size_t axis = 0; axis < sweep->grid.axes; axis++) {
        for (size_t i = 0; sweep->grid.numeric[axis] && i < sweep->count; i++) {
            if (cli_grid_value(&sweep->grid, i, axis) + 1 < sweep->grid.extent[axis] &&
                !judge_step(sweep, axis, i, room, failure)) {
                return false;
            }
        }
    }
    return true;
}

bool cli_sweep_judge(cli_sweep *sweep, cli_failure *failure)
{
    const size_t count = sweep->count;
    double *room = calloc(2 * sweep->rounds + 1, sizeof *room),
           *seconds = calloc(count, sizeof *seconds);
    sweep->dominance = calloc(count, sizeof *sweep->dominance);
    sweep->measured_dominance =
        sweep->samples ? calloc(count, sizeof *sweep->measured_dominance) : NULL;
    bool done =
        room && seconds && sweep->dominance && (!sweep->samples || sweep->measured_dominance);
    if (!done) {
        cli_fail_memory(failure);
    } else {
        for (size_t i = 0; i < count; i++) {
            seconds[i] = sweep->points[i].time.median;
        }
        cli_dominance(&sweep->grid, seconds, sweep->dominance);
        sweep->most = cli_dominance_most(sweep->dominance, count);
        sweep->measured_most = count;
        if (sweep->samples) {
            for (size_t i = 0; i < count; i++) {
                seconds[i] = sweep->points[i].measured.median;
            }
            cli_dominance(&sweep->grid, seconds, sweep->measured_dominance);
            sweep->measured_most = cli_dominance_most(sweep->measured_dominance, count);
        }
        done = judge_steps(sweep, room, failure);
    }
    free(room);
    free(seconds);
    return done;
}

void cli_sweep_free(cli_sweep *sweep)
{
    for (size_t i = 0; sweep->points && i < sweep->count; i++) {
        free(sweep->points[i].problem);
        free(sweep->points[i].kernel);
        free(sweep->points[i].knobs);
    }
    for (size_t i = 0; i < CLI_GRID_AXES; i++) {
        cli_range_free(&sweep->ranges[i]);
    }
    free(sweep->points);
    free(sweep->samples);
    free(sweep->dominance);
    free(sweep->measured_dominance);
    free(sweep->steps);
    *sweep = (cli_sweep){0};
}
