/* SPDX-License-Identifier: Apache-2.0 */
/* Plans for inputs that lie anyhow: channels last, as a crop of a larger image, stepped, backwards,
 * repeated. A session reads them where they are, changes no byte, and computes what a plan for
 * row-major inputs computes. Pages that may not be touched are before and behind every input. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "onnx_bytes.h"
#include "strided_networks.h"
#include "tiny_model.h"
#include <rynd/rynd.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAX_BATCH = 4, MAX_OUTPUTS = 3 };

/* How an image lies: its dims from the outermost to the innermost, those of the larger image that
 * it is a part of, the step of its elements along each dim. */
typedef struct lie {
    const char *name;
    int order[STRIDED_RANK];
    int64_t more[STRIDED_RANK], step[STRIDED_RANK];
    unsigned backwards, repeated; /* bit i: dim i */
} lie;

#define NCHW       \
    {              \
        0, 1, 2, 3 \
    }
#define NHWC       \
    {              \
        0, 2, 3, 1 \
    }
#define ONES       \
    {              \
        1, 1, 1, 1 \
    }
static const lie lies[] = {
    {"row-major", NCHW, {0}, ONES, 0, 0},
    {"channels last", NHWC, {0}, ONES, 0, 0},
    {"cropped", NCHW, {0, 0, 3, 5}, ONES, 0, 0},
    {"cropped, channels last", NHWC, {0, 0, 4, 7}, ONES, 0, 0},
    {"three of four channels", NHWC, {0, 1, 0, 0}, ONES, 0, 0},
    {"every second pixel", NCHW, {0}, {1, 1, 2, 2}, 0, 0},
    {"every third pixel, channels last", NHWC, {0}, {1, 1, 3, 3}, 0, 0},
    {"every second image", NCHW, {0}, {2, 1, 1, 1}, 0, 0},
    {"mirrored", NCHW, {0}, ONES, 0x8, 0},
    {"upside down, channels last", NHWC, {0}, ONES, 0x4, 0},
    {"BGR", NHWC, {0}, ONES, 0x2, 0},
    {"all backwards", NCHW, {0}, ONES, 0xF, 0},
    {"images backwards, cropped", NCHW, {0, 0, 1, 1}, ONES, 0x1, 0},
    {"columns outside", {3, 2, 1, 0}, {0}, ONES, 0, 0},
    {"grey", NCHW, {0}, ONES, 0, 0x2},
    {"one image for all", NHWC, {0}, ONES, 0, 0x1},
    {"one row", NCHW, {0}, ONES, 0, 0x4},
    {"one number", NCHW, {0}, ONES, 0, 0xF},
};
enum { LIES = sizeof lies / sizeof *lies };

/* An image in memory of its own, against a page at either end that may not be touched. */
typedef struct image {
    rynd_tensor tensor;
    uint8_t *pages, *copy;
    size_t mapped, size;
    float *lowest;
} image;

static image make_image(const lie *how, int rank, const int64_t *dim, bool at_end, uint32_t seed)
{
    image m = {.tensor = rynd_tensor_of(NULL, RYND_DTYPE_F32, rank, dim)};
    int64_t step = 1, first = 0, last = 0;
    for (int k = STRIDED_RANK - 1; k >= 0; k--) {
        const int d = how->order[k];
        if (d >= rank) {
            continue;
        }
        const int64_t own = step * how->step[d];
        m.tensor.stride[d] = how->repeated >> d & 1u ? 0 : how->backwards >> d & 1u ? -own : own;
        *(m.tensor.stride[d] < 0 ? &first : &last) += (dim[d] - 1) * m.tensor.stride[d];
        step *= (dim[d] + how->more[d]) * how->step[d];
    }
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    m.size = (size_t)(last - first + 1) * sizeof(float);
    const size_t room = (m.size + page - 1) / page * page;
    m.mapped = room + 2 * page;
    m.pages = mmap(NULL, m.mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(m.pages, MAP_FAILED);
    m.lowest = (float *)(void *)(m.pages + page + (at_end ? room - m.size : 0));
    tiny_values(m.lowest, m.size / sizeof(float), seed);
    m.tensor.data = m.lowest - first;
    m.copy = malloc(m.size);
    assert_non_null(m.copy);
    memcpy(m.copy, m.lowest, m.size);
    assert_int_equal(mprotect(m.pages, page, PROT_NONE), 0);
    assert_int_equal(mprotect(m.pages + page + room, page, PROT_NONE), 0);
    return m;
}

static void free_image(image *m)
{
    assert_memory_equal(m->copy, m->lowest, m->size);
    munmap(m->pages, m->mapped);
    free(m->copy);
}

/* The same numbers, row-major. */
static float *row_major_of(const rynd_tensor *t)
{
    const int64_t count = rynd_tensor_elements(t);
    float *data = malloc((size_t)count * sizeof *data);
    assert_non_null(data);
    for (int64_t i = 0; i < count; i++) {
        int64_t left = i, offset = 0;
        for (int d = t->rank - 1; d >= 0; d--) {
            offset += left % t->dim[d] * t->stride[d];
            left /= t->dim[d];
        }
        data[i] = ((const float *)t->data)[offset];
    }
    return data;
}

static rynd_context *context;

/* The model keeps `bytes`. */
static rynd_model *load(const strided_network *n, const int64_t *dim, onnx_bytes *bytes)
{
    onnx_bytes graph = {0};
    rynd_model *model = NULL;
    n->build(&graph);
    add_input(&graph, make_value("x", n->rank, dim));
    for (int i = 0; i < n->outputs; i++) {
        char name[] = {'y', (char)('0' + i), 0};
        add_output(&graph, make_value(name, -1, NULL));
    }
    *bytes = make_model(10, 18, graph);
    if (rynd_model_load_memory(context, bytes->data, bytes->size, &model) != RYND_OK) {
        fail_msg("%s: %s", n->name, rynd_last_error());
    }
    return model;
}

static rynd_plan *plan_for(rynd_model *model, const rynd_tensor *x, rynd_accuracy accuracy)
{
    rynd_tensor description = *x;
    description.data = NULL;
    const rynd_plan_options options =
        RYND_SIZED(rynd_plan_options, .inputs = &description, .accuracy = accuracy);
    rynd_plan *plan = NULL;
    if (rynd_plan_create(model, &options, &plan) != RYND_OK) {
        fail_msg("%s", rynd_last_error());
    }
    return plan;
}

typedef struct results {
    rynd_tensor y[MAX_OUTPUTS]; /* row-major */
} results;

static results run(rynd_session *session, const rynd_tensor *x, int outputs)
{
    results r;
    if (rynd_session_bind(session, "x", x) != RYND_OK || rynd_session_run(session) != RYND_OK) {
        fail_msg("%s", rynd_last_error());
    }
    assert_int_equal(rynd_session_run(session), RYND_OK);
    for (int i = 0; i < outputs; i++) {
        assert_int_equal(rynd_session_get_output(session, (size_t)i, &r.y[i]), RYND_OK);
        r.y[i].data = row_major_of(&r.y[i]);
    }
    return r;
}

static void free_results(results *r, int outputs)
{
    for (int i = 0; i < outputs; i++) {
        free(r->y[i].data);
    }
}

static void compare(const results *a, const results *b, int outputs, const char *what)
{
    for (int i = 0; i < outputs; i++) {
        const int64_t count = rynd_tensor_elements(&a->y[i]);
        const float *p = a->y[i].data, *q = b->y[i].data;
        double wrong = 0, all = 0;
        assert_int_equal(count, rynd_tensor_elements(&b->y[i]));
        for (int64_t k = 0; k < count; k++) {
            wrong += ((double)p[k] - q[k]) * ((double)p[k] - q[k]);
            all += (double)p[k] * p[k];
        }
        if (!(sqrt(wrong) <= 1e-5 * sqrt(all))) {
            fail_msg("%s: y%d is wrong by %g of %g", what, i, sqrt(wrong), sqrt(all));
        }
    }
}

static bool shares(const rynd_tensor *t)
{
    bool any = false;
    for (int d = 0; d < t->rank; d++) {
        any |= t->dim[d] > 1 && t->stride[d] == 0;
    }
    return any;
}

static void check(const strided_network *n, const lie *how, int64_t batch, bool at_end)
{
    char what[128];
    const int64_t images[] = {batch, STRIDED_CHANNELS, STRIDED_HEIGHT, STRIDED_WIDTH},
                  rows[] = {batch * 5, STRIDED_CHANNELS};
    const int64_t *dim = n->rank == 4 ? images : rows;
    snprintf(what, sizeof what, "%s, %s, batch %d%s", n->name, how->name, (int)batch,
             at_end ? ", at the end" : "");
    image x = make_image(how, n->rank, dim, at_end, 11);
    rynd_tensor plain = rynd_tensor_of(row_major_of(&x.tensor), RYND_DTYPE_F32, n->rank, dim),
                planned;
    onnx_bytes bytes;
    rynd_model *model = load(n, dim, &bytes);
    rynd_plan *plan = plan_for(model, &x.tensor, RYND_ACCURACY_STRICT),
              *row_major = plan_for(model, &plain, RYND_ACCURACY_STRICT);
    rynd_session *session = NULL, *expecting = NULL;
    assert_int_equal(rynd_session_create(plan, &session), RYND_OK);
    assert_int_equal(rynd_session_create(row_major, &expecting), RYND_OK);
    assert_int_equal(rynd_plan_get_input(plan, 0, &planned), RYND_OK);
    for (int d = 0; d < n->rank; d++) {
        assert_true(dim[d] == 1 || planned.stride[d] == x.tensor.stride[d]);
    }
    results expected = run(expecting, &plain, n->outputs),
            got = run(session, &x.tensor, n->outputs);
    assert_int_equal(rynd_session_copied(session), 0);
    compare(&expected, &got, n->outputs, what);
    free_results(&got, n->outputs);
    /* row-major against a strided plan, and strided against a row-major plan */
    const bool same = memcmp(planned.stride, plain.stride, sizeof planned.stride) == 0;
    const size_t moved_bytes = same ? 0 : (size_t)rynd_tensor_elements(&plain) * sizeof(float);
    if (shares(&x.tensor)) {
        assert_int_equal(rynd_session_bind(session, "x", &plain), RYND_ERROR_UNSUPPORTED);
    } else {
        got = run(session, &plain, n->outputs);
        assert_int_equal(rynd_session_copied(session), moved_bytes);
        compare(&expected, &got, n->outputs, what);
        free_results(&got, n->outputs);
    }
    got = run(expecting, &x.tensor, n->outputs);
    assert_int_equal(rynd_session_copied(expecting), moved_bytes);
    compare(&expected, &got, n->outputs, what);
    free_results(&got, n->outputs);
    free_results(&expected, n->outputs);
    rynd_session_destroy(session);
    rynd_session_destroy(expecting);
    rynd_plan_destroy(plan);
    rynd_plan_destroy(row_major);
    rynd_model_destroy(model);
    onnx_bytes_free(&bytes);
    free(plain.data);
    free_image(&x);
}

static void any_network_reads_any_strides(void **state)
{
    (void)state;
    for (int n = 0; n < STRIDED_NETWORKS; n++) {
        for (int i = 0; i < LIES; i++) {
            for (int64_t batch = 1; batch <= MAX_BATCH; batch += MAX_BATCH - 1) {
                check(&strided_networks[n], &lies[i], batch, (i + n) % 2);
            }
            check(&strided_networks[n], &lies[i], 1, (i + n + 1) % 2);
        }
    }
}

/* One image, of which each row is backwards, in a buffer: its first element is not the lowest. */
static void a_buffer_has_the_plan_s_strides(void **state)
{
    (void)state;
    static const lie how = {"mirrored", NHWC, {0, 0, 0, 2}, ONES, 0x8, 0};
    const int64_t dim[] = {1, STRIDED_CHANNELS, STRIDED_HEIGHT, STRIDED_WIDTH};
    image x = make_image(&how, STRIDED_RANK, dim, true, 5);
    const size_t offset = (size_t)((float *)x.tensor.data - x.lowest) * sizeof(float);
    onnx_bytes bytes;
    rynd_model *model = load(&strided_networks[0], dim, &bytes);
    rynd_plan *plan = plan_for(model, &x.tensor, RYND_ACCURACY_STRICT);
    rynd_session *session = NULL;
    rynd_buffer *buffer = NULL;
    rynd_tensor got;
    assert_int_equal(rynd_session_create(plan, &session), RYND_OK);
    results expected = run(session, &x.tensor, 1);
    assert_int_equal(rynd_buffer_import(context, x.lowest, x.size, &buffer), RYND_OK);
    assert_int_equal(rynd_session_bind_buffer(session, "x", buffer, offset - sizeof(float)),
                     RYND_ERROR_ARGUMENT);
    assert_int_equal(rynd_session_bind_buffer(session, "x", buffer, offset + sizeof(float)),
                     RYND_ERROR_ARGUMENT);
    assert_int_equal(rynd_session_bind_buffer(session, "x", buffer, offset), RYND_OK);
    assert_int_equal(rynd_session_run(session), RYND_OK);
    assert_int_equal(rynd_session_copied(session), 0);
    assert_int_equal(rynd_session_get_output(session, 0, &got), RYND_OK);
    assert_memory_equal(got.data, expected.y[0].data,
                        (size_t)rynd_tensor_elements(&got) * sizeof(float));
    free_results(&expected, 1);
    rynd_session_destroy(session);
    rynd_buffer_destroy(buffer);
    rynd_plan_destroy(plan);
    rynd_model_destroy(model);
    onnx_bytes_free(&bytes);
    free_image(&x);
}

static void copies_are_counted(void **state)
{
    (void)state;
    enum { IMAGE = STRIDED_CHANNELS * STRIDED_HEIGHT * STRIDED_WIDTH, OUTPUTS = 16 };
    static float numbers[IMAGE + 1], y_numbers[2 * OUTPUTS];
    const int64_t dim[] = {1, STRIDED_CHANNELS, STRIDED_HEIGHT, STRIDED_WIDTH},
                  y_dim[] = {1, OUTPUTS};
    onnx_bytes bytes;
    rynd_model *model = load(&strided_networks[0], dim, &bytes);
    rynd_tensor x = rynd_tensor_of(numbers, RYND_DTYPE_F32, STRIDED_RANK, dim),
                y = rynd_tensor_of(y_numbers, RYND_DTYPE_F32, 2, y_dim);
    rynd_plan *plan = plan_for(model, &x, RYND_ACCURACY_STRICT);
    rynd_session *session = NULL;
    assert_int_equal(rynd_session_create(plan, &session), RYND_OK);
    assert_int_equal(rynd_session_copied(session), 0);
    x.stride[0] = -12345; /* irrelevant for a single image */
    y.stride[0] = 7;
    assert_int_equal(rynd_session_bind(session, "x", &x), RYND_OK);
    assert_int_equal(rynd_session_bind(session, "y0", &y), RYND_OK);
    assert_int_equal(rynd_session_copied(session), 0);
    y.stride[1] = 2;
    assert_int_equal(rynd_session_bind(session, "y0", &y), RYND_OK);
    assert_int_equal(rynd_session_copied(session), OUTPUTS * sizeof(float));
    x.data = (char *)numbers + 1;
    assert_int_equal(rynd_session_bind(session, "x", &x), RYND_OK);
    assert_int_equal(rynd_session_copied(session), (OUTPUTS + IMAGE) * sizeof(float));
    assert_int_equal(rynd_session_run(session), RYND_OK);
    rynd_session_destroy(session);
    rynd_plan_destroy(plan);
    rynd_model_destroy(model);
    onnx_bytes_free(&bytes);
}

static int begin(void **state)
{
    (void)state;
    const rynd_context_options options = RYND_SIZED(rynd_context_options, .threads = 2);
    return rynd_context_create(&options, &context) == RYND_OK ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    rynd_context_destroy(context);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_network_reads_any_strides),
        cmocka_unit_test(a_buffer_has_the_plan_s_strides),
        cmocka_unit_test(copies_are_counted),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
