/* SPDX-License-Identifier: Apache-2.0 */
/* The table made from operators.inc, finding a row in it, and operators that it lacks. */
#include "onnx/operators.h"

#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Sets of types that rows name. */
#define SET(dtype) (UINT32_C(1) << RY_##dtype)
#define FLOATS     (SET(f32) | SET(f16) | SET(bf16) | SET(f64))
#define SIGNED     (SET(i8) | SET(i16) | SET(i32) | SET(i64))
#define UNSIGNED   (SET(u8) | SET(u16) | SET(u32) | SET(u64))
#define INTEGERS   (SIGNED | UNSIGNED)
#define NUMBERS    (FLOATS | INTEGERS)
#define BOOL       SET(bool)
#define ALL        (NUMBERS | BOOL)
#define BYTES      (SET(i8) | SET(u8))

/* What a row does. */
#define EXPR(expression)                RY_OPS, ry_import_expr, expression
#define NODE(op)                        RY_OP_##op, ry_import_node_row, NULL
#define CALL(function)                  RY_OPS, ry_import_##function, NULL
#define CALL_TEXT(function, expression) RY_OPS, ry_import_##function, expression
#define CALL_NODE(function, op)         RY_OP_##op, ry_import_##function, NULL

/* Attributes: (ONNX's name, our field, default). READ: by the row's function. */
#define INT(name, field, preset)                             \
    {                                                        \
#name, RY_ATTRIBUTE_int, false, #field, preset, NULL \
    }
#define FLOAT(name, field, preset)                             \
    {                                                          \
#name, RY_ATTRIBUTE_float, false, #field, preset, NULL \
    }
#define WORD(name, field, preset)                            \
    {                                                        \
#name, RY_ATTRIBUTE_string, false, #field, 0, preset \
    }
#define INTS(name, field)                                \
    {                                                    \
#name, RY_ATTRIBUTE_ints, false, #field, 0, NULL \
    }
#define FLOATS_OF(name, field)                             \
    {                                                      \
#name, RY_ATTRIBUTE_floats, false, #field, 0, NULL \
    }
#define MUST_INT(name, field)                          \
    {                                                  \
#name, RY_ATTRIBUTE_int, true, #field, 0, NULL \
    }
#define MUST_INTS(name, field)                          \
    {                                                   \
#name, RY_ATTRIBUTE_ints, true, #field, 0, NULL \
    }
#define MUST_WORD(name, field)                            \
    {                                                     \
#name, RY_ATTRIBUTE_string, true, #field, 0, NULL \
    }
#define READ_INT(name, preset)                           \
    {                                                    \
#name, RY_ATTRIBUTE_int, false, "", preset, NULL \
    }
#define READ_FLOAT(name, preset)                           \
    {                                                      \
#name, RY_ATTRIBUTE_float, false, "", preset, NULL \
    }
#define READ_WORD(name, preset)                          \
    {                                                    \
#name, RY_ATTRIBUTE_string, false, "", 0, preset \
    }
#define READ_INTS(name)                              \
    {                                                \
#name, RY_ATTRIBUTE_ints, false, "", 0, NULL \
    }
#define READ(name, type)                               \
    {                                                  \
#name, RY_ATTRIBUTE_##type, false, "", 0, NULL \
    }
#define MUST_READ(name, type)                         \
    {                                                 \
#name, RY_ATTRIBUTE_##type, true, "", 0, NULL \
    }
#define IGNORED(name, type)                              \
    {                                                    \
#name, RY_ATTRIBUTE_##type, false, NULL, 0, NULL \
    }
#define PRESET(field, number)                             \
    {                                                     \
        "", RY_ATTRIBUTE_int, false, #field, number, NULL \
    }
#define PRESET_WORD(field, word)                         \
    {                                                    \
        "", RY_ATTRIBUTE_string, false, #field, 0, #word \
    }
#define NONE                                          \
    {                                                 \
        NULL, RY_ATTRIBUTE_none, false, NULL, 0, NULL \
    }

#define NEWEST RY_OPSET_NEWEST
#define ANY    RY_ANY_COUNT
#define SOME   (RY_ANY_COUNT - 1) /* any number, some of which may be absent */

const ry_operator ry_operators[] = {
#define RY_OPERATOR(name, first, last, min_inputs, max_inputs, min_outputs, max_outputs, types, \
                    how, ...)                                                                   \
    {#name,                                                                                     \
     "",                                                                                        \
     first,                                                                                     \
     last,                                                                                      \
     min_inputs,                                                                                \
     max_inputs,                                                                                \
     min_outputs,                                                                               \
     max_outputs,                                                                               \
     types,                                                                                     \
     how,                                                                                       \
     (const ry_attribute_spec[]){__VA_ARGS__, NONE}},
#define RY_MICROSOFT(name, min_inputs, max_inputs, min_outputs, max_outputs, types, how, ...) \
    {#name,                                                                                   \
     RY_DOMAIN_MICROSOFT,                                                                     \
     1,                                                                                       \
     NEWEST,                                                                                  \
     min_inputs,                                                                              \
     max_inputs,                                                                              \
     min_outputs,                                                                             \
     max_outputs,                                                                             \
     types,                                                                                   \
     how,                                                                                     \
     (const ry_attribute_spec[]){__VA_ARGS__, NONE}},
#include "onnx/operators.inc"
#undef RY_OPERATOR
#undef RY_MICROSOFT
};

const size_t ry_operator_count = sizeof ry_operators / sizeof *ry_operators;

const ry_operator *ry_operator_find(const char *name, const char *domain, int64_t opset,
                                    const ry_operator **nearest)
{
    *nearest = NULL;
    for (size_t i = 0; i < ry_operator_count; i++) {
        const ry_operator *row = &ry_operators[i];
        if (strcmp(row->name, name) != 0 || strcmp(row->domain, domain) != 0) {
            continue;
        }
        if (!*nearest) {
            *nearest = row;
        }
        if (opset >= row->first && opset <= row->last) {
            return row;
        }
    }
    return NULL;
}

/* One node without a row, as a clause of the message. */
static int describe(const ry_node_record *node, const ry_operator *nearest, char *text, size_t size)
{
    if (*node->domain) {
        return snprintf(text, size, "node '%s': %s of domain '%s'", node->name, node->op,
                        node->domain);
    }
    if (!node->opset) {
        return snprintf(text, size, "node '%s': %s, whose opset the model does not import",
                        node->name, node->op);
    }
    if (nearest) {
        return snprintf(text, size,
                        "node '%s': %s of opset %" PRId64 " (ONNX has it from opset %d)",
                        node->name, node->op, node->opset, nearest->first);
    }
    return snprintf(text, size, "node '%s': %s of opset %" PRId64, node->name, node->op,
                    node->opset);
}

rynd_status ry_operators_check(ry_reader *reader, const ry_node_list *list)
{
    char text[sizeof reader->error->text];
    size_t used = 0, missing = 0, listed = 0;
    for (size_t i = 0; i < list->count; i++) {
        const ry_node_record *node = &list->at[i];
        const ry_operator *nearest = NULL;
        if (ry_operator_find(node->op, node->domain, node->opset, &nearest)) {
            continue;
        }
        char clause[256];
        int length = describe(node, nearest, clause, sizeof clause);
        missing++;
        /* 120: room for the sentence around the list. */
        if (length > 0 && (size_t)length < sizeof clause &&
            used + (size_t)length + 120 < sizeof text) {
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", listed ? "; " : "",
                                     clause);
            listed++;
        }
    }
    if (!missing) {
        return RYND_OK;
    }
    if (listed < missing) {
        snprintf(text + used, sizeof text - used, "; and %zu more", missing - listed);
    }
    return ry_fail(reader->error, RYND_ERROR_UNSUPPORTED,
                   "rynd does not have the operator%s of %zu node%s: %s", missing > 1 ? "s" : "",
                   missing, missing > 1 ? "s" : "", text);
}
