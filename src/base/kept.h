/* SPDX-License-Identifier: Apache-2.0 */
/* Things that several users share by a key: made once, counted, and kept for the next user as far
 * as a limit allows.
 *
 * Things that are made together are a lot: they are one block of memory and go together. A lot that
 * nobody holds is idle. Idle lots stay until their bytes exceed the limit; the least recently held
 * goes first, and the last one stays, if the limit is not 0. Any thread may call these functions.
 */
#ifndef RY_BASE_KEPT_H
#define RY_BASE_KEPT_H

#include "base/memory.h"
#include "base/status.h"

typedef struct ry_kept ry_kept;
typedef struct ry_lot ry_lot;

/* One thing that a caller asks for. */
typedef struct ry_kept_thing {
    const void *key; /* any bytes */
    size_t key_size;
    size_t size;   /* bytes of the thing */
    ry_lot *lot;   /* receives the lot; the caller then holds it */
    size_t offset; /* receives its place in the lot, a multiple of RY_ALIGNMENT */
} ry_kept_thing;

typedef struct ry_kept_figures {
    size_t bytes, idle; /* all lots' bytes; idle lots' bytes */
    size_t lots, limit;
} ry_kept_figures;

/* `destroy` frees a lot's content. limit: bytes of idle lots. */
rynd_status ry_kept_create(const ry_allocator *allocator, size_t limit,
                           void (*destroy)(void *user, void *content), void *user, ry_kept **kept,
                           ry_error *error);
/* Nothing may be held. NULL is allowed. */
void ry_kept_destroy(ry_kept *kept);

/* Finds or begins all things, of different keys, and holds the lot of each (several holds if things
 * share a lot). What was not there is in a new lot, *own: the caller fills it, then calls
 * ry_kept_finish or ry_kept_abandon. *own NULL: all were there, or another thread makes them. */
rynd_status ry_kept_take(ry_kept *kept, ry_kept_thing *things, size_t count, ry_lot **own,
                         ry_error *error);
/* Bytes of a new lot. */
size_t ry_lot_size(const ry_lot *lot);
/* Gives a new lot its content, which must not be NULL. */
void ry_kept_finish(ry_kept *kept, ry_lot *own, void *content);
/* The new lot could not be made: whoever waits for it makes its things himself. Its holds remain to
 * be dropped. */
void ry_kept_abandon(ry_kept *kept, ry_lot *own);

/* Waits until other threads have made the things. false: one was abandoned; drop all, and take them
 * again. Call it after ry_kept_finish, so that no two threads wait for each other. */
bool ry_kept_await(ry_kept *kept, const ry_kept_thing *things, size_t count);

/* The content of a finished lot. */
void *ry_lot_content(const ry_lot *lot);
/* A number of the lot's first thing: other things have other numbers, also those that are gone, and
 * a thing that is made again has its old one. Never 0. */
uint64_t ry_lot_serial(const ry_lot *lot);

/* One hold less. NULL is allowed. */
void ry_kept_drop(ry_kept *kept, ry_lot *lot);

void ry_kept_set_limit(ry_kept *kept, size_t limit);
ry_kept_figures ry_kept_count(ry_kept *kept);

#endif
