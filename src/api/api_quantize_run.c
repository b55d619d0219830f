/* SPDX-License-Identifier: Apache-2.0 */
/* Runs parts of a quantizer's models, and writes the quantised one. */
#include "api/api_status.h"
#include "api/quantizer.h"
#include "api/saving.h"

void ry_runner_destroy(ry_runner *runner)
{
    rynd_session_destroy(runner->session);
    rynd_plan_destroy(runner->plan);
    rynd_model_destroy(runner->part);
    *runner = (ry_runner){0};
}

rynd_status ry_runner_create(const rynd_quantizer *quantizer, const rynd_model *model,
                             const char *const *names, size_t count, ry_runner *runner)
{
    const ry_graph *graph = model->onnx.graph;
    const rynd_part_options part = RYND_SIZED(
        rynd_part_options, .inputs = quantizer->inputs, .input_count = graph->input_count,
        .outputs = names, .output_count = count, .dims = quantizer->options.dims,
        .dim_count = quantizer->options.dim_count, .batch = quantizer->options.batch);
    *runner = (ry_runner){0};
    rynd_status status = rynd_model_create_part(model, quantizer->context, &part, &runner->part);
    status = status == RYND_OK ? rynd_plan_create(runner->part, NULL, &runner->plan) : status;
    status = status == RYND_OK ? rynd_session_create(runner->plan, &runner->session) : status;
    if (status != RYND_OK) {
        ry_runner_destroy(runner);
    }
    return status;
}

rynd_status ry_runner_run(const ry_runner *runner, const ry_tensor *inputs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        RY_TRY(rynd_session_bind_input(runner->session, i, &inputs[i]));
    }
    return rynd_session_run(runner->session);
}

rynd_status ry_quantizer_write(const rynd_quantizer *quantizer, const bool *on,
                               const ry_api_file *to, ry_error *error)
{
    ry_arena scratch;
    ry_net made;
    ry_arena_init(&scratch, &quantizer->context->allocator);
    rynd_status status = ry_quantize_insert(&quantizer->q, on, &scratch, &made, error);
    if (status == RYND_OK) {
        status = ry_api_write_net(&quantizer->context->allocator, &made, to, error);
    }
    ry_arena_free(&scratch);
    return status;
}
