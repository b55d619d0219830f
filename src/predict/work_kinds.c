/* SPDX-License-Identifier: Apache-2.0 */
/* Work is a sum of coefficients, each of one kind (kernels/cost_kinds.inc). A kind's part is how much
 * the sum grows where its coefficients do. */
#include "predict/work_kinds.h"

#include "kernels/prepared.h"
#include "predict/predict.h"

#include <math.h>

/* By how much a kind's coefficients grow: little, so that limits and larger-of-two stay as they are. */
static const double GROWTH = 1.0 / 1024;

static const char *const names[RY_WORK_KINDS] = {
    "multiply-add",
    [1 + RYND_KIND_ADD] = "add",
    [1 + RYND_KIND_DIVIDE] = "divide",
    [1 + RYND_KIND_LOAD] = "load",
    [1 + RYND_KIND_SPLIT] = "split",
    [1 + RYND_KIND_GATHER] = "gather",
    [1 + RYND_KIND_STORE] = "store",
    [1 + RYND_KIND_MASKED] = "masked",
    [1 + RYND_KIND_PERMUTE] = "permute",
    [1 + RYND_KIND_CONVERT] = "convert",
    [1 + RYND_KIND_SCALAR] = "scalar",
    [1 + RYND_KIND_CHAIN] = "chain",
    [1 + RYND_KIND_CALL] = "call",
    [1 + RY_COST_L2] = "l2",
    [1 + RY_COST_L3] = "l3",
    [1 + RY_COST_DRAM] = "dram",
};

const char *ry_work_kind_name(size_t place)
{
    return place < RY_WORK_KINDS ? names[place] : NULL;
}

/* Arithmetic of the form where a kind counts `factor` times. */
static rynd_status weigh(const ry_query *query, unsigned constants, unsigned threads, int kind,
                         double factor, double *arithmetic, ry_error *error)
{
    ry_prepared prepared;
    ry_costs_weigh(kind, factor);
    const rynd_status status = ry_prepare(query, constants, &prepared, error);
    if (status == RYND_OK) {
        *arithmetic =
            ry_predict_count(&prepared, query->target->machine, threads, constants).arithmetic;
    }
    ry_costs_weigh(-1, 1);
    return status;
}

rynd_status ry_predict_kinds(const ry_prepared *form, const ry_target *target, unsigned constants,
                             unsigned threads, double arithmetic, double seconds[RY_WORK_KINDS],
                             ry_error *error)
{
    const ry_query query = {form->kernel, form->problem, target, &form->form};
    double before, rest = 1;
    RY_TRY(weigh(&query, constants, threads, -1, 1, &before, error));
    for (int kind = 0; kind < RY_COST_KINDS; kind++) {
        double after;
        RY_TRY(weigh(&query, constants, threads, kind, 1 + GROWTH, &after, error));
        const double share = before > 0 ? fmax(0, (after / before - 1) / GROWTH) : 0;
        seconds[1 + kind] = fmin(share, rest) * arithmetic;
        rest -= fmin(share, rest);
    }
    seconds[0] = rest * arithmetic;
    return RYND_OK;
}
