/* SPDX-License-Identifier: Apache-2.0 */
/* Saves what a trainer has learnt: its model's file with the present weights. */
#include "api/api_check.h"
#include "api/api_status.h"
#include "api/saving.h"
#include "api/trainer.h"

/* Where the host can read a state: in place, or in a copy of the arena's. */
static rynd_status take_state(const ry_trainer_state *state, ry_arena *arena, ry_tensor *tensor,
                              ry_error *error)
{
    *tensor = ry_trainer_state_in_place(state);
    if (tensor->data) {
        return RYND_OK;
    }
    tensor->data = ry_arena_take(arena, ry_tensor_bytes(tensor) + 1, 1);
    return tensor->data ? ry_session_read_state(ry_trainer_session(state->run), state->index,
                                                tensor->data, error)
                        : ry_fail_memory(error);
}

static rynd_status take_weights(const rynd_trainer *t, ry_arena *arena, ry_api_weights *weights,
                                ry_error *error)
{
    *weights = (ry_api_weights){.replacements = RY_TAKE(arena, ry_onnx_replacement, t->state_count),
                                .inference = true};
    if (!weights->replacements) {
        return ry_fail_memory(error);
    }
    for (size_t i = 0; i < t->state_count; i++) {
        const ry_trainer_state *state = &t->states[i];
        if (state->parameter) {
            ry_onnx_replacement *to = &weights->replacements[weights->count++];
            to->name = state->name;
            RY_TRY(take_state(state, arena, &to->tensor, error));
        }
    }
    return RYND_OK;
}

static rynd_status save(const rynd_trainer *t, const ry_api_file *to)
{
    ry_error error = {""};
    ry_arena arena;
    ry_api_weights weights;
    ry_arena_init(&arena, &t->model->context->allocator);
    rynd_status status = take_weights(t, &arena, &weights, &error);
    if (status == RYND_OK) {
        status = ry_api_save(t->model, &weights, to, &error);
    }
    ry_arena_free(&arena);
    return ry_api_end(status, &error);
}

rynd_status rynd_trainer_save(const rynd_trainer *trainer, const char *path)
{
    RY_API_REQUIRE(trainer, path);
    return save(trainer, &(ry_api_file){.path = path, .most = RY_ONNX_MOST});
}

rynd_status rynd_trainer_save_memory(const rynd_trainer *trainer, void **data, size_t *size)
{
    RY_API_REQUIRE(trainer, data, size);
    *data = NULL;
    *size = 0;
    return save(trainer, &(ry_api_file){.data = data, .size = size, .most = RY_ONNX_MOST});
}
