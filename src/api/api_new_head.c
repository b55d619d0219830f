/* SPDX-License-Identifier: Apache-2.0 */
/* Models with another last layer. */
#include "api/api_check.h"
#include "api/api_status.h"
#include "api/saving.h"
#include "onnx/net_head.h"

#include <inttypes.h>

static rynd_status write(const rynd_model *model, int64_t classes, uint64_t seed,
                         const ry_api_file *to, ry_arena *arena, ry_error *error)
{
    ry_net net;
    if (classes < 1) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "a last layer of %" PRId64 " classes", classes);
    }
    RY_TRY(ry_net_read(&model->onnx, arena, &net, error));
    RY_TRY(ry_net_new_head(&net, classes, seed, error));
    return ry_api_write_net(&model->context->allocator, &net, to, error);
}

static rynd_status save(const rynd_model *model, int64_t classes, uint64_t seed,
                        const ry_api_file *to)
{
    ry_error error = {""};
    ry_arena arena;
    ry_arena_init(&arena, &model->context->allocator);
    const rynd_status status = write(model, classes, seed, to, &arena, &error);
    ry_arena_free(&arena);
    return ry_api_end(status, &error);
}

rynd_status rynd_model_save_new_head(const rynd_model *model, int64_t classes, uint64_t seed,
                                     const char *path)
{
    RY_API_REQUIRE(model, path);
    return save(model, classes, seed, &(ry_api_file){.path = path, .most = RY_ONNX_MOST});
}

rynd_status rynd_model_save_new_head_memory(const rynd_model *model, int64_t classes, uint64_t seed,
                                            void **data, size_t *size)
{
    RY_API_REQUIRE(model, data, size);
    *data = NULL;
    *size = 0;
    return save(model, classes, seed,
                &(ry_api_file){.data = data, .size = size, .most = RY_ONNX_MOST});
}
