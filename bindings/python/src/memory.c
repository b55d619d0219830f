/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"

#include <stdint.h>
#include <stdlib.h>

/* Two: a loop that overwrites its variable drops the last result when it has the next. */
enum { KEPT = 2, ALIGNMENT = 64 };

struct py_pool {
    size_t size, holders, kept;
    void *blocks[KEPT];
};

py_pool *py_pool_create(size_t size)
{
    py_pool *pool = size <= SIZE_MAX - ALIGNMENT ? calloc(1, sizeof *pool) : NULL;
    if (pool) {
        pool->size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        pool->size = pool->size ? pool->size : ALIGNMENT;
        pool->holders = 1;
    }
    return pool;
}

void py_pool_keep(py_pool *pool)
{
    pool->holders++;
}

void py_pool_drop(py_pool *pool)
{
    if (pool && --pool->holders == 0) {
        while (pool->kept > 0) {
            free(pool->blocks[--pool->kept]);
        }
        free(pool);
    }
}

void *py_pool_take(py_pool *pool)
{
    return pool->kept > 0 ? pool->blocks[--pool->kept] : aligned_alloc(ALIGNMENT, pool->size);
}

void py_pool_give(py_pool *pool, void *block)
{
    if (pool->kept < KEPT) {
        pool->blocks[pool->kept++] = block;
    } else {
        free(block);
    }
}
