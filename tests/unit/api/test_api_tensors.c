/* SPDX-License-Identifier: Apache-2.0 */
/* Every entry point refuses an impossible tensor and says why. */
#include "api_case.h"

/* Where a tensor comes in. */
static rynd_status bind_input(const rynd_tensor *t)
{
    return rynd_session_bind(session, "x", t);
}

static rynd_status bind_output(const rynd_tensor *t)
{
    return rynd_session_bind(session, "y", t);
}

static rynd_status plan_for(const rynd_tensor *t)
{
    rynd_plan *made = (rynd_plan *)memory;
    const rynd_plan_options options = RYND_SIZED(rynd_plan_options, .inputs = t, .batch = 1);
    const rynd_status status = rynd_plan_create(model, &options, &made);
    assert_true((status == RYND_OK) == (made != NULL));
    rynd_plan_destroy(made);
    return status;
}

static rynd_status op_input(const rynd_tensor *t)
{
    const rynd_tensor inputs[4] = {*t};
    return make_op(&RYND_SIZED(rynd_op_options, .inputs = inputs));
}

static rynd_status op_output(const rynd_tensor *t)
{
    return make_op(&RYND_SIZED(rynd_op_options, .outputs = t));
}

static rynd_status write_pb(const rynd_tensor *t)
{
    void *written = memory;
    size_t length = 1;
    const rynd_status status = rynd_tensor_write_pb(context, "t", t, &written, &length);
    assert_true((status == RYND_OK) == (written != NULL) && (status == RYND_OK) == (length != 0));
    rynd_memory_free(context, written);
    return status;
}

static rynd_status (*const entries[])(const rynd_tensor *) = {bind_input, bind_output, plan_for,
                                                              op_input,   op_output,   write_pb};

#define BIG ((int64_t)1 << 40)
static const struct {
    const char *says;
    rynd_tensor tensor;
} impossible[] = {
    {"dtype 14 is none of rynd_dtype", {memory, (rynd_dtype)14, 4, {1, 3, 8, 8}, {192, 64, 8, 1}}},
    {"is none of rynd_dtype", {memory, (rynd_dtype)-1, 4, {1, 3, 8, 8}, {192, 64, 8, 1}}},
    {"rank 99 is outside 0 to 16", {memory, RYND_DTYPE_F32, 99, {1, 3, 8, 8}, {192, 64, 8, 1}}},
    {"rank 17 is outside 0 to 16", {memory, RYND_DTYPE_F32, 17, {1, 3, 8, 8}, {192, 64, 8, 1}}},
    {"rank -1 is outside 0 to 16", {memory, RYND_DTYPE_F32, -1, {1, 3, 8, 8}, {192, 64, 8, 1}}},
    {"dim 2 is -8", {memory, RYND_DTYPE_F32, 4, {1, 3, -8, 8}, {192, 64, 8, 1}}},
    {"dim 0 is -1", {memory, RYND_DTYPE_F32, 4, {-1, 3, 8, 8}, {192, 64, 8, 1}}},
    {"beyond 2^63 bytes", {memory, RYND_DTYPE_F32, 4, {BIG, 3, BIG, 8}, {0, 0, 0, 0}}},
    {"beyond 2^63 bytes", {memory, RYND_DTYPE_F64, 2, {BIG, 1 << 20}, {0, 0}}},
    {"outside the address space",
     {memory, RYND_DTYPE_F32, 4, {1, 3, 8, 8}, {192, INT64_MAX, 8, 1}}},
    {"outside the address space",
     {memory, RYND_DTYPE_F32, 4, {1, 3, 8, 8}, {192, INT64_MIN, 8, 1}}},
    {"outside the address space",
     {memory, RYND_DTYPE_F32, 4, {1, 3, 8, 8}, {192, 64, INT64_MAX / 16, INT64_MAX / 16}}},
    {"outside the address space",
     {memory, RYND_DTYPE_F32, 4, {1, 3, 8, 8}, {192, -((int64_t)1 << 59), 8, 1}}},
};

static void what_is_no_tensor(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof impossible / sizeof *impossible; i++) {
        for (size_t e = 0; e < sizeof entries / sizeof *entries; e++) {
            assert_refused(entries[e](&impossible[i].tensor), RYND_ERROR_ARGUMENT,
                           impossible[i].says);
        }
        assert_true(rynd_tensor_elements(&impossible[i].tensor) >= -1);
    }
    assert_int_equal(rynd_tensor_elements(&impossible[2].tensor), -1);
    assert_int_equal(rynd_tensor_elements(&impossible[5].tensor), -1);
    assert_int_equal(rynd_tensor_elements(&impossible[7].tensor), -1);
    assert_int_equal(rynd_tensor_of(memory, RYND_DTYPE_F32, 2, (int64_t[]){BIG, BIG}).dtype,
                     RYND_DTYPE_NONE);
    assert_int_equal(rynd_tensor_of(memory, RYND_DTYPE_F32, 1, (int64_t[]){-1}).dtype,
                     RYND_DTYPE_NONE);
    assert_int_equal(rynd_tensor_of(memory, RYND_DTYPE_F32, 17, impossible[0].tensor.dim).dtype,
                     RYND_DTYPE_NONE);
}

/* A stride along a dim of one element reaches nothing. */
static void strides_that_do_not_matter(void **state)
{
    (void)state;
    rynd_tensor x = rynd_tensor_of(memory, RYND_DTYPE_F32, 4,
                                   (int64_t[]){1, TINY_CHANNELS, TINY_SIDE, TINY_SIDE});
    rynd_tensor y = rynd_tensor_of(memory, RYND_DTYPE_F32, 2, (int64_t[]){1, TINY_CLASSES});
    x.stride[0] = INT64_MIN;
    y.stride[0] = 0;
    assert_int_equal(bind_input(&x), RYND_OK);
    assert_int_equal(bind_output(&y), RYND_OK);
    assert_int_equal(plan_for(&x), RYND_OK);
    assert_int_equal(op_input(&x), RYND_OK);
    assert_int_equal(write_pb(&x), RYND_OK);
    x.dim[0] = 0;
    x.stride[1] = x.stride[2] = x.stride[3] = INT64_MAX;
    x.data = NULL;
    assert_int_equal(write_pb(&x), RYND_OK);
}

static void tensors_that_are_not_wanted(void **state)
{
    (void)state;
    const int64_t dims[] = {1, TINY_CHANNELS, TINY_SIDE, TINY_SIDE};
    const rynd_tensor wide = rynd_tensor_of(
        memory, RYND_DTYPE_F32, 4, (int64_t[]){1, TINY_CHANNELS, TINY_SIDE, TINY_SIDE + 1});
    const rynd_tensor halves = rynd_tensor_of(memory, RYND_DTYPE_F16, 4, dims),
                      none = {.dtype = RYND_DTYPE_NONE};
    const rynd_tensor no_data = rynd_tensor_of(NULL, RYND_DTYPE_F32, 4, dims);
    assert_refused(bind_input(&wide), RYND_ERROR_SHAPE, "input 'x': planned for f32");
    assert_refused(bind_input(&halves), RYND_ERROR_SHAPE, "given f16");
    assert_refused(bind_input(&none), RYND_ERROR_SHAPE, "given none");
    assert_refused(bind_input(&no_data), RYND_ERROR_ARGUMENT, "the data is NULL");
    assert_refused(plan_for(&wide), RYND_ERROR_SHAPE, "'x'");
    assert_refused(plan_for(&halves), RYND_ERROR_SHAPE, "the model has f32, given f16");
    assert_int_equal(plan_for(&none), RYND_OK); /* not given */
    assert_refused(op_input(&wide), RYND_ERROR_SHAPE, "input 0");
    assert_refused(op_output(&halves), RYND_ERROR_SHAPE, "output 0");
    assert_refused(write_pb(&none), RYND_ERROR_ARGUMENT, "no tensor");
    assert_refused(write_pb(&no_data), RYND_ERROR_ARGUMENT, "no data");
    assert_refused(rynd_session_bind(session, "z", &wide), RYND_ERROR_NOT_FOUND, "'z'");
}

/* An output that would be written by two elements at one place. */
static void outputs_that_overlap(void **state)
{
    (void)state;
    rynd_tensor y = rynd_tensor_of(memory, RYND_DTYPE_F32, 2, (int64_t[]){1, TINY_CLASSES});
    y.stride[1] = 0;
    assert_refused(bind_output(&y), RYND_ERROR_ARGUMENT, "share memory");
    rynd_tensor t = rynd_tensor_of(memory, RYND_DTYPE_F32, 4, (int64_t[]){1, 3, 8, 8});
    t.stride[1] = 63; /* the next channel begins in this one's last row */
    assert_refused(op_output(&t), RYND_ERROR_ARGUMENT, "share memory");
    assert_int_equal(op_input(&t), RYND_OK);
    t.stride[1] = -64;
    assert_int_equal(op_output(&t), RYND_OK);
}

static void memory_that_does_not_fit(void **state)
{
    (void)state;
    rynd_op *op = NULL;
    char *odd = (char *)memory + 2;
    const rynd_op_options constant =
        RYND_SIZED(rynd_op_options, .inputs = (rynd_tensor[4]){{0}, {.data = odd}});
    assert_refused(make_op(&constant), RYND_ERROR_ARGUMENT,
                   "input 1: its data is not aligned to its elements of 4 bytes");
    assert_int_equal(rynd_op_create(context, PROBLEM, NULL, &op), RYND_OK);
    float x[3 * 8 * 8] = {0}, w[3 * 3 * 3 * 3] = {0}, y[3 * 8 * 8];
    assert_int_equal(
        rynd_op_execute(op, (const void *const[]){x, w, NULL, NULL}, (void *const[]){y}), RYND_OK);
    assert_refused(
        rynd_op_execute(op, (const void *const[]){x, NULL, NULL, NULL}, (void *const[]){y}),
        RYND_ERROR_ARGUMENT, "input 1: its data is NULL");
    assert_refused(
        rynd_op_execute(op, (const void *const[]){odd, w, NULL, NULL}, (void *const[]){y}),
        RYND_ERROR_ARGUMENT, "input 0: its data is not aligned");
    assert_refused(
        rynd_op_execute(op, (const void *const[]){x, w, NULL, NULL}, (void *const[]){NULL}),
        RYND_ERROR_ARGUMENT, "output 0: its data is NULL");
    assert_refused(
        rynd_op_execute(op, (const void *const[]){x, w, NULL, NULL}, (void *const[]){odd}),
        RYND_ERROR_ARGUMENT, "output 0: its data is not aligned");
    rynd_op_destroy(op);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_tensor),           cmocka_unit_test(strides_that_do_not_matter),
        cmocka_unit_test(tensors_that_are_not_wanted), cmocka_unit_test(outputs_that_overlap),
        cmocka_unit_test(memory_that_does_not_fit),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
