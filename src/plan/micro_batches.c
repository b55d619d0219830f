/* SPDX-License-Identifier: Apache-2.0 */
/* How many images each step gets at a time: the least bytes from memory by dynamic programming over
 * the steps in their order.
 *
 * A step that gets `images` at a time reads and writes the cache where its images fit into it, else
 * memory; its weights come once for each micro-batch. Where the number changes from step to step,
 * what is alive there is stored whole, and passes through memory on its way. */
#include "plan/micro_batches.h"

#include "base/integer.h"
#include "plan/choose_form.h"
#include "plan/value_uses.h"
#include "predict/predict.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { MAX_CHOICES = 24, MAX_MICRO_BATCHES = 1 << 16 };

typedef struct cutting {
    ry_plan_builder *b;
    ry_value_uses uses;
    int64_t batch;
    int choices;
    int64_t images[MAX_CHOICES]; /* at a time: the batch, then its divisors, falling */
    /* per step: bytes alive behind it, or 0 if they fit into the cache */
    double *alive;
    /* per step and choice: least bytes up to and including the step */
    double (*least)[MAX_CHOICES];
    uint8_t (*before)[MAX_CHOICES]; /* the choice of the step before it */
    size_t kept;                    /* bytes that stay in the caches between steps, as counted */
    double each;                    /* what a micro-batch of a step costs besides, in bytes */
} cutting;

enum {
    CONV_IMAGES = 1u << 0 | 1u << 3,
    SEPARABLE_IMAGES = 1u << 0 | 1u << 5,
    FIRST_IMAGES = 1u << 0,
    ALL_IMAGES = ~0u
};

/* Bit i: input i has images in its first dim, if it is not a constant; all other inputs must be
 * constants. Operators that are not here mix images. */
static const unsigned images_of[RY_OPS] = {
    [RY_OP_conv] = CONV_IMAGES,
    [RY_OP_convt] = CONV_IMAGES,
    [RY_OP_separable_conv] = SEPARABLE_IMAGES,
    [RY_OP_qconv] = CONV_IMAGES,
    [RY_OP_pool] = FIRST_IMAGES,
    [RY_OP_batch_norm] = FIRST_IMAGES,
    [RY_OP_group_norm] = FIRST_IMAGES,
    [RY_OP_lrn] = FIRST_IMAGES,
    [RY_OP_depth_to_space] = FIRST_IMAGES,
    [RY_OP_space_to_depth] = FIRST_IMAGES,
    [RY_OP_copy] = FIRST_IMAGES,
    [RY_OP_expr] = ALL_IMAGES,
};

static bool has_images(const ry_value *value, int rank, int64_t batch)
{
    return value->shape.rank == rank && rank > 0 && value->shape.dim[0] == batch && !value->bounded;
}

/* Each image of the outputs comes from the same image of the inputs, and from constants that are
 * the same for all. */
static bool is_by_image(const ry_graph *graph, const ry_node *node, int64_t batch)
{
    if (!images_of[node->op] || node->outputs != 1) {
        return false;
    }
    const int rank = graph->values[node->out[0]].shape.rank;
    for (int i = 0; i < node->inputs; i++) {
        if (node->in[i] == RY_NO_VALUE) {
            continue;
        }
        const ry_value *value = &graph->values[node->in[i]];
        const bool may = i < 32 && images_of[node->op] >> i & 1u;
        if (value->constant ? may && value->shape.rank >= rank && value->shape.dim[0] != 1
                            : !may || !has_images(value, rank, batch)) {
            return false;
        }
    }
    return has_images(&graph->values[node->out[0]], rank, batch);
}

/* Bytes of one image that a step reads and writes. */
static double image_bytes(const cutting *c, const ry_node *node)
{
    double bytes = (double)ry_plan_value_bytes(c->b->graph, node->out[0]);
    for (int i = 0; i < node->inputs; i++) {
        if (node->in[i] != RY_NO_VALUE && !c->b->graph->values[node->in[i]].constant) {
            bytes += (double)ry_plan_value_bytes(c->b->graph, node->in[i]);
        }
    }
    return bytes / (double)c->batch;
}

static double constant_bytes(const cutting *c, const ry_step *step, const ry_node *node)
{
    double bytes = 0;
    for (int i = 0; i < node->inputs; i++) {
        if (node->in[i] != RY_NO_VALUE && c->b->graph->values[node->in[i]].constant) {
            bytes += (double)ry_plan_value_bytes(c->b->graph, node->in[i]);
        }
    }
    const size_t packed = ry_prepared_packed(&step->prepared);
    return packed ? (double)packed : bytes;
}

static double step_cost(const cutting *c, size_t step, int choice)
{
    const ry_node *node = ry_plan_node(c->b, step);
    if (!is_by_image(c->b->graph, node, c->batch)) {
        return choice ? INFINITY : 0;
    }
    const double image = image_bytes(c, node);
    const int64_t micro_batches = c->batch / c->images[choice];
    const double moved =
        image * (double)c->images[choice] > (double)c->kept ? image * (double)c->batch : 0;
    return moved + (double)micro_batches * (constant_bytes(c, &c->b->steps[step], node) + c->each);
}

static void find_in_bounds(const cutting *c)
{
    memset(c->alive, 0, c->b->plan->step_count * sizeof *c->alive);
    for (ry_value_id v = 0; v < c->b->graph->value_count; v++) {
        if (c->uses.made[v]) {
            c->alive[c->uses.first[v]] += (double)ry_plan_value_bytes(c->b->graph, v);
            c->alive[c->uses.last[v]] -= (double)ry_plan_value_bytes(c->b->graph, v);
        }
    }
    double bytes = 0;
    for (size_t s = 0; s < c->b->plan->step_count; s++) {
        bytes += c->alive[s];
        c->alive[s] = bytes > (double)c->kept ? bytes : 0;
    }
}

static void extend(const cutting *c, size_t step)
{
    const double alive = step ? c->alive[step - 1] : 0;
    for (int to = 0; to < c->choices; to++) {
        double least = step ? INFINITY : 0;
        for (int from = 0; step && from < c->choices; from++) {
            /* who gets few images at a time does not count the whole of what it reads and writes:
             * it is counted here */
            const double passage = from == to ? 0 : alive * ((from > 0) + (to > 0)),
                         bytes = c->least[step - 1][from] + passage;
            if (bytes < least) {
                least = bytes;
                c->before[step][to] = (uint8_t)from;
            }
        }
        c->least[step][to] = least + step_cost(c, step, to);
    }
}

static void add_batch_split(ry_plan_builder *b, size_t step, int64_t micro_batches)
{
    assert(b->batch_splits);
    ry_batch_split *last =
        b->plan->batch_split_count ? &b->batch_splits[b->plan->batch_split_count - 1] : NULL;
    const bool part_begins = step == b->plan->parts.steps;
    if (last && last->micro_batches == micro_batches && !part_begins) {
        last->end = step + 1;
    } else {
        b->batch_splits[b->plan->batch_split_count++] =
            (ry_batch_split){step, step + 1, micro_batches, false};
    }
}

/* Back from the cheapest end; `chosen` receives each step's choice. */
static void trace(const cutting *c, uint8_t *chosen)
{
    const size_t steps = c->b->plan->step_count;
    int best = 0;
    for (int i = 1; i < c->choices; i++) {
        best = c->least[steps - 1][i] < c->least[steps - 1][best] ? i : best;
    }
    for (size_t s = steps; s-- > 0;) {
        chosen[s] = (uint8_t)best;
        best = c->before[s][best];
    }
}

static void list_choices(cutting *c)
{
    c->images[c->choices++] = c->batch;
    const int64_t most = ry_min(c->batch, MAX_MICRO_BATCHES);
    for (int64_t micro_batches = 2; micro_batches <= most && c->choices < MAX_CHOICES;
         micro_batches++) {
        if (c->batch % micro_batches == 0) {
            c->images[c->choices++] = c->batch / micro_batches;
        }
    }
}

/* Chooses each step's images at a time, for `kept` bytes that stay in the caches. */
static void choose(cutting *c, size_t kept, uint8_t *chosen)
{
    c->kept = kept;
    find_in_bounds(c);
    for (size_t s = 0; s < c->b->plan->step_count; s++) {
        extend(c, s);
    }
    trace(c, chosen);
}

/* Notes the steps that get another share of the batch in what are predicted to be the caches. */
static rynd_status concern_others(cutting *c, size_t kept, const uint8_t *chosen,
                                  uint8_t *predicted, ry_error *error)
{
    c->b->plan->whole.asked |= 1u << RY_PLAN_micro_batches;
    if (kept == c->kept) {
        return RYND_OK;
    }
    choose(c, kept, predicted);
    for (size_t s = 0; s < c->b->plan->step_count; s++) {
        if (predicted[s] != chosen[s]) {
            RY_TRY(ry_plan_concern(c->b, c->b->steps[s].name, error));
        }
    }
    return RYND_OK;
}

static rynd_status cut(cutting *c, size_t kept, ry_arena *scratch, ry_error *error)
{
    ry_plan_builder *b = c->b;
    c->alive = RY_TAKE(scratch, double, b->plan->step_count);
    c->least = ry_arena_take(scratch, b->plan->step_count, sizeof *c->least);
    c->before = ry_arena_take(scratch, b->plan->step_count, sizeof *c->before);
    uint8_t *chosen = RY_TAKE(scratch, uint8_t, b->plan->step_count),
            *predicted = RY_TAKE(scratch, uint8_t, b->plan->step_count);
    if (!c->alive || !c->least || !c->before || !chosen || !predicted) {
        return ry_fail_memory(error);
    }
    RY_TRY(ry_plan_find_uses(b, &c->uses, error));
    list_choices(c);
    choose(c, (size_t)ry_plan_counted(&b->plan->whole.form, RY_PLAN_micro_batches, (double)kept),
           chosen);
    RY_TRY(concern_others(c, kept, chosen, predicted, error));
    for (size_t s = 0; s < b->plan->step_count; s++) {
        if (chosen[s]) {
            RY_TRY(ry_plan_make_step(b, ry_plan_node(b, s), c->images[chosen[s]], &b->steps[s],
                                     error));
        }
        add_batch_split(b, s, c->batch / c->images[chosen[s]]);
    }
    return RYND_OK;
}

/* First dim of the first input that is not a constant; 1 if there is none. */
static int64_t batch_of(const ry_graph *graph)
{
    for (size_t i = 0; i < graph->input_count; i++) {
        const ry_value *value = &graph->values[graph->inputs[i]];
        if (!value->constant) {
            return value->shape.rank > 1 ? value->shape.dim[0] : 1;
        }
    }
    return 1;
}

rynd_status ry_plan_choose_micro_batches(ry_plan_builder *b, ry_error *error)
{
    const ry_machine *machine = b->plan->device->machine;
    cutting c = {.b = b, .batch = batch_of(b->graph)};
    /* what stays in the caches of a device beside the CPU is not known */
    const size_t kept = b->plan->device->host_memory ? ry_machine_kept_bytes(machine) : 0;
    ry_plan_set_batch_splits(b, RY_TAKE(&b->plan->arena, ry_batch_split, b->plan->step_count), 0);
    if (!b->batch_splits) {
        return ry_fail_memory(error);
    }
    if (c.batch <= 1 || b->plan->step_count == 0 || kept == 0) {
        for (size_t s = 0; s < b->plan->step_count; s++) {
            add_batch_split(b, s, 1);
        }
        return RYND_OK;
    }
    c.each = RY_STEP_SECONDS * machine->level[RYND_LEVEL_DRAM].bandwidth.all;
    ry_arena scratch;
    ry_arena_init(&scratch, b->plan->device->allocator);
    const rynd_status status = cut(&c, kept, &scratch, error);
    ry_arena_free(&scratch);
    return status;
}
