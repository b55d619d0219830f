/* SPDX-License-Identifier: Apache-2.0 */
/* Models written once more, with other weights. */
#include "api/api_check.h"
#include "api/api_status.h"
#include "api/saving.h"
#include "base/whole_file.h"
#include "onnx/net.h"
#include "onnx/wire.h"

#include <string.h>

/* The caller's tensors as the writer takes them: row-major, copied where they are not. */
static rynd_status take_tensors(const rynd_named_tensor *tensors, size_t count, ry_arena *arena,
                                ry_onnx_replacement **replacements, ry_error *error)
{
    ry_onnx_replacement *taken = RY_TAKE(arena, ry_onnx_replacement, count);
    if (!taken) {
        return ry_fail_memory(error);
    }
    for (size_t i = 0; i < count; i++) {
        ry_tensor *tensor = &taken[i].tensor;
        taken[i].name = tensors[i].name;
        if (!tensors[i].name) {
            return ry_fail(error, RYND_ERROR_ARGUMENT, "tensor %zu has no name", i);
        }
        rynd_status status = ry_api_take_tensor(&tensors[i].tensor, tensor, error);
        if (status == RYND_OK && !tensor->data && ry_tensor_count(tensor) > 0) {
            status = ry_fail(error, RYND_ERROR_ARGUMENT, "its data is NULL");
        }
        if (status != RYND_OK) {
            ry_error_prefix(error, "tensor '%s': ", taken[i].name);
            return status;
        }
        if (ry_tensor_present(tensor) && !ry_tensor_is_row_major(tensor)) {
            const ry_shape shape = ry_tensor_shape(tensor);
            const ry_tensor packed = ry_tensor_row_major(
                (ry_dtype)tensor->dtype, &shape, ry_arena_take(arena, ry_tensor_bytes(tensor), 1));
            RY_TRY(packed.data ? RYND_OK : ry_fail_memory(error));
            ry_tensor_copy(&packed, tensor);
            *tensor = packed;
        }
    }
    *replacements = taken;
    return RYND_OK;
}

/* A message to be written: by `put`, as often as it is called. */
typedef struct saving {
    const ry_allocator *allocator;
    ry_api_put_function *put;
    const void *what;
    ry_arena *arena;
} saving;

static bool put_in_file(void *user, const void *bytes, size_t count)
{
    return ry_whole_file_put(user, bytes, count);
}

static rynd_status write_file(const saving *s, const char *path, ry_error *error)
{
    ry_whole_file file;
    RY_TRY(ry_whole_file_begin(&file, path, s->allocator, error));
    ry_wire_out out = {.put = put_in_file, .user = &file};
    const rynd_status status = s->put(s->what, &(ry_onnx_output){.model = &out}, error);
    const rynd_status ended = ry_whole_file_end(&file, status == RYND_OK, error);
    return status != RYND_OK ? status : ended;
}

/* The data's file gets its name first: whoever is stopped between the two leaves a model that is as
 * it was, with a file beside that has the new weights in the old ones' places. */
static rynd_status write_two_files(const saving *s, const char *path, const char *beside,
                                   ry_error *error)
{
    const ry_allocator *allocator = s->allocator;
    const char *slash = strrchr(beside, '/');
    ry_whole_file file, data;
    RY_TRY(ry_whole_file_begin(&data, beside, allocator, error));
    rynd_status status = ry_whole_file_begin(&file, path, allocator, error);
    if (status != RYND_OK) {
        ry_error unused = {""};
        ry_whole_file_end(&data, false, &unused);
        return status;
    }
    ry_wire_out out = {.put = put_in_file, .user = &file},
                data_out = {.put = put_in_file, .user = &data};
    const ry_onnx_output to = {
        .model = &out, .location = slash ? slash + 1 : beside, .data = &data_out};
    status = s->put(s->what, &to, error);
    const rynd_status ended = ry_whole_file_end(&data, status == RYND_OK, error);
    status = status != RYND_OK ? status : ended;
    const rynd_status named = ry_whole_file_end(&file, status == RYND_OK, error);
    return status != RYND_OK ? status : named;
}

static rynd_status write_large(const saving *s, const char *path, ry_error *error)
{
    const char *beside = ry_arena_format(s->arena, "%s.data", path);
    return beside ? write_two_files(s, path, beside, error) : ry_fail_memory(error);
}

typedef struct block {
    uint8_t *at, *end;
} block;

/* A file that changed since it was counted is an error, not an overflow. */
static bool put_in_memory(void *user, const void *bytes, size_t count)
{
    block *to = user;
    if (count > (size_t)(to->end - to->at)) {
        return false;
    }
    memcpy(to->at, bytes, count);
    to->at += count;
    return true;
}

static rynd_status write_memory(const saving *s, size_t size, void **data, ry_error *error)
{
    const ry_allocator *allocator = s->allocator;
    uint8_t *made = ry_allocate(allocator, size);
    if (!made) {
        return ry_fail_memory(error);
    }
    block to = {made, made + size};
    ry_wire_out out = {.put = put_in_memory, .user = &to};
    rynd_status status = s->put(s->what, &(ry_onnx_output){.model = &out}, error);
    if (status == RYND_OK && (out.failed || to.at != to.end)) {
        status = ry_fail(error, RYND_ERROR_IO, "the model's file changed while it was read");
    }
    if (status != RYND_OK) {
        ry_release(allocator, made);
        return status;
    }
    *data = made;
    return RYND_OK;
}

static rynd_status write_counted(const saving *s, uint64_t size, const ry_api_file *to,
                                 ry_error *error)
{
    if (to->path) {
        return size > to->most ? write_large(s, to->path, error) : write_file(s, to->path, error);
    }
    if (size > to->most) {
        return ry_fail(error, RYND_ERROR_UNSUPPORTED,
                       "the model would be a message of %llu bytes, and one has at most %llu: "
                       "save it to a file, which may have another one beside it",
                       (unsigned long long)size, (unsigned long long)to->most);
    }
    RY_TRY(write_memory(s, (size_t)size, to->data, error));
    *to->size = (size_t)size;
    return RYND_OK;
}

rynd_status ry_api_write(const ry_allocator *allocator, ry_api_put_function *put, const void *what,
                         const ry_api_file *to, ry_error *error)
{
    ry_arena arena;
    const saving s = {allocator, put, what, &arena};
    ry_wire_out counted = {0};
    ry_arena_init(&arena, allocator);
    rynd_status status = put(what, &(ry_onnx_output){.model = &counted}, error);
    if (status == RYND_OK) {
        status = write_counted(&s, counted.size, to, error);
    }
    ry_arena_free(&arena);
    return status;
}

static rynd_status put_net(const void *what, const ry_onnx_output *to, ry_error *error)
{
    return ry_net_write(what, to, error);
}

rynd_status ry_api_write_net(const ry_allocator *allocator, const struct ry_net *net,
                             const ry_api_file *to, ry_error *error)
{
    return ry_api_write(allocator, put_net, net, to, error);
}

typedef struct weighted {
    const ry_onnx_model *model;
    const ry_api_weights *weights;
} weighted;

static rynd_status put_weighted(const void *what, const ry_onnx_output *to, ry_error *error)
{
    const weighted *w = what;
    ry_onnx_output output = *to;
    output.inference = w->weights->inference;
    return ry_onnx_write(w->model, w->weights->replacements, w->weights->count, &output, error);
}

rynd_status ry_api_save(const rynd_model *model, const ry_api_weights *weights,
                        const ry_api_file *to, ry_error *error)
{
    const weighted w = {&model->onnx, weights};
    return ry_api_write(&model->context->allocator, put_weighted, &w, to, error);
}

static rynd_status save(const rynd_model *model, const rynd_named_tensor *tensors, size_t count,
                        const ry_api_file *to)
{
    ry_error error = {""};
    ry_arena arena;
    ry_api_weights weights = {.count = count};
    ry_arena_init(&arena, &model->context->allocator);
    rynd_status status = take_tensors(tensors, count, &arena, &weights.replacements, &error);
    if (status == RYND_OK) {
        status = ry_api_save(model, &weights, to, &error);
    }
    ry_arena_free(&arena);
    return ry_api_end(status, &error);
}

rynd_status rynd_model_save(const rynd_model *model, const char *path,
                            const rynd_named_tensor *tensors, size_t count)
{
    RY_API_REQUIRE(model, path);
    if (count) {
        RY_API_REQUIRE(tensors);
    }
    return save(model, tensors, count, &(ry_api_file){.path = path, .most = RY_ONNX_MOST});
}

rynd_status rynd_model_save_memory(const rynd_model *model, const rynd_named_tensor *tensors,
                                   size_t count, void **data, size_t *size)
{
    RY_API_REQUIRE(model, data, size);
    *data = NULL;
    *size = 0;
    if (count) {
        RY_API_REQUIRE(tensors);
    }
    return save(model, tensors, count,
                &(ry_api_file){.data = data, .size = size, .most = RY_ONNX_MOST});
}
