/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled programs on disk. */
#include "device_contract_parts.h"

#include "device/program_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Files of programs. */
static char folder[] = "/tmp/rynd_device_XXXXXX";
static char path[512]; /* path of the only file in it; "": no file */

static int count_files(void)
{
    char name[128];
    int count = 0;
    snprintf(name, sizeof name, "%s/%s", folder, held.contract->kind);
    DIR *listed = opendir(name);
    path[0] = 0;
    for (const struct dirent *found; listed && (found = readdir(listed));) {
        if (found->d_name[0] != '.') {
            snprintf(path, sizeof path, "%s/%s", name, found->d_name);
            count++;
        }
    }
    if (listed) {
        closedir(listed);
    }
    return count;
}

static void expect_program(size_t from_source, size_t from_files)
{
    ry_device_figures figures;
    contract_open_device();
    const ry_program program = contract_program_of(5, true);
    contract_run(program, 5, true);
    held.device->table->figures(held.device, &figures);
    assert_int_equal(figures.compiled, from_source);
    assert_int_equal(figures.read, from_files);
    held.device->table->program_destroy(held.device, program);
    contract_close_device();
}

static void damage(long at, int byte)
{
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, at, at < 0 ? SEEK_END : SEEK_SET), 0);
    const int old = fgetc(file);
    fseek(file, -1, SEEK_CUR);
    fputc(old ^ byte, file);
    fclose(file);
}

void contract_test_files(void **state)
{
    (void)state;
    contract_need_device();
    char command[64], programs[64];
    assert_non_null(mkdtemp(folder));
    snprintf(programs, sizeof programs, "%s/%s", folder, held.contract->kind);
    setenv("RYND_CACHE", folder, 1);
    setenv("POCL_KERNEL_CACHE", "0", 1); /* PoCL's own files would be used instead */
    expect_program(1, 0);                /* cold */
    assert_int_equal(count_files(), 1);
    expect_program(0, 1); /* warm */
    damage(-100, 1);
    expect_program(1, 0);
    assert_int_equal(count_files(), 1);
    expect_program(0, 1); /* replaced */
    damage(0, 0x20);
    expect_program(1, 0);
    assert_int_equal(truncate(path, 100), 0);
    expect_program(1, 0);
    assert_int_equal(truncate(path, 0), 0);
    expect_program(1, 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0777), 0); /* a folder is in its place */
    expect_program(1, 0);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(chmod(programs, 0555), 0); /* root may write there all the same */
    expect_program(1, 0);
    expect_program(geteuid() != 0, geteuid() == 0);
    assert_int_equal(chmod(programs, 0755), 0);
    setenv("RYND_CACHE", "off", 1);
    expect_program(1, 0);
    setenv("RYND_CACHE", "/dev/null", 1); /* no folder */
    expect_program(1, 0);
    setenv("RYND_CACHE", "/proc/no/such/folder", 1);
    expect_program(1, 0);
    setenv("RYND_CACHE", "off", 1);
    unsetenv("POCL_KERNEL_CACHE");
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

void contract_test_bounded_files(void **state)
{
    (void)state;
    enum { COUNT = 20, SIZE = 1000 };
    char name[] = "/tmp/rynd_files_XXXXXX", command[64], foreign[64];
    static char data[SIZE];
    assert_non_null(mkdtemp(name));
    setenv("RYND_CACHE", name, 1);
    ry_program_files files;
    ry_program_files_open(held.contract->kind, &files);
    setenv("RYND_CACHE", "off", 1);
    files.bound = 10 * SIZE;
    size_t size = 0;
    for (uint64_t i = 0; i < COUNT; i++) {
        memset(data, (int)i, SIZE);
        ry_program_files_write(&files, (ry_digest){i, i}, data, SIZE, &ry_system_allocator);
        if (i == 0) { /* somebody else's file stays */
            snprintf(foreign, sizeof foreign, "%s/%s/notes", name, held.contract->kind);
            close(open(foreign, O_CREAT | O_WRONLY, 0644));
        }
        nanosleep(&(struct timespec){0, 2000000}, NULL);
        /* the first one is in use */
        void *first = ry_program_files_read(&files, (ry_digest){0, 0}, &ry_system_allocator, &size);
        assert_non_null(first);
        assert_int_equal(size, SIZE);
        assert_int_equal(((char *)first)[SIZE - 1], 0);
        ry_release(&ry_system_allocator, first);
    }
    int left = 0;
    for (uint64_t i = 0; i < COUNT; i++) {
        void *found = ry_program_files_read(&files, (ry_digest){i, i}, &ry_system_allocator, &size);
        left += found != NULL;
        ry_release(&ry_system_allocator, found);
    }
    assert_in_range(left, 6, 9);
    assert_int_equal(access(foreign, F_OK), 0);
    snprintf(command, sizeof command, "rm -r %s", name);
    assert_int_equal(system(command), 0);
}
