/* SPDX-License-Identifier: Apache-2.0 */
/* Random problems for kernels with sums of products. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "product_case.h"
#include "number_format.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define PATTERN 0xa5

static uint32_t random_state = 12345;

uint32_t case_random(uint32_t below)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(random_state >> 8) * below >> 24);
}

int64_t case_between(int64_t low, int64_t high)
{
    return low + (int64_t)case_random((uint32_t)(high - low + 1));
}

ry_tensor case_tensor(ry_dtype dtype, int rank, const int64_t *dim, case_layout layout)
{
    const ry_shape shape = ry_shape_of(rank, dim);
    if (layout == CASE_CHANNELS_LAST) {
        return ry_tensor_channels_last(dtype, &shape, NULL);
    }
    ry_tensor tensor = ry_tensor_row_major(dtype, &shape, NULL);
    if (layout == CASE_STRIDED) {
        int64_t step = 2;
        for (int i = rank - 1; i >= 0; i--) {
            tensor.stride[i] = step;
            step = step * dim[i] + 3;
        }
    }
    return tensor;
}

static size_t span(const ry_tensor *tensor)
{
    int64_t last = 0;
    for (int i = 0; i < tensor->rank; i++) {
        if (tensor->dim[i] == 0) {
            return 0;
        }
        last += (tensor->dim[i] - 1) * tensor->stride[i];
    }
    return (size_t)(last + 1) * ry_dtype_size((ry_dtype)tensor->dtype);
}

static void map_tensor(product_case *c, int i, const ry_tensor *tensor)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = span(tensor),
                 pages = (bytes + 64 + page - 1) / page * page;
    c->mapped[i] = pages + page;
    c->mapping[i] =
        mmap(NULL, pages + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(c->mapping[i] != MAP_FAILED);
    assert_int_equal(mprotect((char *)c->mapping[i] + pages, page, PROT_NONE), 0);
    c->data[i] = (char *)c->mapping[i] + pages - bytes;
    memset(c->mapping[i], PATTERN, pages);
}

static void fill_tensor(const ry_tensor *tensor, void *data)
{
    int64_t index[RY_MAX_RANK] = {0};
    const ry_dtype dtype = (ry_dtype)tensor->dtype;
    do {
        const int64_t at = ry_index_offset(tensor, index);
        if (ry_dtype_is_float(dtype)) {
            ry_set_f64(dtype, data, at, (double)case_random(2001) / 1000.0 - 1.0);
        } else {
            ry_set_i64(dtype, data, at, (int64_t)case_random(65536) * 65536 + case_random(65536));
        }
    } while (ry_index_next(tensor->rank, tensor->dim, index));
}

void case_fill(product_case *c)
{
    c->problem.in = c->in;
    c->problem.out = c->out;
    c->problem.outputs = 1;
    for (int i = 0; i < c->problem.inputs; i++) {
        if (ry_tensor_present(&c->in[i])) {
            map_tensor(c, i, &c->in[i]);
            fill_tensor(&c->in[i], c->data[i]);
        }
    }
    map_tensor(c, CASE_INPUTS, &c->out[0]);
}

void case_free(product_case *c)
{
    for (int i = 0; i <= CASE_INPUTS; i++) {
        if (c->mapping[i]) {
            munmap(c->mapping[i], c->mapped[i]);
        }
    }
    memset(c, 0, sizeof *c);
}

static void describe(const char *what, const ry_tensor *t)
{
    print_error(" %s=", what);
    for (int i = 0; i < t->rank; i++) {
        print_error("%s%lld/%lld", i ? "x" : "", (long long)t->dim[i], (long long)t->stride[i]);
    }
    print_error(":%s", ry_dtype_name((ry_dtype)t->dtype));
}

static void fail_case(const product_case *c, const ry_kernel *kernel, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void fail_case(const product_case *c, const ry_kernel *kernel, const char *format, ...)
{
    static const char *const names[CASE_INPUTS] = {"in0", "in1", "in2", "in3", "in4"};
    char text[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    print_error("%s: %s:", kernel->name, text);
    for (int i = 0; i < c->problem.inputs; i++) {
        if (ry_tensor_present(&c->in[i])) {
            describe(names[i], &c->in[i]);
        }
    }
    describe("out", &c->out[0]);
    int count;
    const ry_field *field = ry_op_fields(c->problem.op, &count);
    for (int i = 0; i < count; i++) {
        const char *at = (const char *)&c->problem.attrs + field[i].offset;
        if (field[i].kind == RY_FIELD_INTS) {
            const ry_ints *list = (const ry_ints *)(const void *)at;
            print_error(" %s=", field[i].name);
            for (int j = 0; j < list->count; j++) {
                print_error("%s%lld", j ? "," : "", (long long)list->at[j]);
            }
        } else if (field[i].kind == RY_FIELD_INT) {
            print_error(" %s=%lld", field[i].name, (long long)*(const int64_t *)(const void *)at);
        } else if (field[i].kind == RY_FIELD_ENUM) {
            print_error(" %s=%s", field[i].name, field[i].words[*(const int *)(const void *)at]);
        }
    }
    fail_msg("%s: %s", kernel->name, text);
}

static void *take_garbage(size_t size)
{
    void *memory = size ? ry_allocate(&ry_system_allocator, size + 64) : NULL;
    if (memory) {
        memset(memory, 0xff, size + 64);
    }
    return memory;
}

static void check_behind(const product_case *c, const ry_kernel *kernel, const char *what,
                         const void *memory, size_t size)
{
    for (size_t i = 0; memory && i < 64; i++) {
        if (((const unsigned char *)memory)[size + i] != 0xff) {
            fail_case(c, kernel, "wrote %zu bytes behind its %s of %zu", i, what, size);
        }
    }
}

enum { WORKERS = 3, ORDERS = 3 };

/* Runs every phase with its tasks in an order of its own, on changing workers. */
static void run_in_order(product_case *c, const ry_kernel *kernel, int order)
{
    ry_prepared prepared = {0};
    ry_error error;
    if (every_kernel_prepare(kernel, &c->problem, &prepared, &error) != RYND_OK) {
        fail_case(c, kernel, "prepare: %s", error.text);
    }
    if (prepared.scratch % RY_ALIGNMENT) {
        fail_case(c, kernel, "scratch of %zu bytes is no multiple of the alignment",
                  prepared.scratch);
    }
    void *state = take_garbage(prepared.state_size), *packed = take_garbage(prepared.packed);
    void *workspace = take_garbage(prepared.workspace),
         *scratch = take_garbage(prepared.scratch * WORKERS);
    every_kernel_initialise(&prepared, state);
    const void *in[CASE_INPUTS], *constant[CASE_INPUTS];
    void *out[1] = {c->data[CASE_INPUTS]};
    for (int i = 0; i < CASE_INPUTS; i++) {
        in[i] = c->data[i];
        constant[i] = kernel->packed_inputs >> i & 1u ? c->data[i] : NULL;
    }
    ry_cpu_launch launch = {.problem = &c->problem,
                            .prepared = &prepared,
                            .state = state,
                            .in = constant,
                            .out = out,
                            .packed = packed,
                            .packed_out = packed,
                            .workspace = workspace,
                            .scratch = scratch};
    for (size_t i = 0; i < prepared.pack_tasks; i++) {
        kernel->pack(&launch, order == 1 ? prepared.pack_tasks - 1 - i : i);
    }
    launch.in = in;
    for (int phase = 0; phase < prepared.phases; phase++) {
        const size_t tasks = prepared.tasks[phase];
        for (size_t i = 0; i < tasks; i++) {
            const size_t middle = (i + tasks / 2) % tasks;
            const size_t task = order == 0 ? i : order == 1 ? tasks - 1 - i : middle;
            every_kernel_run(&launch, phase, task, (unsigned)((i + (size_t)order) % WORKERS));
        }
    }
    check_behind(c, kernel, "state", state, prepared.state_size);
    check_behind(c, kernel, "packed memory", packed, prepared.packed);
    check_behind(c, kernel, "workspace", workspace, prepared.workspace);
    check_behind(c, kernel, "scratch", scratch, prepared.scratch * WORKERS);
    ry_release(&ry_system_allocator, state);
    ry_release(&ry_system_allocator, packed);
    ry_release(&ry_system_allocator, workspace);
    ry_release(&ry_system_allocator, scratch);
}

static double number_at(ry_dtype dtype, const void *data, int64_t at)
{
    return dtype == RY_f32 ? (double)((const float *)data)[at] : ry_get_f64(dtype, data, at);
}

/* The first element that is not as expected (its offset), or -1. */
static int64_t first_wrong(const product_case *c, const ry_kernel *kernel,
                           const unsigned char *expected)
{
    const ry_tensor *y = &c->out[0];
    const ry_dtype dtype = (ry_dtype)y->dtype;
    /* Error of a sum in f32 as a part of its terms, times what is rare; ten times that for what
     * class near32 does to them in float32. */
    const double sum = kernel->accuracy == RY_ACCURACY_near32 && dtype == RY_f32 ? 3e-5 : 3e-6;
    int64_t index[RY_MAX_RANK] = {0};
    do {
        const int64_t at = ry_index_offset(y, index);
        if (!ry_dtype_is_float(dtype)) {
            if (ry_get_i64(dtype, expected, at) != ry_get_i64(dtype, c->data[CASE_INPUTS], at)) {
                return at;
            }
            continue;
        }
        const double want = number_at(dtype, expected, at),
                     got = number_at(dtype, c->data[CASE_INPUTS], at);
        /* both were rounded to the output's type */
        if (!(fabs(want - got) <= sum * (1 + sqrt(c->terms)) + 2 * rounding_error(dtype, want))) {
            return at;
        }
    } while (ry_index_next(y->rank, y->dim, index));
    return -1;
}

/* Nothing outside the output's elements was written. */
static void check_gaps(const product_case *c, const ry_kernel *kernel)
{
    const ry_tensor *y = &c->out[0];
    const size_t size = ry_dtype_size((ry_dtype)y->dtype), bytes = span(y);
    unsigned char *written = ry_allocate_array(&ry_system_allocator, bytes + 1, 1);
    assert_non_null(written);
    int64_t index[RY_MAX_RANK] = {0};
    do {
        memset(written + (size_t)ry_index_offset(y, index) * size, 1, size);
    } while (ry_index_next(y->rank, y->dim, index));
    const unsigned char *data = c->data[CASE_INPUTS];
    for (size_t i = 0; i < bytes; i++) {
        if (!written[i] && data[i] != PATTERN) {
            fail_case(c, kernel, "wrote into a gap at byte %zu", i);
        }
    }
    for (const unsigned char *p = c->mapping[CASE_INPUTS]; p < data; p++) {
        if (*p != PATTERN) {
            fail_case(c, kernel, "wrote %zu bytes before the output", (size_t)(data - p));
        }
    }
    ry_release(&ry_system_allocator, written);
}

/* What kernels are held to: the reference's output, and for classes bf16 and tf32 that of operands
 * rounded to those, both or the weights alone. */
enum { TRUTH_EXACT, TRUTH_BOTH, TRUTH_WEIGHTS, TRUTH_TF32, TRUTHS };

typedef struct truths {
    const ry_kernel *reference;
    unsigned char *of[TRUTHS]; /* NULL until a kernel needs it: the reference takes its time */
} truths;

/* Every element of an operand's memory in tf32's or bfloat16's numbers. */
static void *rounded(const product_case *c, int input, bool tf32)
{
    const ry_tensor *t = &c->in[input];
    const ry_dtype dtype = (ry_dtype)t->dtype;
    void *copy = ry_allocate(&ry_system_allocator, span(t) + 1);
    int64_t index[RY_MAX_RANK] = {0};
    assert_non_null(copy);
    do {
        const int64_t at = ry_index_offset(t, index);
        ry_set_f64(dtype, copy, at, nearest_operand(tf32, ry_get_f64(dtype, c->data[input], at)));
    } while (ry_index_next(t->rank, t->dim, index));
    return copy;
}

static unsigned char *output_of(const product_case *c, const ry_kernel *reference, int which)
{
    unsigned char *expected = ry_allocate(&ry_system_allocator, span(&c->out[0]) + 1);
    assert_non_null(expected);
    const void *in[CASE_INPUTS];
    void *out[1] = {expected}, *copies[2] = {NULL};
    ry_error error;
    for (int i = 0; i < CASE_INPUTS; i++) {
        const bool rounds =
            i == 0 ? which == TRUTH_BOTH || which == TRUTH_TF32 : i == 1 && which != TRUTH_EXACT;
        in[i] = rounds ? copies[i] = rounded(c, i, which == TRUTH_TF32) : c->data[i];
    }
    if (every_kernel_execute(reference, &c->problem, in, out, NULL, &ry_system_allocator, &error) !=
        RYND_OK) {
        fail_case(c, reference, "%s", error.text);
    }
    ry_release(&ry_system_allocator, copies[0]);
    ry_release(&ry_system_allocator, copies[1]);
    return expected;
}

static const unsigned char *truth(truths *t, const product_case *c, int which)
{
    if (!t->of[which]) {
        t->of[which] = output_of(c, t->reference, which);
    }
    return t->of[which];
}

static void truths_end(truths *t)
{
    for (int i = 0; i < TRUTHS; i++) {
        ry_release(&ry_system_allocator, t->of[i]);
    }
}

static void compare(const product_case *c, const ry_kernel *kernel, truths *t)
{
    const ry_dtype dtype = (ry_dtype)c->out[0].dtype;
    const int first = kernel->accuracy == RY_ACCURACY_tf32    ? TRUTH_TF32
                      : kernel->accuracy > RY_ACCURACY_near32 ? TRUTH_BOTH
                                                              : TRUTH_EXACT;
    int64_t at = first_wrong(c, kernel, truth(t, c, first));
    if (at >= 0 && first == TRUTH_BOTH && first_wrong(c, kernel, truth(t, c, TRUTH_WEIGHTS)) < 0) {
        at = -1;
    }
    if (at >= 0) {
        fail_case(c, kernel, "element %lld is %.9g, not %.9g", (long long)at,
                  ry_get_f64(dtype, c->data[CASE_INPUTS], at), ry_get_f64(dtype, t->of[first], at));
    }
    check_gaps(c, kernel);
}

static void check_kernel(product_case *c, const ry_kernel *kernel, truths *t, int orders)
{
    const size_t bytes = span(&c->out[0]);
    unsigned char *first = ry_allocate(&ry_system_allocator, bytes + 1);
    assert_non_null(first);
    for (int order = 0; order < orders; order++) {
        memset(c->data[CASE_INPUTS], PATTERN, bytes);
        run_in_order(c, kernel, order);
        if (order == 0) {
            compare(c, kernel, t);
            memcpy(first, c->data[CASE_INPUTS], bytes);
        } else if (memcmp(first, c->data[CASE_INPUTS], bytes) != 0) {
            fail_case(c, kernel, "the order of tasks changes the result");
        }
    }
    ry_release(&ry_system_allocator, first);
}

void case_check(product_case *c, const ry_kernel *kernel, const ry_kernel *reference)
{
    assert_ptr_not_equal(kernel, reference);
    truths t = {.reference = reference};
    check_kernel(c, kernel, &t, ORDERS);
    truths_end(&t);
}

void case_forget(product_case *c)
{
    memset(c->data[CASE_INPUTS], PATTERN, span(&c->out[0]));
}

void case_compare(product_case *c, const ry_kernel *kernel, const ry_kernel *reference)
{
    truths t = {.reference = reference};
    compare(c, kernel, &t);
    truths_end(&t);
}

size_t case_bytes(const product_case *c, int i)
{
    return span(i < CASE_INPUTS ? &c->in[i] : &c->out[0]);
}

/* AMX in plain C takes half the time of all kernels together; test_amx_random runs it in every
 * order. */
static bool is_emulated(const ry_kernel *kernel)
{
    return kernel->isa == RY_ISA_generic && strstr(kernel->name, "_split_");
}

int case_check_some(product_case *c, const char *reference, const char *name)
{
    truths t = {.reference = every_kernel_find(reference)};
    assert_non_null(t.reference);
    ry_cpu_info cpu;
    ry_cpu_detect(&cpu);
    int checked = 0;
    const ry_accuracy loosest =
        c->problem.accuracy > RY_ACCURACY_near32 ? c->problem.accuracy : RY_ACCURACY_near32;
    for (size_t i = 0; i < every_kernel_count(); i++) {
        const ry_kernel *kernel = every_kernel(i);
        if (kernel->device == RY_DEVICE_cpu && kernel->op == c->problem.op &&
            kernel != t.reference && kernel->accuracy <= loosest && kernel->isa <= cpu.isa &&
            (!name || strstr(kernel->name, name)) && kernel->applicable(&c->problem)) {
            check_kernel(c, kernel, &t, is_emulated(kernel) ? 1 : ORDERS);
            checked++;
        }
    }
    truths_end(&t);
    return checked;
}

int case_check_all(product_case *c, const char *reference)
{
    return case_check_some(c, reference, getenv("RYND_TEST_KERNEL"));
}
