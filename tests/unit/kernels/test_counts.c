/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels say that they do, beside what they do. A form's work is a sum of coefficients
 * (kernels/costs.inc), each times a number: so many vectors stored, permuted, multiplied. Kernels
 * compiled with an instrumented vocabulary (tests/counts) count what they do. Both agree within 5%,
 * on the vectors and for a core of Zen 4; without vectors for one with AVX2. */
#include "counted.h"
#include "kernel_case.h"
#include "kernels/costs.h"
#include "kernels/form.h"
#include "machine/machine.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LANES = 16, MAX_SAYS = 256 };

static const double TOLERANCE = 0.05, CHANGE = 1e-3;

_Thread_local double counted[COUNTED_KINDS];
_Thread_local int counted_held;

void count_operations(int kind, double operations)
{
    counted[kind] += counted_held ? 0 : operations;
}

static const char *const kinds[COUNTED_KINDS] = {"product", "add",    "divide",  "load",
                                                 "spread",  "store",  "permute", "convert",
                                                 "moved",   "copies", "written", "weights"};

/* A form, and what its counts mean: for each kind, how many operations of it the number of a
 * coefficient is. "rest": vectors' operations that no coefficient counts. "bytes": those that the form
 * states. "arithmetic": multiply-adds and additions together. */
typedef struct form {
    const char *kernel;
    case_layout layout;
    const char *problem, *says;
} form;

#include "counted_forms.inc"

static ry_costs costs[RY_COST_COLUMNS] =
#include "kernels/cost_columns.inc"
    ;

/* In place of the library's. */
const ry_costs *ry_costs_fitted(ry_cost_column column)
{
    return &costs[column];
}

/* Families, each before its coefficients, in the order of ry_costs. */
static const struct {
    const char *family, *coefficient;
} rows[] = {
#define RY_COSTS(name)                     {#name, NULL},
#define RY_COST(name, parts, lines, intel) {NULL, #name},
#define RY_COSTS_END(name)
/* clang-format off */
#include "kernels/costs.inc"
/* clang-format on */
#undef RY_COSTS
#undef RY_COST
#undef RY_COSTS_END
};

typedef struct subject {
    kernel_case c;
    ry_machine machine;
    ry_target target;
    ry_tensor in[CASE_OPERANDS], out[CASE_OPERANDS];
    ry_problem problem;
    ry_prepared prepared;
    ry_query query;
    ry_arena arena;
} subject;

/* Coefficients of the kernel's vectors: of lines, or of none. */
static double *table_of(const subject *s)
{
    return (double *)(void *)&costs[s->query.kernel->simd.width == LANES ? RY_COSTS_LINES
                                                                         : RY_COSTS_PARTS];
}

/* "family.name" -> the coefficient. */
static double *find_coefficient(const subject *s, const char *name)
{
    double *at = table_of(s);
    char here[128];
    const char *family = "";
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        family = rows[i].family ? rows[i].family : family;
        if (rows[i].coefficient) {
            snprintf(here, sizeof here, "%s.%s", family, rows[i].coefficient);
            if (strcmp(here, name) == 0) {
                return at;
            }
            at++;
        }
    }
    fail_msg("no coefficient '%s'", name);
    return NULL;
}

/* All phases, in operations of a vector. */
static double work_of(const ry_prepared *prepared)
{
    double work = 0;
    for (int i = 0; i < prepared->phases; i++) {
        work += prepared->work[i].all;
    }
    return work / (2 * LANES);
}

static void prepare(subject *s, ry_prepared *prepared)
{
    ry_error error;
    if (ry_prepare(&s->query, ~0u, prepared, &error) != RYND_OK) {
        fail_msg("%s: %s", s->problem.op ? s->c.text : "", error.text);
    }
}

static void open_subject(subject *s, const form *f)
{
    char name[128];
    *s = (subject){.target = {.device = RY_DEVICE_cpu, .isa = RY_ISA_generic}};
    snprintf(name, sizeof name, "%s_generic", f->kernel);
    const ry_kernel *vectors = every_kernel_find(name);
    ry_machine_reference("Zen 4", vectors ? RY_ISA_avx512 : RY_ISA_avx2, &s->machine);
    memset(s->machine.kind, 0, sizeof s->machine.kind); /* coefficients as they were fitted */
    s->target.machine = &s->machine;
    kernel_case_parse(&s->c, f->problem);
    s->problem = kernel_case_problem(&s->c, f->layout, s->in, s->out);
    if (s->problem.op == RY_OP_qconv) { /* its weights are row-major in every layout */
        s->in[1] = s->c.in[1];
    }
    s->query =
        (ry_query){vectors ? vectors : every_kernel_find(f->kernel), &s->problem, &s->target, NULL};
    assert_non_null(s->query.kernel);
    assert_true(s->query.kernel->simd.width == (vectors ? LANES : 0));
    assert_true(s->query.kernel->applicable(&s->problem));
    prepare(s, &s->prepared);
    s->query.form = &s->prepared.form;
    ry_arena_init(&s->arena, &ry_system_allocator);
}

static void *take(subject *s, size_t bytes)
{
    enum { BEHIND = 4096 }; /* full vectors may be read there */
    void *memory = ry_arena_take_aligned(&s->arena, bytes + BEHIND);
    assert_non_null(memory);
    memset(memory, 0, bytes + BEHIND);
    return memory;
}

static void *take_operand(subject *s, const ry_tensor *tensor, counted_range *range)
{
    char *memory = ry_tensor_present(tensor) ? take(s, ry_tensor_bytes(tensor)) : NULL;
    *range =
        (counted_range){memory, memory ? memory + ry_tensor_bytes(tensor) : NULL, COUNTED_OPERAND};
    return memory;
}

/* Packs, then counts all tasks of all phases. */
static void count(subject *s)
{
    ry_prepared *p = &s->prepared;
    const ry_kernel *kernel = s->query.kernel;
    const void *in[CASE_OPERANDS];
    void *out[CASE_OPERANDS];
    memset(counted_ranges, 0, sizeof counted_ranges);
    for (int i = 0; i < s->problem.inputs; i++) {
        in[i] = take_operand(s, &s->in[i], &counted_ranges[i]);
    }
    for (int i = 0; i < s->problem.outputs; i++) {
        out[i] = take_operand(s, &s->out[i], &counted_ranges[CASE_OPERANDS + i]);
    }
    void *state = take(s, p->state_size);
    char *scratch = take(s, p->scratch), *packed = take(s, p->packed);
    counted_ranges[COUNTED_RANGES - 2] =
        (counted_range){packed, packed + p->packed, COUNTED_PACKED};
    counted_ranges[COUNTED_RANGES - 1] =
        (counted_range){scratch, scratch + p->scratch, COUNTED_SCRATCH};
    if (kernel->initialise && p->state_size) {
        kernel->initialise(&s->query, state);
        p->state = state;
    }
    ry_cpu_launch launch = {.problem = &s->problem,
                            .prepared = p,
                            .state = p->state,
                            .in = in,
                            .out = out,
                            .packed = packed,
                            .packed_out = packed,
                            .workspace = take(s, p->workspace),
                            .scratch = scratch};
    for (size_t task = 0; kernel->pack && task < p->pack_tasks; task++) {
        kernel->pack(&launch, task);
    }
    memset(counted, 0, sizeof counted);
    for (int phase = 0; phase < p->phases; phase++) {
        for (size_t task = 0; task < p->tasks[phase]; task++) {
            every_kernel_run(&launch, phase, task, 0);
        }
    }
}

/* The number that a coefficient is multiplied by, in operations of a vector. Coefficients stay in
 * place but for a small change, so that the form stays the same. */
static double number_of(subject *s, double *coefficient)
{
    const double was = *coefficient, before = work_of(&s->prepared);
    ry_prepared changed;
    *coefficient = was * (1 + CHANGE);
    prepare(s, &changed);
    *coefficient = was;
    return (work_of(&changed) - before) / (was * CHANGE);
}

static double rest_of(subject *s)
{
    double rest = work_of(&s->prepared);
    double *all = table_of(s);
    for (size_t i = 0; i < sizeof(ry_costs) / sizeof *all; i++) {
        const double number = all[i] != 0 ? number_of(s, &all[i]) : 0;
        rest -= number > 0 ? all[i] * number : 0; /* below 0: a limit, not a count */
    }
    return rest;
}

/* "0.5*staged.move+staged.end"; "a/b": the number of a over the coefficient b. */
static double sum_of(subject *s, char *terms)
{
    double sum = 0;
    char *rest;
    for (char *term = strtok_r(terms, "+", &rest); term; term = strtok_r(NULL, "+", &rest)) {
        char *star = strchr(term, '*'), *over = strchr(term, '/');
        const char *name = star ? star + 1 : term;
        if (over) {
            *over++ = 0;
        }
        const double times =
            (star ? strtod(term, NULL) : 1) / (over ? *find_coefficient(s, over) : 1);
        sum += times * (strcmp(name, "rest") == 0    ? rest_of(s)
                        : strcmp(name, "bytes") == 0 ? s->prepared.counts.bytes
                                                     : number_of(s, find_coefficient(s, name)));
    }
    return sum;
}

static double counted_of(const char *kind)
{
    if (strcmp(kind, "arithmetic") == 0) {
        return counted[COUNTED_PRODUCT] + counted[COUNTED_ADD];
    }
    for (int i = 0; i < COUNTED_KINDS; i++) {
        if (strcmp(kinds[i], kind) == 0) {
            return counted[i];
        }
    }
    fail_msg("no kind '%s'", kind);
    return 0;
}

/* Says each kind's two counts; returns how many differ. */
static int compare(subject *s, const form *f)
{
    char says[MAX_SAYS], *rest;
    int wrong = 0;
    snprintf(says, sizeof says, "%s", f->says);
    for (char *kind = strtok_r(says, " ", &rest); kind; kind = strtok_r(NULL, " ", &rest)) {
        char *terms = strchr(kind, '=');
        assert_non_null(terms);
        *terms++ = 0;
        const double stated = sum_of(s, terms), done = counted_of(kind);
        const bool far = fabs(stated - done) > TOLERANCE * done;
        print_message("%-28s %s %-10s stated %9.0f counted %9.0f ratio %.3f%s  %s\n", f->kernel,
                      kernel_case_layouts[f->layout], kind, stated, done, stated / done,
                      far ? " FAR" : "", f->problem);
        wrong += far;
    }
    return wrong;
}

static void counts_are_true(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        static subject s;
        open_subject(&s, &forms[i]);
        count(&s);
        wrong += compare(&s, &forms[i]);
        ry_arena_free(&s.arena);
        kernel_case_end(&s.c);
    }
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(counts_are_true)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
