/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding nodes, with calls of a model's own functions replaced by their bodies. */
#include "graph/graph_names.h"
#include "onnx/nodes.h"

#include <onnx.pb.h>
#include <onnx_later.pb.h>
#include <stdlib.h>
#include <string.h>

/* A function that calls functions may grow without measure: both numbers are far above what
 * exporters write. */
enum { MAX_DEPTH = 16, MAX_NODES = 1 << 18 };

/* Functions are told apart by name, domain and overload. */
typedef struct ry_function {
    const char *name, *domain, *overload;
    ry_onnx_FunctionProto proto;
    ry_opsets opsets;
    ry_attribute_record *preset; /* attributes that have a default */
    size_t presets;
} function;

struct ry_functions {
    function *at;
    size_t count;
    size_t calls; /* so far: numbers the names inside them */
};

typedef struct expander {
    ry_reader *reader;
    ry_node_list *list;
} expander;

/* Decodes what the packaged onnx.proto may lack. */
static rynd_status read_later_fields(ry_reader *reader, ry_slice bytes, function *f)
{
    ry_onnx_later_FunctionProto later;
    RY_TRY(ry_reader_decode(reader, ry_onnx_later_FunctionProto_fields, bytes, &later, sizeof later,
                            "FunctionProto"));
    RY_TRY(ry_reader_text(reader, later.overload, &f->overload));
    f->presets = later.attribute_proto.count;
    f->preset = RY_TAKE(reader->source.arena, ry_attribute_record, f->presets);
    if (!f->preset) {
        return ry_fail_memory(reader->error);
    }
    for (size_t i = 0; i < f->presets; i++) {
        RY_TRY(ry_reader_attribute(reader, later.attribute_proto.at[i], &f->preset[i]));
    }
    return RYND_OK;
}

static int compare_names(const char *name, const char *domain, const char *overload,
                         const function *f)
{
    const int by_name = strcmp(name, f->name),
              by_domain = by_name ? by_name : strcmp(domain, f->domain);
    return by_domain ? by_domain : strcmp(overload, f->overload);
}

static int compare_functions(const void *a, const void *b)
{
    const function *f = a;
    return compare_names(f->name, f->domain, f->overload, b);
}

/* Sorts the functions for lookup by calls. Two functions of one name are an error. */
static rynd_status sort_functions(ry_reader *reader, ry_functions *list)
{
    qsort(list->at, list->count, sizeof *list->at, compare_functions);
    for (size_t i = 1; i < list->count; i++) {
        const function *f = &list->at[i];
        if (compare_functions(f - 1, f) == 0) {
            return ry_fail(reader->error, RYND_ERROR_FORMAT,
                           "the model has two functions '%s' of domain '%s'%s%s%s", f->name,
                           f->domain, *f->overload ? " with overload '" : "", f->overload,
                           *f->overload ? "'" : "");
        }
    }
    return RYND_OK;
}

rynd_status ry_functions_read(ry_reader *reader, const ry_slices *functions)
{
    ry_functions *list = RY_TAKE(reader->source.arena, ry_functions, 1);
    function *at = RY_TAKE(reader->source.arena, function, functions->count);
    if (!list || !at) {
        return ry_fail_memory(reader->error);
    }
    *list = (ry_functions){.at = at, .count = functions->count};
    reader->functions = list;
    for (size_t i = 0; i < functions->count; i++) {
        function *f = &at[i];
        RY_TRY(RY_READER_DECODE(reader, FunctionProto, functions->at[i], &f->proto));
        RY_TRY(ry_reader_text(reader, f->proto.name, &f->name));
        RY_TRY(ry_reader_text(reader, f->proto.domain, &f->domain));
        RY_TRY(ry_opsets_read(reader, &f->proto.opset_import, &f->opsets));
        RY_TRY(read_later_fields(reader, functions->at[i], f));
    }
    return sort_functions(reader, list);
}

/* The function that a node calls; NULL: none of the model's. */
static rynd_status find_function(const expander *e, const ry_node_record *node, ry_slice bytes,
                                 const function **found)
{
    const ry_functions *list = e->reader->functions;
    ry_onnx_later_NodeProto later;
    *found = NULL;
    if (!list->count) {
        return RYND_OK;
    }
    RY_TRY(ry_reader_decode(e->reader, ry_onnx_later_NodeProto_fields, bytes, &later, sizeof later,
                            "NodeProto"));
    const char *overload;
    RY_TRY(ry_reader_text(e->reader, later.overload, &overload));
    for (size_t first = 0, end = list->count; first < end && !*found;) {
        const size_t middle = first + (end - first) / 2;
        const int order = compare_names(node->op, node->domain, overload, &list->at[middle]);
        *found = order == 0 ? &list->at[middle] : NULL;
        first = order > 0 ? middle + 1 : first;
        end = order < 0 ? middle : end;
    }
    return RYND_OK;
}

/* Maps formal names to the names that the caller gave. */
static rynd_status bind_names(expander *e, ry_scope *c, const ry_slices *formal, int actual_count,
                              const char **actual, uint32_t offset, bool outputs)
{
    for (size_t i = 0; i < formal->count; i++) {
        const char *name;
        RY_TRY(ry_reader_text(e->reader, formal->at[i], &name));
        bool given = (int)i < actual_count;
        if (outputs && (!given || !*actual[i])) {
            continue; /* nobody reads it: it gets a name like any value inside */
        }
        c->actual[offset + i] = given ? actual[i] : "";
        if (!ry_names_add(&c->names, e->reader->source.arena, name, offset + (uint32_t)i)) {
            return ry_fail_memory(e->reader->error);
        }
    }
    return RYND_OK;
}

static const ry_attribute_record *find_attribute(const ry_attribute_record *list, size_t count,
                                                 const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(list[i].name, name) == 0) {
            return &list[i];
        }
    }
    return NULL;
}

/* An attribute that stands for one of the function's takes what the call states, else the
 * function's default; without either it goes. */
static void bind_attributes(const ry_scope *c, ry_node_record *node)
{
    int kept = 0;
    for (int i = 0; i < node->attributes; i++) {
        ry_attribute_record attribute = node->attribute[i];
        if (attribute.reference) {
            const char *name = attribute.name;
            const ry_attribute_record *value =
                find_attribute(c->call.attribute, (size_t)c->call.attributes, attribute.reference);
            value = value ? value
                          : find_attribute(c->function->preset, c->function->presets,
                                           attribute.reference);
            if (!value) {
                continue;
            }
            attribute = *value;
            attribute.name = name;
        }
        node->attribute[kept++] = attribute;
    }
    node->attributes = kept;
}

rynd_status ry_scope_rename(ry_reader *reader, const ry_scope *scope, const char **name)
{
    const uint32_t id = **name ? ry_names_find(&scope->names, *name) : RY_NO_NAME;
    if (id != RY_NO_NAME) {
        *name = scope->actual[id];
    } else if (**name) {
        *name =
            ry_arena_format(reader->source.arena, "%s/%zu/%s", scope->prefix, scope->number, *name);
    }
    return *name ? RYND_OK : ry_fail_memory(reader->error);
}

static rynd_status rename_node(ry_reader *reader, const ry_scope *scope, ry_node_record *node)
{
    for (int i = 0; i < node->inputs; i++) {
        RY_TRY(ry_scope_rename(reader, scope, &node->in[i]));
    }
    for (int i = 0; i < node->outputs; i++) {
        RY_TRY(ry_scope_rename(reader, scope, &node->out[i]));
    }
    for (int i = 0; i < node->captures; i++) {
        RY_TRY(ry_scope_rename(reader, scope, &node->capture[i].value));
    }
    return ry_scope_rename(reader, scope, &node->name);
}

static rynd_status add_node(expander *e, const ry_node_record *node)
{
    if (e->list->count >= MAX_NODES && e->reader->functions->calls) {
        return ry_fail(e->reader->error, RYND_ERROR_UNSUPPORTED,
                       "its functions grow to more than %d nodes", MAX_NODES);
    }
    ry_node_record *grown = ry_arena_grow(e->reader->source.arena, e->list->at, e->list->count,
                                          &e->list->capacity, sizeof *grown);
    if (!grown) {
        return ry_fail_memory(e->reader->error);
    }
    e->list->at = grown;
    grown[e->list->count++] = *node;
    return RYND_OK;
}

static rynd_status add_nodes(expander *e, const ry_slices *nodes, const ry_opsets *opsets,
                             const ry_scope *scope, int depth);

static rynd_status expand_call(expander *e, const function *f, const ry_node_record *node,
                               int depth)
{
    const size_t names = f->proto.input.count + f->proto.output.count;
    ry_scope *c = RY_TAKE(e->reader->source.arena, ry_scope, 1);
    const char **actual = RY_TAKE(e->reader->source.arena, const char *, names);
    if (!c || !actual) {
        return ry_fail_memory(e->reader->error);
    }
    *c = (ry_scope){.prefix = node->name,
                    .number = e->reader->functions->calls++,
                    .actual = actual,
                    .call = *node,
                    .function = f};
    if (depth == MAX_DEPTH || node->inputs > (int)f->proto.input.count ||
        node->outputs > (int)f->proto.output.count) {
        return ry_fail(e->reader->error, RYND_ERROR_FORMAT, "node '%s' calls the function '%s' %s",
                       node->name, node->op,
                       depth == MAX_DEPTH ? "more than 16 functions deep"
                                          : "with more inputs or outputs than it has");
    }
    RY_TRY(bind_names(e, c, &f->proto.input, node->inputs, node->in, 0, false));
    RY_TRY(bind_names(e, c, &f->proto.output, node->outputs, node->out,
                      (uint32_t)f->proto.input.count, true));
    return add_nodes(e, &f->proto.node, &f->opsets, c, depth + 1);
}

/* Recursion is at most MAX_DEPTH deep. */
static rynd_status add_nodes(expander *e, const ry_slices *nodes, const ry_opsets *opsets,
                             const ry_scope *scope, int depth)
{
    for (size_t i = 0; i < nodes->count; i++) {
        ry_node_record node;
        RY_TRY(ry_reader_node(e->reader, nodes->at[i], &node));
        RY_TRY(ry_captures_find(e->reader, &node));
        node.opsets = opsets;
        node.scope = scope;
        if (scope) {
            RY_TRY(rename_node(e->reader, scope, &node));
        }
        if (scope && scope->function) {
            bind_attributes(scope, &node);
        }
        const function *f;
        RY_TRY(find_function(e, &node, nodes->at[i], &f));
        if (f) {
            RY_TRY(expand_call(e, f, &node, depth));
            continue;
        }
        if (strcmp(node.domain, "ai.onnx") == 0) {
            node.domain = "";
        }
        node.opset = ry_opsets_find(opsets, node.domain);
        RY_TRY(add_node(e, &node));
    }
    return RYND_OK;
}

rynd_status ry_nodes_read(ry_reader *reader, const ry_slices *nodes, const ry_opsets *opsets,
                          const ry_scope *scope, ry_node_list *list)
{
    expander e = {.reader = reader, .list = list};
    *list = (ry_node_list){0};
    return add_nodes(&e, nodes, opsets, scope, 0);
}
