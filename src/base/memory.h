/* SPDX-License-Identifier: Apache-2.0 */
/* Where host memory comes from: the caller's allocator hooks, and arenas (bump allocation, freed as
 * one) on top of them.
 *
 * Every allocation of the library goes through a ry_allocator, so that a caller can count, bound or
 * fail it. Objects made once and freed together (a graph, a plan) live in one ry_arena. Sizes are
 * checked: a product that overflows size_t fails like exhausted memory. An arena is not
 * thread-safe; an allocator must be. */
#ifndef RY_BASE_MEMORY_H
#define RY_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One cache line, and the widest vector of any CPU that we run on. */
#define RY_ALIGNMENT 64

typedef struct ry_allocator {
    /* NULL when exhausted; size is never 0 */
    void *(*allocate)(void *user, size_t size, size_t alignment);
    void (*release)(void *user, void *memory); /* NULL is allowed */
    void *user;
} ry_allocator;

extern const ry_allocator ry_system_allocator; /* aligned_alloc and free */

/* aligned to RY_ALIGNMENT; not cleared */
void *ry_allocate(const ry_allocator *allocator, size_t size);
void *ry_allocate_array(const ry_allocator *allocator, size_t count, size_t size); /* cleared */
void ry_release(const ry_allocator *allocator, void *memory);

typedef struct ry_arena {
    const ry_allocator *allocator;
    struct ry_arena_block *blocks;
    size_t total; /* bytes taken from the allocator */
} ry_arena;

void ry_arena_init(ry_arena *arena, const ry_allocator *allocator);
void ry_arena_free(ry_arena *arena);
/* count*size cleared bytes, aligned to 16; NULL when exhausted; 0 bytes give a valid pointer */
void *ry_arena_take(ry_arena *arena, size_t count, size_t size);
void *ry_arena_take_aligned(ry_arena *arena, size_t size); /* the same, aligned to RY_ALIGNMENT */
char *ry_arena_string(ry_arena *arena, const char *text, size_t length); /* a NUL-terminated copy */
char *ry_arena_format(ry_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#define RY_TAKE(arena, type, count) ((type *)ry_arena_take((arena), (size_t)(count), sizeof(type)))

/* Grows `items` (capacity `*capacity`, used `used`) inside an arena so that one more fits; doubles,
 * so the waste is bounded by the size. */
void *ry_arena_grow(ry_arena *arena, void *items, size_t used, size_t *capacity, size_t size);

bool ry_mul_size(size_t a, size_t b, size_t *product); /* false on overflow */
bool ry_add_size(size_t a, size_t b, size_t *sum);

/* What this thread asked for when it was last refused memory, in bytes, for the message
 * (ry_fail_memory), which forgets it; SIZE_MAX: more than there are addresses; 0: it was not. */
size_t ry_memory_refused(void);
/* A size that is found to be too large before any allocator is asked. */
void ry_memory_refuse(size_t size);

#endif
