/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a list of devices and links. */
#include "placement/fleet.h"

#include "base/number.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_FILE = 1 << 20, MAX_THREADS = 1024, MAX_WORDS = 16 };

#define BLANKS " \t\r"

typedef struct reader {
    const char *path;
    int line;
    ry_arena *arena;
    ry_fleet *fleet;
    /* links: from a to b at [a * RY_FLEET_DEVICES + b], until all devices are known */
    int stated[RY_FLEET_DEVICES * RY_FLEET_DEVICES]; /* the link's line; 0: none */
    ry_error *error;
} reader;

#define fail_line(r, ...) (ry_error_write((r)->error, __VA_ARGS__), fail_at(r))

static rynd_status fail_at(const reader *r)
{
    ry_error_prefix(r->error, "%s: line %d: ", r->path, r->line);
    return RYND_ERROR_FORMAT;
}

/* What a word may say: "threads=2". */
typedef struct key {
    const char *name;
    const char *takes; /* for messages */
    double least, most;
    bool whole;
} key;

/* In the order of a list of values; "" is the machine, which is text. */
enum { THREADS, MEMORY, WATTS, DEVICE_KEYS, BANDWIDTH = 0, LATENCY, LINK_KEYS };

static const key device_keys[DEVICE_KEYS] = {
    [THREADS] = {"threads", "a whole number from 1 to 1024", 1, MAX_THREADS, true},
    [MEMORY] = {"memory", "bytes, from 1 to 1e18", 1, 1e18, false},
    [WATTS] = {"watts", "a number from 1e-6 to 1e6", 1e-6, 1e6, false},
};
static const key link_keys[LINK_KEYS] = {
    [BANDWIDTH] = {"bandwidth", "bytes a second, from 1 to 1e15", 1, 1e15, false},
    [LATENCY] = {"latency", "seconds, from 0 to 1000", 0, 1000, false},
};

static const key *key_named(const key *keys, size_t count, const char *word, size_t length)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(keys[i].name) == length && memcmp(keys[i].name, word, length) == 0) {
            return &keys[i];
        }
    }
    return NULL;
}

/* values: by the keys' order; NAN where nothing was said yet. */
static rynd_status read_key(const reader *r, const key *keys, size_t count, const char *word,
                            double *values)
{
    const size_t length = strcspn(word, "=");
    const key *k = key_named(keys, count, word, length);
    if (!k) {
        return fail_line(r, "'%.80s' is not known here", word);
    }
    const char *text = word + length + (word[length] == '=');
    double *value = &values[k - keys];
    if (!isnan(*value)) {
        return fail_line(r, "%s is given twice", k->name);
    }
    /* "!(a <= b)" refuses what is no number, too */
    if (!ry_number_parse(text, strlen(text), value) || !(*value >= k->least && *value <= k->most) ||
        (k->whole && *value != floor(*value))) {
        return fail_line(r, "%s takes %s, not '%.80s'", k->name, k->takes, text);
    }
    return RYND_OK;
}

static bool is_name(const char *word)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                  "._-:";
    return word[0] && strlen(word) < RY_FLEET_NAME && !word[strspn(word, letters)];
}

static size_t device_named(const ry_fleet *fleet, const char *name)
{
    size_t i = 0;
    while (i < fleet->count && strcmp(fleet->device[i].name, name) != 0) {
        i++;
    }
    return i;
}

/* A machine's name is looked for beside the list. */
static rynd_status take_profile(const reader *r, const char *name, ry_fleet_device *device)
{
    if (device->machine) {
        return fail_line(r, "machine is given twice");
    }
    if (!*name) {
        return fail_line(r, "machine takes the name of a file that `rynd devices --export` wrote");
    }
    const char *slash = strrchr(r->path, '/');
    const int folder = *name == '/' || !slash ? 0 : (int)(slash + 1 - r->path);
    device->machine = ry_arena_format(r->arena, "%.*s%s", folder, r->path, name);
    return device->machine ? RYND_OK : ry_fail_memory(r->error);
}

static rynd_status add_device(const reader *r, char *const *words, size_t count)
{
    ry_fleet *fleet = r->fleet;
    if (count < 2 || !is_name(words[1])) {
        return fail_line(r, "'device' takes a name of at most %d letters, digits and '._-:'",
                         RY_FLEET_NAME - 1);
    }
    const size_t same = device_named(fleet, words[1]);
    if (same < fleet->count) {
        return fail_line(r, "device '%s' is there already, in line %d", words[1],
                         fleet->device[same].line);
    }
    if (fleet->count == RY_FLEET_DEVICES) {
        return fail_line(r, "more than %d devices", RY_FLEET_DEVICES);
    }
    ry_fleet_device d = {.kind = "cpu", .memory = INFINITY, .line = r->line};
    memcpy(d.name, words[1], strlen(words[1]) + 1);
    double values[DEVICE_KEYS] = {NAN, NAN, NAN};
    size_t next = 2;
    if (next < count && !strchr(words[next], '=')) {
        if (!is_name(words[next])) {
            return fail_line(r, "'%.80s' is no device: cpu, opencl[:N] or cuda[:N]", words[next]);
        }
        memcpy(d.kind, words[next], strlen(words[next]) + 1);
        next++;
    }
    for (; next < count; next++) {
        const bool machine = strncmp(words[next], "machine=", 8) == 0;
        RY_TRY(machine ? take_profile(r, words[next] + 8, &d)
                       : read_key(r, device_keys, DEVICE_KEYS, words[next], values));
    }
    d.threads = isnan(values[THREADS]) ? 0 : (unsigned)values[THREADS];
    d.memory = isnan(values[MEMORY]) ? INFINITY : values[MEMORY];
    d.watts = isnan(values[WATTS]) ? 0 : values[WATTS];
    fleet->device[fleet->count++] = d;
    return RYND_OK;
}

static rynd_status add_link(reader *r, char *const *words, size_t count)
{
    ry_fleet *fleet = r->fleet;
    size_t ends[2];
    if (count < 3) {
        return fail_line(r, "'link' takes the names of two devices, bandwidth=B and latency=S");
    }
    for (size_t i = 0; i < 2; i++) {
        ends[i] = device_named(fleet, words[1 + i]);
        if (ends[i] == fleet->count) {
            return fail_line(r, "no device '%.80s' is named above this line", words[1 + i]);
        }
    }
    if (ends[0] == ends[1]) {
        return fail_line(r, "a link joins two devices, not '%s' with itself", words[1]);
    }
    double values[LINK_KEYS] = {NAN, NAN};
    for (size_t i = 3; i < count; i++) {
        RY_TRY(read_key(r, link_keys, LINK_KEYS, words[i], values));
    }
    if (isnan(values[BANDWIDTH]) || isnan(values[LATENCY])) {
        return fail_line(r, "a link has bandwidth=B (bytes a second) and latency=S (seconds)");
    }
    const size_t at[2] = {ends[0] * RY_FLEET_DEVICES + ends[1],
                          ends[1] * RY_FLEET_DEVICES + ends[0]};
    if (r->stated[at[0]]) {
        return fail_line(r, "the link of '%s' and '%s' is there already, in line %d", words[1],
                         words[2], r->stated[at[0]]);
    }
    for (size_t i = 0; i < 2; i++) {
        r->stated[at[i]] = r->line;
        fleet->bandwidth[at[i]] = values[BANDWIDTH];
        fleet->latency[at[i]] = values[LATENCY];
    }
    return RYND_OK;
}

static rynd_status read_line(reader *r, char *line)
{
    char *words[MAX_WORDS];
    size_t count = 0;
    line[strcspn(line, "#")] = 0;
    for (char *at = line + strspn(line, BLANKS); *at; at += strspn(at, BLANKS)) {
        if (count == MAX_WORDS) {
            return fail_line(r, "more than %d words", MAX_WORDS);
        }
        words[count++] = at;
        at += strcspn(at, BLANKS);
        if (*at) {
            *at++ = 0;
        }
    }
    if (count == 0) {
        return RYND_OK;
    }
    if (strcmp(words[0], "device") == 0) {
        return add_device(r, words, count);
    }
    if (strcmp(words[0], "link") == 0) {
        return add_link(r, words, count);
    }
    return fail_line(r, "begins with '%.80s': a line is 'device NAME ...' or 'link NAME NAME ...'",
                     words[0]);
}

/* Defaults for what is not stated, and the tables' rows as long as there are devices. */
static void settle_links(const reader *r)
{
    ry_fleet *fleet = r->fleet;
    for (size_t a = 0; a < fleet->count; a++) {
        for (size_t b = 0; b < fleet->count; b++) {
            const size_t from = a * RY_FLEET_DEVICES + b, to = a * fleet->count + b;
            const bool far = fleet->device[a].machine || fleet->device[b].machine;
            const bool stated = r->stated[from] != 0;
            fleet->bandwidth[to] = stated ? fleet->bandwidth[from]
                                   : far  ? RY_FLEET_FAR_BANDWIDTH
                                          : RY_FLEET_HERE_BANDWIDTH;
            fleet->latency[to] = stated ? fleet->latency[from]
                                 : far  ? RY_FLEET_FAR_LATENCY
                                        : RY_FLEET_HERE_LATENCY;
        }
    }
}

rynd_status ry_fleet_parse(const char *path, char *text, size_t length, ry_arena *arena,
                           ry_fleet *fleet, ry_error *error)
{
    reader r = {.path = path, .arena = arena, .fleet = fleet, .error = error};
    text[length] = 0;
    *fleet = (ry_fleet){0};
    if (strlen(text) != length) {
        return ry_fail(error, RYND_ERROR_FORMAT, "%s: not a list of devices: it has a byte 0",
                       path);
    }
    for (char *line = text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next) {
            *next++ = 0;
        }
        r.line++;
        RY_TRY(read_line(&r, line));
    }
    if (fleet->count == 0) {
        return ry_fail(error, RYND_ERROR_FORMAT,
                       "%s: it names no device: write a line like 'device here cpu'", path);
    }
    settle_links(&r);
    return RYND_OK;
}

/* A pipe or a device would be waited for, or read without end. */
static rynd_status read_regular(const char *path, char *text, size_t *length, ry_error *error)
{
    const int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    struct stat about;
    if (file < 0 || fstat(file, &about) != 0) {
        const int why = errno;
        if (file >= 0) {
            close(file);
        }
        return ry_fail(error, RYND_ERROR_IO, "%s: cannot read the devices: %s", path,
                       strerror(why));
    }
    if (!S_ISREG(about.st_mode) || about.st_size > MAX_FILE) {
        close(file);
        return ry_fail(error, RYND_ERROR_FORMAT, "%s: not a list of devices: %s", path,
                       S_ISREG(about.st_mode) ? "larger than 1 MiB" : "not a regular file");
    }
    ssize_t got;
    *length = 0;
    while (*length < MAX_FILE && (got = read(file, text + *length, MAX_FILE - *length)) > 0) {
        *length += (size_t)got;
    }
    close(file);
    return RYND_OK;
}

rynd_status ry_fleet_read(const char *path, ry_arena *arena, ry_fleet *fleet, ry_error *error)
{
    size_t length;
    char *text = ry_allocate(arena->allocator, MAX_FILE + 1);
    if (!text) {
        return ry_fail_memory(error);
    }
    rynd_status status = read_regular(path, text, &length, error);
    if (status == RYND_OK) {
        status = ry_fleet_parse(path, text, length, arena, fleet, error);
    }
    ry_release(arena->allocator, text);
    return status;
}
