/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"

#include <stdint.h>
#include <stdlib.h>

/* Two: a loop that overwrites its variable drops the last result when it has the next. */
enum { KEPT = 2, ALIGNMENT = 64 };

struct py_pool {
    size_t size, holders, kept;
    void *blocks[KEPT];
    py_pool_source source;
};

static void *take(void *user, size_t size)
{
    (void)user;
    return aligned_alloc(ALIGNMENT, size);
}

static void give(void *user, void *block)
{
    (void)user;
    free(block);
}

static void end(void *user)
{
    (void)user;
}

py_pool *py_pool_create(size_t size)
{
    static const py_pool_source library = {take, give, end, NULL};
    return py_pool_create_from(size, &library);
}

py_pool *py_pool_create_from(size_t size, const py_pool_source *source)
{
    py_pool *pool = size <= SIZE_MAX - ALIGNMENT ? calloc(1, sizeof *pool) : NULL;
    if (pool) {
        pool->size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        pool->size = pool->size ? pool->size : ALIGNMENT;
        pool->holders = 1;
        pool->source = *source;
    } else {
        source->end(source->user);
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
            pool->source.give(pool->source.user, pool->blocks[--pool->kept]);
        }
        pool->source.end(pool->source.user);
        free(pool);
    }
}

void *py_pool_take(py_pool *pool)
{
    return pool->kept > 0 ? pool->blocks[--pool->kept]
                          : pool->source.take(pool->source.user, pool->size);
}

void py_pool_give(py_pool *pool, void *block)
{
    if (pool->kept < KEPT) {
        pool->blocks[pool->kept++] = block;
    } else {
        pool->source.give(pool->source.user, block);
    }
}
