/* SPDX-License-Identifier: Apache-2.0 */
/* Loads a model: checks the file's content, then reads the header and the graph. */
#include "onnx/onnx.h"

#include "onnx/metadata.h"
#include "onnx/model_graph.h"
#include "onnx/operators.h"

#include <ctype.h>
#include <inttypes.h>
#include <onnx.pb.h>
#include <string.h>

/* Text in the first bytes: a model starts with a tag byte that is no text. */
static bool looks_like_text(const uint8_t *data, size_t size)
{
    size_t look = size < 64 ? size : 64;
    for (size_t i = 0; i < look; i++) {
        if (!isprint(data[i]) && !isspace(data[i]) && data[i] < 128) {
            return false;
        }
    }
    /* 0x08 (ir_version) and other tags below 32 are not printable, except tab, line feed and their
     * like. */
    return look > 0 && (isprint(data[0]) || data[0] >= 128);
}

static bool starts_with(const uint8_t *data, size_t size, const char *text)
{
    return size >= strlen(text) && memcmp(data, text, strlen(text)) == 0;
}

/* Says what the file is, when it is something that people pass by mistake. */
static rynd_status check_content(const uint8_t *data, size_t size, ry_error *error)
{
    if (size == 0) {
        return ry_fail(error, RYND_ERROR_FORMAT, "the file is empty");
    }
    if (starts_with(data, size, "version https://git-lfs")) {
        return ry_fail(error, RYND_ERROR_FORMAT,
                       "not a model but a Git LFS pointer to one; fetch it with: git lfs pull");
    }
    if (starts_with(data, size, "PK\x03\x04")) {
        return ry_fail(
            error, RYND_ERROR_FORMAT,
            "not an ONNX model but a zip archive (perhaps a PyTorch file; export it to ONNX)");
    }
    if (looks_like_text(data, size)) {
        return ry_fail(error, RYND_ERROR_FORMAT, "not an ONNX model but a text file");
    }
    return RYND_OK;
}

/* A truncated file ends inside the field that holds the graph. */
static rynd_status explain_damage(const ry_reader *reader, rynd_status status, const char *reason)
{
    if (reader->source.out_of_memory) {
        return ry_fail_memory(reader->error);
    }
    bool cut = strstr(reason, "end-of-stream") || strstr(reason, "parent stream too short");
    return ry_fail(reader->error, status, "%s",
                   cut ? "not a whole ONNX model: the file is truncated, or is something else"
                       : "not an ONNX model, or a damaged one");
}

static rynd_status read_header(ry_reader *reader, const ry_onnx_ModelProto *proto,
                               ry_onnx_model *model)
{
    const char *producer;
    RY_TRY(ry_reader_text(reader, proto->producer_name, &producer));
    model->producer = ry_arena_string(&model->graph->arena, producer, strlen(producer));
    model->ir_version = proto->ir_version;
    if (!model->producer) {
        return ry_fail_memory(reader->error);
    }
    if (!ry_slice_present(proto->graph)) {
        return ry_fail(reader->error, RYND_ERROR_FORMAT, "not an ONNX model: it has no graph");
    }
    if (!proto->has_ir_version || proto->ir_version < 1) {
        return ry_fail(reader->error, RYND_ERROR_FORMAT, "not an ONNX model: it has no IR version");
    }
    if (proto->ir_version > RY_IR_VERSION_NEWEST) {
        return ry_fail(reader->error, RYND_ERROR_UNSUPPORTED,
                       "the model has ONNX IR version %" PRId64
                       "; the newest that rynd knows is %d",
                       proto->ir_version, RY_IR_VERSION_NEWEST);
    }
    return RYND_OK;
}

static rynd_status read_model(ry_reader *reader, ry_onnx_model *model)
{
    ry_onnx_ModelProto proto;
    ry_opsets opsets;
    const char *reason;
    RY_TRY(check_content(reader->source.bytes.data, reader->source.bytes.size, reader->error));
    if (!ry_reader_decodes(reader, ry_onnx_ModelProto_fields, reader->source.bytes, &proto,
                           sizeof proto, &reason)) {
        return explain_damage(reader, RYND_ERROR_FORMAT, reason);
    }
    RY_TRY(read_header(reader, &proto, model));
    RY_TRY(ry_opsets_read(reader, &proto.opset_import, &opsets));
    model->opset = ry_opsets_find(&opsets, "");
    return ry_model_graph(reader, proto.graph, &opsets, &proto.functions, model);
}

static rynd_status load(ry_slice bytes, const char *folder, const ry_allocator *allocator,
                        ry_onnx_model *model, ry_error *error)
{
    ry_error own;
    error = error ? error : &own; /* messages are built from it */
    RY_TRY(ry_graph_create(allocator, &model->graph, error));
    model->bytes = bytes.data;
    model->byte_count = bytes.size;
    if (folder) {
        model->folder = folder = ry_arena_string(&model->graph->arena, folder, strlen(folder));
        RY_TRY(folder ? RYND_OK : ry_fail_memory(error));
    }
    ry_arena scratch;
    ry_arena_init(&scratch, allocator);
    ry_reader reader = {.source = {.bytes = bytes, .arena = &scratch},
                        .allocator = allocator,
                        .folder = folder,
                        .mappings = &model->mappings,
                        .error = error};
    rynd_status status = read_model(&reader, model);
    status = status == RYND_OK ? ry_onnx_metadata_read(model, error) : status;
    ry_arena_free(&scratch);
    return status;
}

static void discard(ry_onnx_model *model, const ry_allocator *allocator)
{
    ry_graph_destroy(model->graph);
    ry_mapping_close(allocator, model->mappings);
    *model = (ry_onnx_model){0};
}

/* The folder that a path is in, in `arena`: "" when it has none. NULL: out of memory. */
static const char *folder_of(ry_arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 0;
    return ry_arena_string(arena, slash == path ? "/" : path, slash == path ? 1 : length);
}

rynd_status ry_onnx_load(const char *path, const ry_allocator *allocator, ry_onnx_model *model,
                         ry_error *error)
{
    const ry_mapping *file = NULL;
    ry_arena arena;
    *model = (ry_onnx_model){0};
    RY_TRY(ry_mapping_open(path, allocator, &model->mappings, &file, error));
    ry_arena_init(&arena, allocator);
    const char *folder = folder_of(&arena, path);
    rynd_status status = folder ? RYND_OK : ry_fail_memory(error);
    if (status == RYND_OK) {
        status = load((ry_slice){file->data, file->size}, folder, allocator, model, error);
        model->path = file->path;
        if (status != RYND_OK) {
            ry_error_prefix(error, "%s: ", path);
        }
    }
    ry_arena_free(&arena);
    if (status != RYND_OK) {
        discard(model, allocator);
    }
    return status;
}

rynd_status ry_onnx_load_memory(const void *data, size_t size, const char *folder,
                                const ry_allocator *allocator, ry_onnx_model *model,
                                ry_error *error)
{
    *model = (ry_onnx_model){.path = ""};
    rynd_status status = load((ry_slice){data, size}, folder, allocator, model, error);
    if (status != RYND_OK) {
        discard(model, allocator);
    }
    return status;
}

void ry_onnx_free(ry_onnx_model *model)
{
    if (model->graph) {
        discard(model, model->graph->arena.allocator);
    }
}

void ry_onnx_unneeded(const void *model, const void *data, size_t size)
{
    const ry_onnx_model *m = model;
    ry_mapping_unneeded(m->mappings, data, size);
}
