/* SPDX-License-Identifier: Apache-2.0 */
/* Folders and files of pictures to train on, in a folder that the test removes. */
#ifndef RY_TESTS_DATASET_CASE_H
#define RY_TESTS_DATASET_CASE_H

#include "files.h"
#include "train_loader.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static char root[] = "/tmp/rynd_dataset.XXXXXX";
static const cli_data_wish no_wish = {0};
static const cli_common quiet = {.level = CLI_ERROR};

static inline int make_root(void **state)
{
    (void)state;
    return mkdtemp(root) ? 0 : 1;
}

static inline int remove_one(const char *path, const struct stat *about, int kind,
                             struct FTW *place)
{
    (void)about, (void)kind, (void)place;
    return remove(path);
}

static inline int remove_root(void **state)
{
    (void)state;
    return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static inline const char *at(const char *name)
{
    static char path[4][256];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s/%s", root, name);
    return path[turn];
}

static inline void make_folder(const char *name)
{
    assert_int_equal(mkdir(at(name), 0777), 0);
}

static inline void write_bytes(const char *name, const void *data, size_t size)
{
    FILE *file = fopen(at(name), "wb");
    assert_true(file && fwrite(data, 1, size, file) == size && fclose(file) == 0);
}

/* Every pixel has its place's value: red x, green y, blue `blue`. */
static inline void write_picture(const char *name, int height, int width, int blue)
{
    cli_image image;
    cli_failure failure = {0};
    assert_true(cli_image_make(&image, height, width, 3, name, &failure));
    for (int i = 0; i < height * width; i++) {
        image.pixels[3 * i] = (float)(i % width);
        image.pixels[3 * i + 1] = (float)(i / width);
        image.pixels[3 * i + 2] = (float)blue;
    }
    assert_true(cli_image_write(at(name), &image, &failure));
    cli_image_free(&image);
}

static inline void expect_refused(const char *name, const cli_data_wish *wish, const char *part)
{
    cli_dataset set;
    cli_failure failure = {0};
    const bool opened = cli_dataset_open(&set, at(name), wish, &failure);
    if (opened || !strstr(failure.text, part)) {
        fail_msg("'%s' (%d) does not say '%s'", failure.text, opened, part);
    }
}

static inline cli_dataset open_set(const char *path, const cli_data_wish *wish)
{
    cli_dataset set;
    cli_failure failure = {0};
    if (!cli_dataset_open(&set, path, wish, &failure)) {
        fail_msg("%s", failure.text);
    }
    return set;
}

#endif
