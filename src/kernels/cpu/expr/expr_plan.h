/* SPDX-License-Identifier: Apache-2.0 */
/* The evaluator's plan of one problem: the kernel's state, filled by expr_kernel.c and
 * expr_compile.c, run by expr_run_isa.c.
 *
 * The broadcast shape's dimensions are sorted by stride and merged where all operands allow it. The
 * last one left is the inner one; the others are the outer ones, kept before reduced. The program
 * runs over tiles of rows * tile elements, one plain loop an instruction.
 *
 *   POINT   rows are kept outer positions                                 no reduction
 *   INNER   rows are kept outer positions, the inner dimension is reduced    each row of a tile
 *           goes into one accumulator
 *   OUTER   rows are reduced outer positions, the inner dimension is kept    the rows of a tile are
 *           added to a vector of accumulators
 *
 * A unit is what is computed in one go: POINT a tile; INNER `batch` outputs; OUTER one kept outer
 * position and one chunk of the inner dimension. Where there are few units with much to reduce,
 * each is cut into slices, whose accumulators a second phase merges in order. Neither depends on
 * the number of threads. */
#ifndef RY_KERNELS_CPU_EXPR_EXPR_PLAN_H
#define RY_KERNELS_CPU_EXPR_EXPR_PLAN_H

#include "expr/expr.h"
#include "kernels/common/task_cut.h"
#include "kernels/kernel.h"

/* What loops compute in (expr_types.inc). */
typedef enum ry_loop_type {
#define RY_LOOP_FLOAT(name, type)                        RY_LOOP_##name,
#define RY_LOOP_INT(name, type, wide, low, high, beyond) RY_LOOP_##name,
#include "kernels/cpu/expr/expr_types.inc"
#undef RY_LOOP_FLOAT
#undef RY_LOOP_INT
    RY_LOOP_TYPES
} ry_loop_type;

/* The functions that have a shorter text for the class near32 (f32_near_* of
 * kernels/common/elementary.cl). */
#define RY_EXPR_NEAR(X) X(erf) X(silu) X(gelu) X(gelu_tanh)

/* The comparisons of RY_STEP_KEEP. */
#define RY_EXPR_KEEP(X) X(lt) X(le) X(gt) X(ge)

ry_loop_type ry_expr_loop_type(ry_dtype dtype);
uint32_t ry_expr_loop_size(ry_loop_type type);

enum { RY_REDUCE_sum, RY_REDUCE_prod, RY_REDUCE_min, RY_REDUCE_max, RY_REDUCERS };

typedef enum ry_expr_scheme { RY_EXPR_POINT, RY_EXPR_INNER, RY_EXPR_OUTER } ry_expr_scheme;

/* How a tile reaches an operand. */
typedef enum ry_expr_mode {
    RY_EXPR_DIRECT,    /* in place: the stored tile is contiguous and has the loops' type */
    RY_EXPR_SINGLE,    /* one value for the full tile */
    RY_EXPR_GATHERED,  /* through a buffer, row by row */
    RY_EXPR_INVARIANT, /* through a buffer that is the same for all tiles */
    RY_EXPR_REDUCED    /* an output behind a reduction: stored after it */
} ry_expr_mode;

typedef struct ry_expr_operand {
    uint8_t dtype, type; /* ry_dtype in memory, ry_loop_type in the loops */
    uint8_t mode, output;
    uint16_t index; /* among the problem's inputs or outputs */
    /* register of an input, or of the instruction that writes a DIRECT output; UINT16_MAX: none */
    uint16_t reg;
    uint32_t size;               /* bytes an element */
    int64_t inner;               /* stride of the inner dimension, in bytes */
    int64_t stride[RY_MAX_RANK]; /* strides of the outer dimensions, in bytes */
} ry_expr_operand;

typedef enum ry_expr_step_kind {
    RY_STEP_LOAD,   /* y = operand a */
    RY_STEP_STORE,  /* operand y = a */
    RY_STEP_VECTOR, /* y = code(a, b, c) */
    RY_STEP_SCALAR, /* y = code(a, b), b one value */
    RY_STEP_EXPAND, /* y = a, one value, everywhere */
    RY_STEP_CAST,   /* y = a, of another type: code is a ry_loop_type */
    RY_STEP_SATURATE,
    RY_STEP_TRUTH,      /* y = a != 0 */
    RY_STEP_ROUND,      /* y = a rounded to code, a ry_dtype of 16 bits */
    RY_STEP_DEQUANTISE, /* y = (a - b) * c in f32; type: of the bytes */
    RY_STEP_QUANTISE,   /* y = round(a / c) + b; type: of the bytes */
    RY_STEP_KEEP,       /* y = code(a, b) ? c : 0 in f32, b one value; code: of RY_EXPR_KEEP */
    RY_STEP_REDUCE      /* reduction y takes a in */
} ry_expr_step_kind;

typedef struct ry_expr_step {
    uint8_t kind, type; /* type: of the operands */
    bool single;        /* one element: all operands are single values */
    uint16_t code, y, a, b, c;
} ry_expr_step;

typedef enum ry_expr_storage {
    RY_STORAGE_BUFFER,
    RY_STORAGE_SINGLE,
    RY_STORAGE_MEMORY
} ry_expr_storage;

typedef struct ry_expr_register {
    uint8_t storage, type;
    uint16_t at; /* buffer or single value */
} ry_expr_register;

typedef struct ry_expr_number {
    uint16_t reg;
    uint8_t type;
    double value;
} ry_expr_number;

typedef struct ry_expr_reduction {
    uint16_t reg; /* register of the result */
    uint8_t type, reducer;
    bool mean, truth; /* truth: of bool */
} ry_expr_reduction;

typedef struct ry_expr_plan {
    ry_expr_scheme scheme;
    int inputs, outputs; /* operands: inputs, then outputs */
    int kept, reduced;   /* outer dimensions */
    int64_t dim[RY_MAX_RANK];
    int64_t kept_count, reduced_count; /* outer positions */
    int64_t length;                    /* length of the inner dimension */
    int64_t divisor;                   /* elements behind each reduced output */
    int64_t tile, chunks, rows;        /* chunks of the inner dimension, rows of a tile */
    bool across;  /* POINT: an operand is transposed, whose rows' tiles follow one another */
    int64_t wide; /* OUTER: so many rows are added side by side, where rows are short */
    int64_t batch, width; /* INNER: outputs of a unit; accumulators a reduction and unit */
    int64_t units, slices;
    ry_task_cut cut;  /* units, slices of each */
    int64_t elements; /* elements of a buffer */
    int registers, singles, buffers, numbers, reductions;
    int first_steps, steps, last_steps; /* once a task, every tile, after the reductions */
    uint32_t element;                   /* bytes of the largest type in a buffer */
    size_t pointers_at, singles_at, rows_at, shifts_at, staging_at, buffers_at, accumulators_at,
        blocks_at, scratch; /* scratch memory */
    size_t workspace;
    /* from the start of the plan, in bytes */
    size_t operands_at, steps_at, registers_at, numbers_at, reductions_at;
    size_t last_use_at, busy_at; /* while it is made */
} ry_expr_plan;

static inline void *ry_expr_plan_part(const ry_expr_plan *plan, size_t at)
{
    return (char *)(uintptr_t)plan + at;
}

/* The space: what is iterated over, and how (expr_space.c). types: of the program's instructions.
 */
rynd_status ry_expr_space_make(ry_expr_plan *plan, const ry_query *query, ry_error *error);
/* after the program is compiled: units, slices, sizes. cost: of an element, in plain operations */
void ry_expr_space_tasks(ry_expr_plan *plan, const ry_query *query, double cost);

/* The program: steps and registers (expr_compile.c). Gives the cost of an element. */
double ry_expr_compile(ry_expr_plan *plan, const ry_expr *program, const ry_dtype *types);

/* Operations at a core's peak that a run takes (kernels/common/work.h). */
double ry_expr_work(const ry_query *query, const ry_expr_plan *plan);

size_t ry_expr_plan_size(const ry_problem *problem);

bool ry_expr_applicable(const ry_problem *problem);
/* and has one of RY_EXPR_NEAR in f32, f16 or bf16 */
bool ry_expr_near_applicable(const ry_problem *problem);

rynd_status ry_expr_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error);
void ry_expr_initialise(const ry_query *query, void *state);

#endif
