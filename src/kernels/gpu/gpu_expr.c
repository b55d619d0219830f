/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions on GPUs: which positions an item and a group take, and what expr.cl is told. */
#include "base/integer.h"
#include "kernels/common/work.h"
#include "kernels/gpu/expr_text.h"
#include "kernels/gpu/gpu_group.h"
#include "kernels/gpu/gpu_kernel.h"
#include "kernels/gpu/gpu_offset.h"
#include "kernels/gpu/gpu_positions.h"

#include <stdio.h>

extern const char ry_gpu_text_expr[];

enum {
    MAX_INSTRUCTIONS = 256,
    MAX_SUMS = 8,     /* each 8 bytes of local memory an item at most */
    SUM_BYTES = 8,    /* most bytes of a sum in the workspace */
    GROUP_SIZE = 256, /* preferred work-items of a group */
    LINE = 32,        /* neighbouring columns that are read together */
    MANY_COLUMNS = 1 << 16,
    LANE_SHORT = 4,    /* positions that are worth another lane */
    SLICE_SHORT = 32,  /* positions of a lane that are worth another slice */
    SLICE_LONG = 4096, /* longest slice of a lane: longer sums are less accurate */
    GROUPS = 512,      /* enough groups to fill a device */
    ELEMENTARY = 24,   /* operations */
    FAR = 1 << 30      /* beyond it an index has 64 bits */
};

typedef struct plan {
    ry_gpu_space space;
    int64_t group, lanes, columns, slice, slices, finish_lanes;
    bool rows, vectors;
} plan;

static bool is_half(ry_dtype dtype)
{
    return dtype == RY_f16 || dtype == RY_bf16;
}

static bool find_types(const ry_problem *problem, ry_dtype *types)
{
    const ry_expr *program = problem->attrs.expr.program;
    ry_dtype inputs[RY_EXPR_MAX_INPUTS];
    for (int i = 0; i < program->inputs; i++) {
        inputs[i] = (ry_dtype)problem->in[i].dtype;
        if (!ry_problem_has_input(problem, i)) {
            return false;
        }
    }
    bool fits = ry_expr_types(program, inputs, types, NULL) == RYND_OK;
    for (int i = 0; i < program->outputs && fits; i++) {
        fits = (ry_dtype)problem->out[i].dtype == types[program->result[i]];
    }
    return fits;
}

static bool applicable(const ry_problem *problem)
{
    const ry_expr *program = problem->attrs.expr.program;
    ry_dtype types[RY_EXPR_MAX_INSTRUCTIONS];
    ry_gpu_space space;
    return problem->op == RY_OP_expr && program && program->inputs <= problem->inputs &&
           (program->inputs > 0 || !program->reduces) && program->outputs == problem->outputs &&
           problem->inputs + problem->outputs <= RY_GPU_EXPR_OPERANDS &&
           program->count <= MAX_INSTRUCTIONS && ry_gpu_expr_sums(program) <= MAX_SUMS &&
           find_types(problem, types) && ry_gpu_space_make(problem, &space);
}

/* Has the machine doubles, or has the program none? */
static bool runs_on(const ry_problem *problem, const ry_machine *machine)
{
    const ry_expr *program = problem->attrs.expr.program;
    ry_dtype types[RY_EXPR_MAX_INSTRUCTIONS];
    bool runs = machine->fp64 || find_types(problem, types);
    for (int i = 0; i < program->count && !machine->fp64; i++) {
        runs = runs && types[i] != RY_f64;
    }
    return runs;
}

static int64_t power_of_two(int64_t at_most)
{
    int64_t power = 1;
    while (power * 2 <= at_most) {
        power *= 2;
    }
    return power;
}

/* May an item take four positions, each operand's next to each other or one and the same? */
static bool takes_vectors(const ry_gpu_space *space, int inputs)
{
    const int last = space->rank - 1;
    bool fits = space->rank > 0 && (space->rank == 1 || space->dim[last] % 4 == 0);
    for (int i = 0; i < space->operands && fits; i++) {
        const ry_gpu_operand *operand = &space->operand[i];
        const bool still = i < inputs && operand->stride[last] == 0;
        fits = still || (operand->stride[last] == 1 && !is_half(operand->dtype));
        for (int d = 0; d < last && !still; d++) {
            fits = fits && operand->stride[d] % 4 == 0;
        }
    }
    return fits;
}

/* Lanes, as many as have some positions each; slices where few groups would sum for long. */
static void plan_sums(plan *p)
{
    const int64_t kept = ry_max(1, p->space.kept), behind = ry_max(1, p->space.behind);
    p->rows = p->space.inner_is_reduced;
    p->lanes = ry_min(p->group, power_of_two(ry_max(1, behind / LANE_SHORT)));
    if (!p->rows) {
        const int64_t line = ry_min(LINE, 2 * power_of_two(kept));
        p->lanes = kept >= MANY_COLUMNS ? 1 : ry_min(p->lanes, p->group / line);
    }
    p->columns = p->group / p->lanes;
    const int64_t tiles = ry_ceil_div(kept, p->columns), each = ry_ceil_div(behind, p->lanes);
    const int64_t slices = ry_max(ry_min(ry_ceil_div(GROUPS, tiles), each / SLICE_SHORT),
                                  ry_ceil_div(each, SLICE_LONG));
    p->slice = ry_ceil_div(each, ry_max(1, slices)) * p->lanes;
    p->slices = ry_ceil_div(behind, p->slice);
    p->finish_lanes = ry_min(p->group, power_of_two(p->slices));
}

static void make(const ry_query *query, plan *p)
{
    const ry_problem *problem = query->problem;
    ry_gpu_space_make(problem, &p->space); /* as applicable found it */
    p->group = ry_gpu_group_size(query, GROUP_SIZE);
    p->lanes = p->columns = p->slice = p->slices = p->finish_lanes = 1;
    p->rows = false;
    p->vectors = !problem->attrs.expr.program->reduces &&
                 takes_vectors(&p->space, problem->attrs.expr.program->inputs);
    if (problem->attrs.expr.program->reduces) {
        plan_sums(p);
    }
}

/* Operations of a position. */
static double position_cost(const ry_expr *program)
{
    double cost = 0;
    for (int i = 0; i < program->count; i++) {
        const ry_expr_code code = program->code[i].code;
        const bool elementary = (code >= RY_EXPR_sqrt && code <= RY_EXPR_gelu_tanh) ||
                                code == RY_EXPR_div || code == RY_EXPR_pow || code == RY_EXPR_mod ||
                                code == RY_EXPR_fmod;
        cost += elementary ? ELEMENTARY : code != RY_EXPR_input && code != RY_EXPR_constant;
    }
    return cost > 1 ? cost : 1;
}

static size_t groups(int64_t items, int64_t each)
{
    return (size_t)ry_max(1, ry_ceil_div(items, each));
}

static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const ry_expr *program = query->problem->attrs.expr.program;
    const double bytes = ry_problem_bytes(query->problem);
    (void)error;
    plan p;
    make(query, &p);
    const double sums = (double)p.slices * (double)p.space.kept * ry_gpu_expr_sums(program);
    *prepared = (ry_prepared){.phases = p.slices > 1 ? 2 : 1};
    prepared->form.value[RY_GPU_GROUP_KNOB] = p.group;
    prepared->group[0] = prepared->group[1] = (unsigned)p.group;
    if (program->reduces) {
        prepared->tasks[0] = groups(p.space.kept, p.columns) * (size_t)p.slices;
    } else {
        prepared->tasks[0] = groups(p.space.kept, p.group * (p.vectors ? 4 : 1));
    }
    ry_count_work((double)p.space.kept * (double)p.space.behind * position_cost(program), bytes,
                  prepared);
    if (p.slices > 1) {
        prepared->tasks[1] = groups(p.space.kept, p.group / p.finish_lanes);
        prepared->workspace = (size_t)(sums * SUM_BYTES);
        prepared->work[1] = (ry_work){sums, 0};
        prepared->counts.bytes += 2 * sums * SUM_BYTES;
    }
    return RYND_OK;
}

/* ---- what the text is told ---- */

/* name: the offset of a position of dims [first, end). */
static void put_offset(ry_text *text, const char *name, const ry_gpu_space *space,
                       const ry_gpu_operand *operand, int first, int end)
{
    ry_gpu_dims dims = {0};
    for (int d = first; d < end; d++) {
        ry_gpu_dims_add(&dims, space->dim[d], operand->stride[d]);
    }
    ry_gpu_define_offset(text, name, &dims);
}

/* at_in0(k, r): an element of an operand. */
static void put_places(ry_text *text, const ry_gpu_space *space, int inputs)
{
    for (int i = 0; i < space->operands; i++) {
        const bool input = i < inputs;
        char at[24], kept[32], behind[32];
        snprintf(at, sizeof at, "at_%s%d", input ? "in" : "out", input ? i : i - inputs);
        snprintf(kept, sizeof kept, "%s_kept", at);
        snprintf(behind, sizeof behind, "%s_behind", at);
        put_offset(text, kept, space, &space->operand[i], 0, space->kept_rank);
        put_offset(text, behind, space, &space->operand[i], space->kept_rank, space->rank);
        ry_text_add(text, "#define %s(k, r) (%s(k) + %s(r))\n", at, kept, behind);
    }
}

static void put_load(ry_text *text, int i, ry_dtype dtype, const char *position)
{
    const char *type = ry_gpu_memory_type(dtype);
    if (is_half(dtype)) {
        ry_text_add(text, " x.x%d = LOAD_%s(IN(%s, %d), at_in%d(%s));", i, ry_dtype_name(dtype),
                    type, i, i, position);
    } else {
        ry_text_add(text, " x.x%d = IN(%s, %d)[at_in%d(%s)]%s;", i, type, i, i, position,
                    dtype == RY_bool ? " != 0" : "");
    }
}

static void put_store(ry_text *text, int o, ry_dtype dtype, const char *position)
{
    const char *type = ry_gpu_memory_type(dtype);
    if (is_half(dtype)) {
        ry_text_add(text, " STORE_%s(OUT(%s, %d), at_out%d(%s), y.y%d);", ry_dtype_name(dtype),
                    type, o, o, position, o);
    } else {
        ry_text_add(text, " OUT(%s, %d)[at_out%d(%s)] = (%s)y.y%d;", type, o, o, position, type, o);
    }
}

/* Loads and stores of a position; inputs that no instruction reads are left alone. */
static void put_moves(ry_text *text, const ry_gpu_space *space, const ry_expr *program)
{
    ry_text_add(text, "#define LOAD(x, k, r)");
    for (int i = 0; i < program->count; i++) {
        if (program->code[i].code == RY_EXPR_input) {
            const int input = program->code[i].index;
            put_load(text, input, space->operand[input].dtype, "k, r");
        }
    }
    ry_text_add(text, "\n#define STORE(y, k, r)");
    for (int behind = 0; behind < 2; behind++) {
        for (int o = 0; o < program->outputs; o++) {
            if (program->reduced[program->result[o]] == (behind == 1)) {
                put_store(text, o, space->operand[program->inputs + o].dtype,
                          behind ? "k, 0" : "k, r");
            }
        }
        ry_text_add(text, behind ? "\n" : "\n#define STORE_BEHIND(y, k)");
    }
}

/* The same, four at a time: operands that are one and the same for the four are loaded as ever. */
static void put_vector_moves(ry_text *text, const ry_gpu_space *space, const ry_expr *program)
{
    const int last = space->rank - 1;
    ry_text load = {.arena = text->arena}, lane = load, store = load, aligned = load, after = load;
    for (int i = 0; i < program->count; i++) {
        const int input = program->code[i].index;
        const ry_dtype dtype = space->operand[input].dtype;
        if (program->code[i].code != RY_EXPR_input) {
            continue;
        }
        if (space->operand[input].stride[last] == 0) {
            put_load(&lane, input, dtype, "k, 0");
            continue;
        }
        const char *type = ry_gpu_memory_type(dtype), *vector = ry_gpu_vector_type(dtype);
        ry_text_add(&load, " const %s in_%d = *(GLOBAL const %s *)(IN(%s, %d) + at_in%d(k, 0));",
                    vector, input, vector, type, input, input);
        ry_text_add(&lane, " x.x%d = in_%d.c%s;", input, input, dtype == RY_bool ? " != 0" : "");
        ry_text_add(&aligned, " && (uint64_t)IN(%s, %d) %% %d == 0", type, input,
                    4 * (int)ry_dtype_size(dtype));
    }
    for (int o = 0; o < program->outputs; o++) {
        const ry_dtype dtype = space->operand[program->inputs + o].dtype;
        const char *type = ry_gpu_memory_type(dtype), *vector = ry_gpu_vector_type(dtype);
        ry_text_add(&load, " %s out_%d;", vector, o);
        ry_text_add(&after, " out_%d.c = (%s)y.y%d;", o, type, o);
        ry_text_add(&store, " *(GLOBAL %s *)(OUT(%s, %d) + at_out%d(k, 0)) = out_%d;", vector, type,
                    o, o, o);
        ry_text_add(&aligned, " && (uint64_t)OUT(%s, %d) %% %d == 0", type, o,
                    4 * (int)ry_dtype_size(dtype));
    }
    text->failed = text->failed || load.failed || lane.failed || store.failed || aligned.failed ||
                   after.failed;
    if (!text->failed) {
        ry_text_add(text,
                    "#define ALIGNED (1%s)\n#define LOAD_VECTORS(k)%s\n"
                    "#define LANE(k, c) {%s front(x, &y, &t);%s }\n#define STORE_VECTORS(k)%s\n",
                    aligned.at, load.at, lane.at ? lane.at : "", after.at, store.at);
    }
}

static void define_numbers(const plan *p, const ry_expr *program, ry_text *text)
{
    const int64_t finish_columns = p->group / p->finish_lanes;
    const struct {
        const char *name;
        int64_t value;
    } numbers[] = {{"REDUCES", program->reduces},
                   {"VECTORS", p->vectors},
                   {"ROWS", p->rows},
                   {"KEPT", p->space.kept},
                   {"BEHIND", p->space.behind},
                   {"GROUP_SIZE", p->group},
                   {"LANES", p->lanes},
                   {"COLUMNS", p->columns},
                   {"SLICE", p->slice},
                   {"SLICES", p->slices},
                   {"FINISH_LANES", p->finish_lanes},
                   {"FINISH_COLUMNS", finish_columns}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        ry_text_add(text, "#define %s %lld\n", numbers[i].name, (long long)numbers[i].value);
    }
}

static void define(const ry_query *query, const ry_prepared *prepared, ry_text *text)
{
    const ry_problem *problem = query->problem;
    const ry_expr *program = problem->attrs.expr.program;
    ry_dtype types[RY_EXPR_MAX_INSTRUCTIONS], outputs[RY_EXPR_MAX_OUTPUTS];
    const ry_query complete = {query->kernel, problem, query->target, &prepared->form};
    plan p;
    make(&complete, &p);
    find_types(problem, types);
    for (int o = 0; o < program->outputs; o++) {
        outputs[o] = (ry_dtype)problem->out[o].dtype;
    }
    const int64_t farthest = ry_max(ry_max(p.space.farthest, p.space.kept * ry_max(1, p.slices)),
                                    p.space.kept * ry_max(1, p.space.behind));
    const ry_gpu_expr expr = {.program = program, .types = types};
    /* each instruction is rounded; and programs may compare a value with itself */
    ry_text_add(text,
                "#ifdef __OPENCL_VERSION__\n#pragma OPENCL FP_CONTRACT OFF\n#endif\n"
                "#ifdef __clang__\n#pragma clang diagnostic ignored \"-Wtautological-compare\"\n"
                "#endif\n");
    ry_text_add(text, "#define INDEX %s\n", farthest >= FAR ? "int64_t" : "int");
    define_numbers(&p, program, text);
    ry_gpu_expr_functions(&expr, text);
    ry_gpu_expr_program(&expr, outputs, p.space.behind, text);
    put_places(text, &p.space, program->inputs);
    put_moves(text, &p.space, program);
    if (p.vectors) {
        put_vector_moves(text, &p.space, program);
    }
}

static const char *const entries[] = {"run", "finish"};

static const ry_gpu_kernel gpu = {
    .text = ry_gpu_text_expr, .entries = entries, .entry_count = 2, .define = define};

RY_GPU_KERNEL(expr_gpu, expr, strict, RY_GPU_GROUP_KNOB_FIELDS, .applicable = applicable,
              .runs_on = runs_on, .prepare = prepare, .gpu = &gpu);
