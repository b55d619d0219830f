/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes the machine profile. */
#include "wisdom/profile.h"

#include "base/machine_cores.h"
#include "base/number.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char head[] = "rynd profile 1";
static const char *const level_names[RY_LEVELS] = {"l1", "l2", "l3", "dram"};

/* What a core of 2.5 to 3 GHz reaches with an instruction set; bytes are those of a server with several cores at a memory. */
typedef struct built_in {
    double f32, bf16, read[RY_LEVELS];
} built_in;

static built_in built_in_of(ry_isa isa)
{
    const built_in scalar = {10e9, 0, {30e9, 25e9, 15e9, 10e9}};
#if defined(__x86_64__) || defined(_M_X64)
    const built_in avx2 = {80e9, 0, {150e9, 60e9, 30e9, 12e9}};
    const built_in avx512 = {110e9, 0, {250e9, 90e9, 30e9, 12e9}};
    const built_in with_bf16 = {110e9, 220e9, {250e9, 90e9, 30e9, 12e9}};
    const built_in with_tiles = {110e9, 1500e9, {250e9, 90e9, 30e9, 12e9}};
    return isa >= RY_ISA_amx           ? with_tiles
           : isa >= RY_ISA_avx512_bf16 ? with_bf16
           : isa >= RY_ISA_avx512      ? avx512
           : isa >= RY_ISA_avx2        ? avx2
                                       : scalar;
#elif defined(__aarch64__)
    const built_in neon = {40e9, 0, {80e9, 40e9, 20e9, 10e9}};
    return isa == RY_ISA_neon ? neon : scalar;
#else
    (void)isa;
    return scalar;
#endif
}

const char *ry_level_name(ry_level level)
{
    return level_names[level];
}

void ry_profile_built_in(const ry_cpu_info *cpu, ry_isa isa, ry_profile *profile)
{
    const built_in b = built_in_of(isa);
    const double cores = ry_machine_cores();
    *profile = (ry_profile){.isa = isa, .cores = ry_machine_cores(), .f32 = {b.f32, b.f32 * cores}, .bf16 = {b.bf16, b.bf16 * cores}};
    /* a quarter of the last level, which is others' too, or the cores' own */
    const size_t own = cpu->l2 * profile->cores, shared = cpu->l3 / 4;
    profile->cache = own > shared ? own : shared;
    memcpy(profile->cpu, cpu->name, sizeof profile->cpu);
    for (int i = 0; i < RY_LEVELS; i++) {
        /* cores share the memory */
        profile->read[i] = (ry_rate){b.read[i], i == RY_LEVEL_DRAM ? b.read[i] * (cores > 4 ? 4 : cores) : b.read[i] * cores};
    }
}

/* Letters and digits of a processor's name, all else as '_'. */
static void plain_name(const char *name, char plain[64])
{
    size_t i = 0;
    for (; name[i] && i < 63; i++) {
        const char c = name[i];
        plain[i] = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ? c : '_';
    }
    plain[i] = 0;
}

bool ry_profile_path(const ry_cpu_info *cpu, ry_isa isa, char path[RY_PROFILE_PATH])
{
    const char *own = getenv("RYND_PROFILE"), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length;
    if (own && *own) {
        if (strcmp(own, "off") == 0) {
            return false;
        }
        length = snprintf(path, RY_PROFILE_PATH, "%s", own);
        return length > 0 && length < RY_PROFILE_PATH;
    }
    char name[64];
    plain_name(cpu->name, name);
    if (cache && *cache == '/') {
        length = snprintf(path, RY_PROFILE_PATH, "%s/rynd/profile-%s-%s-%u.txt", cache, name, ry_isa_name(isa), ry_machine_cores());
    } else if (home && *home == '/') {
        length = snprintf(path, RY_PROFILE_PATH, "%s/.cache/rynd/profile-%s-%s-%u.txt", home, name, ry_isa_name(isa), ry_machine_cores());
    } else {
        return false;
    }
    return length > 0 && length < RY_PROFILE_PATH;
}

static bool is_rate(const ry_rate *rate)
{
    return rate->one >= 0 && rate->one < 1e18 && rate->all >= 0 && rate->all < 1e18;
}

static ry_rate *rate_named(ry_profile *profile, const char *name)
{
    for (int i = 0; i < RY_LEVELS; i++) {
        if (strcmp(name, level_names[i]) == 0) {
            return &profile->read[i];
        }
    }
    return strcmp(name, "f32") == 0 ? &profile->f32 : strcmp(name, "bf16") == 0 ? &profile->bf16 : NULL;
}

/* What is not read yet of a profile's text. */
typedef struct lines {
    const char *at, *end;
} lines;

/* The next line, without its end; false when there is none, or it has no end. */
static bool next_line(lines *rest, const char **line, size_t *length)
{
    const char *end = rest->at < rest->end ? memchr(rest->at, '\n', (size_t)(rest->end - rest->at)) : NULL;
    if (!end) {
        return false;
    }
    *line = rest->at;
    *length = (size_t)(end - rest->at);
    rest->at = end + 1;
    return true;
}

/* The next line is `key`, a blank and `wanted`. */
static bool line_is(lines *rest, const char *key, const char *wanted)
{
    char expected[160];
    const char *line;
    size_t length;
    snprintf(expected, sizeof expected, "%s%s%s", key, *key ? " " : "", wanted);
    return next_line(rest, &line, &length) && strlen(expected) == length && memcmp(line, expected, length) == 0;
}

/* "l1 2.5e+11 1e+12". What has another name is passed over: a later version may know more. */
static bool read_rate(const char *line, size_t length, ry_profile *profile)
{
    const char *end = line + length, *first = memchr(line, ' ', length);
    const char *second = first ? memchr(first + 1, ' ', (size_t)(end - first - 1)) : NULL;
    char name[16];
    ry_rate rate;
    if (!second || (size_t)(first - line) >= sizeof name || !ry_number_parse(first + 1, (size_t)(second - first - 1), &rate.one) ||
        !ry_number_parse(second + 1, (size_t)(end - second - 1), &rate.all) || !is_rate(&rate)) {
        return false;
    }
    memcpy(name, line, (size_t)(first - line));
    name[first - line] = 0;
    ry_rate *to = rate_named(profile, name);
    if (to) {
        *to = rate;
    }
    return true;
}

static bool read_text(const char *text, size_t size, ry_profile *profile)
{
    lines rest = {text, text + size};
    const char *line;
    size_t length;
    char cores[16];
    snprintf(cores, sizeof cores, "%u", profile->cores);
    if (!line_is(&rest, "", head) || !line_is(&rest, "cpu", profile->cpu) || !line_is(&rest, "isa", ry_isa_name(profile->isa)) ||
        !line_is(&rest, "cores", cores)) {
        return false;
    }
    while (next_line(&rest, &line, &length)) {
        if (length == 3 && memcmp(line, "end", 3) == 0) {
            return profile->f32.one > 0 && profile->f32.all > 0 && profile->read[RY_LEVEL_DRAM].one > 0 &&
                   profile->read[RY_LEVEL_DRAM].all > 0;
        }
        if (!read_rate(line, length, profile)) {
            return false;
        }
    }
    return false;
}

/* All of a regular file that is as small as profiles are; of a pipe or a device the end may never come. */
static bool read_file(int file, char *text, size_t room, size_t *size)
{
    struct stat about;
    if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size < 0 || (uintmax_t)about.st_size > room) {
        return false;
    }
    const ssize_t got = read(file, text, room);
    *size = got > 0 ? (size_t)got : 0;
    return got >= 0;
}

bool ry_profile_load(const ry_cpu_info *cpu, ry_isa isa, ry_profile *profile)
{
    char path[RY_PROFILE_PATH], text[4096];
    size_t size = 0;
    ry_profile_built_in(cpu, isa, profile);
    if (!ry_profile_path(cpu, isa, path)) {
        return true;
    }
    /* O_NONBLOCK: opening a pipe must not wait for its writer. */
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0) {
        return errno == ENOENT;
    }
    ry_profile found = *profile;
    found.measured = read_file(file, text, sizeof text, &size) && read_text(text, size, &found);
    if (found.measured) {
        *profile = found;
    }
    close(file);
    return found.measured;
}

/* The folders above a file. */
static void make_folders(const char *path)
{
    char folder[RY_PROFILE_PATH];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *at = strchr(folder + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = 0;
        mkdir(folder, 0777); /* one that is there already is as good; what fails otherwise shows when the file is opened */
        *at = '/';
    }
}

static bool write_rate(FILE *file, const char *name, const ry_rate *rate)
{
    char one[RY_NUMBER_SIZE], all[RY_NUMBER_SIZE];
    ry_number_print_fixed(rate->one, 0, one);
    ry_number_print_fixed(rate->all, 0, all);
    return fprintf(file, "%s %s %s\n", name, one, all) > 0;
}

static bool write_rates(FILE *file, const ry_profile *p)
{
    bool good = fprintf(file, "%s\ncpu %s\nisa %s\ncores %u\n", head, p->cpu, ry_isa_name(p->isa), p->cores) > 0;
    good = good && write_rate(file, "f32", &p->f32) && write_rate(file, "bf16", &p->bf16);
    for (int i = 0; i < RY_LEVELS; i++) {
        good = good && write_rate(file, level_names[i], &p->read[i]);
    }
    return good && fprintf(file, "end\n") > 0;
}

/* A new file of our own: what lies there already, or a link that somebody put there, is not written to. */
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

/* Written beside the file and renamed, so that a reader sees the old one or the new one, whole. */
rynd_status ry_profile_save(const ry_profile *profile, const char *path, ry_error *error)
{
    char aside[RY_PROFILE_PATH + 32];
    struct stat about;
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode)) {
        return ry_fail(error, RYND_ERROR_IO, "%s: cannot write the profile: what is there is not a regular file", path);
    }
    make_folders(path);
    snprintf(aside, sizeof aside, "%s.%ld", path, (long)getpid());
    FILE *file = open_aside(aside);
    if (!file) {
        return ry_fail(error, RYND_ERROR_IO, "%s: cannot write the profile: %s", aside, strerror(errno));
    }
    bool good = write_rates(file, profile);
    good = fflush(file) == 0 && good;
    good = fclose(file) == 0 && good;
    if (!good || rename(aside, path) != 0) {
        const int why = errno;
        remove(aside);
        return ry_fail(error, RYND_ERROR_IO, "%s: cannot write the profile: %s", path, strerror(why));
    }
    return RYND_OK;
}
