/* SPDX-License-Identifier: Apache-2.0 */
/* A ring of batches. Threads take one sample of the oldest batch that is not complete at a time; a
 * batch whose samples are all there is taken in its turn, and its place is used again once it was
 * given back. */
#include "train_loader.h"

#include "ending.h"
#include "mixup.h"
#include "notes.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Batches ahead of the one that is used: two make up for a slow picture. */
enum { RING = CLI_LOADER_BATCHES, MOST_THREADS = 256 };

typedef struct place {
    cli_tensor x[CLI_TRAIN_INPUTS], y;
    unsigned char *own;   /* one flag per sample: it is the order's own, no replacement */
    int64_t handed, done; /* samples given to threads; put */
    cli_failure failure;  /* error of the first sample that failed */
    int64_t failed;       /* which that is */
} place;

/* The order of an epoch. At most RING batches are worked on, so at most as many epochs. */
typedef struct epoch_order {
    bool made;
    uint32_t epoch;
    uint64_t *samples;
} epoch_order;

struct cli_loader {
    cli_loader_options options;
    uint64_t batches; /* per epoch */
    uint64_t oldest;  /* batch that was not given back */
    uint64_t working; /* that samples are handed out of */
    bool taken, stop;
    place ring[RING];
    epoch_order orders[RING + 1];
    unsigned char *broken; /* one flag per sample: already named as unreadable */
    pthread_mutex_t lock;
    pthread_cond_t room, ready;
    pthread_t threads[MOST_THREADS];
    unsigned thread_count;
};

/* Decoding shares the cores with the steps: one thread a core fills the gaps. */
unsigned cli_loader_threads(const cli_common *common)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return common->threads ? (unsigned)common->threads : cores > 0 ? (unsigned)cores : 1;
}

uint64_t cli_loader_batches(const cli_dataset *set, int64_t batch, bool whole)
{
    const uint64_t count = set->count, size = (uint64_t)batch;
    return count / size + (whole && count % size ? 1 : 0);
}

static uint32_t epoch_of(const cli_loader *l, uint64_t batch)
{
    return (uint32_t)(batch / l->batches);
}

/* Where this loader's part of a batch begins in the order of its epoch. */
static uint64_t first_of(const cli_loader *l, uint64_t batch)
{
    const uint64_t size = (uint64_t)l->options.form->wish.batch;
    const uint64_t part =
        batch % l->batches * (uint64_t)l->options.parts + (uint64_t)l->options.part;
    return part * size;
}

/* NULL: out of memory. With the lock held. */
static const uint64_t *order_of(cli_loader *l, uint32_t epoch)
{
    epoch_order *order = &l->orders[epoch % (RING + 1)];
    const size_t count = l->options.form->wish.set->count;
    if (order->made && order->epoch == epoch) {
        return order->samples;
    }
    order->samples = order->samples ? order->samples : malloc(count * sizeof *order->samples);
    if (!order->samples) {
        return NULL;
    }
    const rynd_random random = {l->options.seed, CLI_STREAM_ORDER, epoch};
    if (l->options.shuffle) {
        rynd_random_permutation(&random, count, order->samples);
    } else {
        for (size_t i = 0; i < count; i++) {
            order->samples[i] = i;
        }
    }
    order->made = true;
    order->epoch = epoch;
    return order->samples;
}

/* Says that a sample is broken, once. */
static void note_broken(cli_loader *l, size_t sample, const cli_failure *why)
{
    pthread_mutex_lock(&l->lock);
    if (!l->broken[sample]) {
        l->broken[sample] = 1;
        cli_note(l->options.common, "%s; it is skipped", why->text);
    }
    pthread_mutex_unlock(&l->lock);
}

/* The sample at a place of the order, or the next one that can be read. */
static bool read_sample(cli_loader *l, const uint64_t *order, uint64_t at, cli_sample *sample,
                        size_t *index, cli_failure *failure)
{
    const cli_dataset *set = l->options.form->wish.set;
    for (size_t tries = 0; tries < set->count; tries++) {
        cli_failure broken = {0};
        *index = (size_t)order[(at + tries) % set->count];
        if (set->kind->read(set, *index, sample, &broken)) {
            return true;
        }
        note_broken(l, *index, &broken);
    }
    return cli_fail(failure, "none of the %zu samples of '%s' can be read", set->count, set->path);
}

static bool make_sample(cli_loader *l, uint64_t batch, int64_t at, const uint64_t *order,
                        cli_failure *failure)
{
    const cli_batch_form *form = l->options.form;
    const place *p = &l->ring[batch % RING];
    const uint64_t position = first_of(l, batch) + (uint64_t)at;
    cli_draw draw = {l->options.seed, epoch_of(l, batch), 0};
    cli_sample sample;
    if (!read_sample(l, order, position, &sample, &draw.sample, failure)) {
        return false;
    }
    p->own[at] = position < form->wish.set->count && draw.sample == order[position];
    rynd_tensor x[CLI_TRAIN_INPUTS];
    for (size_t i = 0; i < form->wish.input_count; i++) {
        x[i] = p->x[i].view;
    }
    const bool good = cli_batch_put(form, &draw, &sample, x, &p->y.view, at, failure);
    cli_sample_free(&sample);
    return good;
}

/* Mixes the samples of a batch that is complete. */
static bool mix_samples(cli_loader *l, uint64_t batch, cli_failure *failure)
{
    const cli_augment *augment = l->options.form->wish.augment;
    const place *p = &l->ring[batch % RING];
    const rynd_random random = {l->options.seed, CLI_STREAM_MIXUP, epoch_of(l, batch)};
    const uint64_t part =
        batch % l->batches * (uint64_t)l->options.parts + (uint64_t)l->options.part;
    float numbers[CLI_MIXUP_NUMBERS];
    if (!augment || augment->mixup <= 0) {
        return true;
    }
    rynd_random_uniform(&random, part * CLI_MIXUP_NUMBERS, CLI_MIXUP_NUMBERS, numbers);
    const float share = cli_mixup_share(augment->mixup, numbers);
    return cli_mixup_rows(&p->x[0].view, share, failure) &&
           cli_mixup_rows(&p->y.view, share, failure);
}

static void keep_failure(place *p, int64_t at, const cli_failure *failure)
{
    if (p->failed < 0 || at < p->failed) {
        p->failed = at;
        p->failure = *failure;
    }
}

/* With the lock held; it is free while the sample is made. */
static void work_on_sample(cli_loader *l)
{
    const uint64_t batch = l->working;
    place *p = &l->ring[batch % RING];
    const int64_t size = l->options.form->wish.batch, at = p->handed++;
    const uint64_t *order = order_of(l, epoch_of(l, batch));
    if (p->handed == size) {
        l->working++;
        pthread_cond_broadcast(&l->room);
    }
    pthread_mutex_unlock(&l->lock);
    cli_failure failure = {0};
    const bool good =
        order ? make_sample(l, batch, at, order, &failure) : cli_fail_memory(&failure);
    pthread_mutex_lock(&l->lock);
    if (!good) {
        keep_failure(p, at, &failure);
    }
    if (p->done + 1 == size && p->failed < 0) { /* nobody else has this batch now */
        pthread_mutex_unlock(&l->lock);
        const bool mixed = mix_samples(l, batch, &failure);
        pthread_mutex_lock(&l->lock);
        if (!mixed) {
            keep_failure(p, at, &failure);
        }
    }
    if (++p->done == size) {
        pthread_cond_signal(&l->ready);
    }
}

static void *work(void *user)
{
    cli_loader *l = user;
    pthread_mutex_lock(&l->lock);
    while (!l->stop && l->working < l->options.end) {
        if (l->working >= l->oldest + RING) {
            pthread_cond_wait(&l->room, &l->lock);
        } else {
            work_on_sample(l);
        }
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

static bool make_places(cli_loader *l, cli_failure *failure)
{
    const cli_batch_form *form = l->options.form;
    for (int i = 0; i < RING; i++) {
        place *p = &l->ring[i];
        p->failed = -1;
        p->own = calloc((size_t)form->wish.batch, 1);
        if (!p->own) {
            return cli_fail_memory(failure);
        }
        for (size_t k = 0; k < form->wish.input_count; k++) {
            const rynd_tensor *x = &form->x[k];
            if (!cli_tensor_make(&p->x[k], x->dtype, x->rank, x->dim, failure)) {
                return false;
            }
        }
        if (!cli_tensor_make(&p->y, form->y.dtype, form->y.rank, form->y.dim, failure)) {
            return false;
        }
    }
    l->broken = calloc(form->wish.set->count, 1);
    return l->broken ? true : cli_fail_memory(failure);
}

static bool start_threads(cli_loader *l, cli_failure *failure)
{
    sigset_t before;
    const unsigned wanted = l->options.threads < MOST_THREADS ? l->options.threads : MOST_THREADS;
    cli_ending_hold(&before); /* signals are for the first thread */
    for (unsigned i = 0; i < wanted; i++) {
        if (pthread_create(&l->threads[i], NULL, work, l) != 0) {
            break;
        }
        l->thread_count++;
    }
    cli_ending_release(&before);
    return l->thread_count
               ? true
               : cli_fail(
                     failure,
                     "cannot start a thread to read samples: the system lacks memory or threads");
}

cli_loader *cli_loader_start(const cli_loader_options *options, cli_failure *failure)
{
    const cli_batch_wish *wish = &options->form->wish;
    cli_loader *l = calloc(1, sizeof *l);
    if (!l) {
        cli_fail_memory(failure);
        return NULL;
    }
    l->options = *options;
    l->batches = options->batches
                     ? options->batches
                     : cli_loader_batches(wish->set, wish->batch * options->parts, options->whole);
    l->oldest = l->working = options->first;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->room, NULL);
    pthread_cond_init(&l->ready, NULL);
    bool good =
        l->batches > 0 ||
        cli_fail(failure, "'%s' has %zu samples, less than a batch of %lld", wish->set->path,
                 wish->set->count, (long long)wish->batch * options->parts);
    good = good && make_places(l, failure) && start_threads(l, failure);
    if (!good) {
        cli_loader_stop(l);
        return NULL;
    }
    return l;
}

bool cli_loader_take(cli_loader *l, cli_batch *batch, cli_failure *failure)
{
    const int64_t size = l->options.form->wish.batch;
    *batch = (cli_batch){.number = l->oldest};
    if (l->oldest >= l->options.end) {
        return true;
    }
    const place *p = &l->ring[l->oldest % RING];
    pthread_mutex_lock(&l->lock);
    while (p->done < size) {
        pthread_cond_wait(&l->ready, &l->lock);
    }
    l->taken = true;
    pthread_mutex_unlock(&l->lock);
    if (p->failed >= 0) {
        *failure = p->failure;
        return false;
    }
    batch->epoch = epoch_of(l, l->oldest);
    for (size_t i = 0; i < l->options.form->wish.input_count; i++) {
        batch->x[i] = p->x[i].view;
    }
    batch->y = p->y.view;
    batch->own = p->own;
    const uint64_t first = first_of(l, l->oldest), all = l->options.form->wish.set->count;
    const uint64_t left = all > first ? all - first : 0;
    batch->count = left < (uint64_t)size ? (int64_t)left : size;
    return true;
}

void cli_loader_give(cli_loader *l)
{
    pthread_mutex_lock(&l->lock);
    if (l->taken) {
        place *p = &l->ring[l->oldest % RING];
        p->handed = p->done = 0;
        l->taken = false;
        l->oldest++;
        pthread_cond_broadcast(&l->room);
    }
    pthread_mutex_unlock(&l->lock);
}

const unsigned char *cli_loader_broken(const cli_loader *l)
{
    return l->broken;
}

void cli_loader_stop(cli_loader *l)
{
    if (!l) {
        return;
    }
    pthread_mutex_lock(&l->lock);
    l->stop = true;
    pthread_cond_broadcast(&l->room);
    pthread_mutex_unlock(&l->lock);
    for (unsigned i = 0; i < l->thread_count; i++) {
        pthread_join(l->threads[i], NULL);
    }
    for (int i = 0; i < RING; i++) {
        for (int k = 0; k < CLI_TRAIN_INPUTS; k++) {
            cli_tensor_free(&l->ring[i].x[k]);
        }
        cli_tensor_free(&l->ring[i].y);
        free(l->ring[i].own);
    }
    for (int i = 0; i < RING + 1; i++) {
        free(l->orders[i].samples);
    }
    free(l->broken);
    pthread_cond_destroy(&l->ready);
    pthread_cond_destroy(&l->room);
    pthread_mutex_destroy(&l->lock);
    free(l);
}
