/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints: arrays `about` (the text "rynd training\nstep=N\nsettings=...\n", then a state's
 * name a line) and t0, t1, ... in the order of the names. Names with a line's end in them are
 * escaped. */
#include "train_checkpoint.h"

#include "files.h"
#include "input_file.h"
#include "npz.h"
#include "npz_write.h"
#include "options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char head[] = "rynd training\n";

/* Text that grows. */
typedef struct text {
    char *at;
    size_t used, room;
    bool failed;
} text;

static void put(text *t, const char *words)
{
    const size_t length = strlen(words);
    if (t->used + length + 1 > t->room) {
        const size_t room = 2 * (t->used + length + 1);
        char *grown = realloc(t->at, room);
        t->failed = t->failed || !grown;
        if (!grown) {
            return;
        }
        t->at = grown;
        t->room = room;
    }
    memcpy(t->at + t->used, words, length + 1);
    t->used += length;
}

/* A name in one line: '\\' and '\n' for the two characters. */
static void put_name(text *t, const char *name)
{
    for (; *name; name++) {
        const char one[2] = {*name, 0};
        put(t, *name == '\\' ? "\\\\" : *name == '\n' ? "\\n" : one);
    }
    put(t, "\n");
}

static void take_name(char *line)
{
    char *to = line;
    for (const char *from = line; *from; from++) {
        const bool escaped = *from == '\\' && from[1];
        *to++ = !escaped ? *from : *++from == 'n' ? '\n' : *from;
    }
    *to = 0;
}

static bool write_arrays(const char *path, const cli_checkpoint *c, const text *about,
                         cli_failure *failure)
{
    enum { NAME = 24 };
    rynd_tensor *tensors = calloc(c->count + 1, sizeof *tensors);
    const char **names = calloc(c->count + 1, sizeof *names);
    char(*texts)[NAME] = calloc(c->count + 1, sizeof *texts);
    bool done = tensors && names && texts;
    if (done) {
        const int64_t length = (int64_t)about->used;
        tensors[0] = rynd_tensor_of(about->at, RYND_DTYPE_U8, 1, &length);
        names[0] = "about";
        for (size_t i = 0; i < c->count; i++) {
            snprintf(texts[i], NAME, "t%zu", i);
            names[i + 1] = texts[i];
            tensors[i + 1] = c->states[i].view;
        }
        done = cli_npz_write(path, tensors, names, c->count + 1, failure);
    } else {
        cli_fail_memory(failure);
    }
    free(tensors);
    free((void *)names);
    free(texts);
    return done;
}

bool cli_checkpoint_write(const char *path, const cli_checkpoint *c, cli_failure *failure)
{
    char step[64];
    text about = {0};
    snprintf(step, sizeof step, "step=%" PRIu64 "\nsettings=", c->step);
    put(&about, head);
    put(&about, step);
    put(&about, c->settings);
    put(&about, "\n");
    for (size_t i = 0; i < c->count; i++) {
        put_name(&about, c->states[i].name);
    }
    const bool done =
        about.failed ? cli_fail_memory(failure) : write_arrays(path, c, &about, failure);
    free(about.at);
    return done;
}

/* While it is read. */
typedef struct reading {
    const char *path;
    const cli_checkpoint_receiver *receiver; /* NULL: states are kept */
    const cli_bytes *file;
    cli_checkpoint *to;
    size_t taken; /* states so far; to->count are named */
    bool about;   /* was read */
    bool next;    /* it is `about` that comes */
} reading;

static bool damaged(const reading *r, const char *why, cli_failure *failure)
{
    return cli_fail(failure, "'%s' is no checkpoint of rynd train: %s", r->path, why);
}

static bool wants(void *user, const char *name)
{
    reading *r = user;
    r->next = name && strcmp(name, "about") == 0;
    return true;
}

/* The names come first, then as many arrays. */
static bool fits(void *user, const rynd_tensor *headed, cli_failure *failure)
{
    const reading *r = user;
    if (r->next == r->about) {
        return damaged(r, r->next ? "'about' is in it twice" : "'about' is not its first array",
                       failure);
    }
    if (r->next && (headed->dtype != RYND_DTYPE_U8 || headed->rank != 1)) {
        return damaged(r, "'about' is no text", failure);
    }
    return r->next || r->taken < r->to->count
               ? true
               : damaged(r, "it has more arrays than names", failure);
}

/* A line's end becomes the text's; NULL: there is no more line. */
static char *next_line(char **rest)
{
    char *line = *rest, *end = line ? strchr(line, '\n') : NULL;
    if (!end) {
        return NULL;
    }
    *end = 0;
    *rest = end + 1;
    return line;
}

/* Counts and copies names into states that have no data yet. */
static bool take_names(reading *r, char *rest, cli_failure *failure)
{
    size_t lines = 0;
    for (const char *c = rest; *c; c++) {
        lines += *c == '\n';
    }
    r->to->states = calloc(lines + 1, sizeof *r->to->states);
    if (!r->to->states) {
        return cli_fail_memory(failure);
    }
    for (char *line = next_line(&rest); line; line = next_line(&rest)) {
        take_name(line);
        r->to->states[r->to->count].name = strdup(line);
        if (!r->to->states[r->to->count++].name) {
            return cli_fail_memory(failure);
        }
    }
    return true;
}

static bool take_about(reading *r, const cli_tensor *tensor, cli_failure *failure)
{
    const size_t size = (size_t)rynd_tensor_elements(&tensor->view);
    char *copy = malloc(size + 1), *rest = copy;
    if (!copy) {
        return cli_fail_memory(failure);
    }
    memcpy(copy, tensor->view.data, size);
    copy[size] = 0;
    bool good = size > sizeof head && memcmp(copy, head, sizeof head - 1) == 0;
    rest += good ? sizeof head - 1 : 0;
    const char *step = good ? next_line(&rest) : NULL, *settings = step ? next_line(&rest) : NULL;
    int64_t number = -1;
    good = settings && strncmp(step, "step=", 5) == 0 && strncmp(settings, "settings=", 9) == 0 &&
           cli_parse_integer(step + 5, strlen(step + 5), &number) && number >= 0;
    if (!good) {
        free(copy);
        return damaged(r, "'about' has no step and settings", failure);
    }
    r->about = true;
    r->to->step = (uint64_t)number;
    r->to->settings = strdup(settings + 9);
    good = r->to->settings ? take_names(r, rest, failure) : cli_fail_memory(failure);
    free(copy);
    return good;
}

static bool take(void *user, cli_tensor *tensor, cli_failure *failure)
{
    reading *r = user;
    if (r->next) {
        return take_about(r, tensor, failure) &&
               (!r->receiver || r->receiver->begin(r->receiver->user, r->to, failure));
    }
    cli_tensor *to = &r->to->states[r->taken++];
    to->view = tensor->view;
    if (r->receiver) {
        const bool done = r->receiver->take(r->receiver->user, to, failure);
        to->view.data = NULL;
        cli_input_unneeded(r->file);
        return done;
    }
    to->memory = tensor->memory;
    tensor->memory = NULL;
    return true;
}

bool cli_checkpoint_read(const char *path, const cli_checkpoint_receiver *receiver,
                         cli_checkpoint *checkpoint, cli_failure *failure)
{
    cli_bytes bytes = {0};
    reading r = {.path = path, .receiver = receiver, .file = &bytes, .to = checkpoint};
    const cli_receiver arrays = {
        .user = &r, .wants = wants, .fits = fits, .take = take, .elements = -1};
    *checkpoint = (cli_checkpoint){0};
    bool done =
        cli_input_map(path, &bytes, failure) && cli_npz_read(&bytes, path, &arrays, failure);
    cli_input_unmap(&bytes);
    if (done && (!r.about || r.taken < checkpoint->count)) {
        done = damaged(&r, r.about ? "it has fewer arrays than names" : "there is no 'about'",
                       failure);
    }
    if (!done) {
        cli_checkpoint_free(checkpoint);
    }
    return done;
}

void cli_checkpoint_free(cli_checkpoint *checkpoint)
{
    for (size_t i = 0; i < checkpoint->count; i++) {
        cli_tensor_free(&checkpoint->states[i]);
    }
    free(checkpoint->states);
    free(checkpoint->settings);
    *checkpoint = (cli_checkpoint){0};
}
