/* SPDX-License-Identifier: Apache-2.0 */
/* The system allocator and arenas. */
#define _DEFAULT_SOURCE /* madvise */
#include "base/memory.h"

#include "base/machine_memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Large blocks begin at a boundary of the system's huge pages, and it is asked for them: packed
 * weights and activations are read through from one end to the other in each run, and with pages of
 * 4 KiB an address has to be looked up in tables every 64 lines. */
enum { HUGE_PAGE = 2 * 1024 * 1024 };

/* Blocks from here on are refused if the machine cannot hold them: Linux would grant them, and kill
 * the process once it fills them. */
#define CHECKED_BLOCK ((size_t)1 << 30)

enum { BLOCK_SIZE = 64 * 1024, ARENA_ALIGNMENT = 16 };

typedef struct ry_arena_block {
    struct ry_arena_block *next;
    size_t used, size; /* bytes behind this header */
} ry_arena_block;

static size_t round_up(size_t n, size_t unit)
{
    return (n + unit - 1) / unit * unit;
}

static void *system_allocate(void *user, size_t size, size_t alignment)
{
    (void)user;
    if (size > SIZE_MAX - alignment || (size >= CHECKED_BLOCK && size > ry_machine_memory())) {
        return NULL;
    }
    const bool large = size >= HUGE_PAGE && alignment < HUGE_PAGE && size <= SIZE_MAX - HUGE_PAGE;
    const size_t unit = large ? HUGE_PAGE : alignment; /* C11: size must be a multiple of it */
    void *memory = aligned_alloc(unit, round_up(size, unit));
#if defined(MADV_HUGEPAGE)
    if (memory && large) {
        (void)madvise(memory, size, MADV_HUGEPAGE); /* a wish: without it the memory is as good */
    }
#endif
    return memory;
}

static void system_release(void *user, void *memory)
{
    (void)user;
    free(memory);
}

const ry_allocator ry_system_allocator = {system_allocate, system_release, NULL};

/* Errors are told far from where memory was refused, through functions that only say NULL or false:
 * like errno, it is kept beside them. */
static _Thread_local size_t refused;

void ry_memory_refuse(size_t size)
{
    refused = size;
}

size_t ry_memory_refused(void)
{
    const size_t size = refused;
    refused = 0;
    return size;
}

bool ry_mul_size(size_t a, size_t b, size_t *product)
{
    return !__builtin_mul_overflow(a, b, product);
}

bool ry_add_size(size_t a, size_t b, size_t *sum)
{
    return !__builtin_add_overflow(a, b, sum);
}

void *ry_allocate(const ry_allocator *allocator, size_t size)
{
    void *memory = allocator->allocate(allocator->user, size ? size : 1, RY_ALIGNMENT);
    if (!memory) {
        ry_memory_refuse(size);
    }
    return memory;
}

void *ry_allocate_array(const ry_allocator *allocator, size_t count, size_t size)
{
    size_t bytes;
    if (!ry_mul_size(count, size, &bytes)) {
        ry_memory_refuse(SIZE_MAX);
        return NULL;
    }
    void *memory = ry_allocate(allocator, bytes);
    if (memory) {
        memset(memory, 0, bytes ? bytes : 1);
    }
    return memory;
}

void ry_release(const ry_allocator *allocator, void *memory)
{
    if (memory) {
        allocator->release(allocator->user, memory);
    }
}

void ry_arena_init(ry_arena *arena, const ry_allocator *allocator)
{
    *arena = (ry_arena){.allocator = allocator};
}

void ry_arena_free(ry_arena *arena)
{
    for (ry_arena_block *block = arena->blocks; block;) {
        ry_arena_block *next = block->next;
        ry_release(arena->allocator, block);
        block = next;
    }
    arena->blocks = NULL;
    arena->total = 0;
}

static ry_arena_block *add_block(ry_arena *arena, size_t bytes)
{
    size_t header = round_up(sizeof(ry_arena_block), ARENA_ALIGNMENT);
    size_t size = bytes > BLOCK_SIZE / 4 ? bytes : BLOCK_SIZE - header;
    if (size > SIZE_MAX - header) {
        ry_memory_refuse(SIZE_MAX);
        return NULL;
    }
    ry_arena_block *block = ry_allocate(arena->allocator, header + size);
    if (!block) {
        return NULL;
    }
    *block = (ry_arena_block){.size = size};
    arena->total += header + size;
    /* A block made for one large request is full at once: it goes behind the current one, which may
     * have room left. */
    if (arena->blocks && size == bytes) {
        block->next = arena->blocks->next;
        arena->blocks->next = block;
    } else {
        block->next = arena->blocks;
        arena->blocks = block;
    }
    return block;
}

void *ry_arena_take(ry_arena *arena, size_t count, size_t size)
{
    size_t bytes;
    if (!ry_mul_size(count, size, &bytes) || bytes > SIZE_MAX - ARENA_ALIGNMENT) {
        ry_memory_refuse(SIZE_MAX);
        return NULL;
    }
    bytes = round_up(bytes, ARENA_ALIGNMENT);
    ry_arena_block *block = arena->blocks;
    if (!block || block->size - block->used < bytes) {
        block = add_block(arena, bytes);
        if (!block) {
            return NULL;
        }
    }
    char *memory = (char *)block + round_up(sizeof *block, ARENA_ALIGNMENT) + block->used;
    block->used += bytes;
    memset(memory, 0, bytes);
    return memory;
}

void *ry_arena_take_aligned(ry_arena *arena, size_t size)
{
    char *memory =
        size > SIZE_MAX - RY_ALIGNMENT ? NULL : ry_arena_take(arena, size + RY_ALIGNMENT, 1);
    const size_t past = (uintptr_t)memory % RY_ALIGNMENT;
    return past ? memory + (RY_ALIGNMENT - past) : memory;
}

char *ry_arena_string(ry_arena *arena, const char *text, size_t length)
{
    char *copy = length == SIZE_MAX ? NULL : ry_arena_take(arena, length + 1, 1);
    if (copy) {
        memcpy(copy, text, length);
    }
    return copy;
}

char *ry_arena_format(ry_arena *arena, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = length < 0 ? NULL : ry_arena_take(arena, (size_t)length + 1, 1);
    if (text) {
        vsnprintf(text, (size_t)length + 1, format, again);
    }
    va_end(again);
    return text;
}

void *ry_arena_grow(ry_arena *arena, void *items, size_t used, size_t *capacity, size_t size)
{
    if (used < *capacity) {
        return items;
    }
    size_t wanted = *capacity ? *capacity * 2 : 8;
    void *grown = ry_arena_take(arena, wanted, size);
    if (!grown) {
        return NULL;
    }
    if (used) {
        memcpy(grown, items, used * size);
    }
    *capacity = wanted;
    return grown;
}
