/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the errors of every kernel with sums of products, as JSON: accuracy_table [FOLDER]. Into
 * the folder go the operands (problem I on data D: I.D.x, I.D.w, I.D.b, float32, row-major), the
 * exact outputs (I.D.y, float64) and the direct sum's, without and with products of padding
 * (I.D.direct, I.D.padded, float32). */
#include "accuracy_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool write_file(const char *folder, int problem, int data, const char *what,
                       const void *bytes, size_t size)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%d.%d.%s", folder, problem, data, what);
    FILE *file = fopen(path, "wb");
    const bool done = file && fwrite(bytes, 1, size, file) == size;
    if (!file || fclose(file) != 0 || !done) {
        perror(path);
        return false;
    }
    return true;
}

static bool write_case(const char *folder, int problem, const accuracy_case *c)
{
    static const char *const names[] = {"x", "w", "b"};
    bool done = true;
    for (int i = 0; i < 3 && i < c->kernel.inputs; i++) {
        if (ry_tensor_present(&c->kernel.in[i])) {
            done = done && write_file(folder, problem, (int)c->data, names[i], c->kernel.in[i].data,
                                      ry_tensor_bytes(&c->kernel.in[i]));
        }
    }
    const size_t count = (size_t)c->outputs;
    return done &&
           write_file(folder, problem, (int)c->data, "y", c->truth, count * sizeof *c->truth) &&
           write_file(folder, problem, (int)c->data, "direct", c->direct,
                      count * sizeof *c->direct) &&
           write_file(folder, problem, (int)c->data, "padded", c->padded,
                      count * sizeof *c->padded);
}

static void print_error_of(accuracy_error error)
{
    printf("\"rms\": %.4g, \"largest\": %.4g, \"misplaced\": %lld}", error.rms, error.largest,
           (long long)error.misplaced);
}

static void print_kernels(accuracy_case *c)
{
    const char *comma = "";
    for (size_t i = 0; i < every_kernel_count(); i++) {
        for (case_layout layout = CASE_NCHW; layout <= CASE_NHWC; layout++) {
            if (accuracy_is_measured(every_kernel(i)) &&
                accuracy_case_applicable(c, every_kernel(i), layout)) {
                static const char *const classes[] = {"strict", "near32", "tf32", "bf16", "int8"};
                const accuracy_error error = accuracy_case_measure(c, every_kernel(i), layout);
                printf("%s\n    {\"name\": \"%s\", \"class\": \"%s\", \"reference\": %s, "
                       "\"layout\": \"%s\", ",
                       comma, every_kernel(i)->name, classes[every_kernel(i)->accuracy],
                       every_kernel(i)->reference ? "true" : "false",
                       layout == CASE_NHWC ? "nhwc" : "nchw");
                print_error_of(error);
                comma = ",";
            }
        }
    }
}

static void print_shape(const char *name, const ry_tensor *t)
{
    printf(", \"%s\": [", name);
    for (int i = 0; i < t->rank; i++) {
        printf("%s%lld", i ? ", " : "", (long long)t->dim[i]);
    }
    printf("]");
}

int main(int argc, char **argv)
{
    printf("[");
    for (int p = 0; accuracy_problems[p]; p++) {
        for (accuracy_data data = 0; data < ACCURACY_DATA; data++) {
            accuracy_case c;
            accuracy_case_begin(&c, accuracy_problems[p], data);
            if (argc > 1 && !write_case(argv[1], p, &c)) {
                return 1;
            }
            printf("%s\n  {\"problem\": \"%s\", \"data\": \"%s\", \"files\": \"%d.%d\"",
                   p + (int)data ? "," : "", accuracy_problems[p], accuracy_data_names[data], p,
                   (int)data);
            print_shape("x", &c.kernel.in[0]);
            print_shape("w", &c.kernel.in[1]);
            print_shape("y", &c.kernel.out[0]);
            printf(",\n   \"direct\": {");
            print_error_of(c.direct_error);
            printf(", \"rounded\": {");
            print_error_of(c.bf16_error);
            printf(", \"kernels\": [");
            print_kernels(&c);
            printf("]}");
            accuracy_case_end(&c);
        }
    }
    printf("]\n");
    return 0;
}
