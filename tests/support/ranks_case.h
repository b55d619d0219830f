/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that are threads of one process: the ring's messages go through mailboxes. */
#ifndef TESTS_SUPPORT_RANKS_CASE_H
#define TESTS_SUPPORT_RANKS_CASE_H

#include "exchange/ring.h"

#include <rynd/exchange.h>

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

enum { MOST_RANKS = 8 };

/* What the rank before handed over, until it was taken. */
typedef struct mailbox {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    const float *data;
    size_t count;
    bool full;
} mailbox;

typedef struct rank_case rank_case;
typedef struct rank_thread {
    rank_case *all;
    ry_ring ring;
    rynd_exchange exchange;
    pthread_t thread;
} rank_thread;

struct rank_case {
    int ranks;
    mailbox box[MOST_RANKS];
    rank_thread rank[MOST_RANKS];
    void *(*run)(rank_thread *);
};

static inline int mail(void *user, const float *send, size_t sent, float *receive, size_t received)
{
    const rank_thread *r = user;
    rank_case *all = r->all;
    mailbox *to = &all->box[(r->ring.rank + 1) % all->ranks], *own = &all->box[r->ring.rank];
    pthread_mutex_lock(&to->lock);
    to->data = send;
    to->count = sent;
    to->full = true;
    pthread_cond_broadcast(&to->changed);
    pthread_mutex_unlock(&to->lock);
    pthread_mutex_lock(&own->lock);
    while (!own->full) {
        pthread_cond_wait(&own->changed, &own->lock);
    }
    const bool right = own->count == received;
    if (right && received) {
        memcpy(receive, own->data, received * sizeof *receive);
    }
    own->full = false;
    pthread_cond_broadcast(&own->changed);
    pthread_mutex_unlock(&own->lock);
    pthread_mutex_lock(&to->lock);
    while (to->full) { /* `send` is the caller's again */
        pthread_cond_wait(&to->changed, &to->lock);
    }
    pthread_mutex_unlock(&to->lock);
    return right ? 0 : -1;
}

static inline void *start_rank(void *user)
{
    rank_thread *r = user;
    return r->all->run(r);
}

/* Runs `run` once a rank, each in a thread of its own. */
static inline void run_ranks(rank_case *all, int ranks, void *(*run)(rank_thread *))
{
    all->ranks = ranks;
    all->run = run;
    for (int i = 0; i < ranks; i++) {
        rank_thread *r = &all->rank[i];
        pthread_mutex_init(&all->box[i].lock, NULL);
        pthread_cond_init(&all->box[i].changed, NULL);
        all->box[i].full = false;
        r->all = all;
        r->ring = (ry_ring){i, ranks, mail, r, NULL, 0, &ry_system_allocator};
        r->exchange = RYND_SIZED(rynd_exchange, .rank = i, .ranks = ranks,
                                 .all_reduce = ry_ring_all_reduce, .user = &r->ring);
    }
    for (int i = 0; i < ranks; i++) {
        pthread_create(&all->rank[i].thread, NULL, start_rank, &all->rank[i]);
    }
    for (int i = 0; i < ranks; i++) {
        pthread_join(all->rank[i].thread, NULL);
    }
    for (int i = 0; i < ranks; i++) { /* the rank before used a mailbox, too */
        ry_ring_free(&all->rank[i].ring);
        pthread_mutex_destroy(&all->box[i].lock);
        pthread_cond_destroy(&all->box[i].changed);
    }
}

#endif
