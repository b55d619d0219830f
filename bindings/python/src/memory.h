/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of results. What a dropped array leaves is kept for the next of its size: memory that is
 * new costs a page fault for every 4 KiB, more than writing it. */
#ifndef RYND_PYTHON_MEMORY_H
#define RYND_PYTHON_MEMORY_H

#include <stddef.h>

/* Blocks of one size, kept by whoever makes the arrays and by each array. */
typedef struct py_pool py_pool;

py_pool *py_pool_create(size_t size); /* NULL: out of memory */

/* Where a pool's blocks come from, aligned to 64 bytes, in place of the C library. */
typedef struct py_pool_source {
    void *(*take)(void *user, size_t size); /* NULL: out of memory */
    void (*give)(void *user, void *block);
    void (*end)(void *user); /* the pool is gone */
    void *user;
} py_pool_source;

/* The source is the pool's: if this fails, `end` is called. */
py_pool *py_pool_create_from(size_t size, const py_pool_source *source);
void py_pool_keep(py_pool *pool);
void py_pool_drop(py_pool *pool);

void *py_pool_take(py_pool *pool); /* aligned to 64; NULL: out of memory */
void py_pool_give(py_pool *pool, void *block);

#endif
