/* SPDX-License-Identifier: Apache-2.0 */
/* Stores of weights, and a table of the forms that were decided. */
#include "plan/weights.h"

#include "graph/derive.h"

#include <pthread.h>
#include <string.h>

enum { BUCKETS = 512 };

typedef struct decision {
    struct decision *next;
    uint64_t number; /* 1: the first */
    ry_weight_use use;
} decision;

struct ry_weights {
    const ry_allocator *allocator;
    ry_kept *packed, *derived;
    pthread_mutex_t lock; /* guards the fields below */
    ry_arena arena;
    uint64_t decisions;
    decision *bucket[BUCKETS];
};

static void destroy_packed(void *unused, void *content)
{
    (void)unused;
    ry_packed_lot *lot = content;
    lot->device->table->buffer_destroy(lot->device, lot->buffer);
    ry_release(lot->allocator, lot);
}

rynd_status ry_weights_create(const ry_allocator *allocator, size_t keep, ry_weights **weights,
                              ry_error *error)
{
    ry_weights *w = ry_allocate_array(allocator, 1, sizeof *w);
    if (!w) {
        return ry_fail_memory(error);
    }
    w->allocator = allocator;
    ry_arena_init(&w->arena, allocator);
    pthread_mutex_init(&w->lock, NULL);
    rynd_status status = ry_kept_create(allocator, keep, destroy_packed, NULL, &w->packed, error);
    if (status == RYND_OK) {
        status = ry_derived_store_create(allocator, keep, &w->derived, error);
    }
    if (status != RYND_OK) {
        ry_weights_destroy(w);
        return status;
    }
    *weights = w;
    return RYND_OK;
}

void ry_weights_destroy(ry_weights *weights)
{
    if (weights) {
        ry_kept_destroy(weights->packed);
        ry_kept_destroy(weights->derived);
        pthread_mutex_destroy(&weights->lock);
        ry_arena_free(&weights->arena);
        ry_release(weights->allocator, weights);
    }
}

ry_kept *ry_weights_packed(ry_weights *weights)
{
    return weights->packed;
}

ry_kept *ry_weights_derived(ry_weights *weights)
{
    return weights->derived;
}

static rynd_status make_lot(const ry_weights *weights, const ry_lot *own, const ry_lot_maker *maker,
                            ry_packed_lot **made, ry_error *error)
{
    ry_packed_lot *lot = ry_allocate_array(weights->allocator, 1, sizeof *lot);
    if (!lot) {
        return ry_fail_memory(error);
    }
    *lot = (ry_packed_lot){.allocator = weights->allocator, .device = maker->device};
    const rynd_status status = maker->make(maker->context, own, &lot->buffer, error);
    if (status != RYND_OK) {
        destroy_packed(NULL, lot);
        return status;
    }
    *made = lot;
    return RYND_OK;
}

/* *again: another plan that was to make one of the things has failed, and nothing is held. */
static rynd_status share_once(ry_kept *kept, const ry_weights *weights, ry_kept_thing *things,
                              size_t count, const ry_lot_maker *maker, bool *again, ry_error *error)
{
    ry_lot *own;
    ry_packed_lot *content;
    RY_TRY(ry_kept_take(kept, things, count, &own, error));
    const rynd_status status = own ? make_lot(weights, own, maker, &content, error) : RYND_OK;
    if (own && status == RYND_OK) {
        ry_kept_finish(kept, own, content);
    } else if (own) {
        ry_kept_abandon(kept, own);
    }
    *again = status == RYND_OK && !ry_kept_await(kept, things, count);
    for (size_t i = 0; i < count && (status != RYND_OK || *again); i++) {
        ry_kept_drop(kept, things[i].lot);
    }
    return status;
}

rynd_status ry_weights_share(ry_weights *weights, ry_kept_thing *things, size_t count,
                             const ry_lot_maker *maker, ry_error *error)
{
    bool again = count > 0;
    while (again) {
        RY_TRY(share_once(weights->packed, weights, things, count, maker, &again, error));
    }
    return RYND_OK;
}

uint64_t ry_weights_decisions(ry_weights *weights)
{
    pthread_mutex_lock(&weights->lock);
    const uint64_t decisions = weights->decisions;
    pthread_mutex_unlock(&weights->lock);
    return decisions;
}

static decision **bucket_of(ry_weights *weights, uint64_t identity)
{
    return &weights->bucket[(identity ^ identity >> 32) * 2654435761u % BUCKETS];
}

static bool is_of(const decision *d, const ry_weight_use *use)
{
    return d->use.identity == use->identity && d->use.accuracy == use->accuracy;
}

bool ry_weights_find(ry_weights *weights, uint64_t decisions, const ry_weight_use *use,
                     ry_bound_forms *bound)
{
    bool decided = false;
    bound->count = 0;
    pthread_mutex_lock(&weights->lock);
    for (const decision *d = *bucket_of(weights, use->identity); d; d = d->next) {
        if (!is_of(d, use) || d->number > decisions) {
            continue;
        }
        decided = true;
        if (d->use.op == use->op && bound->count < RY_BOUND_FORMS) {
            bound->form[bound->count++] = d->use.form;
        }
    }
    pthread_mutex_unlock(&weights->lock);
    return decided;
}

/* The number of the first decision about a weight; 0: there is none. Decisions are put at the end
 * of their bucket, so the forms of a weight keep their order. */
static uint64_t first_decision(ry_weights *weights, const ry_weight_use *use)
{
    const decision *d = *bucket_of(weights, use->identity);
    while (d && !is_of(d, use)) {
        d = d->next;
    }
    return d ? d->number : 0;
}

static bool is_there(ry_weights *weights, const ry_weight_use *use)
{
    for (const decision *d = *bucket_of(weights, use->identity); d; d = d->next) {
        if (is_of(d, use) && d->use.op == use->op && d->use.form.kernel == use->form.kernel &&
            memcmp(&d->use.form.form, &use->form.form, sizeof use->form.form) == 0) {
            return true;
        }
    }
    return false;
}

static bool add(ry_weights *weights, const ry_weight_use *use, uint64_t number)
{
    decision **end = bucket_of(weights, use->identity);
    while (*end) {
        end = &(*end)->next;
    }
    decision *d = RY_TAKE(&weights->arena, decision, 1);
    if (d) {
        *d = (decision){NULL, number, *use};
        *end = d;
    }
    return d != NULL;
}

static bool decide(ry_weights *weights, uint64_t decisions, const ry_weight_use *uses, size_t count)
{
    /* one number for all: a plan may use a weight several times, in several forms */
    const uint64_t number = weights->decisions + 1;
    for (size_t i = 0; i < count; i++) {
        const uint64_t first = first_decision(weights, &uses[i]);
        if (first != 0 && first <= decisions) {
            continue;
        }
        if (!is_there(weights, &uses[i])) {
            if (!add(weights, &uses[i], number)) {
                return false;
            }
            weights->decisions = number;
        }
    }
    return true;
}

rynd_status ry_weights_decide(ry_weights *weights, uint64_t decisions, const ry_weight_use *uses,
                              size_t count, bool *late, ry_error *error)
{
    bool decided = true;
    *late = false;
    pthread_mutex_lock(&weights->lock);
    for (size_t i = 0; i < count && !*late; i++) {
        *late = first_decision(weights, &uses[i]) > decisions;
    }
    if (!*late) {
        decided = decide(weights, decisions, uses, count);
    }
    pthread_mutex_unlock(&weights->lock);
    return decided ? RYND_OK : ry_fail_memory(error);
}

void ry_weights_forget(ry_weights *weights)
{
    pthread_mutex_lock(&weights->lock);
    memset(weights->bucket, 0, sizeof weights->bucket);
    ry_arena_free(&weights->arena);
    ry_arena_init(&weights->arena, weights->allocator);
    pthread_mutex_unlock(&weights->lock);
}
