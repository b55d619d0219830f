/* SPDX-License-Identifier: Apache-2.0 */
/* Reference evaluator of expressions: one position at a time, instruction by instruction.
 *
 * Floats are computed in f64 and rounded to f32 after each instruction where that is the type (f16
 * and bf16 compute in f32); sums and products in long double, rounded once at the end. Integers are
 * exact, held in 64 bits and wrapped to their width. */
#include "expr/expr.h"
#include "kernels/ref/ref_common.h"

#include <math.h>

typedef union value {
    double f;
    int64_t i;
} value;

typedef union sum {
    long double f;
    int64_t i;
} sum;

/* The kernel's state. */
typedef struct plan {
    int rank;
    int64_t dim[RY_MAX_RANK]; /* broadcast */
    /* the same with reduced dims, or with all others, of size 1 */
    int64_t kept[RY_MAX_RANK], behind[RY_MAX_RANK];
    int64_t divisor;
    bool reduced[RY_MAX_RANK];
    ry_dtype types[]; /* types of the instructions */
} plan;

static const ry_expr *program_of(const ry_cpu_launch *launch)
{
    return launch->problem->attrs.expr.program;
}

static double rounded(ry_dtype dtype, double v)
{
    switch (dtype) {
    case RY_f64: return v;
    case RY_f16: return (double)ry_f16_to_f32(ry_f32_to_f16((float)v));
    case RY_bf16: return (double)ry_bf16_to_f32(ry_f32_to_bf16((float)v));
    default: return (double)(float)v;
    }
}

/* Between instructions: the 16-bit floats keep f32's digits. */
static double computed(ry_dtype dtype, double v)
{
    return rounded(dtype == RY_f64 ? RY_f64 : RY_f32, v);
}

static bool is_unsigned(ry_dtype dtype)
{
    return ry_dtype_get_kind(dtype) != RY_KIND_SIGNED;
}

static value number(double v, ry_dtype dtype)
{
    return ry_dtype_is_float(dtype) ? (value){.f = computed(dtype, v)}
                                    : (value){.i = ry_expr_to_int(dtype, v, false)};
}

static int64_t clamped(ry_dtype from, ry_dtype to, int64_t v)
{
    int64_t low = ry_expr_to_int(to, -INFINITY, false), high = ry_expr_to_int(to, INFINITY, false);
    if (!is_unsigned(from) && v < 0) {
        return v < low ? low : v;
    }
    return (uint64_t)v > (uint64_t)high ? high : v;
}

static value convert(const ry_expr_instruction *in, ry_dtype from, value v)
{
    if (ry_dtype_is_float(from)) {
        return ry_dtype_is_float(in->dtype)
                   ? (value){.f = rounded(in->dtype, v.f)}
                   : (value){.i = ry_expr_to_int(in->dtype, v.f, in->code == RY_EXPR_saturate)};
    }
    if (!ry_dtype_is_float(in->dtype)) {
        return (value){.i = in->code == RY_EXPR_saturate ? clamped(from, in->dtype, v.i)
                                                         : ry_expr_wrap(in->dtype, v.i)};
    }
    if (in->dtype == RY_f64) {
        return (value){.f = is_unsigned(from) ? (double)(uint64_t)v.i : (double)v.i};
    }
    return (value){
        .f = rounded(in->dtype, (double)(is_unsigned(from) ? (float)(uint64_t)v.i : (float)v.i))};
}

/* The type of the operands of instruction i. */
static ry_dtype operand_type(const ry_expr *program, const ry_dtype *types, int i)
{
    const ry_expr_instruction *in = &program->code[i];
    ry_expr_class class = ry_expr_code_class(in->code);
    bool first = program->code[in->operand[0]].code != RY_EXPR_constant ||
                 ry_expr_code_operands(in->code) < 2;
    switch (class) {
    case RY_EXPR_CLASS_LOGIC: return RY_bool;
    case RY_EXPR_CLASS_BOOL: return types[in->operand[first ? 0 : 1]];
    case RY_EXPR_CLASS_NONE:
        return program->code[in->operand[0]].code == RY_EXPR_constant ? RY_f64
                                                                      : types[in->operand[0]];
    default: return types[i];
    }
}

static value evaluate(const ry_expr *program, const ry_dtype *types, int i, const value *values)
{
    const ry_expr_instruction *in = &program->code[i];
    ry_dtype dtype = operand_type(program, types, i);
    value operand[3] = {{0}, {0}, {0}};
    for (int k = 0; k < ry_expr_code_operands(in->code); k++) {
        const ry_expr_instruction *source = &program->code[in->operand[k]];
        ry_dtype wanted = in->code == RY_EXPR_select && k == 0 ? RY_bool : dtype;
        operand[k] = source->code == RY_EXPR_constant ? number(source->value, wanted)
                                                      : values[in->operand[k]];
    }
    if (in->code == RY_EXPR_cast || in->code == RY_EXPR_saturate) {
        return convert(in, dtype, operand[0]);
    }
    if (in->code == RY_EXPR_select) {
        return operand[0].i ? operand[1] : operand[2];
    }
    if (ry_dtype_is_float(dtype)) {
        double result = ry_expr_scalar_f64(in->code, operand[0].f, operand[1].f, 0);
        bool truth = ry_expr_code_class(in->code) == RY_EXPR_CLASS_BOOL;
        return truth ? (value){.i = result != 0} : (value){.f = computed(dtype, result)};
    }
    if (ry_expr_code_class(in->code) == RY_EXPR_CLASS_LOGIC) {
        return (value){
            .i = ry_expr_scalar_f64(in->code, (double)operand[0].i, (double)operand[1].i, 0) != 0};
    }
    return (value){.i = ry_expr_scalar_int(in->code, dtype, operand[0].i, operand[1].i)};
}

static void start(sum *s, ry_expr_code code, ry_dtype dtype)
{
    double v = code == RY_EXPR_prod         ? 1
               : code == RY_EXPR_reduce_min ? (double)INFINITY
               : code == RY_EXPR_reduce_max ? -(double)INFINITY
                                            : 0;
    if (ry_dtype_is_float(dtype)) {
        s->f = (long double)v;
    } else {
        s->i = dtype == RY_bool ? v > 0 : ry_expr_to_int(dtype, v, false);
    }
}

static void accumulate(sum *s, ry_expr_code code, ry_dtype dtype, value v)
{
    if (ry_dtype_is_float(dtype)) {
        long double f = (long double)v.f;
        switch (code) {
        case RY_EXPR_prod: s->f *= f; break;
        case RY_EXPR_reduce_min: s->f = isnan(f) || f < s->f ? f : s->f; break;
        case RY_EXPR_reduce_max: s->f = isnan(f) || f > s->f ? f : s->f; break;
        default: s->f += f; break;
        }
        return;
    }
    ry_expr_code pair = code == RY_EXPR_prod         ? RY_EXPR_mul
                        : code == RY_EXPR_reduce_min ? RY_EXPR_min
                        : code == RY_EXPR_reduce_max ? RY_EXPR_max
                                                     : RY_EXPR_add;
    s->i = ry_expr_scalar_int(pair, is_unsigned(dtype) ? RY_u64 : RY_i64, s->i, v.i);
}

static value finish(const sum *s, ry_expr_code code, ry_dtype dtype, int64_t divisor)
{
    bool mean = code == RY_EXPR_mean;
    if (ry_dtype_is_float(dtype)) {
        return (value){.f = computed(dtype, (double)(mean ? s->f / (long double)divisor : s->f))};
    }
    int64_t total =
        mean ? ry_expr_scalar_int(RY_EXPR_div, is_unsigned(dtype) ? RY_u64 : RY_i64, s->i, divisor)
             : s->i;
    return (value){.i = ry_expr_wrap(dtype, total)};
}

static void store(const ry_cpu_launch *launch, const plan *p, int output, const int64_t *index,
                  const value *values)
{
    const ry_expr *program = program_of(launch);
    const ry_tensor *y = &launch->problem->out[output];
    const ry_expr_instruction *in = &program->code[program->result[output]];
    ry_dtype dtype = ry_ref_dtype(y);
    value v =
        in->code == RY_EXPR_constant ? number(in->value, dtype) : values[program->result[output]];
    int64_t offset = 0;
    for (int d = 0, at = 0; d < p->rank; d++) {
        bool gone = program->reduced[program->result[output]] && p->reduced[d];
        if (!gone || launch->problem->attrs.expr.keepdims) {
            offset += gone ? 0 : index[d] * y->stride[at];
            at++;
        }
    }
    if (ry_dtype_is_float(dtype)) {
        ry_set_f64(dtype, launch->out[output], offset, v.f);
    } else {
        ry_set_i64(dtype, launch->out[output], offset, v.i);
    }
}

/* Everything that one position of the broadcast shape gives: unreduced values and outputs, and its
 * part of the sums. */
static void evaluate_position(const ry_cpu_launch *launch, const plan *p, const int64_t *index,
                              value *values, sum *sums)
{
    const ry_expr *program = program_of(launch);
    for (int i = 0; i < program->count; i++) {
        const ry_expr_instruction *in = &program->code[i];
        if (in->code == RY_EXPR_input) {
            const ry_tensor *x = &launch->problem->in[in->index];
            int64_t offset = ry_ref_broadcast_offset(x, index, p->rank);
            values[i] = ry_dtype_is_float(p->types[i])
                            ? (value){.f = ry_get_f64(p->types[i], launch->in[in->index], offset)}
                            : (value){.i = ry_get_i64(p->types[i], launch->in[in->index], offset)};
        } else if (ry_expr_code_class(in->code) == RY_EXPR_CLASS_REDUCE) {
            const ry_expr_instruction *source = &program->code[in->operand[0]];
            accumulate(&sums[i], in->code, p->types[i],
                       source->code == RY_EXPR_constant ? number(source->value, p->types[i])
                                                        : values[in->operand[0]]);
        } else if (in->code != RY_EXPR_constant && !program->reduced[i]) {
            values[i] = evaluate(program, p->types, i, values);
        }
    }
    for (int o = 0; o < program->outputs; o++) {
        if (!program->reduced[program->result[o]]) {
            store(launch, p, o, index, values);
        }
    }
}

static void element(const ry_cpu_launch *launch, const int64_t *kept)
{
    const plan *p = launch->state;
    const ry_expr *program = program_of(launch);
    sum *sums = launch->scratch;
    value *values = (value *)(void *)(sums + program->count);
    int64_t index[RY_MAX_RANK], inside[RY_MAX_RANK] = {0};
    bool more = true;
    for (int i = 0; i < program->count; i++) {
        start(&sums[i], program->code[i].code, p->types[i]);
    }
    for (int d = 0; d < p->rank; d++) {
        more = more && p->behind[d] > 0;
    }
    while (more) {
        for (int d = 0; d < p->rank; d++) {
            index[d] = p->reduced[d] ? inside[d] : kept[d];
        }
        evaluate_position(launch, p, index, values, sums);
        more = ry_index_next(p->rank, p->behind, inside);
    }
    for (int i = 0; i < program->count; i++) {
        ry_expr_code code = program->code[i].code;
        bool reduction = ry_expr_code_class(code) == RY_EXPR_CLASS_REDUCE;
        /* made of constants: no position computed it */
        bool unmade = p->divisor == 0 && code != RY_EXPR_constant && code != RY_EXPR_input;
        if (reduction) {
            values[i] = finish(&sums[i], code, p->types[i], p->divisor);
        } else if (program->reduced[i] || unmade) {
            values[i] = evaluate(program, p->types, i, values);
        }
    }
    for (int o = 0; o < program->outputs; o++) {
        if (program->reduced[program->result[o]]) {
            store(launch, p, o, kept, values);
        }
    }
}

static rynd_status make(const ry_problem *problem, plan *p, ry_error *error)
{
    const ry_expr_attrs *attrs = &problem->attrs.expr;
    ry_shape shape = {.rank = 0};
    ry_dtype inputs[RY_EXPR_MAX_INPUTS];
    memset(p, 0, sizeof *p);
    for (int i = 0; i < attrs->program->inputs; i++) {
        ry_shape one = ry_tensor_shape(&problem->in[i]);
        inputs[i] = ry_ref_dtype(&problem->in[i]);
        if (!ry_shape_broadcast(&shape, &one, &shape)) {
            return ry_fail(error, RYND_ERROR_SHAPE,
                           "expression: input %d does not broadcast with those before it", i);
        }
    }
    shape = attrs->program->inputs ? shape : ry_tensor_shape(&problem->out[0]);
    p->rank = shape.rank;
    for (int i = 0; i < attrs->axes.count && attrs->program->reduces; i++) {
        int axis = ry_axis(attrs->axes.at[i], shape.rank);
        if (axis < 0) {
            return ry_fail(error, RYND_ERROR_SHAPE, "expression: axis %lld is outside rank %d",
                           (long long)attrs->axes.at[i], shape.rank);
        }
        p->reduced[axis] = true;
    }
    p->divisor = 1;
    for (int d = 0; d < shape.rank; d++) {
        p->reduced[d] = p->reduced[d] ||
                        (attrs->axes.count == 0 && !attrs->noop_empty && attrs->program->reduces);
        p->dim[d] = shape.dim[d];
        p->kept[d] = p->reduced[d] ? 1 : shape.dim[d];
        p->behind[d] = p->reduced[d] ? shape.dim[d] : 1;
        p->divisor *= p->behind[d];
    }
    return ry_expr_types(attrs->program, inputs, p->types, error);
}

static bool applicable(const ry_problem *problem)
{
    const ry_expr *program = problem->attrs.expr.program;
    ry_dtype inputs[RY_EXPR_MAX_INPUTS], types[RY_EXPR_MAX_INSTRUCTIONS];
    if (!program || program->inputs > problem->inputs ||
        (program->inputs == 0 && program->reduces) || program->outputs != problem->outputs) {
        return false;
    }
    for (int i = 0; i < program->inputs; i++) {
        inputs[i] = ry_ref_dtype(&problem->in[i]);
        if (!ry_problem_has_input(problem, i)) {
            return false;
        }
    }
    bool fits = ry_expr_types(program, inputs, types, NULL) == RYND_OK;
    for (int i = 0; i < program->outputs && fits; i++) {
        fits = ry_ref_dtype(&problem->out[i]) == types[program->result[i]];
    }
    return fits;
}

static size_t state_size(const ry_problem *problem)
{
    return sizeof(plan) + (size_t)problem->attrs.expr.program->count * sizeof(ry_dtype);
}

static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const ry_problem *problem = query->problem;
    plan *p = ry_allocate(&ry_system_allocator, state_size(problem));
    if (!p) {
        return ry_fail_memory(error);
    }
    rynd_status status = make(problem, p, error);
    if (status == RYND_OK) {
        int64_t positions = 1;
        for (int d = 0; d < p->rank; d++) {
            positions *= p->kept[d];
        }
        size_t scratch = (size_t)problem->attrs.expr.program->count * (sizeof(sum) + sizeof(value));
        ry_ref_prepare(prepared, positions);
        prepared->state_size = state_size(problem);
        prepared->scratch = (scratch + RY_ALIGNMENT - 1) / RY_ALIGNMENT * RY_ALIGNMENT;
    }
    ry_release(&ry_system_allocator, p);
    return status;
}

static void initialise(const ry_query *query, void *state)
{
    const ry_problem *problem = query->problem;
    make(problem, state, NULL);
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    const plan *p = launch->state;
    ry_ref_each(launch, p->rank, p->kept, launch->prepared->tasks[0], task, element);
}

RY_REF_KERNEL(expr, applicable, prepare, .run = run, .initialise = initialise);
