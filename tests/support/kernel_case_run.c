/* SPDX-License-Identifier: Apache-2.0 */
/* Runs kernels on guarded memory. */
#include "kernel_case.h"

#include "gpu_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Under AddressSanitizer the guards may not be read either. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define GUARDS_POISONED
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define GUARDS_POISONED
#endif
#ifdef GUARDS_POISONED
#include <sanitizer/asan_interface.h>
#else
#define __asan_poison_memory_region(memory, size)   ((void)(memory), (void)(size))
#define __asan_unpoison_memory_region(memory, size) ((void)(memory), (void)(size))
#endif

enum { GUARD = 256, GUARD_BYTE = 0xA5, GARBAGE_BYTE = 0xC7, WORKERS = 3 };

const char *const kernel_case_layouts[CASE_LAYOUTS] = {"nchw", "nhwc", "gaps"};

/* Memory whose surroundings are watched: [size][GUARD bytes][memory][GUARD bytes]; the size is in
 * front of the first guard. */
static void *guarded_take(void *user, size_t size, size_t alignment)
{
    (void)user;
    size_t total = (alignment + GUARD + size + GUARD + alignment - 1) / alignment * alignment;
    char *block = aligned_alloc(alignment, total);
    assert_non_null(block);
    assert_true(alignment >= sizeof size && GUARD % alignment == 0);
    memset(block, GUARD_BYTE, total);
    memcpy(block, &size, sizeof size);
    char *memory = block + alignment + GUARD;
    memset(memory, GARBAGE_BYTE, size);
    __asan_poison_memory_region(memory - GUARD, GUARD);
    __asan_poison_memory_region(memory + size, GUARD);
    return memory;
}

static void check_guard(const unsigned char *bytes, const char *where)
{
    for (int i = 0; i < GUARD; i++) {
        if (bytes[i] != GUARD_BYTE) {
            fail_msg("a kernel wrote byte %d %s its memory", i, where);
        }
    }
}

static void guarded_release(void *user, void *memory)
{
    (void)user;
    if (memory) {
        char *block = (char *)memory - GUARD - RY_ALIGNMENT;
        size_t size;
        memcpy(&size, block, sizeof size);
        __asan_unpoison_memory_region((char *)memory - GUARD, GUARD);
        __asan_unpoison_memory_region((char *)memory + size, GUARD);
        check_guard((unsigned char *)memory - GUARD, "in front of");
        check_guard((unsigned char *)memory + size, "behind");
        free(block);
    }
}

static const ry_allocator guarded_allocator = {guarded_take, guarded_release, NULL};

/* An operand as a kernel sees it: elements at strides in guarded memory that begins as
 * GARBAGE_BYTE. */
typedef struct placed {
    ry_tensor view;
    unsigned char *memory;
    size_t size;
} placed;

static placed place(const ry_tensor *t, const ry_tensor *description, bool fill)
{
    placed p = {.view = *description};
    if (!ry_tensor_present(t)) {
        return p;
    }
    int64_t last = 0;
    for (int i = 0; i < p.view.rank; i++) {
        last += (p.view.dim[i] - 1) * p.view.stride[i];
    }
    p.size = ry_tensor_count(t) ? (size_t)(last + 1) * ry_dtype_size((ry_dtype)t->dtype) : 0;
    p.memory = ry_allocate(&guarded_allocator, p.size);
    p.view.data = p.memory;
    if (fill) {
        ry_tensor_copy(&p.view, t);
    }
    return p;
}

/* Every byte that is no element's is as it was. */
static void check_gaps(const placed *p)
{
    size_t size = ry_dtype_size((ry_dtype)p->view.dtype);
    unsigned char *owned = calloc(p->size + 1, 1);
    assert_non_null(owned);
    int64_t index[RY_MAX_RANK] = {0};
    if (p->size) {
        do {
            memset(owned + (size_t)ry_index_offset(&p->view, index) * size, 1, size);
        } while (ry_index_next(p->view.rank, p->view.dim, index));
    }
    for (size_t i = 0; i < p->size; i++) {
        if (!owned[i] && p->memory[i] != GARBAGE_BYTE) {
            fail_msg("a kernel wrote into the gap at byte %zu of an output", i);
        }
    }
    free(owned);
}

static bool fits(const kernel_case *c, const ry_kernel *kernel, const ry_problem *problem)
{
    return kernel->op == c->op && (kernel->packed_inputs & ~c->constants) == 0 &&
           kernel->applicable(problem) &&
           (!kernel->runs_on || kernel->runs_on(problem, kernel_case_target(kernel)->machine));
}

bool kernel_case_is_taken(const char *text, bool (*takes)(const ry_problem *problem))
{
    kernel_case c;
    ry_tensor in[CASE_OPERANDS], out[CASE_OPERANDS];
    kernel_case_parse(&c, text);
    const ry_problem problem = kernel_case_problem(&c, CASE_NCHW, in, out);
    const bool taken = takes(&problem);
    kernel_case_end(&c);
    return taken;
}

bool kernel_case_applicable(const kernel_case *c, const ry_kernel *kernel, case_layout layout)
{
    ry_tensor in[CASE_OPERANDS], out[CASE_OPERANDS];
    ry_problem problem = kernel_case_problem(c, layout, in, out);
    return fits(c, kernel, &problem);
}

/* Packs and runs as a device would whose threads take tasks in an unfortunate order: backwards, on
 * alternating workers. */
static void execute_backwards(const ry_query *query, const void *const *in, void *const *out,
                              int64_t (*actual)[RY_MAX_RANK])
{
    const ry_kernel *kernel = query->kernel;
    const ry_problem *problem = query->problem;
    ry_prepared prepared = {0};
    ry_error error = {0};
    assert_int_equal(ry_prepare(query, ~0u, &prepared, &error), RYND_OK);
    assert_true(prepared.scratch % RY_ALIGNMENT == 0);
    void *state = ry_allocate(&guarded_allocator, prepared.state_size),
         *packed = ry_allocate(&guarded_allocator, prepared.packed);
    void *workspace = ry_allocate(&guarded_allocator, prepared.workspace);
    char *scratch = ry_allocate(&guarded_allocator, prepared.scratch * WORKERS);
    every_kernel_initialise(&prepared, state);
    ry_cpu_launch launch = {.problem = problem,
                            .prepared = &prepared,
                            .state = state,
                            .in = in,
                            .out = out,
                            .packed = packed,
                            .packed_out = packed,
                            .workspace = workspace,
                            .scratch = scratch,
                            .actual = actual};
    for (size_t t = kernel->pack ? prepared.pack_tasks : 0; t-- > 0;) {
        kernel->pack(&launch, t);
    }
    for (int phase = 0; phase < prepared.phases; phase++) {
        for (size_t t = prepared.tasks[phase]; t-- > 0;) {
            if (prepared.scratch) {
                memset(scratch, GARBAGE_BYTE, prepared.scratch * WORKERS);
            }
            every_kernel_run(&launch, phase, t, (unsigned)(t % WORKERS));
        }
    }
    ry_release(&guarded_allocator, scratch);
    ry_release(&guarded_allocator, workspace);
    ry_release(&guarded_allocator, packed);
    ry_release(&guarded_allocator, state);
}

/* The output that overwrites input i, or -1. */
static int output_over(const kernel_case *c, int i)
{
    for (int o = 0; o < c->outputs; o++) {
        if (c->over[o] == i + 1) {
            return o;
        }
    }
    return -1;
}

static void check_inputs(const kernel_case *c, const placed *in, const ry_tensor *descriptions)
{
    for (int i = 0; i < c->inputs; i++) {
        if (output_over(c, i) >= 0) {
            continue;
        }
        placed again = place(&c->in[i], &descriptions[i], true);
        if (again.size && memcmp(again.memory, in[i].memory, again.size) != 0) {
            fail_msg("a kernel wrote to input %d", i);
        }
        ry_release(&guarded_allocator, again.memory);
    }
}

/* What a kernel's queries are for: a CPU of its instruction set, or the device that tests have. */
const ry_target *kernel_case_target(const ry_kernel *kernel)
{
    return kernel->device == RY_DEVICE_gpu ? gpu_run_target() : every_kernel_target(kernel->isa);
}

static rynd_status run_on_gpu(const ry_query *query, const placed *in, const placed *out,
                              ry_error *error)
{
    gpu_operand from[CASE_OPERANDS], to[CASE_OPERANDS];
    for (int i = 0; i < query->problem->inputs; i++) {
        from[i] = (gpu_operand){in[i].memory, in[i].size, in[i].memory};
    }
    for (int i = 0; i < query->problem->outputs; i++) {
        to[i] = (gpu_operand){out[i].memory, out[i].size, out[i].memory};
    }
    return gpu_run(query, from, to, error);
}

static void run_case(kernel_case *c, const ry_kernel *kernel, case_layout layout, bool backwards)
{
    ry_tensor in[CASE_OPERANDS], out[CASE_OPERANDS];
    placed placed_in[CASE_OPERANDS], placed_out[CASE_OPERANDS];
    const void *in_data[CASE_OPERANDS];
    void *out_data[CASE_OPERANDS];
    ry_problem problem = kernel_case_problem(c, layout, in, out);
    if (!fits(c, kernel, &problem)) {
        fail_msg("%s is not applicable in layout %s", kernel->name, kernel_case_layouts[layout]);
    }
    for (int i = 0; i < c->inputs; i++) {
        placed_in[i] = place(&c->in[i], &in[i], true);
        in_data[i] = placed_in[i].memory;
    }
    for (int i = 0; i < c->outputs; i++) {
        placed_out[i] = c->over[i] ? placed_in[c->over[i] - 1] : place(&c->out[i], &out[i], false);
        out_data[i] = placed_out[i].memory;
    }
    memset(c->actual, 0xff, sizeof c->actual);
    const ry_query query = {kernel, &problem, kernel_case_target(kernel), c->form};
    const bool on_gpu = kernel->device == RY_DEVICE_gpu;
    if (backwards) {
        execute_backwards(&query, in_data, out_data, c->actual);
    } else {
        ry_error error = {0};
        rynd_status status = on_gpu ? run_on_gpu(&query, placed_in, placed_out, &error)
                                    : ry_kernel_execute(&query, in_data, out_data, c->actual,
                                                        &guarded_allocator, &error);
        if (status != RYND_OK) {
            fail_msg("%s: %s", kernel->name, error.text);
        }
    }
    check_inputs(c, placed_in, in);
    for (int i = 0; i < c->inputs; i++) {
        if (output_over(c, i) < 0) {
            ry_release(&guarded_allocator, placed_in[i].memory);
        }
    }
    for (int i = 0; i < c->outputs; i++) {
        if (ry_tensor_present(&c->out[i])) {
            check_gaps(&placed_out[i]);
            ry_tensor_copy(&c->out[i], &placed_out[i].view);
            ry_release(&guarded_allocator, placed_out[i].memory);
        }
    }
}

void kernel_case_run(kernel_case *c, const ry_kernel *kernel, case_layout layout)
{
    run_case(c, kernel, layout, false);
}

/* The bits of every output, one after another. */
static unsigned char *snapshot(const kernel_case *c, size_t *size)
{
    *size = 0;
    for (int i = 0; i < c->outputs; i++) {
        *size += ry_tensor_present(&c->out[i]) ? ry_tensor_bytes(&c->out[i]) : 0;
    }
    unsigned char *bytes = malloc(*size + 1), *to = bytes;
    assert_non_null(bytes);
    for (int i = 0; i < c->outputs; i++) {
        if (ry_tensor_present(&c->out[i])) {
            memcpy(to, c->out[i].data, ry_tensor_bytes(&c->out[i]));
            to += ry_tensor_bytes(&c->out[i]);
        }
    }
    return bytes;
}

unsigned char *kernel_case_bits(kernel_case *c, const ry_kernel *kernel, case_layout layout,
                                size_t *size)
{
    size_t backwards_size;
    if (kernel->device == RY_DEVICE_gpu) { /* whose groups run in any order */
        run_case(c, kernel, layout, false);
        return snapshot(c, size);
    }
    run_case(c, kernel, layout, true);
    unsigned char *backwards = snapshot(c, &backwards_size);
    run_case(c, kernel, layout, false);
    unsigned char *forwards = snapshot(c, size);
    if (*size != backwards_size || memcmp(forwards, backwards, *size) != 0) {
        fail_msg("%s, layout %s: the order of tasks changes the result: %s", kernel->name,
                 kernel_case_layouts[layout], c->text);
    }
    free(backwards);
    return forwards;
}

static bool may_be_over(const kernel_case *c, const ry_kernel *kernel, int o, int i)
{
    const ry_shape in = ry_tensor_shape(&c->in[i]), out = ry_tensor_shape(&c->out[o]);
    return o < RY_MAX_OVER && kernel->over[o] >> i & 1u && ry_tensor_present(&c->in[i]) &&
           ry_tensor_present(&c->out[o]) && c->in[i].dtype == c->out[o].dtype &&
           ry_shape_equal(&in, &out);
}

static void run_in_place(kernel_case *c, const ry_kernel *kernel, case_layout layout,
                         const unsigned char *expected, size_t expected_size)
{
    size_t size;
    unsigned char *bits = kernel_case_bits(c, kernel, layout, &size);
    if (size != expected_size || memcmp(bits, expected, size) != 0) {
        fail_msg("%s, layout %s: an output over an input has another result: %s", kernel->name,
                 kernel_case_layouts[layout], c->text);
    }
    free(bits);
}

void kernel_case_in_place(kernel_case *c, const ry_kernel *kernel, case_layout layout,
                          const unsigned char *bits, size_t size)
{
    int together[CASE_OPERANDS] = {0}, count = 0;
    for (int o = 0; o < c->outputs; o++) {
        for (int i = 0; i < c->inputs && i < 32; i++) {
            if (!may_be_over(c, kernel, o, i)) {
                continue;
            }
            c->over[o] = i + 1;
            run_in_place(c, kernel, layout, bits, size);
            c->over[o] = 0;
            bool taken = together[o] != 0;
            for (int k = 0; k < o; k++) {
                taken |= together[k] == i + 1;
            }
            together[o] = taken ? together[o] : i + 1;
            count += !taken;
        }
    }
    if (count > 1) {
        memcpy(c->over, together, sizeof c->over);
        run_in_place(c, kernel, layout, bits, size);
        memset(c->over, 0, sizeof c->over);
    }
}

int kernel_case_steady(kernel_case *c, const char *name)
{
    const ry_kernel *kernel = every_kernel_find(name);
    unsigned char *first = NULL;
    size_t first_size = 0, size;
    int layouts = 0;
    assert_non_null(kernel);
    for (case_layout layout = 0; layout < CASE_LAYOUTS; layout++) {
        if (!kernel_case_applicable(c, kernel, layout)) {
            continue;
        }
        unsigned char *bits = kernel_case_bits(c, kernel, layout, &size);
        kernel_case_in_place(c, kernel, layout, bits, size);
        if (layouts++ > 0 && (size != first_size || memcmp(bits, first, size) != 0)) {
            fail_msg("%s: layout %s changes the result: %s", name, kernel_case_layouts[layout],
                     c->text);
        }
        free(first);
        first = bits;
        first_size = size;
    }
    free(first);
    return layouts;
}

void kernel_case_known(kernel_case *c, const char *kernel, const double *expected, int64_t count,
                       double tolerance)
{
    const ry_kernel *found = every_kernel_find(kernel);
    assert_true(kernel_case_steady(c, kernel) > 0);
    for (case_layout layout = 0; layout < CASE_LAYOUTS; layout++) {
        if (kernel_case_applicable(c, found, layout)) {
            run_case(c, found, layout, false);
            kernel_case_expect(c, 0, expected, count, tolerance);
        }
    }
}
