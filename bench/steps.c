/* SPDX-License-Identifier: Apache-2.0 */
/* What a prediction is made from, of each step of a model's plan:
 *
 *   steps MODEL THREADS [BATCH [DIM=N]...]
 *
 * Prints a line of JSON for each step: kernel, family, vector (floats), reference, micro_batches,
 * and of one micro-batch: arithmetic, overhead and pack (seconds; pack: of packing before each run),
 * packed (bytes of that packing), bytes that are moved, raw (of constants as the model has them),
 * read (as the kernel reads them), reused ([bytes, reuse distance] of each tensor). Then a line of
 * the machine: footprint (bytes that a run touches), l2, l3 (bytes), l3_rate, dram_rate (bytes a
 * second, of all threads), l2_latency, l3_latency, latency (of memory). bench/predictions fits the
 * coefficients of networks to them. */
#include "api/handles.h"
#include "plan/plan_time.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DIMS = 16 };

static void fail(const char *what)
{
    fprintf(stderr, "steps: %s: %s\n", what, rynd_last_error());
    exit(1);
}

static void print_step(const ry_plan *plan, size_t index, unsigned threads, double footprint)
{
    const ry_step *step = &plan->steps[index];
    const ry_prepared *prepared = &step->prepared;
    const ry_parts parts = ry_plan_step_parts(plan, index, prepared, threads, footprint);
    printf("{\"kernel\": \"%s\", \"family\": \"%s\", \"vector\": %d, \"reference\": %d, "
           "\"micro_batches\": %lld, \"arithmetic\": %.9g, \"overhead\": %.9g, \"pack\": %.9g, "
           "\"packed\": %.0f, \"bytes\": %.0f, \"raw\": %.0f, \"read\": %.0f, \"reused\": [",
           prepared->kernel->name, prepared->kernel->family, prepared->kernel->simd.width,
           prepared->kernel->reference,
           (long long)ry_plan_batch_split_of(plan, index)->micro_batches, parts.arithmetic,
           parts.overhead, parts.pack, parts.packed, parts.bytes, parts.raw, parts.read);
    for (int i = 0; i < parts.reused_count; i++) {
        printf("%s[%.0f, %.0f]", i ? ", " : "", parts.reused[i].bytes, parts.reused[i].since);
    }
    printf("]}\n");
}

int main(int argc, char **argv)
{
    rynd_context *context = NULL;
    rynd_model *model = NULL;
    rynd_plan *plan = NULL;
    rynd_dim dims[MAX_DIMS];
    size_t count = 0;
    if (argc < 3 || argc > 4 + MAX_DIMS) {
        fprintf(stderr, "usage: steps MODEL THREADS [BATCH [DIM=N]...]\n");
        return 2;
    }
    const unsigned threads = (unsigned)atoi(argv[2]);
    for (int i = 4; i < argc; i++) {
        char *equals = strchr(argv[i], '=');
        if (equals) {
            *equals = 0;
            dims[count++] = (rynd_dim){argv[i], atoll(equals + 1)};
        }
    }
    const rynd_context_options options =
        RYND_SIZED(rynd_context_options, .threads = threads, .wisdom = "off");
    const rynd_plan_options plan_options =
        RYND_SIZED(rynd_plan_options, .dims = dims, .dim_count = count,
                   .batch = argc > 3 ? atoll(argv[3]) : 0, .without_weights = 1);
    if (rynd_context_create(&options, &context) != RYND_OK ||
        rynd_model_load(context, argv[1], &model) != RYND_OK ||
        rynd_plan_create(model, &plan_options, &plan) != RYND_OK) {
        fail(argv[1]);
    }
    const ry_machine *m = &context->machine;
    for (size_t s = 0; s < plan->plan->step_count; s++) {
        print_step(plan->plan, s, threads, ry_plan_footprint(plan->plan));
    }
    printf("{\"footprint\": %.0f, \"l2\": %zu, \"l3\": %zu, \"l3_rate\": %.9g, \"dram_rate\": "
           "%.9g, \"l2_latency\": %.9g, \"l3_latency\": %.9g, \"latency\": %.9g}\n",
           ry_plan_footprint(plan->plan), ry_machine_level_bytes(m, RYND_LEVEL_L2),
           ry_machine_level_bytes(m, RYND_LEVEL_L3),
           ry_machine_rate(&m->level[RYND_LEVEL_L3].bandwidth, m, threads),
           ry_machine_rate(&m->level[RYND_LEVEL_DRAM].bandwidth, m, threads),
           m->level[RYND_LEVEL_L2].latency.one, m->level[RYND_LEVEL_L3].latency.one,
           m->level[RYND_LEVEL_DRAM].latency.one);
    rynd_plan_destroy(plan);
    rynd_model_destroy(model);
    rynd_context_destroy(context);
    return 0;
}
