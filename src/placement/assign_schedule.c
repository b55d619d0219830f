/* SPDX-License-Identifier: Apache-2.0 */
/* Simulates devices and links: whatever can begin first begins, of several the earlier input's. */
#include "placement/assign_schedule.h"

#include "placement/assign_loads.h"

#include <math.h>

typedef struct operation {
    double seconds;
    size_t resource; /* a device, or a link behind them */
} operation;

typedef struct job {
    size_t chain, next; /* the operation that is next */
    double ready;       /* when the one before is done */
} job;

struct ry_assign_schedule {
    size_t inputs;
    operation *operations; /* those of a chain begin at chain * most */
    size_t *count, most;
    job *jobs;
    double *free; /* per resource: the time when it is idle again */
};

ry_assign_schedule *ry_assign_schedule_make(const ry_assign_problem *problem, size_t inputs,
                                            ry_arena *arena)
{
    const size_t most = 2 * RY_ASSIGN_PARTS + 1;
    ry_assign_schedule *s = RY_TAKE(arena, ry_assign_schedule, 1);
    if (!s) {
        return NULL;
    }
    s->inputs = inputs;
    s->most = most;
    s->operations = ry_arena_take(arena, problem->chains * most, sizeof *s->operations);
    s->count = RY_TAKE(arena, size_t, problem->chains);
    s->jobs = ry_arena_take(arena, problem->chains * inputs, sizeof *s->jobs);
    s->free = RY_TAKE(arena, double, ry_assign_load_count(problem));
    return s->operations && s->count && s->jobs && s->free ? s : NULL;
}

static void add(ry_assign_schedule *s, size_t chain, double seconds, size_t resource)
{
    s->operations[chain * s->most + s->count[chain]++] = (operation){seconds, resource};
}

static void add_transfer(const ry_assign_problem *problem, ry_assign_schedule *s, size_t chain,
                         size_t part, size_t from, size_t to)
{
    if (from != to) {
        const double bytes = problem->chain[chain].crossing[part];
        add(s, chain, ry_assign_transfer(problem, bytes, from, to),
            ry_assign_link(problem, from, to));
    }
}

static void list_operations(const ry_assign_problem *problem, const unsigned char *device,
                            ry_assign_schedule *s, size_t chain)
{
    const ry_assign_chain *c = &problem->chain[chain];
    size_t at = 0;
    s->count[chain] = 0;
    for (size_t first = 0, last; first < c->parts; first = last + 1) {
        for (last = first; last + 1 < c->parts && device[last + 1] == device[first];) {
            last++;
        }
        add_transfer(problem, s, chain, first, at, device[first]);
        at = device[first];
        add(s, chain, c->seconds[ry_assign_segment(c, first, last) * problem->devices + at], at);
    }
    add_transfer(problem, s, chain, c->parts, at, 0);
}

/* The job that can begin first, and when; NULL: all are done. */
static job *next_job(const ry_assign_problem *problem, const ry_assign_schedule *s, double *start)
{
    job *best = NULL;
    *start = INFINITY;
    for (size_t i = 0; i < s->inputs * problem->chains; i++) {
        job *j = &s->jobs[i];
        if (j->next < s->count[j->chain]) {
            const double idle = s->free[s->operations[j->chain * s->most + j->next].resource];
            const double begin = j->ready > idle ? j->ready : idle;
            if (begin < *start) {
                *start = begin;
                best = j;
            }
        }
    }
    return best;
}

double ry_assign_schedule_run(const ry_assign_problem *problem, const unsigned char *device,
                              ry_assign_schedule *schedule)
{
    ry_assign_schedule *s = schedule;
    const unsigned char *parts = device;
    double end = 0, start;
    for (size_t c = 0; c < problem->chains; c++) {
        list_operations(problem, parts, s, c);
        parts += problem->chain[c].parts;
    }
    for (size_t i = 0; i < s->inputs * problem->chains; i++) {
        s->jobs[i] = (job){.chain = i % problem->chains};
    }
    for (size_t i = 0; i < ry_assign_load_count(problem); i++) {
        s->free[i] = 0;
    }
    for (job *j = next_job(problem, s, &start); j; j = next_job(problem, s, &start)) {
        const operation *o = &s->operations[j->chain * s->most + j->next++];
        j->ready = s->free[o->resource] = start + o->seconds;
        end = j->ready > end ? j->ready : end;
    }
    return end;
}
