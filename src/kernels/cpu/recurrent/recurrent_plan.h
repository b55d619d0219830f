/* SPDX-License-Identifier: Apache-2.0 */
/* All turns of a recurrent layer by one kernel, which keeps the states of its sequences. x has the
 * input's products (problem/ops.inc).
 *
 * A task takes some sequences of one direction. The weights of the state are panels of
 * RECURRENT_VECTORS vectors of gates' rows: sums[columns] = sum over k of h[k] * panel[k][columns]. */
#ifndef RY_KERNELS_CPU_RECURRENT_RECURRENT_PLAN_H
#define RY_KERNELS_CPU_RECURRENT_RECURRENT_PLAN_H

#include "kernels/common/task_cut.h"
#include "kernels/kernel.h"
#include "problem/recurrent.h"

enum { RECURRENT_VECTORS = 4, RECURRENT_DIRECTIONS = 2 };

/* Rows of the largest tile: where the register file holds their sums, and elsewhere. Rows that are
 * left take tiles of RECURRENT_HALF_ROWS (of the larger tile alone), of two and of one. */
enum { RECURRENT_ROWS = 6, RECURRENT_FEW_ROWS = 3, RECURRENT_HALF_ROWS = 4 };

/* Rows of the largest tile, by the largest tile of sums (ry_simd). */
#define RECURRENT_TILE_ROWS(rows, vectors) \
    ((rows) * (vectors) >= RECURRENT_ROWS * RECURRENT_VECTORS ? RECURRENT_ROWS : RECURRENT_FEW_ROWS)

enum {
    RECURRENT_X,
    RECURRENT_W,
    RECURRENT_R,
    RECURRENT_BIAS,
    RECURRENT_LENGTHS,
    RECURRENT_FIRST_H,
    RECURRENT_FIRST_C,
    RECURRENT_PEEPHOLES
};

typedef struct recurrent_plan {
    ry_recurrent_attrs attrs; /* without its text */
    bool wide;                /* float64 */
    int64_t time, batch, hidden, gates, directions;
    int64_t lanes; /* columns of a panel */
    /* panels of the gates that need the state alone, and of a gru's hidden gate, which needs the
     * reset state */
    int64_t panels[2];
    int64_t columns;   /* gates' rows in panels[0] */
    int64_t step;      /* numbers from row to row of sums */
    ry_task_cut tasks; /* directions, sequences */
    ry_recurrent_function function[RECURRENT_DIRECTIONS][RY_RECURRENT_MOST];
    /* bytes into the scratch */
    size_t h, c, sums, reset, bias;
} recurrent_plan;

/* Is the hidden gate's product of the reset state? */
static inline bool recurrent_resets(const recurrent_plan *s)
{
    return s->attrs.kind == RY_recurrent_kind_gru && !s->attrs.linear_before_reset;
}

static inline int64_t recurrent_panels(const recurrent_plan *s)
{
    return s->panels[0] + s->panels[1];
}

bool ry_recurrent_applicable(const ry_problem *problem);
rynd_status ry_recurrent_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error);
void ry_recurrent_initialise(const ry_query *query, void *state);
void ry_recurrent_packing(const ry_prepared *prepared, ry_text *key);

#endif
