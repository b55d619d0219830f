/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a kernel of expressions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/threads.h"
#include "every_kernel.h"
#include "expr/expr.h"
#include "expr_evaluation.h"

const ry_kernel *expr_kernel(const char *name)
{
    const ry_kernel *kernel = every_kernel_find(name);
    ry_cpu_info cpu;
    ry_cpu_detect(&cpu);
    return kernel && kernel->isa <= cpu.isa ? kernel : NULL;
}

typedef struct parallel {
    const ry_cpu_launch *launch;
    int phase;
} parallel;

static void run_task(void *context, size_t task, unsigned worker)
{
    const parallel *p = context;
    every_kernel_run(p->launch, p->phase, task, worker);
}

void expr_evaluate(const expr_evaluation *e)
{
    ry_arena arena;
    ry_error error = {""};
    const ry_expr *program = NULL;
    ry_tensor x[2], y = ry_tensor_row_major(e->out_dtype, e->out_shape, NULL);
    ry_prepared prepared = {0};
    ry_threads *pool = NULL;
    ry_arena_init(&arena, &ry_system_allocator);
    assert_int_equal(ry_expr_parse(e->text, NULL, 0, &arena, &program, &error), RYND_OK);
    for (int i = 0; i < e->inputs; i++) {
        x[i] = ry_tensor_row_major(e->dtype, &e->shapes[i], NULL);
    }
    ry_problem problem = {.op = RY_OP_expr, .inputs = e->inputs, .outputs = 1, .in = x, .out = &y};
    problem.attrs.expr.program = program;
    problem.attrs.expr.keepdims = 1;
    for (int i = 0; e->axes && e->axes[i] >= 0; i++) {
        problem.attrs.expr.axes.at[problem.attrs.expr.axes.count++] = e->axes[i];
    }
    assert_true(e->kernel->applicable(&problem));
    if (every_kernel_prepare(e->kernel, &problem, &prepared, &error) != RYND_OK) {
        fail_msg("%s: %s", e->text, error.text);
    }
    assert_int_equal(ry_threads_create(&ry_system_allocator, e->threads, NULL, NULL, &pool, &error),
                     RYND_OK);
    void *state = ry_allocate(&ry_system_allocator, prepared.state_size),
         *workspace = ry_allocate(&ry_system_allocator, prepared.workspace + 1);
    void *scratch = ry_allocate(&ry_system_allocator, prepared.scratch * e->threads + 1);
    assert_true(state && workspace && scratch);
    every_kernel_initialise(&prepared, state);
    ry_cpu_launch launch = {
        .problem = &problem, .prepared = &prepared, .state = state, .in = e->in, .out = &e->out};
    launch.workspace = workspace;
    launch.scratch = scratch;
    for (int phase = 0; phase < prepared.phases; phase++) {
        parallel p = {&launch, phase};
        ry_threads_run(pool, prepared.tasks[phase], 0, run_task, &p);
    }
    ry_threads_destroy(pool);
    ry_release(&ry_system_allocator, state);
    ry_release(&ry_system_allocator, workspace);
    ry_release(&ry_system_allocator, scratch);
    ry_arena_free(&arena);
}

void expr_map(const ry_kernel *kernel, const char *text, ry_dtype dtype, int64_t n, const void *a,
              const void *b, ry_dtype out_dtype, void *y)
{
    const ry_shape shape = {1, {n}}, shapes[2] = {shape, shape};
    const void *in[2] = {a, b};
    expr_evaluate(&(expr_evaluation){kernel, text, dtype, shapes, in, b ? 2 : 1, &shape, out_dtype,
                                     y, NULL, 1});
}
