/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the evaluator's plans: tiles, steps, accumulators. */
#include "base/room.h"
#include "kernels/cpu/expr/expr_loops.h"
#include "kernels/cpu/expr/expr_runner.h"
#include "kernels/cpu/parts/cpu_kernel.h"
#include "kernels/cpu/simd/simd.h"

#include <string.h>

static const ry_expr_loops *const loops[RY_LOOP_TYPES] = {
#define RY_LOOP_FLOAT(name, type)                        RY_ISA_SYMBOL(expr_##name),
#define RY_LOOP_INT(name, type, wide, low, high, beyond) RY_ISA_SYMBOL(expr_##name),
#include "kernels/cpu/expr/expr_types.inc"
#undef RY_LOOP_FLOAT
#undef RY_LOOP_INT
};
static const ry_expr_converts *const converts[RY_LOOP_TYPES] = {
#define RY_LOOP_FLOAT(name, type)                        &RY_ISA_SYMBOL(convert_##name),
#define RY_LOOP_INT(name, type, wide, low, high, beyond) &RY_ISA_SYMBOL(convert_##name),
#include "kernels/cpu/expr/expr_types.inc"
#undef RY_LOOP_FLOAT
#undef RY_LOOP_INT
};
static const ry_expr_reducers *const reducers[RY_LOOP_TYPES] = {
#define RY_LOOP_FLOAT(name, type)                        &RY_ISA_SYMBOL(reduce_##name),
#define RY_LOOP_INT(name, type, wide, low, high, beyond) &RY_ISA_SYMBOL(reduce_##name),
#include "kernels/cpu/expr/expr_types.inc"
#undef RY_LOOP_FLOAT
#undef RY_LOOP_INT
};

/* OUTER: rows added to a block in f32 or f64 before it goes into the accumulators, so that its
 * error stays that of a short sum. */
#define BLOCK_ROWS 64

static char *accumulators(const expr_runner *r, int reduction)
{
    return r->accumulator + (size_t)reduction * (size_t)(r->plan->width * r->plan->wide) * 8;
}

static char *block_of(const expr_runner *r, int reduction)
{
    return r->block + (size_t)reduction * (size_t)(r->plan->width * r->plan->wide) * 8;
}

/* Takes a tile in: INNER each row into its accumulator; OUTER `wide` rows at a time into the block,
 * or right away where the type has no block. */
static void reduce(const expr_runner *r, int which, const void *a, size_t rows, size_t n)
{
    const ry_expr_reduction *reduction = &r->reduction[which];
    const ry_expr_reducer *by = &reducers[reduction->type]->by[reduction->reducer];
    size_t size = ry_expr_loop_size((ry_loop_type)reduction->type), wide = (size_t)r->plan->wide;
    const char *from = a;
    char *sums = accumulators(r, which);
    if (r->plan->scheme == RY_EXPR_INNER) {
        for (size_t i = 0; i < rows; i++) {
            by->chunk(n, from + i * n * size, sums + ((size_t)r->first + i) * 8);
        }
        return;
    }
    for (size_t i = 0; i < rows; i += wide) {
        size_t count = (rows - i < wide ? rows - i : wide) * n;
        if (by->fold) {
            by->fold(count, block_of(r, which), from + i * n * size);
        } else {
            by->flush(count, sums, from + i * n * size);
        }
    }
}

/* The loop of a function of full vectors. */
static ry_expr_loop loop_of(const expr_runner *r, const ry_expr_step *s)
{
    const ry_expr_loop near =
        r->near && s->type == RY_LOOP_f32 ? RY_ISA_SYMBOL(expr_f32_near)[s->code] : NULL;
    return near ? near : loops[s->type][s->code].vector;
}

static void run_step(const expr_runner *r, const ry_expr_step *s, size_t rows, size_t n)
{
    size_t count = s->single ? 1 : rows * n;
    void *const *reg = r->reg;
    const int64_t nowhere = 0;
    switch ((ry_expr_step_kind)s->kind) {
    case RY_STEP_LOAD:
        RY_ISA_SYMBOL(expr_load)(r, s->a, reg[s->y], s->single ? 1 : rows, s->single ? 1 : n);
        break;
    case RY_STEP_STORE: RY_ISA_SYMBOL(expr_store)(r, s->y, reg[s->a], rows, n); break;
    case RY_STEP_VECTOR: loop_of(r, s)(count, reg[s->y], reg[s->a], reg[s->b], reg[s->c]); break;
    case RY_STEP_SCALAR:
        loops[s->type][s->code].scalar(count, reg[s->y], reg[s->a], reg[s->b], NULL);
        break;
    case RY_STEP_EXPAND:
        RY_ISA_SYMBOL(expr_load_rows)
        (ry_expr_loop_size((ry_loop_type)s->type), 1, count, reg[s->y], reg[s->a], &nowhere, 0);
        break;
    case RY_STEP_CAST: converts[s->type]->cast[s->code](count, reg[s->y], reg[s->a]); break;
    case RY_STEP_SATURATE: converts[s->type]->saturate[s->code](count, reg[s->y], reg[s->a]); break;
    case RY_STEP_TRUTH: converts[s->type]->truth(count, reg[s->y], reg[s->a]); break;
    case RY_STEP_ROUND: expr_half_of((uint8_t)s->code)->round(count, reg[s->y], reg[s->a]); break;
    case RY_STEP_DEQUANTISE:
        RY_ISA_SYMBOL(expr_dequantise)[s->type](count, reg[s->y], reg[s->a], reg[s->b], reg[s->c]);
        break;
    case RY_STEP_QUANTISE:
        RY_ISA_SYMBOL(expr_quantise)[s->type](count, reg[s->y], reg[s->a], reg[s->b], reg[s->c]);
        break;
    case RY_STEP_KEEP:
        RY_ISA_SYMBOL(expr_f32_keep)[s->code](count, reg[s->y], reg[s->a], reg[s->b], reg[s->c]);
        break;
    case RY_STEP_REDUCE: reduce(r, s->y, reg[s->a], rows, n); break;
    }
}

static void run_steps(const expr_runner *r, int first, int count, size_t rows, size_t n)
{
    for (int i = first; i < first + count; i++) {
        run_step(r, &r->step[i], rows, n);
    }
}

static void run_tile(const expr_runner *r, size_t rows, size_t n)
{
    const ry_expr_plan *plan = r->plan;
    for (int p = 0; p < plan->inputs + plan->outputs; p++) {
        const ry_expr_operand *operand = &r->operand[p];
        if (operand->mode == RY_EXPR_DIRECT && operand->reg != UINT16_MAX) {
            const char *base =
                operand->output ? r->launch->out[operand->index] : r->launch->in[operand->index];
            r->reg[operand->reg] = (char *)(uintptr_t)base + r->shift[p] +
                                   r->row[(size_t)p * r->row_stride + (size_t)r->first];
        }
    }
    run_steps(r, plan->first_steps, plan->steps, rows, n);
}

/* Byte offsets of `count` positions from `position` on, over the dimensions [first, first + dims):
 * to[p * stride + r]. INNER asks for the first row of each tile, the others for the first row
 * alone, where an operand is not gathered. */
static void offsets(const expr_runner *r, int first, int dims, int64_t position, size_t count,
                    int64_t *to, size_t stride)
{
    const ry_expr_plan *plan = r->plan;
    int64_t start[RY_MAX_RANK], digit[RY_MAX_RANK];
    for (int d = first + dims - 1; d >= first; d--) {
        start[d] = position % plan->dim[d];
        position /= plan->dim[d];
    }
    for (int p = 0; p < plan->inputs + plan->outputs; p++) {
        const int64_t *step = r->operand[p].stride;
        int64_t offset = 0, *out = to + (size_t)p * stride;
        for (int d = first; d < first + dims; d++) {
            offset += start[d] * step[d];
            digit[d] = start[d];
        }
        out[0] = offset;
        uint8_t mode = r->operand[p].mode;
        bool each =
            mode == RY_EXPR_GATHERED || mode == RY_EXPR_REDUCED || plan->scheme == RY_EXPR_INNER;
        for (size_t i = 1; i < count && each; i++) {
            int d = first + dims - 1;
            while (++digit[d] == plan->dim[d]) {
                offset -= step[d] * (plan->dim[d] - 1);
                digit[d--] = 0;
                if (d < first) {
                    break;
                }
            }
            offset += d >= first ? step[d] : 0;
            out[i] = offset;
        }
    }
}

static void add_number(const ry_expr_number *number, void *to)
{
    double v = number->value;
    switch ((ry_loop_type)number->type) {
    case RY_LOOP_f32: *(float *)to = (float)v; break;
    case RY_LOOP_f64: *(double *)to = v; break;
    case RY_LOOP_i8:
    case RY_LOOP_u8:
        *(uint8_t *)to =
            (uint8_t)ry_expr_to_int(number->type == RY_LOOP_i8 ? RY_i8 : RY_u8, v, false);
        break;
    case RY_LOOP_i16:
    case RY_LOOP_u16:
        *(uint16_t *)to =
            (uint16_t)ry_expr_to_int(number->type == RY_LOOP_i16 ? RY_i16 : RY_u16, v, false);
        break;
    case RY_LOOP_i32:
    case RY_LOOP_u32:
        *(uint32_t *)to =
            (uint32_t)ry_expr_to_int(number->type == RY_LOOP_i32 ? RY_i32 : RY_u32, v, false);
        break;
    default:
        *(uint64_t *)to =
            (uint64_t)ry_expr_to_int(number->type == RY_LOOP_i64 ? RY_i64 : RY_u64, v, false);
        break;
    }
}

/* Registers, constants, what depends on constants alone, and the inputs that are the same for all
 * tiles. */
static void start(expr_runner *r, const ry_cpu_launch *launch, bool tiles)
{
    const ry_expr_plan *plan = launch->state;
    char *scratch = launch->scratch;
    *r = (expr_runner){.near = launch->prepared->kernel->accuracy == RY_ACCURACY_near32,
                       .plan = plan,
                       .launch = launch};
    r->operand = ry_expr_plan_part(plan, plan->operands_at);
    r->step = ry_expr_plan_part(plan, plan->steps_at);
    r->position = ry_expr_plan_part(plan, plan->registers_at);
    r->reduction = ry_expr_plan_part(plan, plan->reductions_at);
    r->reg = RY_AT(void *, scratch, plan->pointers_at);
    r->row = RY_AT(int64_t, scratch, plan->rows_at);
    r->shift = RY_AT(int64_t, scratch, plan->shifts_at);
    r->row_stride = (size_t)(plan->rows > plan->batch ? plan->rows : plan->batch);
    r->staging = scratch + plan->staging_at;
    r->accumulator = scratch + plan->accumulators_at;
    r->block = scratch + plan->blocks_at;
    size_t buffer =
        ((size_t)plan->elements * plan->element + RY_ALIGNMENT - 1) / RY_ALIGNMENT * RY_ALIGNMENT;
    for (int i = 0; i < plan->registers; i++) {
        const ry_expr_register *position = &r->position[i];
        r->reg[i] = position->storage == RY_STORAGE_SINGLE
                        ? (void *)(scratch + plan->singles_at + (size_t)position->at * 8)
                    : position->storage == RY_STORAGE_BUFFER
                        ? (void *)(scratch + plan->buffers_at + position->at * buffer)
                        : NULL;
    }
    const ry_expr_number *number = ry_expr_plan_part(plan, plan->numbers_at);
    for (int i = 0; i < plan->numbers; i++) {
        add_number(&number[i], r->reg[number[i].reg]);
    }
    run_steps(r, 0, plan->first_steps, 1, 1);
    for (int p = 0; p < plan->inputs && tiles; p++) {
        if (r->operand[p].mode == RY_EXPR_INVARIANT && r->operand[p].reg != UINT16_MAX) {
            RY_ISA_SYMBOL(expr_load_invariant)(r, p, r->reg[r->operand[p].reg]);
        }
    }
}

static size_t lesser(int64_t a, int64_t b)
{
    return (size_t)(a < b ? a : b);
}

static void run_point(expr_runner *r, int64_t unit)
{
    const ry_expr_plan *plan = r->plan;
    const int64_t groups = (plan->kept_count + plan->rows - 1) / plan->rows;
    const int64_t first = (plan->across ? unit % groups : unit / plan->chunks) * plan->rows,
                  from = (plan->across ? unit / groups : unit % plan->chunks) * plan->tile;
    size_t rows = lesser(plan->rows, plan->kept_count - first);
    offsets(r, 0, plan->kept, first, rows, r->row, r->row_stride);
    for (int p = 0; p < plan->inputs + plan->outputs; p++) {
        r->shift[p] = from * r->operand[p].inner;
    }
    run_tile(r, rows, lesser(plan->tile, plan->length - from));
}

/* The part of `parts` that is slice s. */
static int64_t slice_start(const ry_expr_plan *plan, int64_t parts, int64_t s)
{
    int64_t rest = parts % plan->slices;
    return parts / plan->slices * s + (s < rest ? s : rest);
}

static void reset(const expr_runner *r, size_t count)
{
    for (int i = 0; i < r->plan->reductions; i++) {
        const ry_expr_reduction *reduction = &r->reduction[i];
        reducers[reduction->type]->start(count, reduction->reducer, accumulators(r, i),
                                         block_of(r, i));
    }
}

static void reduce_inner(expr_runner *r, int64_t unit, int64_t slice)
{
    const ry_expr_plan *plan = r->plan;
    int64_t first = unit * plan->batch, parts = plan->reduced_count * plan->chunks,
            operands = plan->inputs + plan->outputs;
    int64_t outputs = (int64_t)lesser(plan->batch, plan->kept_count - first),
            *outer = r->shift + operands;
    reset(r, (size_t)outputs);
    offsets(r, 0, plan->kept, first, (size_t)outputs, r->row, r->row_stride);
    for (int64_t part = slice_start(plan, parts, slice); part < slice_start(plan, parts, slice + 1);
         part++) {
        int64_t from = part % plan->chunks * plan->tile;
        offsets(r, plan->kept, plan->reduced, part / plan->chunks, 1, outer, 1);
        for (int64_t p = 0; p < operands; p++) {
            r->shift[p] = outer[p] + from * r->operand[p].inner;
        }
        size_t n = lesser(plan->tile, plan->length - from);
        for (r->first = 0; r->first < outputs && n > 0; r->first += plan->rows) {
            run_tile(r, lesser(plan->rows, outputs - r->first), n);
        }
    }
    r->first = 0;
}

/* Blocks go into the accumulators. */
static void flush(expr_runner *r, size_t count)
{
    for (int i = 0; i < r->plan->reductions; i++) {
        const ry_expr_reduction *reduction = &r->reduction[i];
        const ry_expr_reducer *by = &reducers[reduction->type]->by[reduction->reducer];
        if (by->fold) {
            by->flush(count, accumulators(r, i), block_of(r, i));
            reducers[reduction->type]->start(count, reduction->reducer, NULL, block_of(r, i));
        }
    }
    r->folded = 0;
}

static void place_outer(expr_runner *r, int64_t unit)
{
    const ry_expr_plan *plan = r->plan;
    int64_t from = unit % plan->chunks * plan->tile;
    offsets(r, 0, plan->kept, unit / plan->chunks, 1, r->shift, 1);
    for (int p = 0; p < plan->inputs + plan->outputs; p++) {
        r->shift[p] += from * r->operand[p].inner;
    }
}

static void reduce_outer(expr_runner *r, int64_t unit, int64_t slice)
{
    const ry_expr_plan *plan = r->plan;
    size_t n = lesser(plan->tile, plan->length - unit % plan->chunks * plan->tile),
           wide = (size_t)plan->wide;
    int64_t end = slice_start(plan, plan->reduced_count, slice + 1);
    reset(r, n * wide);
    place_outer(r, unit);
    for (int64_t row = slice_start(plan, plan->reduced_count, slice); row < end;
         row += plan->rows) {
        size_t rows = lesser(plan->rows, end - row);
        offsets(r, plan->kept, plan->reduced, row, rows, r->row, r->row_stride);
        run_tile(r, rows, n);
        r->folded += (int64_t)((rows + wide - 1) / wide);
        if (r->folded >= BLOCK_ROWS) {
            flush(r, n * wide);
        }
    }
    flush(r, n * wide);
    for (int i = 0; i < plan->reductions; i++) {
        for (size_t k = 1; k < wide; k++) {
            reducers[r->reduction[i].type]->by[r->reduction[i].reducer].merge(
                n, accumulators(r, i), accumulators(r, i) + k * n * 8);
        }
    }
}

/* What follows the reductions, and the reduced outputs. */
static void finish(expr_runner *r, int64_t unit)
{
    const ry_expr_plan *plan = r->plan;
    size_t rows = 1, n = 1;
    if (plan->scheme == RY_EXPR_INNER) {
        rows = lesser(plan->batch, plan->kept_count - unit * plan->batch);
        offsets(r, 0, plan->kept, unit * plan->batch, rows, r->row, r->row_stride);
        memset(r->shift, 0, (size_t)(plan->inputs + plan->outputs) * sizeof *r->shift);
    } else {
        n = lesser(plan->tile, plan->length - unit % plan->chunks * plan->tile);
        place_outer(r, unit);
        for (int p = 0; p < plan->inputs + plan->outputs; p++) {
            r->row[(size_t)p * r->row_stride] = 0;
        }
    }
    for (int i = 0; i < plan->reductions; i++) {
        const ry_expr_reduction *reduction = &r->reduction[i];
        uint8_t *value = r->reg[reduction->reg];
        reducers[reduction->type]->finish(rows * n, value, accumulators(r, i),
                                          reduction->mean ? plan->divisor : -1);
        for (size_t k = 0; k < rows * n && reduction->truth; k++) {
            value[k] = value[k] != 0; /* the minimum of nothing is u8's largest number */
        }
    }
    run_steps(r, plan->first_steps + plan->steps, plan->last_steps, rows, n);
}

static char *partial(const expr_runner *r, int64_t unit, int64_t slice, int reduction)
{
    const ry_expr_plan *plan = r->plan;
    return (char *)r->launch->workspace +
           ((unit * plan->slices + slice) * plan->reductions + reduction) * plan->width * 8;
}

static void run_unit(expr_runner *r, int64_t unit, int64_t slice)
{
    const ry_expr_plan *plan = r->plan;
    if (plan->scheme == RY_EXPR_POINT) {
        run_point(r, unit);
        return;
    }
    (plan->scheme == RY_EXPR_INNER ? reduce_inner : reduce_outer)(r, unit, slice);
    if (plan->slices == 1) {
        finish(r, unit);
        return;
    }
    for (int i = 0; i < plan->reductions; i++) {
        memcpy(partial(r, unit, slice, i), accumulators(r, i), (size_t)plan->width * 8);
    }
}

/* The second phase: slices merged in order. */
static void merge_slices(expr_runner *r, int64_t unit)
{
    const ry_expr_plan *plan = r->plan;
    for (int i = 0; i < plan->reductions; i++) {
        memcpy(accumulators(r, i), partial(r, unit, 0, i), (size_t)plan->width * 8);
        for (int64_t s = 1; s < plan->slices; s++) {
            const ry_expr_reduction *reduction = &r->reduction[i];
            reducers[reduction->type]->by[reduction->reducer].merge(
                (size_t)plan->width, accumulators(r, i), partial(r, unit, s, i));
        }
    }
    finish(r, unit);
}

void RY_ISA_SYMBOL(expr_run_task)(const ry_cpu_launch *launch, size_t task)
{
    const ry_expr_plan *plan = launch->state;
    expr_runner r;
    start(&r, launch, launch->phase == 0);
    if (launch->phase == 1) {
        merge_slices(&r, (int64_t)task);
        return;
    }
    ry_cut_range range[RY_CUT_AXES];
    ry_cut_task(&plan->cut, task, range);
    for (int64_t unit = range[0].first; unit < range[0].end; unit++) {
        run_unit(&r, unit, range[1].first);
    }
}

#define KERNEL(symbol, class, takes)                                            \
    RY_CPU_KERNEL(symbol, expr, class, .simd = RY_SIMD, .applicable = takes,    \
                  .prepare = ry_expr_prepare, .initialise = ry_expr_initialise, \
                  .run = RY_ISA_SYMBOL(expr_run_task))

KERNEL(expr, strict, ry_expr_applicable);
KERNEL(expr_near, near32, ry_expr_near_applicable);
