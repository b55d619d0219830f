/* SPDX-License-Identifier: Apache-2.0 */
/* A library to preload: the C library's allocation of number RYND_TEST_FAIL_AT (from 0), or every
 * one from there on where RYND_TEST_FAIL_ON is set, fails. With RYND_TEST_COUNT=FD their number is
 * written to that file descriptor at the end. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* glibc's own names of what is replaced here. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static atomic_long count, fail_at = -1;
static bool fail_on, ready;

__attribute__((constructor)) static void begin(void)
{
    const char *at = getenv("RYND_TEST_FAIL_AT");
    fail_on = getenv("RYND_TEST_FAIL_ON") != NULL;
    fail_at = at ? atol(at) : -1;
    ready = true;
}

__attribute__((destructor)) static void end(void)
{
    const char *file = getenv("RYND_TEST_COUNT");
    char text[32];
    const int length = snprintf(text, sizeof text, "%ld\n", (long)count);
    if (file && write(atoi(file), text, (size_t)length) != length) {
        _exit(99);
    }
}

static bool fails(void)
{
    const long own = ready ? atomic_fetch_add(&count, 1) : -1;
    if (own < 0 || fail_at < 0 || own < fail_at || (own > fail_at && !fail_on)) {
        return false;
    }
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t items, size_t size)
{
    return fails() ? NULL : __libc_calloc(items, size);
}

void *realloc(void *memory, size_t size)
{
    return fails() ? NULL : __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return fails() ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    *memory = fails() ? NULL : __libc_memalign(alignment, size);
    return *memory ? 0 : ENOMEM;
}
