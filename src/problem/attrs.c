/* SPDX-License-Identifier: Apache-2.0 */
/* Operators and attributes as tables, made from ops.inc, enums.inc and attrs.inc. */
#include "problem/attrs.h"

#include <stddef.h>

static const char *const op_names[RY_OPS] = {
#define RY_OP(name, class) #name,
#include "problem/ops.inc"
#undef RY_OP
};

static const ry_op_class op_classes[RY_OPS] = {
#define RY_OP(name, class) RY_CLASS_##class,
#include "problem/ops.inc"
#undef RY_OP
};

const char *ry_op_name(ry_op op)
{
    return op < RY_OPS ? op_names[op] : "dead";
}

ry_op_class ry_op_get_class(ry_op op)
{
    return op_classes[op];
}

#define RY_ENUM_BEGIN(type) static const char *const type##_words[] = {
#define RY_WORD(type, word) #word,
#define RY_ENUM_LAST(type) \
    }                      \
    ;
#include "problem/enums.inc"
#undef RY_ENUM_BEGIN
#undef RY_WORD
#undef RY_ENUM_LAST

/* Each operator's rows; `owner` gives the offset of its struct's members in the union (0) and keeps
 * the macro rows free of the operator's name. */
#define RY_ATTRS(op)                                          \
    static void op##_defaults(ry_##op##_attrs *preset_attrs); \
    static const ry_field *op##_fields(int *count);
#include "problem/attrs.inc"

#define RY_ATTRS(op)                                  \
    static void op##_defaults(ry_##op##_attrs *attrs) \
    {                                                 \
        (void)attrs;
#define RY_INT(name, preset)        attrs->name = (preset);
#define RY_FLOAT(name, preset)      attrs->name = (preset);
#define RY_ENUM(name, type, preset) attrs->name = RY_##type##_##preset;
#define RY_ATTRS_END(op)            }
#include "problem/attrs.inc"

#define RY_ATTRS(op)                               \
    static const ry_field *op##_fields(int *count) \
    {                                              \
        typedef ry_##op##_attrs owner;             \
        static const ry_field rows[] = {
#define RY_ROW(name, kind)     {#name, kind, offsetof(owner, name), NULL, 0},
#define RY_INT(name, preset)   RY_ROW(name, RY_FIELD_INT)
#define RY_FLOAT(name, preset) RY_ROW(name, RY_FIELD_FLOAT)
#define RY_INTS(name)          RY_ROW(name, RY_FIELD_INTS)
#define RY_FLOATS(name)        RY_ROW(name, RY_FIELD_FLOATS)
#define RY_ENUM(name, type, preset) \
    {#name, RY_FIELD_ENUM, offsetof(owner, name), type##_words, RY_##type##_count},
#define RY_TEXT(name) RY_ROW(name, RY_FIELD_TEXT)
#define RY_EXPR(name) RY_ROW(name, RY_FIELD_EXPR)
#define RY_ATTRS_END(op)                        \
    }                                           \
    ;                                           \
    *count = (int)(sizeof rows / sizeof *rows); \
    return rows;                                \
    }
#include "problem/attrs.inc"

ry_attrs ry_attrs_default(ry_op op)
{
    ry_attrs attrs = {0};
    switch (op) {
#define RY_ATTRS(op)              \
    case RY_OP_##op:              \
        op##_defaults(&attrs.op); \
        break;
#include "problem/attrs.inc"
    default: break;
    }
    return attrs;
}

const ry_field *ry_op_fields(ry_op op, int *count)
{
    const ry_field *fields = NULL;
    *count = 0;
    switch (op) {
#define RY_ATTRS(op)                 \
    case RY_OP_##op:                 \
        fields = op##_fields(count); \
        break;
#include "problem/attrs.inc"
    default: break;
    }
    return fields;
}
