/* SPDX-License-Identifier: Apache-2.0 */
/* Memory runs out at the n-th allocation, for every n while a small model is loaded, planned and
 * run, while an operator or an expression with its gradient is made and run, and while a model is
 * placed: an error that says so, no leak, no crash. Allocations are counted where the library asks
 * its context's hooks, and where it asks the C library (a kernel's `prepare` does): the linker puts
 * __wrap_aligned_alloc in the place of aligned_alloc. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "devices_file.h"
#include "tiny_model.h"
#include <rynd/rynd.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

typedef struct counting {
    /* allocations before a failure; with `stay` all later allocations fail, too */
    atomic_long left;
    atomic_long alive; /* live allocations */
    atomic_long taken;
    bool stay;
} counting;

void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

static counting *counted; /* who the C library's allocations count for */

static void *take_counted(counting *c, size_t alignment, size_t size)
{
    long left = atomic_fetch_sub(&c->left, 1);
    if (left == 0 || (left < 0 && c->stay)) {
        return NULL;
    }
    void *memory = __real_aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    if (memory) {
        atomic_fetch_add(&c->taken, 1);
    }
    return memory;
}

/* What is taken here and not given back is for AddressSanitizer to find. */
void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return counted ? take_counted(counted, alignment, size) : __real_aligned_alloc(alignment, size);
}

static void *take(void *user, size_t size, size_t alignment)
{
    counting *c = user;
    void *memory = take_counted(c, alignment, size);
    if (memory) {
        atomic_fetch_add(&c->alive, 1);
    }
    return memory;
}

static void give_back(void *user, void *memory)
{
    counting *c = user;
    if (memory) {
        atomic_fetch_sub(&c->alive, 1);
        free(memory);
    }
}

/* The state of one attempt; whatever was made is destroyed at its end. */
typedef struct attempt {
    rynd_context *context;
    rynd_model *model;
    rynd_plan *plan;
    rynd_session *session;
    rynd_expr *expr, *gradient;
    rynd_op *op;
    rynd_fleet *fleet;
    rynd_placement *placement;
    rynd_quantizer *quantizer;
    rynd_evaluation *boxes, *pictures;
    float x[2 * TINY_CHANNELS * TINY_SIDE * TINY_SIDE], y[2 * TINY_CLASSES];
} attempt;

static rynd_status use_model(attempt *a, counting *c)
{
    static uint8_t bytes[TINY_MODEL_CAPACITY];
    const size_t size = tiny_model(bytes);
    rynd_allocator allocator = {take, give_back, c};
    rynd_context_options context_options =
        RYND_SIZED(rynd_context_options, .threads = 2, .allocator = &allocator);
    rynd_plan_options plan_options = RYND_SIZED(rynd_plan_options, .batch = 2);
    rynd_tensor x = rynd_tensor_of(a->x, RYND_DTYPE_F32, 4,
                                   (int64_t[]){2, TINY_CHANNELS, TINY_SIDE, TINY_SIDE});
    rynd_tensor y = rynd_tensor_of(a->y, RYND_DTYPE_F32, 2, (int64_t[]){2, TINY_CLASSES});
    counted = c;
    rynd_status status = rynd_context_create(&context_options, &a->context);
    status = status ? status : rynd_model_load_memory(a->context, bytes, size, &a->model);
    status = status ? status : rynd_plan_create(a->model, &plan_options, &a->plan);
    status = status ? status : rynd_session_create(a->plan, &a->session);
    status = status ? status : rynd_session_bind(a->session, "x", &x);
    status = status ? status : rynd_session_bind(a->session, "y", &y);
    status = status ? status : rynd_session_run(a->session);
    counted = NULL;
    return status;
}

/* The same for evaluations, from the first picture to a figure. */
static rynd_status use_evaluation(attempt *a, counting *c)
{
    static uint8_t pixels[11 * 11];
    rynd_allocator allocator = {take, give_back, c};
    rynd_context_options context_options =
        RYND_SIZED(rynd_context_options, .threads = 1, .allocator = &allocator);
    const rynd_evaluation_options boxes = RYND_SIZED(rynd_evaluation_options, .classes = 2,
                                                     .task = RYND_TASK_DETECT),
                                  pictures =
                                      RYND_SIZED(rynd_evaluation_options, .task = RYND_TASK_IMAGE);
    const rynd_tensor picture =
        rynd_tensor_of(pixels, RYND_DTYPE_U8, 3, (const int64_t[]){11, 11, 1});
    const rynd_box found[10] = {{.right = 9, .bottom = 9, .score = 0.5f}};
    const rynd_object objects[2] = {{.width = 9, .height = 9, .area = 81}};
    rynd_figure figure = RYND_SIZED(rynd_figure);
    counted = c;
    rynd_status status = rynd_context_create(&context_options, &a->context);
    status = status ? status : rynd_evaluation_create(a->context, &boxes, &a->boxes);
    for (int i = 0; i < 3; i++) {
        status = status ? status : rynd_evaluation_add_boxes(a->boxes, found, 10, objects, 2);
    }
    status = status ? status : rynd_evaluation_get_figure(a->boxes, 0, &figure);
    status = status ? status : rynd_evaluation_create(a->context, &pictures, &a->pictures);
    status = status ? status : rynd_evaluation_add_picture(a->pictures, &picture, &picture);
    counted = NULL;
    return status;
}

/* The same for a quantizer, from an example to the written model. */
static rynd_status use_quantizer(attempt *a, counting *c)
{
    static uint8_t bytes[TINY_MODEL_CAPACITY];
    const size_t size = tiny_model(bytes);
    rynd_allocator allocator = {take, give_back, c};
    rynd_context_options context_options =
        RYND_SIZED(rynd_context_options, .threads = 1, .allocator = &allocator);
    const rynd_quantize_options options =
        RYND_SIZED(rynd_quantize_options, .calibrate = RYND_CALIBRATION_MSE, .batch = 2,
                   .equalise = 1, .samples = 1);
    rynd_quantized_info info = RYND_SIZED(rynd_quantized_info);
    const rynd_tensor x = rynd_tensor_of(a->x, RYND_DTYPE_F32, 4,
                                         (int64_t[]){2, TINY_CHANNELS, TINY_SIDE, TINY_SIDE});
    void *data = NULL;
    size_t written;
    counted = c;
    rynd_status status = rynd_context_create(&context_options, &a->context);
    status = status ? status : rynd_model_load_memory(a->context, bytes, size, &a->model);
    status = status ? status : rynd_quantizer_create(a->model, &options, &a->quantizer);
    status = status ? status : rynd_quantizer_observe(a->quantizer, &x);
    status = status ? status : rynd_quantizer_get_info(a->quantizer, &info);
    status = status ? status : rynd_quantizer_save_memory(a->quantizer, &data, &written);
    counted = NULL;
    rynd_memory_free(a->context, data);
    return status;
}

/* The same for an operator with packed weights, made and run. */
static rynd_status use_op(attempt *a, counting *c)
{
    enum { SIDE = 4, PLANE = TINY_CHANNELS * SIDE * SIDE };
    static float x[PLANE], w[TINY_CHANNELS * TINY_CHANNELS * 9], y[PLANE];
    const rynd_allocator allocator = {take, give_back, c};
    const rynd_context_options context_options =
        RYND_SIZED(rynd_context_options, .threads = 2, .allocator = &allocator);
    const rynd_tensor inputs[] = {{0}, {.data = w}, {0}, {0}};
    const rynd_op_options options = RYND_SIZED(rynd_op_options, .inputs = inputs);
    counted = c;
    rynd_status status = rynd_context_create(&context_options, &a->context);
    status =
        status ? status
               : rynd_op_create(a->context, "conv c=3 h=4 w=4 k=3 r=3 s=3 pad=1", &options, &a->op);
    status = status ? status
                    : rynd_op_execute(a->op, (const void *const[]){x, NULL, NULL, NULL},
                                      (void *const[]){y});
    counted = NULL;
    return status;
}

/* And for a model that is cut in two and placed. */
static rynd_status use_place(attempt *a, counting *c)
{
    static uint8_t bytes[TINY_MODEL_CAPACITY];
    const size_t size = tiny_model(bytes);
    const devices_file file = devices_file_make("device a cpu threads=1\ndevice b cpu threads=1\n");
    const rynd_allocator allocator = {take, give_back, c};
    const rynd_context_options context_options =
        RYND_SIZED(rynd_context_options, .threads = 1, .allocator = &allocator);
    const rynd_placement_options options = RYND_SIZED(
        rynd_placement_options, .objective = RYND_OBJECTIVE_MEMORY, .batch = 1, .parts = 2);
    counted = c;
    rynd_status status = rynd_context_create(&context_options, &a->context);
    status = status ? status : rynd_model_load_memory(a->context, bytes, size, &a->model);
    status = status ? status : rynd_fleet_load(file.path, &context_options, &a->fleet);
    status =
        status ? status : rynd_placement_create(a->fleet, &a->model, 1, &options, &a->placement);
    counted = NULL;
    unlink(file.path);
    return status;
}

/* And for an expression and its gradient. */
static rynd_status use_expr(attempt *a, counting *c)
{
    static const char problem[] =
        "expr x0=2x3:f32 x1=3:f32 y0=2x3:f32 y1=2:f32 "
        "program='y0 = x0 * x1; y1 = max(y0) * prod(x0)' axes=1 keepdims=0";
    static float x[6], x1[3], dy[6], dy1[2], dx[6], dx1[3];
    const rynd_allocator allocator = {take, give_back, c};
    const rynd_context_options context_options =
        RYND_SIZED(rynd_context_options, .threads = 1, .allocator = &allocator);
    const int64_t dim[] = {2, 3};
    const rynd_tensor in[] = {
        rynd_tensor_of(x, RYND_DTYPE_F32, 2, dim), rynd_tensor_of(x1, RYND_DTYPE_F32, 1, dim + 1),
        rynd_tensor_of(dy, RYND_DTYPE_F32, 2, dim), rynd_tensor_of(dy1, RYND_DTYPE_F32, 1, dim)};
    const rynd_tensor out[] = {rynd_tensor_of(dx, RYND_DTYPE_F32, 2, dim),
                               rynd_tensor_of(dx1, RYND_DTYPE_F32, 1, dim + 1)};
    counted = c;
    rynd_status status = rynd_context_create(&context_options, &a->context);
    status = status ? status : rynd_expr_create(a->context, problem, NULL, &a->expr);
    status = status ? status : rynd_expr_create_gradient(a->expr, NULL, &a->gradient);
    status = status ? status : rynd_expr_execute(a->gradient, in, out);
    counted = NULL;
    return status;
}

static void finish(attempt *a)
{
    rynd_expr_destroy(a->gradient);
    rynd_expr_destroy(a->expr);
    rynd_evaluation_destroy(a->boxes);
    rynd_evaluation_destroy(a->pictures);
    rynd_quantizer_destroy(a->quantizer);
    rynd_placement_destroy(a->placement);
    rynd_fleet_destroy(a->fleet);
    rynd_op_destroy(a->op);
    rynd_session_destroy(a->session);
    rynd_plan_destroy(a->plan);
    rynd_model_destroy(a->model);
    rynd_context_destroy(a->context);
}

static void fail_each(rynd_status (*use)(attempt *a, counting *c), bool stay)
{
    counting all = {.left = 1L << 40};
    attempt whole = {0};
    tiny_values(whole.x, sizeof whole.x / sizeof whole.x[0], 1);
    assert_int_equal(use(&whole, &all), RYND_OK);
    finish(&whole);
    assert_int_equal(all.alive, 0);
    long total = all.taken;
    assert_true(total > 10);
    for (long n = 0; n < total; n++) {
        counting c = {.left = n, .stay = stay};
        attempt a = {0};
        rynd_status status = use(&a, &c);
        if (status != RYND_ERROR_OUT_OF_MEMORY) {
            fail_msg("allocation %ld of %ld failed: got '%s' (%s), expected 'out of memory'", n,
                     total, rynd_status_text(status), rynd_last_error());
        }
        assert_true(rynd_last_error()[0] != '\0');
        finish(&a);
        if (c.alive != 0) {
            fail_msg("allocation %ld of %ld failed: %ld allocations were not given back", n, total,
                     (long)c.alive);
        }
    }
}

static void one_allocation_fails(void **state)
{
    (void)state;
    fail_each(use_model, false);
    fail_each(use_quantizer, false);
    fail_each(use_evaluation, false);
    fail_each(use_op, false);
    fail_each(use_place, false);
    fail_each(use_expr, false);
}

static void all_later_allocations_fail(void **state)
{
    (void)state;
    fail_each(use_model, true);
    fail_each(use_quantizer, true);
    fail_each(use_evaluation, true);
    fail_each(use_op, true);
    fail_each(use_place, true);
    fail_each(use_expr, true);
}

/* A running session allocates nothing: creation allocated all it needs. */
static void running_allocates_nothing(void **state)
{
    (void)state;
    counting c = {.left = 1L << 40};
    attempt a = {0};
    assert_int_equal(use_model(&a, &c), RYND_OK);
    long before = c.taken;
    counted = &c;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rynd_session_run(a.session), RYND_OK);
    }
    counted = NULL;
    assert_int_equal(c.taken, before);
    finish(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_allocation_fails),
        cmocka_unit_test(all_later_allocations_fail),
        cmocka_unit_test(running_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
