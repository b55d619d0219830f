/* SPDX-License-Identifier: Apache-2.0 */
/* Reads, writes and bounds the files of compiled programs. */
#include "device/program_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX "program"

enum { FILE_PATH = RY_PROGRAM_FILES_PATH + 64, FILE_NAME = 64 };

/* What a file begins with; the program follows. Another version's files have another key. */
typedef struct header {
    char magic[16];
    ry_digest key, checksum;
    uint64_t size;
} header;

static const char magic[sizeof((header *)0)->magic] = "rynd program 1\n";

static ry_digest checksum_of(const void *data, size_t size)
{
    ry_digest checksum = ry_digest_begin();
    ry_digest_add(&checksum, data, size);
    return checksum;
}

void ry_program_files_open(const char *kind, ry_program_files *files)
{
    const char *own = getenv("RYND_CACHE"), *cache = getenv("XDG_CACHE_HOME"),
               *home = getenv("HOME");
    char *folder = files->folder;
    const size_t room = sizeof files->folder;
    int length = 0;
    files->bound = RY_PROGRAM_FILES_BOUND;
    folder[0] = 0;
    if (own && *own) {
        length = strcmp(own, "off") == 0 ? 0 : snprintf(folder, room, "%s/%s", own, kind);
    } else if (cache && *cache == '/') {
        length = snprintf(folder, room, "%s/rynd/%s", cache, kind);
    } else if (home && *home == '/') {
        length = snprintf(folder, room, "%s/.cache/rynd/%s", home, kind);
    }
    if (length < 0 || (size_t)length >= room) {
        folder[0] = 0;
    }
}

static void path_of(const ry_program_files *files, ry_digest key, char path[FILE_PATH])
{
    char name[RY_DIGEST_TEXT];
    ry_digest_text(key, name);
    snprintf(path, FILE_PATH, "%s/%s." SUFFIX, files->folder, name);
}

static bool read_all(int file, void *to, size_t size)
{
    for (size_t done = 0; done < size;) {
        const ssize_t count = read(file, (char *)to + done, size - done);
        if (count <= 0 && !(count < 0 && errno == EINTR)) {
            return false;
        }
        done += count > 0 ? (size_t)count : 0;
    }
    return true;
}

static bool write_all(int file, const void *from, size_t size)
{
    for (size_t done = 0; done < size;) {
        const ssize_t count = write(file, (const char *)from + done, size - done);
        if (count <= 0 && !(count < 0 && errno == EINTR)) {
            return false;
        }
        done += count > 0 ? (size_t)count : 0;
    }
    return true;
}

static void *read_program(const ry_program_files *files, int file, ry_digest key,
                          const ry_allocator *allocator, size_t *size)
{
    struct stat about;
    header h;
    if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size < (off_t)sizeof h ||
        (uint64_t)about.st_size > files->bound || !read_all(file, &h, sizeof h) ||
        memcmp(h.magic, magic, sizeof magic) != 0 || !ry_digest_equal(h.key, key) || h.size == 0 ||
        h.size != (uint64_t)about.st_size - sizeof h) {
        return NULL;
    }
    void *data = ry_allocate(allocator, (size_t)h.size);
    if (!data) {
        return NULL;
    }
    if (!read_all(file, data, (size_t)h.size) ||
        !ry_digest_equal(checksum_of(data, (size_t)h.size), h.checksum)) {
        ry_release(allocator, data);
        return NULL;
    }
    *size = (size_t)h.size;
    (void)futimens(file, NULL); /* used now; a folder that is read-only keeps its times */
    return data;
}

void *ry_program_files_read(const ry_program_files *files, ry_digest key,
                            const ry_allocator *allocator, size_t *size)
{
    char path[FILE_PATH];
    if (!*files->folder) {
        return NULL;
    }
    path_of(files, key, path);
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
        return NULL;
    }
    void *data = read_program(files, file, key, allocator, size);
    close(file);
    return data;
}

/* Makes the folder and those above it. */
static void make_folder(const char *folder)
{
    char part[RY_PROGRAM_FILES_PATH];
    for (size_t i = 1; folder[i]; i++) {
        if (folder[i] == '/') {
            memcpy(part, folder, i);
            part[i] = 0;
            (void)mkdir(part, 0777);
        }
    }
    (void)mkdir(folder, 0777);
}

typedef struct entry {
    char name[FILE_NAME];
    uint64_t bytes;
    struct timespec used;
} entry;

static int by_use(const void *left, const void *right)
{
    const struct timespec a = ((const entry *)left)->used, b = ((const entry *)right)->used;
    return a.tv_sec != b.tv_sec ? (a.tv_sec > b.tv_sec) - (a.tv_sec < b.tv_sec)
                                : (a.tv_nsec > b.tv_nsec) - (a.tv_nsec < b.tv_nsec);
}

/* Is it the name of a program file, finished or left half-written by a process? */
static bool is_ours(const char *name)
{
    const size_t digits = strspn(name, "0123456789abcdef");
    return digits == RY_DIGEST_TEXT - 1 &&
           strncmp(name + digits, "." SUFFIX, sizeof "." SUFFIX - 1) == 0 &&
           strlen(name) < FILE_NAME;
}

static entry *list_entries(DIR *folder, ry_arena *arena, size_t *count, uint64_t *bytes)
{
    entry *entries = NULL;
    size_t capacity = 0;
    *count = 0;
    *bytes = 0;
    for (const struct dirent *found; (found = readdir(folder));) {
        struct stat about;
        if (!is_ours(found->d_name) ||
            fstatat(dirfd(folder), found->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(about.st_mode)) {
            continue;
        }
        entry *grown = ry_arena_grow(arena, entries, *count, &capacity, sizeof *entries);
        if (!grown) {
            break;
        }
        entries = grown;
        entry *e = &entries[(*count)++];
        snprintf(e->name, sizeof e->name, "%.*s", (int)sizeof e->name - 1, found->d_name);
        e->bytes = (uint64_t)about.st_size;
        e->used = about.st_mtim;
        *bytes += e->bytes;
    }
    return entries;
}

/* Above the bound, removes the least recently used files down to three quarters of the bound, so
 * that not every new file removes another. */
static void bound_folder(const ry_program_files *files, const ry_allocator *allocator)
{
    DIR *folder = opendir(files->folder);
    if (!folder) {
        return;
    }
    ry_arena arena;
    ry_arena_init(&arena, allocator);
    size_t count;
    uint64_t bytes;
    entry *entries = list_entries(folder, &arena, &count, &bytes);
    if (entries && bytes > files->bound) {
        qsort(entries, count, sizeof *entries, by_use);
        for (size_t i = 0; i < count && bytes > files->bound / 4 * 3; i++) {
            if (unlinkat(dirfd(folder), entries[i].name, 0) == 0) {
                bytes -= entries[i].bytes;
            }
        }
    }
    ry_arena_free(&arena);
    closedir(folder);
}

void ry_program_files_write(const ry_program_files *files, ry_digest key, const void *data,
                            size_t size, const ry_allocator *allocator)
{
    char path[FILE_PATH], own[FILE_PATH + 8];
    if (!*files->folder || size == 0 || size > files->bound / 4) {
        return;
    }
    make_folder(files->folder);
    path_of(files, key, path);
    snprintf(own, sizeof own, "%s-XXXXXX", path);
    const int file = mkstemp(own);
    if (file < 0) {
        return;
    }
    header h = {.key = key, .checksum = checksum_of(data, size), .size = size};
    memcpy(h.magic, magic, sizeof magic);
    bool good = write_all(file, &h, sizeof h) && write_all(file, data, size);
    good = close(file) == 0 && good;
    if (!good || rename(own, path) != 0) {
        (void)unlink(own);
        return;
    }
    bound_folder(files, allocator);
}
