/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the steps twice: the second walk finds the caches as the last run left them. Memory is one
 * range of addresses,
 *
 *     | arena | input 0 | input 1 | ... | output 0 | ... |
 *
 * cut into granules. Each granule has the time of its last use, in bytes touched so far. Small
 * values may share a granule; their bytes cost little. */
#include "plan/reuse.h"

/* MICRO_BATCHES: walked at most; later ones have the same distances. */
enum { GRANULES = 2048, LEAST_GRANULE = 4096, MICRO_BATCHES = 16 };

typedef struct memory {
    double used[GRANULES];    /* the time of the last use; of untouched memory: 0 */
    double now;               /* bytes touched so far */
    size_t granule;           /* bytes */
    size_t *inputs, *outputs; /* addresses */
} memory;

/* One tensor of a step. */
typedef struct operand {
    size_t address, bytes;
} operand;

static size_t tensor_bytes(const ry_tensor *tensor)
{
    return ry_tensor_present(tensor) ? (size_t)ry_tensor_bytes(tensor) : 0;
}

/* The states that are updated in place have one address, the input's. */
static void place_states(const ry_plan *plan, memory *m)
{
    for (size_t i = 0; i < plan->state_count; i++) {
        if (plan->states[i].in_place) {
            m->outputs[plan->states[i].output] = m->inputs[plan->states[i].input];
        }
    }
}

static rynd_status place(const ry_plan *plan, ry_arena *arena, memory *m, ry_error *error)
{
    size_t end = plan->arena_size;
    m->inputs = RY_TAKE(arena, size_t, plan->input_count + 1);
    m->outputs = RY_TAKE(arena, size_t, plan->output_count + 1);
    if (!m->inputs || !m->outputs) {
        return ry_fail_memory(error);
    }
    for (size_t i = 0; i < plan->input_count; i++) {
        m->inputs[i] = end;
        end += tensor_bytes(&plan->inputs[i]);
    }
    for (size_t i = 0; i < plan->output_count; i++) {
        m->outputs[i] = end;
        end += plan->outputs[i].later ? 0 : tensor_bytes(&plan->outputs[i].tensor);
    }
    place_states(plan, m);
    m->granule = end / GRANULES + 1 > LEAST_GRANULE ? end / GRANULES + 1 : LEAST_GRANULE;
    return RYND_OK;
}

/* bytes 0: absent, or a constant, which is read once in a run. */
static operand find(const memory *m, const ry_location *at, const ry_tensor *tensor,
                    int64_t micro_batch)
{
    const size_t from = at->offset + (size_t)micro_batch * at->share;
    switch (at->storage) {
    case RY_STORAGE_ARENA: return (operand){from, tensor_bytes(tensor)};
    case RY_STORAGE_INPUT: return (operand){m->inputs[at->index] + from, tensor_bytes(tensor)};
    case RY_STORAGE_OUTPUT: return (operand){m->outputs[at->index] + from, tensor_bytes(tensor)};
    case RY_STORAGE_CONSTANT:
    case RY_STORAGE_NONE: break;
    }
    return (operand){0, 0};
}

static size_t first_granule(const memory *m, const operand *o)
{
    const size_t granule = o->address / m->granule;
    return granule < GRANULES ? granule : GRANULES - 1;
}

static size_t last_granule(const memory *m, const operand *o)
{
    const operand end = {o->address + o->bytes - 1, 1};
    return first_granule(m, &end);
}

/* The mean distance of the operand's granules at the time `now`. */
static double since(const memory *m, const operand *o, double now)
{
    double sum = 0;
    if (o->bytes == 0) {
        return 0;
    }
    const size_t first = first_granule(m, o), last = last_granule(m, o);
    for (size_t g = first; g <= last; g++) {
        sum += now - m->used[g];
    }
    return sum / (double)(last - first + 1);
}

static void use(memory *m, const operand *o, double now)
{
    for (size_t g = first_granule(m, o); o->bytes > 0 && g <= last_granule(m, o); g++) {
        m->used[g] = now;
    }
}

/* The step's inputs, outputs, then its workspace. */
static operand operand_of(const memory *m, const ry_step *step, int number, int64_t micro_batch)
{
    const int output = number - step->problem.inputs;
    if (output == step->problem.outputs) {
        return (operand){step->workspace_offset, ry_prepared_workspace(&step->prepared)};
    }
    return output < 0 ? find(m, &step->in[number], &step->problem.in[number], micro_batch)
                      : find(m, &step->out[output], &step->problem.out[output], micro_batch);
}

/* Adds a share of the distances of a micro-batch to `distances`, one an operand. An output over an
 * input has distance 0. */
static void run_step(memory *m, const ry_step *step, int64_t micro_batch, double share,
                     double *distances)
{
    const int inputs = step->problem.inputs, tensors = inputs + step->problem.outputs;
    const double begin = m->now;
    for (int i = 0; i <= tensors; i++) {
        const operand o = operand_of(m, step, i, micro_batch);
        distances[i] += share * since(m, &o, begin);
        use(m, &o, begin);
        m->now += (double)o.bytes;
    }
    m->now += (double)ry_prepared_packed(&step->prepared) * (micro_batch == 0);
    for (int i = 0; i <= tensors; i++) {
        const operand o = operand_of(m, step, i, micro_batch);
        use(m, &o, m->now);
    }
}

/* Runs all steps once. distances: NULL, or one array a step. */
static void run(const ry_plan *plan, memory *m, double *const *distances)
{
    for (size_t i = 0; i < plan->batch_split_count; i++) {
        const ry_batch_split *split = &plan->batch_splits[i];
        const int64_t count =
            split->micro_batches < MICRO_BATCHES ? split->micro_batches : MICRO_BATCHES;
        for (int64_t k = 0; k < count; k++) {
            for (size_t s = split->first; s < split->end; s++) {
                run_step(m, &plan->steps[s], k, 1 / (double)count, distances[s]);
            }
        }
    }
}

static size_t operands(const ry_step *step)
{
    return (size_t)step->problem.inputs + (size_t)step->problem.outputs + 1;
}

static double **take_distances(const ry_plan *plan, ry_arena *arena)
{
    double **distances = RY_TAKE(arena, double *, plan->step_count + 1);
    for (size_t s = 0; distances && s < plan->step_count; s++) {
        distances[s] = RY_TAKE(arena, double, operands(&plan->steps[s]));
        if (!distances[s]) {
            return NULL;
        }
    }
    return distances;
}

rynd_status ry_plan_find_reuse(ry_plan_builder *b, ry_error *error)
{
    const ry_plan *plan = b->plan;
    ry_arena arena;
    ry_arena_init(&arena, plan->arena.allocator);
    memory *m = RY_TAKE(&arena, memory, 1);
    double **first = take_distances(plan, &arena), **second = take_distances(plan, &b->plan->arena);
    rynd_status status =
        m && first && second ? place(plan, &arena, m, error) : ry_fail_memory(error);
    if (status == RYND_OK) {
        run(plan, m, first);
        run(plan, m, second);
        for (size_t s = 0; s < plan->step_count; s++) {
            b->steps[s].since = second[s];
        }
    }
    ry_arena_free(&arena);
    return status;
}
