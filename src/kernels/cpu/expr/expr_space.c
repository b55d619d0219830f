/* SPDX-License-Identifier: Apache-2.0 */
/* The evaluator's iteration space: dimensions sorted and merged, tiles, units and tasks. */
#include "base/integer.h"
#include "base/room.h"
#include "kernels/costs.h"
#include "kernels/cpu/expr/expr_plan.h"
#include "machine/machine.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A tile's bytes of each operand are shares of caches (block_costs.inc: expr_tile with temporary
 * buffers, which stay in L1; expr_long for one function, where longer runs spread a tile's cost of
 * 30 ns). Tiles and slices of reductions do not follow the machine: other parts would give sums
 * with other bits, and longer chunks less accurate ones. */
#define TILE_SHORT  1024
#define TILE_CHUNK  4096
#define TILE_ROWS   512   /* rows of a tile at most */
#define ROW_OFFSETS 16384 /* row offsets of all operands together at most */
#define MIN_INNER   32   /* a reduced inner dimension shorter than this is not worth a call a row */
#define OUTER_TILE  4096 /* accumulators of a unit */
#define LINE        64   /* bytes of a cache line */
#define WIDE        256  /* short rows are added side by side up to this width */
#define SPLIT_COST \
    131072.0 /* least cost of a unit that is sliced if units are few (FEW_OC_BLOCKS) */
#define SLICE_COST    65536.0
#define MAX_SLICES    64
#define FEW_OC_BLOCKS 32

typedef struct space {
    ry_expr_plan *plan;
    ry_expr_operand *operand;
    int rank, operands, leader;
    int64_t dim[RY_MAX_RANK];
    bool reduced[RY_MAX_RANK];
} space;

static rynd_status broadcast(const ry_problem *problem, ry_shape *shape, ry_error *error)
{
    const ry_expr *program = problem->attrs.expr.program;
    *shape = (ry_shape){.rank = 0};
    for (int i = 0; i < program->inputs; i++) {
        ry_shape one = ry_tensor_shape(&problem->in[i]);
        if (!ry_shape_broadcast(shape, &one, shape)) {
            return ry_fail(error, RYND_ERROR_SHAPE,
                           "expression: input %d does not broadcast with those before it", i);
        }
    }
    if (program->inputs == 0) {
        *shape = ry_tensor_shape(&problem->out[0]);
    }
    return RYND_OK;
}

/* Which dims are reduced: the axes given, or all; and none at all where the program does not
 * reduce. */
static rynd_status reduced_dims(const ry_problem *problem, const ry_shape *shape, bool *reduced,
                                ry_error *error)
{
    const ry_expr_attrs *attrs = &problem->attrs.expr;
    memset(reduced, 0, RY_MAX_RANK * sizeof *reduced);
    for (int i = 0; i < attrs->axes.count && attrs->program->reduces; i++) {
        int axis = ry_axis(attrs->axes.at[i], shape->rank);
        if (axis < 0) {
            return ry_fail(error, RYND_ERROR_SHAPE, "expression: axis %lld is outside rank %d",
                           (long long)attrs->axes.at[i], shape->rank);
        }
        reduced[axis] = true;
    }
    for (int i = 0; i < shape->rank && attrs->axes.count == 0 && !attrs->noop_empty; i++) {
        reduced[i] = attrs->program->reduces;
    }
    return RYND_OK;
}

static rynd_status bind_input(space *s, const ry_shape *shape, const ry_tensor *tensor, int index)
{
    ry_expr_operand *operand = &s->operand[s->operands++];
    *operand = (ry_expr_operand){.dtype = (uint8_t)tensor->dtype,
                                 .type = (uint8_t)ry_expr_loop_type((ry_dtype)tensor->dtype),
                                 .index = (uint16_t)index,
                                 .reg = UINT16_MAX};
    operand->size = (uint32_t)ry_dtype_size((ry_dtype)tensor->dtype);
    int missing = shape->rank - tensor->rank;
    for (int d = missing; d < shape->rank; d++) {
        operand->stride[d] = tensor->dim[d - missing] == 1
                                 ? 0
                                 : tensor->stride[d - missing] * (int64_t)operand->size;
    }
    return RYND_OK;
}

static rynd_status bind_output(space *s, const ry_shape *shape, const ry_problem *problem,
                               int index, bool behind, ry_error *error)
{
    const ry_tensor *tensor = &problem->out[index];
    ry_expr_operand *operand = &s->operand[s->operands++];
    *operand = (ry_expr_operand){.dtype = (uint8_t)tensor->dtype,
                                 .type = (uint8_t)ry_expr_loop_type((ry_dtype)tensor->dtype),
                                 .index = (uint16_t)index,
                                 .reg = UINT16_MAX,
                                 .output = 1};
    operand->size = (uint32_t)ry_dtype_size((ry_dtype)tensor->dtype);
    operand->mode = behind ? RY_EXPR_REDUCED : RY_EXPR_GATHERED;
    int at = 0;
    bool agrees = true;
    for (int d = 0; d < shape->rank; d++) {
        bool gone = behind && s->reduced[d];
        if (gone && !problem->attrs.expr.keepdims) {
            continue;
        }
        agrees = agrees && at < tensor->rank && tensor->dim[at] == (gone ? 1 : shape->dim[d]);
        operand->stride[d] =
            gone || !agrees || shape->dim[d] == 1 ? 0 : tensor->stride[at] * (int64_t)operand->size;
        at++;
    }
    if (!agrees || at != tensor->rank) {
        return ry_fail(error, RYND_ERROR_SHAPE,
                       "expression: output %d has another shape than the inputs give", index);
    }
    return RYND_OK;
}

static void swap_dims(space *s, int a, int b)
{
    int64_t dim = s->dim[a];
    bool reduced = s->reduced[a];
    s->dim[a] = s->dim[b];
    s->dim[b] = dim;
    s->reduced[a] = s->reduced[b];
    s->reduced[b] = reduced;
    for (int p = 0; p < s->operands; p++) {
        int64_t stride = s->operand[p].stride[a];
        s->operand[p].stride[a] = s->operand[p].stride[b];
        s->operand[p].stride[b] = stride;
    }
}

static void drop_dim(space *s, int d)
{
    for (; d + 1 < s->rank; d++) {
        swap_dims(s, d, d + 1);
    }
    s->rank--;
}

/* Does dimension a belong inside dimension b? As the leading operand says (the first unreduced
 * output, else the largest input), then the others. */
static bool belongs_inside(const space *s, int a, int b)
{
    for (int i = 0; i < s->operands; i++) {
        const int64_t *stride = s->operand[(s->leader + i) % s->operands].stride;
        int64_t p = llabs(stride[a]), q = llabs(stride[b]);
        if (p != 0 && q != 0 && p != q) {
            return p < q;
        }
    }
    return false;
}

static void choose_leader(space *s)
{
    int64_t max = -1;
    s->leader = 0;
    for (int p = 0; p < s->operands; p++) {
        int64_t elements = 1;
        if (s->operand[p].output && s->operand[p].mode != RY_EXPR_REDUCED) {
            s->leader = p;
            return;
        }
        for (int d = 0; d < s->rank; d++) {
            elements *= s->operand[p].stride[d] != 0 ? s->dim[d] : 1;
        }
        if (elements > max) {
            max = elements;
            s->leader = p;
        }
    }
}

/* Insertion sort, since the order is only partly given (as NumPy's iterator does it). */
static void sort_dims(space *s)
{
    choose_leader(s);
    for (int i = 1; i < s->rank; i++) {
        for (int k = i; k > 0 && belongs_inside(s, k - 1, k); k--) {
            swap_dims(s, k - 1, k);
        }
    }
}

static bool can_merge(const space *s, int d)
{
    bool fits = s->reduced[d] == s->reduced[d + 1];
    for (int p = 0; p < s->operands && fits; p++) {
        const int64_t *stride = s->operand[p].stride;
        fits = stride[d] == stride[d + 1] * s->dim[d + 1];
    }
    return fits;
}

static void merge_dims(space *s)
{
    for (int d = s->rank - 2; d >= 0; d--) {
        if (can_merge(s, d)) {
            s->dim[d + 1] *= s->dim[d];
            drop_dim(s, d);
        }
    }
}

/* Picks the inner dimension, moves it out of the list, and puts kept dimensions before reduced
 * ones. */
static void choose_inner(space *s, bool reduces)
{
    ry_expr_plan *plan = s->plan;
    int inner = s->rank - 1, kept = -1;
    for (int d = 0; d < s->rank; d++) {
        kept = s->reduced[d] ? kept : d;
    }
    if (inner >= 0 && s->reduced[inner] && s->dim[inner] < MIN_INNER && kept >= 0) {
        inner = kept;
    }
    plan->scheme = !reduces                          ? RY_EXPR_POINT
                   : inner >= 0 && s->reduced[inner] ? RY_EXPR_INNER
                                                     : RY_EXPR_OUTER;
    plan->length = inner >= 0 ? s->dim[inner] : 1;
    if (inner >= 0) {
        for (int p = 0; p < s->operands; p++) {
            s->operand[p].inner = s->operand[p].stride[inner];
        }
        drop_dim(s, inner);
    }
    for (int i = 1; i < s->rank; i++) {
        for (int k = i; k > 0 && s->reduced[k - 1] && !s->reduced[k]; k--) {
            swap_dims(s, k - 1, k);
        }
    }
    plan->kept_count = plan->reduced_count = 1;
    for (int d = 0; d < s->rank; d++) {
        plan->dim[d] = s->dim[d];
        *(s->reduced[d] ? &plan->reduced : &plan->kept) += 1;
        *(s->reduced[d] ? &plan->reduced_count : &plan->kept_count) *= s->dim[d];
    }
}

/* Would a tile of one row make this operand a single value that several rows would not? */
static bool prefers_one_row(const space *s, int first, int last)
{
    for (int p = 0; p < s->operands; p++) {
        const ry_expr_operand *operand = &s->operand[p];
        for (int d = first; d < last && operand->inner == 0 && !operand->output; d++) {
            if (operand->stride[d] != 0) {
                return true;
            }
        }
    }
    return false;
}

/* Rows of a tile in which an operand is transposed: its neighbours are one element apart in the last
 * outer dimension, not in the inner one. A line of it is read once then. 1: no operand is. */
static int64_t transposed_rows(const space *s, int outer_dims)
{
    int64_t rows = 1;
    for (int p = 0; p < s->operands && outer_dims > 0; p++) {
        const ry_expr_operand *operand = &s->operand[p];
        const int64_t size = (int64_t)operand->size;
        if (operand->stride[outer_dims - 1] == size && llabs(operand->inner) > size) {
            rows = ry_max(rows, ry_min(s->dim[outer_dims - 1], LINE / size));
        }
    }
    return rows;
}

/* Even chunks of the inner dimension in whole cache lines, or several rows. */
static void choose_tile(space *s, int64_t size)
{
    ry_expr_plan *plan = s->plan;
    bool outer = plan->scheme == RY_EXPR_OUTER;
    assert(s->operands > 0);
    int first = outer ? plan->kept : 0, last = outer ? plan->kept + plan->reduced : plan->kept;
    const int64_t across = plan->scheme == RY_EXPR_INNER ? 1 : transposed_rows(s, last);
    size = across > 1 ? ry_max(size, TILE_CHUNK / 2) : size; /* each of the rows begins anew */
    int64_t longest = outer && across == 1 ? OUTER_TILE : ry_max(size / across, LINE);
    plan->chunks = ry_max(1, ry_ceil_div(plan->length, longest));
    plan->tile = ry_max(
        1, ry_min(plan->length, ry_ceil_div(ry_ceil_div(plan->length, plan->chunks), 64) * 64));
    plan->chunks = ry_max(1, ry_ceil_div(plan->length, plan->tile));
    plan->rows = plan->wide = 1;
    if (across > 1 && plan->chunks > 1) {
        plan->rows = across;
        plan->across = !outer;
        return;
    }
    if (plan->chunks > 1 ||
        (across == 1 && plan->length >= 256 && prefers_one_row(s, first, last))) {
        return;
    }
    int64_t rows = ry_min(size / plan->tile, ry_min(TILE_ROWS, ROW_OFFSETS / s->operands));
    plan->rows = ry_max(1, ry_min(rows, outer ? plan->reduced_count : plan->kept_count));
    if (outer && plan->tile < WIDE) {
        plan->wide = ry_max(1, ry_min(plan->rows, WIDE / plan->tile));
        plan->wide = plan->wide >= 16 ? plan->wide / 16 * 16 : plan->wide; /* full vectors */
        plan->rows = plan->rows / plan->wide * plan->wide;
    }
}

static void choose_modes(space *s)
{
    const ry_expr_plan *plan = s->plan;
    bool outer = plan->scheme == RY_EXPR_OUTER;
    int first = outer ? plan->kept : 0, last = outer ? plan->kept + plan->reduced : plan->kept;
    for (int p = 0; p < s->operands; p++) {
        ry_expr_operand *operand = &s->operand[p];
        bool linear = operand->inner == (int64_t)operand->size && plan->chunks <= 1, still = true,
             same = true;
        int64_t expected = plan->length * (int64_t)operand->size;
        for (int d = last - 1; d >= first; d--) {
            linear = linear && operand->stride[d] == expected;
            still = still && operand->stride[d] == 0;
            expected *= plan->dim[d];
        }
        for (int d = 0; d < s->rank; d++) {
            same = same && operand->stride[d] == 0;
        }
        bool half = operand->dtype == RY_f16 || operand->dtype == RY_bf16;
        if (operand->mode == RY_EXPR_REDUCED) {
            continue;
        }
        if (!half &&
            (plan->rows == 1 ? operand->inner == (int64_t)operand->size || plan->length == 1
                             : linear) &&
            (operand->output || operand->inner != 0)) {
            operand->mode = RY_EXPR_DIRECT;
        } else if (!operand->output && operand->inner == 0 && (plan->rows == 1 || still)) {
            operand->mode = RY_EXPR_SINGLE;
        } else {
            operand->mode = !operand->output && same && plan->chunks == 1 ? RY_EXPR_INVARIANT
                                                                          : RY_EXPR_GATHERED;
        }
    }
}

/* Elements of a tile. */
static int64_t tile_elements(const space *s, const ry_expr *program, const ry_query *query)
{
    int functions = 0;
    int64_t size = (int64_t)sizeof(float);
    for (int p = 0; p < s->operands; p++) {
        size = ry_max(size, (int64_t)s->operand[p].size);
    }
    for (int i = 0; i < program->count; i++) {
        functions +=
            program->code[i].code != RY_EXPR_input && program->code[i].code != RY_EXPR_constant;
    }
    if (program->reduces) {
        return functions > 1 ? TILE_SHORT : TILE_CHUNK;
    }
    const struct ry_blocks_costs *share = &ry_costs_asked(query)->blocks;
    const ry_machine *machine = query->target->machine;
    const int64_t bytes = functions > 1
                              ? ry_machine_core_share(machine, RYND_LEVEL_L1, share->expr_tile)
                              : ry_machine_core_share(machine, RYND_LEVEL_L2, share->expr_long);
    return ry_max(TILE_SHORT, bytes / size);
}

rynd_status ry_expr_space_make(ry_expr_plan *plan, const ry_query *query, ry_error *error)
{
    const ry_problem *problem = query->problem;
    const ry_expr *program = problem->attrs.expr.program;
    space s = {.plan = plan, .operand = ry_expr_plan_part(plan, plan->operands_at)};
    ry_shape shape;
    RY_TRY(broadcast(problem, &shape, error));
    RY_TRY(reduced_dims(problem, &shape, s.reduced, error));
    plan->inputs = program->inputs;
    plan->outputs = program->outputs;
    for (int i = 0; i < program->inputs; i++) {
        RY_TRY(bind_input(&s, &shape, &problem->in[i], i));
    }
    for (int i = 0; i < program->outputs; i++) {
        RY_TRY(bind_output(&s, &shape, problem, i, program->reduced[program->result[i]], error));
    }
    s.rank = shape.rank;
    plan->divisor = 1;
    for (int d = shape.rank - 1; d >= 0; d--) {
        s.dim[d] = shape.dim[d];
        plan->divisor *= s.reduced[d] ? shape.dim[d] : 1;
    }
    for (int d = shape.rank - 1; d >= 0; d--) {
        if (s.dim[d] == 1) {
            drop_dim(&s, d);
        }
    }
    sort_dims(&s);
    merge_dims(&s);
    choose_inner(&s, program->reduces);
    choose_tile(&s, tile_elements(&s, program, query));
    choose_modes(&s);
    return RYND_OK;
}

static void place_scratch(ry_expr_plan *plan)
{
    size_t operands = (size_t)(plan->inputs + plan->outputs), reductions = (size_t)plan->reductions,
           total = 0;
    size_t rows = (size_t)ry_max(plan->rows, plan->batch), elements = (size_t)plan->elements;
    plan->pointers_at = ry_room_bytes(&total, (size_t)plan->registers * sizeof(void *));
    plan->singles_at = ry_room_bytes(&total, (size_t)plan->singles * 8);
    plan->rows_at = ry_room_bytes(&total, operands * rows * sizeof(int64_t));
    plan->shifts_at = ry_room_bytes(&total, operands * 2 * sizeof(int64_t));
    plan->staging_at = ry_room_bytes(&total, elements * 2);
    plan->buffers_at = ry_room_bytes(&total, 0);
    for (int i = 0; i < plan->buffers; i++) {
        (void)ry_room_bytes(&total, elements * plan->element);
    }
    plan->accumulators_at =
        ry_room_bytes(&total, reductions * (size_t)(plan->width * plan->wide) * 8);
    plan->blocks_at = ry_room_bytes(&total, reductions * (size_t)(plan->width * plan->wide) * 8);
    plan->scratch = total;
}

void ry_expr_space_tasks(ry_expr_plan *plan, const ry_query *query, double cost)
{
    const ry_machine *machine = query->target->machine;
    const struct ry_blocks_costs *limit = &ry_costs_asked(query)->blocks;
    const double task =
        limit->expr_task_times * machine->task_seconds * machine->f32.one * limit->expr_plain;
    bool inner = plan->scheme == RY_EXPR_INNER, outer = plan->scheme == RY_EXPR_OUTER;
    int64_t parts = plan->reduced_count * (inner ? plan->chunks : 1); /* that can be cut apart */
    double behind = cost * (double)plan->reduced_count * (inner ? (double)plan->length : 1.0), unit;
    plan->batch = plan->slices = plan->width = 1;
    if (inner) {
        plan->batch =
            (int64_t)(behind * limit->expr_batch <= limit->expr_batch_cost ? limit->expr_batch
                      : behind < limit->expr_batch_cost ? limit->expr_batch_cost / behind
                                                        : 1);
        plan->batch = ry_min(
            plan->batch,
            ry_max(1, ry_min(plan->kept_count, ROW_OFFSETS / (plan->inputs + plan->outputs))));
        plan->rows = ry_min(plan->rows, plan->batch);
        plan->units = ry_ceil_div(plan->kept_count, plan->batch);
        plan->width = plan->batch;
        unit = behind * (double)plan->batch;
    } else {
        plan->units = ry_ceil_div(plan->kept_count, outer ? 1 : plan->rows) *
                      (plan->length > 0 ? plan->chunks : 0);
        plan->width = outer ? plan->tile : 1;
        unit = outer ? behind * (double)plan->tile : cost * (double)(plan->rows * plan->tile);
    }
    if ((inner || outer) && plan->units < FEW_OC_BLOCKS && plan->batch == 1 && unit >= SPLIT_COST) {
        plan->slices = ry_max(1, ry_min(parts, ry_min(MAX_SLICES, (int64_t)(unit / SLICE_COST))));
    }
    const int64_t tasks = (int64_t)limit->expr_tasks * (int64_t)ry_max(machine->cores, 1);
    const int64_t enough = unit > 0 ? (int64_t)(task / unit) : 1,
                  each = plan->slices > 1
                             ? 1
                             : ry_max(1, ry_max(enough, ry_ceil_div(plan->units, tasks)));
    plan->cut = (ry_task_cut){{{plan->units, each}, {plan->slices, 1}}};
    plan->elements = ry_max(plan->rows * plan->tile, plan->batch);
    plan->workspace =
        plan->slices > 1 ? (size_t)(plan->units * plan->slices * plan->reductions * plan->width) * 8
                         : 0;
    place_scratch(plan);
}
