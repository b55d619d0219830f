/* SPDX-License-Identifier: Apache-2.0 */
/* Named limits between methods: RY_LIMIT_<name>, and the table of them. */
#ifndef RY_PROBLEM_LIMITS_H
#define RY_PROBLEM_LIMITS_H

#include <stddef.h>
#include <stdint.h>

enum {
#define RY_LIMIT(name, family, value, beyond) RY_LIMIT_##name = value,
#include "problem/limits.inc"
#undef RY_LIMIT
};

typedef struct ry_limit {
    const char *name, *family, *beyond;
    int64_t value;
} ry_limit;

/* The rows, in the order of limits.inc. */
extern const ry_limit ry_limits[];
extern const size_t ry_limit_count;

#endif
