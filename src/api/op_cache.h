/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that a context keeps by problem. Any thread. */
#ifndef RY_API_OP_CACHE_H
#define RY_API_OP_CACHE_H

#include "base/memory.h"
#include "base/status.h"

#include <rynd/rynd.h>

typedef struct ry_op_cache ry_op_cache;

/* What tells a kept operator from others. */
typedef struct ry_op_key ry_op_key;

rynd_status ry_op_cache_create(const ry_allocator *allocator, ry_op_cache **cache, ry_error *error);
/* Frees the kept operators; none may be in use. NULL is allowed. */
void ry_op_cache_destroy(ry_op_cache *cache);

#endif
