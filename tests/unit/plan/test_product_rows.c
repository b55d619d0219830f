/* SPDX-License-Identifier: Apache-2.0 */
/* Large weights are updated as their gradient comes, some rows after others: with the bits of an
 * update by the whole gradient, at any number of threads, in less memory; and where the whole
 * gradient is needed it is there. */
#include "trainer_case.h"

#include "onnx_bytes.h"

enum { INPUTS = 1029, OUTPUTS = 9000, ROWS = 4, STEPS = 3, PIECES = 3, MIB = 1 << 20 };

/* y = x w, of as many inputs; 37 MB of weights, as a Gemm whose rows are the outputs or as a
 * MatMul whose rows are the inputs. */
typedef struct wide {
    rynd_context *context;
    onnx_bytes bytes; /* file of the model */
    rynd_model *model;
    rynd_trainer *trainer;
    rynd_tensor x, y;
    int64_t rows, columns; /* rows and columns of the weights */
} wide;

static float *values(size_t count, uint32_t seed)
{
    float *v = malloc(count * sizeof *v);
    assert_non_null(v);
    tiny_values(v, count, seed);
    return v;
}

static onnx_bytes wide_model(const wide *w, bool gemm)
{
    const int64_t shape[] = {w->rows, w->columns}, x[] = {-1, gemm ? w->columns : w->rows},
                  y[] = {-1, gemm ? w->rows : w->columns};
    onnx_bytes graph = {0}, node = make_node(gemm ? "Gemm" : "MatMul", "x,w", "y");
    float *weights = values((size_t)(w->rows * w->columns), 1);
    if (gemm) {
        add_int_attribute(&node, "transB", 1);
    }
    add_initializer(&graph, make_floats("w", 2, shape, weights));
    add_node(&graph, node);
    add_input(&graph, make_value("x", 2, x));
    add_output(&graph, make_value("y", 2, y));
    free(weights);
    return make_model(8, 13, graph);
}

static void begin_wide(wide *w, unsigned threads, bool gemm, int64_t rows, int64_t columns)
{
    const rynd_context_options context = RYND_SIZED(rynd_context_options, .threads = threads);
    *w = (wide){.rows = rows, .columns = columns};
    w->bytes = wide_model(w, gemm);
    assert_int_equal(rynd_context_create(&context, &w->context), RYND_OK);
    assert_int_equal(rynd_model_load_memory(w->context, w->bytes.data, w->bytes.size, &w->model),
                     RYND_OK);
    const int64_t x[] = {ROWS, gemm ? columns : rows}, y[] = {ROWS, gemm ? rows : columns};
    w->x = row_major(RYND_DTYPE_F32, 2, x, values((size_t)(ROWS * x[1]), 2));
    w->y = row_major(RYND_DTYPE_F32, 2, y, values((size_t)(ROWS * y[1]), 3));
}

static void end_wide(wide *w)
{
    rynd_trainer_destroy(w->trainer);
    rynd_model_destroy(w->model);
    rynd_context_destroy(w->context);
    onnx_bytes_free(&w->bytes);
    free(w->x.data);
    free(w->y.data);
}

static rynd_trainer_options options_of(rynd_optimizer optimizer)
{
    return RYND_SIZED(rynd_trainer_options, .loss = RYND_LOSS_MSE, .optimizer = optimizer,
                      .momentum = optimizer == RYND_OPTIMIZER_SGD ? 0.9 : 0, .weight_decay = 0.01,
                      .batch = ROWS);
}

static void create(wide *w, const rynd_trainer_options *options)
{
    rynd_trainer_destroy(w->trainer);
    w->trainer = NULL;
    if (rynd_trainer_create(w->model, options, &w->trainer) != RYND_OK) {
        fail_msg("%s", rynd_last_error());
    }
}

/* How often the steps run that have most turns, of the plan that updates. */
static int64_t pieces(const rynd_plan *plan)
{
    int64_t most = 1;
    for (size_t i = 0; i < rynd_plan_step_count(plan); i++) {
        rynd_step_info info = RYND_SIZED(rynd_step_info);
        assert_int_equal(rynd_plan_get_step(plan, i, &info), RYND_OK);
        most = info.micro_batches > most ? info.micro_batches : most;
    }
    return most;
}

/* The weights, to be freed, and what the last loss was. */
static float *train(const wide *w, int steps, double *loss)
{
    for (int k = 0; k < steps; k++) {
        assert_int_equal(rynd_trainer_step(w->trainer, &w->x, &w->y, 4, loss), RYND_OK);
    }
    float *weights = malloc((size_t)(w->rows * w->columns) * sizeof *weights);
    assert_non_null(weights);
    rynd_tensor to = row_major(RYND_DTYPE_F32, 2, (int64_t[]){w->rows, w->columns}, weights);
    assert_int_equal(rynd_trainer_read(w->trainer, "w", &to), RYND_OK);
    return weights;
}

static void check_equal(const wide *w, const float *a, double a_loss, const float *b, double b_loss)
{
    assert_true(a_loss == b_loss);
    assert_memory_equal(a, b, (size_t)(w->rows * w->columns) * sizeof *a);
}

static void check_pieces(bool gemm, rynd_optimizer optimizer, unsigned threads)
{
    wide w;
    double whole_loss = 0, loss = 0;
    rynd_trainer_options options = options_of(optimizer);
    begin_wide(&w, threads, gemm, INPUTS, OUTPUTS);
    options.keep_gradients = 1;
    create(&w, &options);
    assert_int_equal(pieces(rynd_trainer_plan(w.trainer)), 1);
    const size_t whole_memory = rynd_trainer_memory(w.trainer);
    float *whole = train(&w, STEPS, &whole_loss);
    options.keep_gradients = 0;
    create(&w, &options);
    assert_int_equal(pieces(rynd_trainer_plan(w.trainer)), PIECES);
    assert_true(rynd_trainer_memory(w.trainer) + 20 * MIB < whole_memory);
    float *cut = train(&w, STEPS, &loss);
    check_equal(&w, whole, whole_loss, cut, loss);
    free(whole);
    free(cut);
    end_wide(&w);
}

static void pieces_have_the_same_bits(void **state)
{
    (void)state;
    check_pieces(false, RYND_OPTIMIZER_SGD, 1);
    check_pieces(true, RYND_OPTIMIZER_SGD, 3);
    check_pieces(true, RYND_OPTIMIZER_ADAM, 2);
}

/* Sums of gradients are states, too: of the same batch every time, their mean is its gradient. */
static void sums_of_gradients_come_in_pieces(void **state)
{
    (void)state;
    wide w;
    double loss = 0;
    rynd_trainer_options options = options_of(RYND_OPTIMIZER_SGD);
    begin_wide(&w, 1, true, INPUTS, OUTPUTS);
    options.accumulate = STEPS;
    create(&w, &options);
    assert_int_equal(pieces(rynd_trainer_plan(w.trainer)), PIECES);
    float *sums = train(&w, STEPS, &loss);
    options.accumulate = 0;
    options.keep_gradients = 1;
    create(&w, &options);
    float *whole = train(&w, 1, &loss);
    for (int64_t i = 0; i < w.rows * w.columns; i++) {
        assert_true(fabsf(sums[i] - whole[i]) <= 1e-6f * fmaxf(1, fabsf(whole[i])));
    }
    free(sums);
    free(whole);
    end_wide(&w);
}

static void check_whole(const wide *w, const rynd_trainer_options *options)
{
    rynd_trainer *trainer = NULL;
    if (rynd_trainer_create(w->model, options, &trainer) != RYND_OK) {
        fail_msg("%s", rynd_last_error());
    }
    assert_int_equal(pieces(rynd_trainer_plan(trainer)), 1);
    rynd_trainer_destroy(trainer);
}

/* Clipped gradients are needed twice; 1031 rows have no equal pieces; small weights are no matter.
 */
static void whole_gradients_stay(void **state)
{
    (void)state;
    static const int64_t shapes[][2] = {{INPUTS, OUTPUTS}, {1031, OUTPUTS}, {INPUTS, 64}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        wide w;
        rynd_trainer_options options = options_of(RYND_OPTIMIZER_SGD);
        options.clip_norm = i == 0 ? 1 : 0;
        begin_wide(&w, 1, false, shapes[i][0], shapes[i][1]);
        check_whole(&w, &options);
        end_wide(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_have_the_same_bits),
        cmocka_unit_test(sums_of_gradients_come_in_pieces),
        cmocka_unit_test(whole_gradients_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
