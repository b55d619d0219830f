/* SPDX-License-Identifier: Apache-2.0 */
/* Data to train on: every reader, what each refuses, what is done at random, and batches that are
 * the same at any number of threads and from any beginning. */
#define _XOPEN_SOURCE 700

#include "dataset_case.h"

#include <unistd.h>
#include <zlib.h>

static void test_folder(void **state)
{
    (void)state;
    make_folder("classes");
    expect_refused("classes", &no_wish, "has no folder of pictures per class");
    make_folder("classes/b");
    expect_refused("classes", &no_wish, "is a class without a picture");
    make_folder("classes/a");
    make_folder("classes/.hidden");
    write_picture("classes/b/2.png", 4, 5, 2);
    write_picture("classes/b/10.PNG", 4, 5, 10);
    write_picture("classes/a/1.png", 4, 5, 1);
    write_bytes("classes/b/notes.txt", "x", 1);
    const char *path = at("classes");
    cli_dataset set = open_set(path, &no_wish);
    assert_int_equal(set.count, 3);
    assert_int_equal(set.class_count, 2);
    assert_string_equal(set.classes[0], "a");
    assert_string_equal(set.classes[1], "b");
    static const int blue[] = {1, 10, 2}, labels[] = {0, 1, 1};
    for (size_t i = 0; i < 3; i++) {
        cli_sample sample;
        cli_failure failure = {0};
        assert_true(set.kind->read(&set, i, &sample, &failure));
        assert_true(sample.picture.height == 4 && sample.picture.width == 5);
        assert_true(sample.picture.pixels[2] == (float)blue[i] && sample.label == labels[i]);
        cli_sample_free(&sample);
    }
    cli_dataset_close(&set);
    expect_refused("nowhere", &no_wish, "No such file");
    write_bytes("text", "text", 4);
    expect_refused("text", &no_wish, "is no training data");
}

static const unsigned char pictures[] = {0, 0, 8, 3, 0, 0, 0, 2, 0,  0,  0,  2,  0,  0,
                                         0, 3, 1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16};
static const unsigned char labels[] = {0, 0, 8, 1, 0, 0, 0, 2, 7, 4};

static void write_packed(const char *name, const void *data, size_t size)
{
    gzFile file = gzopen(at(name), "wb");
    assert_non_null(file);
    assert_int_equal(gzwrite(file, data, (unsigned)size), size);
    assert_int_equal(gzclose(file), Z_OK);
}

static void check_idx(const char *path)
{
    cli_dataset set = open_set(path, &no_wish);
    cli_sample sample;
    cli_failure failure = {0};
    assert_true(set.count == 2 && set.class_count == 8);
    assert_true(set.kind->read(&set, 1, &sample, &failure));
    assert_true(sample.label == 4 && sample.picture.channels == 1);
    assert_true(sample.picture.height == 2 && sample.picture.width == 3);
    assert_true(sample.picture.pixels[0] == 11 && sample.picture.pixels[5] == 16);
    cli_sample_free(&sample);
    cli_dataset_close(&set);
}

/* The members of `gzip -c A B`, and `behind`. */
static void write_members(const char *name, const char *const *parts, const void *behind,
                          size_t size)
{
    unsigned char all[1024];
    size_t used = 0;
    for (; *parts; parts++) {
        FILE *file = fopen(at(*parts), "rb");
        assert_non_null(file);
        used += fread(all + used, 1, sizeof all - used, file);
        fclose(file);
    }
    memcpy(all + used, behind, size);
    write_bytes(name, all, used + size);
}

/* One file of several members, empty ones too, is as long as all of them. */
static void test_gzip_members(void **state)
{
    (void)state;
    const size_t first = 21;
    const char *const four[] = {"empty", "first", "second", "empty", NULL};
    write_packed("empty", "", 0);
    write_packed("first", pictures, first);
    write_packed("second", pictures + first, sizeof pictures - first);
    write_packed("g-labels.gz", labels, sizeof labels);
    write_members("g-images.gz", four, "", 0);
    check_idx(at("g-images.gz"));
    write_members("g-images.gz", four + 2, "", 0);
    expect_refused("g-images.gz", &no_wish, "is not an IDX file");
    write_members("g-images.gz", (const char *const[]){"first", NULL}, "", 0);
    expect_refused("g-images.gz", &no_wish, "its header tells of 12 bytes, but 5 follow");
    static const char *const behind[] = {"\0", "x", "\x1f", "\x1f\x8b", "\x1f\x8b\x08\0"};
    static const size_t sizes[] = {1, 1, 1, 2, 4};
    static const char *const why[] = {"more bytes follow", "more bytes follow", "more bytes follow",
                                      "truncated", "truncated"};
    for (int i = 0; i < 5; i++) {
        write_members("g-images.gz", four, behind[i], sizes[i]);
        expect_refused("g-images.gz", &no_wish, why[i]);
    }
    write_members("g-images.gz", (const char *const[]){"first", "second", "second", NULL}, "", 0);
    expect_refused("g-images.gz", &no_wish, "more bytes follow its 12 bytes");
}

static void test_idx(void **state)
{
    (void)state;
    write_bytes("train-images-idx3-ubyte", pictures, sizeof pictures);
    expect_refused("train-images-idx3-ubyte", &no_wish, "the file of labels is missing");
    write_packed("train-labels-idx1-ubyte.gz", labels, sizeof labels);
    check_idx(at("train-images-idx3-ubyte"));
    write_packed("train-images-idx3-ubyte.gz", pictures, sizeof pictures);
    check_idx(at("train-images-idx3-ubyte.gz"));
    for (int byte = 0; byte < 2; byte++) {
        unsigned char bad[sizeof labels];
        memcpy(bad, labels, sizeof labels);
        bad[byte] = 1;
        write_packed("train-labels-idx1-ubyte.gz", bad, sizeof bad);
        expect_refused("train-images-idx3-ubyte", &no_wish, "does not begin with two zero bytes");
    }
    write_bytes("t-images", pictures, sizeof pictures - 1);
    expect_refused("t-images", &no_wish, "its header tells of 12 bytes, but 11 follow");
    write_packed("t-images.gz", pictures, sizeof pictures - 1);
    expect_refused("t-images.gz", &no_wish, "its header tells of 12 bytes, but 11 follow");
    unsigned char changed[sizeof pictures + 1] = {0};
    memcpy(changed, pictures, sizeof pictures);
    write_bytes("t-images", changed, sizeof changed);
    expect_refused("t-images", &no_wish, "more bytes follow its 12 bytes");
    changed[2] = 13;
    write_bytes("t-images", changed, sizeof pictures);
    expect_refused("t-images", &no_wish, "type 0x0d and rank 3");
    memcpy(changed + 2, "\x08\x03\xff\xff\xff\xff\xff\xff\xff\xff", 10);
    write_bytes("t-images", changed, sizeof pictures);
    expect_refused("t-images", &no_wish, "together they are too many");
    write_packed("t-images.gz", changed, 7);
    expect_refused("t-images.gz", &no_wish, "it ends inside its header");
    write_bytes("t-images.gz", "\x1f\x8b\x08\x00xxxxxxxxxxxx", 16);
    expect_refused("t-images.gz", &no_wish, "cannot");
    write_bytes("u-images", pictures, sizeof pictures);
    write_bytes("u-labels", labels, 9);
    expect_refused("u-images", &no_wish, "u-labels' is truncated");
    write_bytes("u-labels", "\0\0\x08\x01\0\0\0\x01\x05", 9);
    expect_refused("u-images", &no_wish, "has 2 pictures, but");
}

static void write_arrays(const char *name, const rynd_tensor *x, const rynd_tensor *y)
{
    const rynd_tensor tensors[] = {*x, *y};
    const char *const names[] = {"x", y->rank < 0 ? "z" : "y"};
    cli_failure failure = {0};
    if (!cli_tensors_write(NULL, at(name), tensors, names, y->data ? 2 : 1, &failure)) {
        fail_msg("%s", failure.text);
    }
}

static void test_npz(void **state)
{
    (void)state;
    double x[] = {1, 2, 3, 4, 5, 6};
    int32_t y[] = {2, 0, 1};
    const int64_t dim[] = {3, 2};
    rynd_tensor tx = rynd_tensor_of(x, RYND_DTYPE_F64, 2, dim),
                ty = rynd_tensor_of(y, RYND_DTYPE_I32, 1, dim);
    write_arrays("a.npz", &tx, &ty);
    char path[256];
    snprintf(path, sizeof path, "%s", at("a.npz"));
    cli_sample sample;
    cli_failure failure = {0};
    cli_dataset set = open_set(path, &no_wish);
    assert_true(set.kind->read(&set, 1, &sample, &failure));
    assert_true(sample.x[0].dtype == RYND_DTYPE_F64 && ((double *)sample.x[0].data)[1] == 4);
    assert_true(sample.y.rank == 0 && *(int32_t *)sample.y.data == 0 && sample.label == -1);
    cli_dataset_close(&set);
    const rynd_value_info input = {.name = "in", .dtype = RYND_DTYPE_F32};
    const cli_data_wish wish = {.inputs = &input, .input_count = 1, .classes = true};
    set = open_set(path, &wish);
    assert_true(set.count == 3 && set.class_count == 3);
    assert_true(set.kind->read(&set, 2, &sample, &failure));
    assert_true(sample.x[0].dtype == RYND_DTYPE_F32 && ((float *)sample.x[0].data)[0] == 5);
    assert_true(sample.y.dtype == RYND_DTYPE_I64 && *(int64_t *)sample.y.data == 1);
    cli_dataset_close(&set);
    y[1] = -1;
    write_arrays("a.npz", &tx, &ty);
    expect_refused("a.npz", &wish, "y has the class -1");
    ty = rynd_tensor_of(y, RYND_DTYPE_I32, 1, (const int64_t[]){2});
    write_arrays("a.npz", &tx, &ty);
    expect_refused("a.npz", &no_wish, "x has 3 rows, and y 2");
    ty.data = NULL;
    write_arrays("a.npz", &tx, &ty);
    expect_refused("a.npz", &no_wish, "has no array");
}

/* Twenty pictures of two classes; of blue 0 to 19 by their index. */
static void make_many(const char *name)
{
    char picture[64];
    make_folder(name);
    for (int i = 0; i < 20; i++) {
        snprintf(picture, sizeof picture, "%s/%d", name, i / 10);
        if (i % 10 == 0) {
            make_folder(picture);
        }
        snprintf(picture, sizeof picture, "%s/%d/%d.png", name, i / 10, i % 10);
        write_picture(picture, 12, 10, i);
    }
}

static const rynd_value_info input = {.name = "x",
                                      .dtype = RYND_DTYPE_F32,
                                      .rank = 4,
                                      .dim = {-1, 3, 8, 8},
                                      .symbol = {"N", "", "", ""}};
static const rynd_value_info output = {
    .name = "y", .dtype = RYND_DTYPE_F32, .rank = 2, .dim = {-1, 2}, .symbol = {"N", ""}};

enum { BATCH = 3, VALUES = BATCH * 3 * 8 * 8, BATCHES = 14 };

typedef struct record {
    float x[VALUES];
    int64_t y[BATCH];
} record;

/* The batches first ... BATCHES-1, of six an epoch. */
static void collect(const cli_dataset *set, const cli_augment *augment, unsigned threads,
                    uint64_t seed, uint64_t first, record *to)
{
    cli_preprocess preprocess = {.size = {8, 8}, .scale = 0.5};
    cli_batch_form form;
    cli_failure failure = {0};
    cli_batch batch;
    cli_preprocess_settle(&preprocess);
    const cli_batch_wish wish = {set, &input, &output, 1, &preprocess, augment, BATCH,
                                 0,   -1,     NULL,    0};
    if (!cli_batch_form_of(&wish, &form, &failure)) {
        fail_msg("%s", failure.text);
    }
    const cli_loader_options options = {.form = &form,
                                        .common = &quiet,
                                        .seed = seed,
                                        .shuffle = true,
                                        .first = first,
                                        .end = BATCHES,
                                        .threads = threads,
                                        .parts = 1};
    cli_loader *loader = cli_loader_start(&options, &failure);
    assert_non_null(loader);
    for (uint64_t b = first; b < BATCHES; b++) {
        assert_true(cli_loader_take(loader, &batch, &failure));
        assert_true(batch.number == b && batch.epoch == b / 6 && batch.count == BATCH);
        memcpy(to[b].x, batch.x[0].data, sizeof to[b].x);
        memcpy(to[b].y, batch.y.data, sizeof to[b].y);
        cli_loader_give(loader);
    }
    assert_true(cli_loader_take(loader, &batch, &failure) && batch.count == 0);
    cli_loader_stop(loader);
}

static void test_batches(void **state)
{
    (void)state;
    static record plain[BATCHES], other[BATCHES];
    const cli_augment augments[] = {{.pad = -1},
                                    {.pad = -1, .area = 0.3, .flip = true},
                                    {.pad = 2, .flip = true, .turn = true, .jitter = 0.5},
                                    {.pad = -1, .changes = 2, .magnitude = 20, .erase = 0.5}};
    make_many("many");
    char path[256];
    snprintf(path, sizeof path, "%s", at("many"));
    cli_dataset set = open_set(path, &no_wish);
    for (size_t a = 0; a < sizeof augments / sizeof *augments; a++) {
        collect(&set, &augments[a], 1, 7, 0, plain);
        for (unsigned threads = 2; threads < 8; threads += 2) {
            collect(&set, &augments[a], threads, 7, 0, other);
            assert_memory_equal(plain, other, sizeof plain);
        }
        collect(&set, &augments[a], 3, 7, 8, other); /* from within the second epoch on */
        assert_memory_equal(plain + 8, other + 8, 6 * sizeof *plain);
        collect(&set, &augments[a], 1, 8, 0, other);
        assert_true(memcmp(plain, other, sizeof plain) != 0);
    }
    collect(&set, &(cli_augment){.pad = -1, .jitter = 0.5}, 1, 7, 0, plain);
    collect(&set, &augments[0], 1, 7, 0, other);
    assert_true(memcmp(plain, other, sizeof plain) != 0);
    /* each sample once in an epoch, but for the two that are left out; other ones in the next */
    collect(&set, &augments[0], 2, 7, 0, plain);
    bool seen[2][20] = {{false}};
    for (int b = 0; b < 12; b++) {
        for (int i = 0; i < BATCH; i++) {
            const int blue = (int)(2 * plain[b].x[(i * 3 + 2) * 64]);
            assert_true(blue >= 0 && blue < 20 && !seen[b / 6][blue]);
            assert_int_equal(plain[b].y[i], blue / 10);
            seen[b / 6][blue] = true;
        }
    }
    cli_dataset_close(&set);
}

/* A broken picture's place is taken by the next one; all broken: an error. */
static void test_broken(void **state)
{
    (void)state;
    static record batches[BATCHES];
    const cli_augment nothing = {.pad = -1};
    make_many("torn");
    write_bytes("torn/1/3.png", "\x89PNG no", 7);
    char path[256];
    snprintf(path, sizeof path, "%s", at("torn"));
    cli_dataset set = open_set(path, &no_wish);
    collect(&set, &nothing, 2, 7, 0, batches);
    int count = 0;
    for (int b = 0; b < 12; b++) {
        for (int i = 0; i < BATCH; i++) {
            const int blue = (int)(2 * batches[b].x[(i * 3 + 2) * 64]);
            assert_true(blue != 13);
            count++;
        }
    }
    assert_int_equal(count, 36);
    cli_dataset_close(&set);
    assert_int_equal(nftw(at("torn/0"), remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    for (int i = 0; i < 10; i++) {
        char name[32];
        snprintf(name, sizeof name, "torn/1/%d.png", i);
        write_bytes(name, "no", 2);
    }
    set = open_set(path, &no_wish);
    cli_preprocess preprocess = {.scale = 1};
    cli_batch_form form;
    cli_failure failure = {0};
    cli_preprocess_settle(&preprocess);
    const cli_batch_wish wish = {&set, &input, &output, 1, &preprocess, &nothing, BATCH,
                                 0,    -1,     NULL,    0};
    assert_false(cli_batch_form_of(&wish, &form, &failure));
    assert_non_null(strstr(failure.text, "none of the 10 samples"));
    cli_dataset_close(&set);
}

/* What the batches of a loader begin with, and how many samples of each count. */
static void read_parts(int64_t batch, int part, int parts, float *blues, int64_t *counts)
{
    cli_dataset set = open_set(at("many"), &no_wish);
    cli_preprocess preprocess = {.size = {8, 8}, .scale = 1};
    cli_batch_form form;
    cli_failure failure = {0};
    cli_batch taken;
    cli_preprocess_settle(&preprocess);
    const cli_batch_wish wish = {&set, &input, &output, 1, &preprocess, NULL, batch,
                                 0,    -1,     NULL,    0};
    assert_true(cli_batch_form_of(&wish, &form, &failure));
    const uint64_t end = cli_loader_batches(&set, batch * parts, true);
    const cli_loader_options options = {.form = &form,
                                        .common = &quiet,
                                        .seed = 3,
                                        .shuffle = true,
                                        .whole = true,
                                        .end = end,
                                        .threads = 2,
                                        .part = part,
                                        .parts = parts};
    cli_loader *loader = cli_loader_start(&options, &failure);
    assert_non_null(loader);
    for (uint64_t b = 0; b < end; b++) {
        assert_true(cli_loader_take(loader, &taken, &failure));
        counts[b] = taken.count;
        for (int64_t i = 0; i < batch && taken.count; i++) {
            const int64_t place = ((int64_t)b * parts + part) * batch + i;
            blues[place] = ((float *)taken.x[0].data)[(i * 3 + 2) * 64];
            assert_int_equal(taken.own[i], place < 20);
        }
        cli_loader_give(loader);
    }
    cli_loader_stop(loader);
    cli_dataset_close(&set);
}

/* Parts of batches are together what one loader makes; of the last batch the third part is empty.
 */
static void test_parts(void **state)
{
    (void)state;
    float whole[24] = {0}, parted[24] = {0};
    int64_t counts[4], part_counts[3][4];
    read_parts(6, 0, 1, whole, counts);
    for (int part = 0; part < 3; part++) {
        read_parts(2, part, 3, parted, part_counts[part]);
    }
    assert_memory_equal(whole, parted, 20 * sizeof *whole);
    for (int b = 0; b < 4; b++) {
        assert_int_equal(counts[b], b < 3 ? 6 : 2);
        assert_int_equal(part_counts[0][b], 2);
        assert_int_equal(part_counts[1][b], b < 3 ? 2 : 0);
        assert_int_equal(part_counts[2][b], b < 3 ? 2 : 0);
    }
}

/* The whole set in its order: the last batch has two samples that count. */
static void test_whole(void **state)
{
    (void)state;
    cli_dataset set = open_set(at("many"), &no_wish);
    cli_preprocess preprocess = {.size = {8, 8}, .scale = 1};
    cli_batch_form form;
    cli_failure failure = {0};
    cli_batch batch;
    cli_preprocess_settle(&preprocess);
    const cli_batch_wish wish = {&set, &input, &output, 1, &preprocess, NULL, BATCH,
                                 0,    -1,     NULL,    0};
    assert_true(cli_batch_form_of(&wish, &form, &failure));
    assert_int_equal(cli_loader_batches(&set, BATCH, true), 7);
    const cli_loader_options options = {
        .form = &form, .common = &quiet, .whole = true, .end = 7, .threads = 2, .parts = 1};
    cli_loader *loader = cli_loader_start(&options, &failure);
    assert_non_null(loader);
    for (int b = 0; b < 7; b++) {
        assert_true(cli_loader_take(loader, &batch, &failure));
        assert_int_equal(batch.count, b < 6 ? 3 : 2);
        for (int i = 0; i < BATCH; i++) {
            const float blue = ((float *)batch.x[0].data)[(i * 3 + 2) * 64];
            assert_true(blue == (float)((b * BATCH + i) % 20));
            assert_int_equal(batch.own[i], b * BATCH + i < 20);
        }
        cli_loader_give(loader);
    }
    cli_loader_stop(loader);
    cli_dataset_close(&set);
}

/* What does not fit the model is an error, with what to do. */
static void test_misfits(void **state)
{
    (void)state;
    cli_dataset set = open_set(at("many"), &no_wish);
    cli_preprocess preprocess = {.size = {9, 9}, .scale = 1};
    cli_batch_form form;
    cli_failure failure = {0};
    cli_batch batch;
    cli_preprocess_settle(&preprocess);
    const cli_batch_wish wish = {&set, &input, &output, 1, &preprocess, NULL, BATCH,
                                 0,    -1,     NULL,    0};
    assert_true(cli_batch_form_of(&wish, &form, &failure));
    const cli_loader_options options = {
        .form = &form, .common = &quiet, .end = 1, .threads = 2, .parts = 1};
    cli_loader *loader = cli_loader_start(&options, &failure);
    assert_non_null(loader);
    assert_false(cli_loader_take(loader, &batch, &failure));
    assert_non_null(strstr(failure.text, "a picture of 9x9 (height x width) where 8x8 is wanted"));
    cli_loader_stop(loader);
    cli_loader_options large = options;
    form.wish.batch = 21;
    assert_null(cli_loader_start(&large, &failure));
    assert_non_null(strstr(failure.text, "has 20 samples, less than a batch of 21"));
    rynd_value_info flat = input;
    flat.dim[1] = 5;
    const cli_batch_wish odd = {&set, &flat, &output, 1, &preprocess, NULL, BATCH, 0, -1, NULL, 0};
    assert_false(cli_batch_form_of(&odd, &form, &failure));
    assert_non_null(strstr(failure.text, "has no dimension of 1 or 3 channels"));
    cli_dataset_close(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_folder),       cmocka_unit_test(test_idx),
        cmocka_unit_test(test_gzip_members), cmocka_unit_test(test_npz),
        cmocka_unit_test(test_batches),      cmocka_unit_test(test_broken),
        cmocka_unit_test(test_whole),        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_misfits),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
