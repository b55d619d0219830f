/* SPDX-License-Identifier: Apache-2.0 */
/* Operators and their attributes, as structs made from ops.inc, enums.inc and attrs.inc. */
#ifndef RY_PROBLEM_ATTRS_H
#define RY_PROBLEM_ATTRS_H

#include "tensor/tensor.h"

#include <math.h>

struct ry_expr;

typedef enum ry_op {
#define RY_OP(name, class) RY_OP_##name,
#include "problem/ops.inc"
#undef RY_OP
    RY_OPS
} ry_op;

typedef enum ry_op_class { RY_CLASS_COMPUTE, RY_CLASS_VIEW, RY_CLASS_BOUNDED } ry_op_class;

const char *ry_op_name(ry_op op);
ry_op_class ry_op_get_class(ry_op op);

#define RY_ENUM_BEGIN(type) \
    typedef enum ry_##type  \
    {
#define RY_WORD(type, word) RY_##type##_##word,
#define RY_ENUM_LAST(type) \
    RY_##type##_count      \
    }                      \
    ry_##type;
#include "problem/enums.inc"
#undef RY_ENUM_BEGIN
#undef RY_WORD
#undef RY_ENUM_LAST

#define RY_MAX_INTS (2 * RY_MAX_RANK)

typedef struct ry_ints {
    int count;
    int64_t at[RY_MAX_INTS];
} ry_ints;

typedef struct ry_floats {
    int count;
    double at[RY_MAX_INTS];
} ry_floats;

#define RY_ATTRS(op) typedef struct ry_##op##_attrs {
#define RY_ATTRS_END(op) \
    }                    \
    ry_##op##_attrs;
#define RY_INT(name, preset)        int64_t name;
#define RY_FLOAT(name, preset)      double name;
#define RY_INTS(name)               ry_ints name;
#define RY_FLOATS(name)             ry_floats name;
#define RY_ENUM(name, type, preset) ry_##type name;
#define RY_TEXT(name)               const char *name;
#define RY_EXPR(name)               const struct ry_expr *name;
#include "problem/attrs.inc"

typedef union ry_attrs {
    int64_t none; /* operators without attributes */
#define RY_ATTRS(op) ry_##op##_attrs op;
#include "problem/attrs.inc"
} ry_attrs;

/* The defaults of an operator's attributes. */
ry_attrs ry_attrs_default(ry_op op);

/* Attributes as rows: printing, parsing, hashing and the importers walk them. */
typedef enum ry_field_kind {
    RY_FIELD_INT,
    RY_FIELD_FLOAT,
    RY_FIELD_INTS,
    RY_FIELD_FLOATS,
    RY_FIELD_ENUM,
    RY_FIELD_TEXT,
    RY_FIELD_EXPR
} ry_field_kind;

typedef struct ry_field {
    const char *name;
    ry_field_kind kind;
    size_t offset;            /* in ry_attrs */
    const char *const *words; /* words of an enum */
    int word_count;
} ry_field;

const ry_field *ry_op_fields(ry_op op, int *count);

/* Does the list have no other number? */
static inline bool ry_ints_are(const ry_ints *list, int64_t number)
{
    for (int i = 0; i < list->count; i++) {
        if (list->at[i] != number) {
            return false;
        }
    }
    return true;
}

static inline int64_t ry_ints_get(const ry_ints *list, int i, int64_t preset)
{
    return i < list->count ? list->at[i] : preset;
}

#endif
