/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a run's words, and compares them with a checkpoint's. */
#include "train_identity.h"

#include "notes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DATA_WORDS = 1024, DIFFERENCES = 1024 };

/* Describes the data, its order, and the rate. The number of steps is a word only if the rate
 * depends on it. */
static void describe_data(const cli_train_run *run, char text[DATA_WORDS])
{
    const cli_train_settings *s = run->settings;
    const cli_preprocess *p = &run->preprocess;
    const cli_augment *a = &s->augment;
    const cli_schedule *c = &s->schedule;
    snprintf(text, DATA_WORDS,
             "samples=%zu data=%016" PRIx64 " factor=%" PRId64 " batch=%" PRId64 " seed=%" PRId64
             " order=%s lr=%.17g schedule=%d warmup=%" PRId64 " decay-every=%" PRId64
             " decay=%.17g lr-last=%.17g steps=%" PRIu64 " size=%" PRId64 "x%" PRId64
             " crop=%" PRId64 "x%" PRId64 " scale=%.17g mean=%.17g,%.17g,%.17g "
             "std=%.17g,%.17g,%.17g channels=%d area=%.17g pad=%" PRId64
             " flip=%d turn=%d jitter=%.17g rand-augment=%" PRId64 "x%" PRId64
             " erase=%.17g mixup=%.17g",
             run->data.count, run->data.content, s->factor, run->batch, s->seed,
             s->ordered ? "own" : "random", c->rate, c->kind, c->warmup, c->decay_every, c->decay,
             c->last, c->kind > 1 ? run->steps : 0, p->size.height, p->size.width, p->crop.height,
             p->crop.width, p->scale, p->mean.value[0], p->mean.value[1], p->mean.value[2],
             p->std.value[0], p->std.value[1], p->std.value[2], p->order, a->area, a->pad, a->flip,
             a->turn, a->jitter, a->changes, a->changes ? a->magnitude : 0, a->erase, a->mixup);
}

bool cli_train_identify(cli_train_run *run, cli_failure *failure)
{
    char data[DATA_WORDS];
    const char *trainer;
    if (rynd_trainer_get_identity(run->trainee.trainer, &trainer) != RYND_OK) {
        return cli_fail_library(failure);
    }
    describe_data(run, data);
    const size_t room = strlen(data) + strlen(trainer) + 2;
    run->identity = malloc(room);
    if (!run->identity) {
        return cli_fail_memory(failure);
    }
    snprintf(run->identity, room, "%s %s", data, trainer);
    return true;
}

typedef struct word {
    const char *text;
    size_t length, name; /* characters of all, and before the '=' */
} word;

/* The next word; false: there is none. */
static bool next_word(const char **rest, word *next)
{
    next->text = *rest + strspn(*rest, " ");
    next->length = strcspn(next->text, " ");
    next->name = strcspn(next->text, "= ");
    *rest = next->text + next->length;
    return next->length > 0;
}

static bool find_word(const char *words, const word *like, word *found)
{
    while (next_word(&words, found)) {
        if (found->name == like->name && memcmp(found->text, like->text, like->name) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_named(const word *w, const char *name)
{
    return w->name == strlen(name) && memcmp(w->text, name, w->name) == 0;
}

/* Words that follow from others say something only where nothing else does. */
static const struct {
    const char *name, *meaning;
} followers[] = {
    {"constants", "untrained weights differ: another model, or another --freeze"},
    {"kernels", "steps with other kernels or forms: another model, machine or wisdom, or "
                "another build of rynd"},
};

static const char *meaning_of(const word *w)
{
    for (size_t i = 0; i < sizeof followers / sizeof *followers; i++) {
        if (is_named(w, followers[i].name)) {
            return followers[i].meaning;
        }
    }
    return NULL;
}

/* Ranks drop by seeds of their own, and the checkpoint is rank 0's. */
static bool is_own(const cli_train_run *run, const word *w)
{
    return run->ranks.rank != 0 && is_named(w, "dropout_seed");
}

static void add(char text[DIFFERENCES], const char *more, size_t length)
{
    const size_t used = strlen(text);
    snprintf(text + used, DIFFERENCES - used, "%s%.*s", used ? ", " : "", (int)length, more);
}

typedef struct difference {
    char saved[DIFFERENCES], own[DIFFERENCES]; /* words, with commas */
    const char *meaning;                       /* set if constants or kernels differ; else NULL */
} difference;

static bool compare(const cli_train_run *run, const char *saved, difference *d)
{
    const char *rest = run->identity;
    word own, other;
    *d = (difference){.meaning = NULL};
    while (next_word(&rest, &own)) {
        const bool found = find_word(saved, &own, &other);
        if (is_own(run, &own) || (found && other.length == own.length &&
                                  memcmp(other.text, own.text, own.length) == 0)) {
            continue;
        }
        if (meaning_of(&own)) {
            d->meaning = d->meaning ? d->meaning : meaning_of(&own);
            continue;
        }
        add(d->own, own.text, own.length);
        if (found) {
            add(d->saved, other.text, other.length);
        } else {
            add(d->saved, own.text, own.name);
            strncat(d->saved, " unknown", DIFFERENCES - strlen(d->saved) - 1);
        }
    }
    return !*d->own && !d->meaning;
}

bool cli_train_check_identity(const cli_train_run *run, const char *saved, cli_failure *failure)
{
    const cli_train_settings *s = run->settings;
    difference d;
    char what[3 * DIFFERENCES];
    if (compare(run, saved, &d)) {
        return true;
    }
    if (*d.own) {
        snprintf(what, sizeof what, "comes from a run with %s, but this run has %s", d.saved,
                 d.own);
    } else {
        snprintf(what, sizeof what, "comes from a different run (%s)", d.meaning);
    }
    if (s->other_bits) {
        cli_note(&s->common, "'%s' %s: continuing with other bits", s->resume, what);
        return true;
    }
    return cli_fail(failure,
                    "'%s' %s: it cannot continue with the same bits; give the same options, or "
                    "--other-bits to continue anyway",
                    s->resume, what);
}
