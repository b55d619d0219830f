/* SPDX-License-Identifier: Apache-2.0 */
/* Collects candidates, and puts them in order. */
#include "candidate_list.h"

#include <stdlib.h>
#include <string.h>

static const char *copy(const char *text, bool *failed)
{
    char *own = text ? strdup(text) : NULL;
    *failed = *failed || (text && !own);
    return own;
}

/* rynd_candidate_function */
static int add(void *user, const rynd_candidate *candidate)
{
    cli_candidates *c = user;
    cli_candidate *items = realloc(c->items, (c->count + 1) * sizeof *items);
    if (!items) {
        c->failed = true;
        return 1;
    }
    c->items = items;
    cli_candidate *item = &items[c->count];
    *item = (cli_candidate){.is = *candidate};
    const cli_candidate *before = c->count ? item - 1 : NULL;
    if (before) {
        const bool same = strcmp(before->is.kernel, candidate->kernel) == 0;
        item->list = before->list + !same;
    }
    c->count++;
    item->is.kernel = copy(candidate->kernel, &c->failed);
    item->is.accuracy = copy(candidate->accuracy, &c->failed);
    item->is.refused = copy(candidate->refused, &c->failed);
    item->is.knobs = copy(candidate->knobs, &c->failed);
    return c->failed;
}

static int compare(const void *left, const void *right)
{
    const cli_candidate *a = left, *b = right;
    const double x = a->is.prediction.median, y = b->is.prediction.median;
    if (a->is.chosen != b->is.chosen) {
        return b->is.chosen - a->is.chosen;
    }
    if (!a->is.refused != !b->is.refused) {
        return a->is.refused ? 1 : -1;
    }
    if (x < y || x > y) {
        return x < y ? -1 : 1;
    }
    return a->list < b->list ? -1 : a->list > b->list ? 1 : strcmp(a->is.knobs, b->is.knobs);
}

/* Ranks each form within its kernel, the chosen one included. */
static void rank(cli_candidates *c)
{
    for (size_t i = 0; i < c->count; i++) {
        cli_candidate *item = &c->items[i];
        for (size_t j = 0; j < c->count && !item->is.refused; j++) {
            const bool same = strcmp(item->is.kernel, c->items[j].is.kernel) == 0;
            item->forms += same;
            item->rank += same && j < i;
        }
    }
}

bool cli_candidates_get(cli_candidates *candidates, const cli_steps *steps, size_t step,
                        cli_failure *failure)
{
    *candidates = (cli_candidates){0};
    const rynd_status status = steps->plan ? rynd_plan_explain(steps->plan, step, add, candidates)
                                           : rynd_op_explain(steps->op, add, candidates);
    if (candidates->failed) {
        return cli_fail_memory(failure);
    }
    if (status != RYND_OK) {
        return cli_fail_library(failure);
    }
    qsort(candidates->items, candidates->count, sizeof *candidates->items, compare);
    rank(candidates);
    return true;
}

void cli_candidates_free(cli_candidates *candidates)
{
    for (size_t i = 0; i < candidates->count; i++) {
        const rynd_candidate *c = &candidates->items[i].is;
        const char *const texts[] = {c->kernel, c->accuracy, c->refused, c->knobs};
        for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
            free((char *)(uintptr_t)texts[t]);
        }
    }
    free(candidates->items);
    *candidates = (cli_candidates){0};
}
