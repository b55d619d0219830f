/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes machines. All numbers are whole, so that no locale has a say in them. */
#include "machine/machine_file.h"

#include "base/number.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char head[] = "rynd machine 1";

enum { MAX_FILE = 64 * 1024, MAX_LINE = 200 };

typedef enum kind {
    TEXT,     /* char[], `unit` is its size */
    COUNT,    /* unsigned or int */
    BYTES,    /* size_t */
    RATE,     /* rynd_rate, `unit` numbers of the file are one */
    DURATION, /* double, likewise */
} kind;

typedef struct field {
    const char *name;
    kind kind;
    size_t offset;
    double unit; /* of TEXT: the size of the array */
} field;

#define OFFSET(member) offsetof(ry_machine, member)
#define LEVEL(key, which)                                             \
    {key "_bytes", BYTES, OFFSET(level[which].bytes), 1},             \
        {key "_shared_by", COUNT, OFFSET(level[which].shared_by), 1}, \
        {key "_bandwidth", RATE, OFFSET(level[which].bandwidth), 1},  \
    {                                                                 \
        key "_latency", RATE, OFFSET(level[which].latency), 1e12      \
    }

/* THE list of what a file has, in its order. */
static const field fields[] = {
    {"vendor", TEXT, OFFSET(vendor), sizeof((ry_machine *)0)->vendor},
    {"name", TEXT, OFFSET(name), sizeof((ry_machine *)0)->name},
    {"architecture", TEXT, OFFSET(architecture), sizeof((ry_machine *)0)->architecture},
    {"isa", TEXT, OFFSET(isa), sizeof((ry_machine *)0)->isa},
    {"family", COUNT, OFFSET(family), 1},
    {"model", COUNT, OFFSET(model), 1},
    {"cores", COUNT, OFFSET(cores), 1},
    {"vector_bytes", COUNT, OFFSET(vector_bytes), 1},
    {"vector_registers", COUNT, OFFSET(vector_registers), 1},
    {"line_bytes", COUNT, OFFSET(line_bytes), 1},
    {"huge_page_bytes", BYTES, OFFSET(huge_page_bytes), 1},
    {"f32", RATE, OFFSET(f32), 1},
    {"bf16", RATE, OFFSET(bf16), 1},
    {"int8", RATE, OFFSET(int8), 1},
    LEVEL("l1", RYND_LEVEL_L1),
    LEVEL("l2", RYND_LEVEL_L2),
    LEVEL("l3", RYND_LEVEL_L3),
    LEVEL("dram", RYND_LEVEL_DRAM),
    {"task", DURATION, OFFSET(task_seconds), 1e12},
    {"region", DURATION, OFFSET(region_seconds), 1e12},
    {"disturbance", DURATION, OFFSET(disturbance), 1e6},
    {"group_items", COUNT, OFFSET(group_items), 1},
    {"step_items", COUNT, OFFSET(step_items), 1},
    {"unit_groups", COUNT, OFFSET(unit_groups), 1},
    {"local_bytes", BYTES, OFFSET(local_bytes), 1},
    {"fp16", COUNT, OFFSET(fp16), 1},
    {"fp64", COUNT, OFFSET(fp64), 1},
    {"subgroups", COUNT, OFFSET(subgroups), 1},
    {"matrix_units", COUNT, OFFSET(matrix_units), 1},
    {"meter", TEXT, OFFSET(meter), sizeof((ry_machine *)0)->meter},
    {"milliwatts", RATE, OFFSET(watts), 1e3},
};
enum { FIELDS = sizeof fields / sizeof *fields };

/* Letters and digits of a text, all else as '_'. */
static void plain(const char *text, char *to, size_t size)
{
    size_t i = 0;
    for (; text[i] && i + 1 < size; i++) {
        const char c = text[i];
        to[i] =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ? c : '_';
    }
    to[i] = 0;
}

/* RYND_PROFILE, or `name` in the folder for what is kept. */
static bool find_path(const char *name, char path[RY_MACHINE_PATH])
{
    const char *own = getenv("RYND_PROFILE"), *cache = getenv("XDG_CACHE_HOME"),
               *home = getenv("HOME");
    int length = -1;
    path[0] = 0;
    if (own && *own) {
        length = strcmp(own, "off") == 0 ? -1 : snprintf(path, RY_MACHINE_PATH, "%s", own);
    } else if (cache && *cache == '/') {
        length = snprintf(path, RY_MACHINE_PATH, "%s/rynd/%s", cache, name);
    } else if (home && *home == '/') {
        length = snprintf(path, RY_MACHINE_PATH, "%s/.cache/rynd/%s", home, name);
    }
    if (length < 0 || length >= RY_MACHINE_PATH) {
        path[0] = 0;
    }
    return path[0];
}

bool ry_machine_path(const ry_cpu_info *cpu, ry_isa isa, char path[RY_MACHINE_PATH])
{
    char vendor[16], name[96];
    plain(*cpu->vendor ? cpu->vendor : cpu->name, vendor, sizeof vendor);
    snprintf(name, sizeof name, "machine-%s-%x-%x-%s-%u.txt", vendor, (unsigned)cpu->family,
             (unsigned)cpu->model, ry_isa_name(isa), cpu->machine_cores);
    return find_path(name, path);
}

bool ry_machine_device_path(const ry_machine *machine, char path[RY_MACHINE_PATH])
{
    char device[sizeof machine->name], name[128];
    plain(machine->name, device, sizeof device);
    snprintf(name, sizeof name, "machine-%s-%s-%u.txt", machine->isa, device, machine->cores);
    return find_path(name, path);
}

/* The next number of a line, up to 1e18; *text moves behind it and a blank. */
static bool read_number(const char **text, int64_t *number)
{
    const size_t length = strcspn(*text, " ");
    const bool good = ry_integer_parse(*text, length, number) && *number >= 0 &&
                      *number <= INT64_C(1000000000000000000);
    *text += length + ((*text)[length] == ' ' && (*text)[length + 1]);
    return good;
}

/* Printable ASCII that ends within `room` bytes. */
static bool is_text(const char *text, size_t room)
{
    size_t i = 0;
    for (; i < room && text[i]; i++) {
        if ((unsigned char)text[i] < ' ' || (unsigned char)text[i] > '~') {
            return false;
        }
    }
    return i < room;
}

static bool read_value(const field *f, const char *text, ry_machine *machine)
{
    char *to = (char *)machine + f->offset;
    int64_t first = 0, second = 0;
    if (f->kind == TEXT) {
        const size_t room = (size_t)f->unit;
        if (!is_text(text, room)) {
            return false;
        }
        snprintf(to, room, "%s", text);
        return true;
    }
    if (!read_number(&text, &first) || (f->kind == RATE && !read_number(&text, &second)) || *text) {
        return false;
    }
    switch (f->kind) {
    case COUNT: *(unsigned *)(void *)to = (unsigned)first; return first <= INT32_MAX;
    case BYTES: *(size_t *)(void *)to = (size_t)first; return (uint64_t)first <= SIZE_MAX;
    case DURATION: *(double *)(void *)to = (double)first / f->unit; return true;
    default:
        *(rynd_rate *)(void *)to = (rynd_rate){(double)first / f->unit, (double)second / f->unit};
        return true;
    }
}

/* Rates and times that a file can hold: up to 1e18 of its units. */
static bool is_writable(const field *f, const ry_machine *machine)
{
    const char *from = (const char *)machine + f->offset;
    const rynd_rate *rate = (const rynd_rate *)(const void *)from;
    const double most = 1e18 / (f->unit > 0 ? f->unit : 1);
    switch (f->kind) {
    case TEXT: return is_text(from, (size_t)f->unit);
    case RATE: return rate->one >= 0 && rate->one <= most && rate->all >= 0 && rate->all <= most;
    case DURATION:
        return *(const double *)(const void *)from >= 0 &&
               *(const double *)(const void *)from <= most;
    default: return true;
    }
}

/* What predictions divide by must be there; a level that the machine does not have has zeros. */
static const char *wrong_field(const ry_machine *m)
{
    ry_isa isa;
    for (size_t i = 0; i < FIELDS; i++) {
        if (!is_writable(&fields[i], m)) {
            return fields[i].name;
        }
    }
    const rynd_rate *memory = &m->level[RYND_LEVEL_DRAM].bandwidth;
    return !m->group_items && !ry_isa_parse(m->isa, &isa)   ? "isa"
           : m->cores < 1 || m->cores > 65536               ? "cores"
           : m->vector_bytes < 4 || m->vector_bytes > 65536 ? "vector_bytes"
           : m->f32.one < 1 || m->f32.all < 1               ? "f32"
           : memory->one < 1 || memory->all < 1             ? "dram_bandwidth"
                                                            : NULL;
}

static const field *field_named(const char *name, size_t length)
{
    for (size_t i = 0; i < FIELDS; i++) {
        if (strlen(fields[i].name) == length && memcmp(fields[i].name, name, length) == 0) {
            return &fields[i];
        }
    }
    return NULL; /* a later version may know more */
}

/* text is changed: its lines end with 0 afterwards. */
static rynd_status parse(const char *path, char *text, ry_machine *machine, ry_error *error)
{
    *machine = (ry_machine){.size = sizeof *machine, .origin = RYND_MACHINE_IMPORTED};
    int number = 0;
    for (char *line = text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (!next) {
            break; /* what is cut off is no line */
        }
        *next++ = 0;
        number++;
        if (number == 1 && strcmp(line, head) != 0) {
            return ry_fail(error, RYND_ERROR_FORMAT,
                           "%s: not a machine: the first line is not '%s'; `rynd devices "
                           "--measure` writes one",
                           path, head);
        }
        if (strcmp(line, "end") == 0) {
            const char *name = wrong_field(machine);
            return name ? ry_fail(error, RYND_ERROR_FORMAT,
                                  "%s: '%s' is missing, or outside its range", path, name)
                        : RYND_OK;
        }
        const size_t length = strcspn(line, " ");
        const field *f = field_named(line, length);
        if (f && !read_value(f, line + length + (line[length] == ' '), machine)) {
            return ry_fail(error, RYND_ERROR_FORMAT, "%s: line %d: %s does not take that value",
                           path, number, f->name);
        }
    }
    return ry_fail(error, RYND_ERROR_FORMAT, "%s: the machine is cut off: there is no line 'end'",
                   path);
}

/* A pipe or a device would be waited for, or read without end. */
static rynd_status read_regular(const char *path, char text[MAX_FILE + 1], ry_error *error)
{
    const int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    struct stat about;
    if (file < 0 || fstat(file, &about) != 0) {
        const int why = errno;
        if (file >= 0) {
            close(file);
        }
        return ry_fail(error, why == ENOENT ? RYND_ERROR_NOT_FOUND : RYND_ERROR_IO,
                       "%s: cannot read the machine: %s", path, strerror(why));
    }
    if (!S_ISREG(about.st_mode) || about.st_size > MAX_FILE) {
        close(file);
        return ry_fail(error, RYND_ERROR_FORMAT, "%s: not a machine: %s", path,
                       S_ISREG(about.st_mode) ? "too large" : "not a regular file");
    }
    size_t length = 0;
    ssize_t got;
    while (length < MAX_FILE && (got = read(file, text + length, MAX_FILE - length)) > 0) {
        length += (size_t)got;
    }
    close(file);
    text[length] = 0;
    return strlen(text) == length
               ? RYND_OK
               : ry_fail(error, RYND_ERROR_FORMAT, "%s: not a machine: it has a byte 0", path);
}

rynd_status ry_machine_read(const char *path, ry_machine *machine, ry_error *error)
{
    char text[MAX_FILE + 1];
    RY_TRY(read_regular(path, text, error));
    return parse(path, text, machine, error);
}

void ry_machine_make_folders(const char *path)
{
    char folder[RY_MACHINE_PATH];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *at = strchr(folder + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = 0;
        /* one that is there already is as good; what fails otherwise shows when the file is
         * opened */
        mkdir(folder, 0777);
        *at = '/';
    }
}

static uint64_t whole(double value)
{
    return !(value > 0)    ? 0
           : value >= 1e18 ? UINT64_C(1000000000000000000)
                           : (uint64_t)(value + 0.5);
}

static bool write_field(FILE *file, const field *f, const ry_machine *machine)
{
    const char *from = (const char *)machine + f->offset;
    const rynd_rate *rate = (const rynd_rate *)(const void *)from;
    switch (f->kind) {
    case TEXT: return fprintf(file, "%s %s\n", f->name, from) > 0;
    case COUNT: return fprintf(file, "%s %u\n", f->name, *(const unsigned *)(const void *)from) > 0;
    case BYTES: return fprintf(file, "%s %zu\n", f->name, *(const size_t *)(const void *)from) > 0;
    case DURATION:
        return fprintf(file, "%s %" PRIu64 "\n", f->name,
                       whole(*(const double *)(const void *)from * f->unit)) > 0;
    default:
        return fprintf(file, "%s %" PRIu64 " %" PRIu64 "\n", f->name, whole(rate->one * f->unit),
                       whole(rate->all * f->unit)) > 0;
    }
}

static bool write_fields(FILE *file, const ry_machine *machine)
{
    bool good = fprintf(file, "%s\n", head) > 0;
    for (size_t i = 0; good && i < FIELDS; i++) {
        good = write_field(file, &fields[i], machine);
    }
    return good && fprintf(file, "end\n") > 0;
}

/* A new file of our own: what is there already, or a link that somebody put there, is not written
 * to. */
static FILE *open_aside(const char *path)
{
    remove(path); /* left by a process of the same number that was killed */
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    FILE *stream = file < 0 ? NULL : fdopen(file, "w");
    if (file >= 0 && !stream) {
        close(file);
    }
    return stream;
}

static rynd_status check(const ry_machine *machine, const char *path, ry_error *error)
{
    struct stat about;
    const char *name = wrong_field(machine);
    if (name) {
        return ry_fail(
            error, RYND_ERROR_ARGUMENT,
            "the machine's %s is missing, or outside its range: give what was measured or read",
            name);
    }
    if (strlen(path) >= RY_MACHINE_PATH) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "the machine's file has a name of %zu bytes: at most %d", strlen(path),
                       RY_MACHINE_PATH - 1);
    }
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode)) {
        return ry_fail(error, RYND_ERROR_IO,
                       "%s: cannot write the machine: what is there is not a regular file", path);
    }
    return RYND_OK;
}

rynd_status ry_machine_write(const ry_machine *machine, const char *path, ry_error *error)
{
    char aside[RY_MACHINE_PATH + 32];
    RY_TRY(check(machine, path, error));
    ry_machine_make_folders(path);
    snprintf(aside, sizeof aside, "%s.%ld", path, (long)getpid());
    FILE *file = open_aside(aside);
    if (!file) {
        return ry_fail(error, RYND_ERROR_IO, "%s: cannot write the machine: %s", aside,
                       strerror(errno));
    }
    bool good = write_fields(file, machine);
    good = fflush(file) == 0 && good;
    good = fclose(file) == 0 && good;
    if (!good || rename(aside, path) != 0) {
        const int why = errno;
        remove(aside);
        return ry_fail(error, RYND_ERROR_IO, "%s: cannot write the machine: %s", path,
                       strerror(why));
    }
    return RYND_OK;
}

bool ry_machine_same(const ry_machine *a, const ry_machine *b)
{
    return strcmp(a->vendor, b->vendor) == 0 && a->family == b->family && a->model == b->model &&
           strcmp(a->isa, b->isa) == 0 && a->cores == b->cores;
}
