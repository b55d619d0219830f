/* SPDX-License-Identifier: Apache-2.0 */
/* The thread, and the marks by which both sides know how far a round is. */
#include "exchange/exchanger.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>

struct ry_exchanger {
    const ry_allocator *allocator;
    rynd_exchange exchange;
    ry_bucket *buckets;
    bool *begun; /* whether each bucket has begun in this round */
    size_t count;
    size_t done;   /* buckets that are added up */
    size_t waited; /* buckets that the owner has back */
    bool failed, stop;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    bool running;
};

/* With the lock held; it is free while the ranks talk. */
static void reduce_next(ry_exchanger *x)
{
    const ry_bucket *bucket = &x->buckets[x->done];
    pthread_mutex_unlock(&x->lock);
    const int result = x->exchange.all_reduce(x->exchange.user, bucket->data, bucket->count);
    pthread_mutex_lock(&x->lock);
    x->failed = x->failed || result != 0;
    x->done++;
    pthread_cond_broadcast(&x->changed);
}

static void *work(void *user)
{
    ry_exchanger *x = user;
    pthread_mutex_lock(&x->lock);
    while (!x->stop) {
        if (x->done < x->count && x->begun[x->done] && !x->failed) {
            reduce_next(x);
        } else {
            pthread_cond_wait(&x->changed, &x->lock);
        }
    }
    pthread_mutex_unlock(&x->lock);
    return NULL;
}

/* Signals are for the caller's threads. */
static bool start_thread(ry_exchanger *x)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    x->running = pthread_create(&x->thread, NULL, work, x) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return x->running;
}

rynd_status ry_exchanger_create(const ry_allocator *allocator, const rynd_exchange *exchange,
                                const ry_bucket *buckets, size_t count, ry_exchanger **exchanger,
                                ry_error *error)
{
    ry_exchanger *x = ry_allocate_array(allocator, 1, sizeof *x);
    if (!x) {
        return ry_fail_memory(error);
    }
    x->allocator = allocator;
    x->exchange = *exchange;
    x->count = count;
    pthread_mutex_init(&x->lock, NULL);
    pthread_cond_init(&x->changed, NULL);
    x->buckets = ry_allocate_array(allocator, count, sizeof *x->buckets);
    x->begun = ry_allocate_array(allocator, count, sizeof *x->begun);
    if (!x->buckets || !x->begun) {
        ry_exchanger_destroy(x);
        return ry_fail_memory(error);
    }
    memcpy(x->buckets, buckets, count * sizeof *buckets);
    if (!start_thread(x)) {
        ry_exchanger_destroy(x);
        return ry_fail(error, RYND_ERROR_OUT_OF_MEMORY, "no thread can be made for the exchange");
    }
    *exchanger = x;
    return RYND_OK;
}

void ry_exchanger_destroy(ry_exchanger *x)
{
    if (!x) {
        return;
    }
    pthread_mutex_lock(&x->lock);
    x->stop = true;
    pthread_cond_broadcast(&x->changed);
    pthread_mutex_unlock(&x->lock);
    if (x->running) {
        pthread_join(x->thread, NULL);
    }
    pthread_cond_destroy(&x->changed);
    pthread_mutex_destroy(&x->lock);
    ry_release(x->allocator, x->buckets);
    ry_release(x->allocator, x->begun);
    ry_release(x->allocator, x);
}

void ry_exchanger_begin(ry_exchanger *x, size_t bucket)
{
    pthread_mutex_lock(&x->lock);
    x->begun[bucket] = true;
    pthread_cond_broadcast(&x->changed);
    pthread_mutex_unlock(&x->lock);
}

rynd_status ry_exchanger_wait(ry_exchanger *x, size_t bucket, ry_error *error)
{
    pthread_mutex_lock(&x->lock);
    while (x->done <= bucket && !x->failed) {
        pthread_cond_wait(&x->changed, &x->lock);
    }
    const bool failed = x->failed;
    if (!failed && ++x->waited == x->count) {
        x->waited = x->done = 0;
        memset(x->begun, 0, x->count * sizeof *x->begun);
    }
    pthread_mutex_unlock(&x->lock);
    return failed ? ry_fail(error, RYND_ERROR_DEVICE,
                            "rank %d of %d: the exchange with the other ranks failed: go on from "
                            "a checkpoint",
                            x->exchange.rank, x->exchange.ranks)
                  : RYND_OK;
}
