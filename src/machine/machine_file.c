/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes machines. All numbers are whole, so that no locale has a say in them. */
#include "machine/machine_file.h"

#include "base/number.h"
#include "machine/machine_fields.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char head[] = "rynd machine 1", calibrated[] = "calibrated ";

enum { MAX_FILE = 64 * 1024, MILLION = 1000000 };

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

/* RYND_MACHINE, or `name` in the folder for what is kept. */
static bool find_path(const char *name, char path[RY_MACHINE_PATH])
{
    const char *own = getenv("RYND_MACHINE"), *cache = getenv("XDG_CACHE_HOME"),
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

/* `text` is what follows the name and a blank. */
static bool read_value(const ry_machine_field *f, const char *text, ry_machine *machine)
{
    double numbers[2] = {0, 0};
    const size_t length = strlen(text);
    if (f->kind == RY_MACHINE_TEXT) {
        memcpy((char *)machine + f->offset, text,
               length < (size_t)f->most ? length + 1 : (size_t)f->most);
        return length < (size_t)f->most;
    }
    for (int i = 0; i < (f->kind == RY_MACHINE_RATE ? 2 : 1); i++) {
        int64_t number;
        if (!read_number(&text, &number) || !ry_machine_field_takes(f, (double)number)) {
            return false;
        }
        numbers[i] = (double)number;
    }
    ry_machine_field_set(f, machine, numbers);
    return !*text;
}

/* "NAME FACTOR SPREAD PROBLEMS", the numbers in millionths but for the last. */
static bool read_calibrated(const char *text, ry_machine *machine)
{
    rynd_family_error row = {0};
    const size_t length = strcspn(text, " ");
    int64_t numbers[3] = {0};
    if (length == 0 || length >= sizeof row.family || text[length] != ' ' ||
        machine->family_count >= RYND_MACHINE_FAMILIES) {
        return false;
    }
    memcpy(row.family, text, length);
    text += length + 1;
    for (int i = 0; i < 3; i++) {
        if (!read_number(&text, &numbers[i])) {
            return false;
        }
    }
    row.factor = (float)numbers[0] / MILLION;
    row.spread = (float)numbers[1] / MILLION;
    row.problems = numbers[2] <= UINT32_MAX ? (unsigned)numbers[2] : 0;
    machine->families[machine->family_count++] = row;
    return !*text && ry_machine_family_legal(&row);
}

/* text is changed: its lines end with 0 afterwards. */
static rynd_status parse(const char *path, char *text, ry_machine *machine, ry_error *error)
{
    *machine = RYND_SIZED(ry_machine, .origin = RYND_MACHINE_IMPORTED);
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
            if (ry_machine_check(machine, error) == RYND_OK) {
                return RYND_OK;
            }
            ry_error_prefix(error, "%s: ", path);
            return RYND_ERROR_FORMAT;
        }
        const size_t length = strcspn(line, " ");
        if (strncmp(line, calibrated, sizeof calibrated - 1) == 0 &&
            !read_calibrated(line + sizeof calibrated - 1, machine)) {
            return ry_fail(error, RYND_ERROR_FORMAT,
                           "%s: line %d: '%.80s': it takes a family of kernels (%d at most), its "
                           "factor and spread in millionths (factor 10000 to 100000000, spread up "
                           "to 5000000) and a number of problems",
                           path, number, line, RYND_MACHINE_FAMILIES);
        }
        const ry_machine_field *f = ry_machine_field_named(line, length);
        const char *value = line + length + (line[length] == ' ');
        if (f && !read_value(f, value, machine)) {
            char range[RY_MACHINE_RANGE];
            ry_machine_field_range(f, range);
            return ry_fail(error, RYND_ERROR_FORMAT, "%s: line %d: %s is '%.80s': it takes %s",
                           path, number, f->name, value, range);
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
        /* an existing folder will do; any other failure shows when the file is
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

static bool write_field(FILE *file, const ry_machine_field *f, const ry_machine *machine)
{
    double numbers[2];
    const int count = ry_machine_field_get(f, machine, numbers);
    bool good = fprintf(file, "%s", f->name) > 0;
    if (f->kind == RY_MACHINE_TEXT) {
        good = fprintf(file, " %s", (const char *)machine + f->offset) > 0 && good;
    }
    for (int i = 0; i < count; i++) {
        good = fprintf(file, " %" PRIu64, whole(numbers[i])) > 0 && good;
    }
    return fputc('\n', file) != EOF && good;
}

static bool write_fields(FILE *file, const ry_machine *machine)
{
    bool good = fprintf(file, "%s\n", head) > 0;
    for (size_t i = 0; good && i < RY_MACHINE_FIELDS; i++) {
        good = write_field(file, &ry_machine_fields[i], machine);
    }
    for (unsigned i = 0; good && i < machine->family_count; i++) {
        const rynd_family_error *row = &machine->families[i];
        good = fprintf(file, "%s%s %" PRIu64 " %" PRIu64 " %u\n", calibrated, row->family,
                       whole((double)row->factor * MILLION), whole((double)row->spread * MILLION),
                       row->problems) > 0;
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
        const int why = errno;
        close(file);
        remove(path);
        errno = why;
    }
    return stream;
}

static rynd_status check(const ry_machine *machine, const char *path, ry_error *error)
{
    struct stat about;
    if (ry_machine_check(machine, error) != RYND_OK) {
        ry_error_prefix(error, "the machine's ");
        return RYND_ERROR_ARGUMENT;
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
