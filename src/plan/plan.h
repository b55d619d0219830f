/* SPDX-License-Identifier: Apache-2.0 */
/* The plan: every decision for a graph on a device. Immutable, printable, deterministic; many
 * threads may share it.
 *
 * Nodes whose shapes depend on values that are not known yet (RY_INFER_LATER, or behind a BOUNDED
 * output) are left for the *rest*: the plan ends with the values that they need as extra outputs,
 * and the session plans the rest graph when it has them. */
#ifndef RY_PLAN_PLAN_H
#define RY_PLAN_PLAN_H

#include "device/device.h"
#include "graph/graph.h"
#include "graph/infer.h"
#include "kernels/prepared.h"
#include "plan/plan_form.h"
#include "plan/value_layouts.h"

/* Where a value lives. */
typedef enum ry_home {
    RY_HOME_NONE,     /* absent */
    RY_HOME_INPUT,    /* index: the graph input, in the caller's (or a staging) buffer */
    RY_HOME_CONSTANT, /* index: plan->constants */
    RY_HOME_ARENA,    /* offset: bytes into the session's arena */
    RY_HOME_OUTPUT,   /* index: the graph output, in the session's or the caller's buffer */
} ry_home;

typedef struct ry_spot {
    ry_home home;
    uint32_t index;
    size_t offset;
    size_t share; /* bytes from the images of one micro-batch to those of the next */
} ry_spot;

typedef struct ry_step {
    const char *name;   /* the node's */
    const char *source; /* its ONNX operator */
    ry_problem problem; /* of one micro-batch */
    ry_prepared prepared;
    double seconds[RY_MAX_PHASES + 1]; /* predicted, of each phase of the launch on one worker */
    const ry_tensor *constants;        /* one per input: data where it is a constant */
    const ry_value_id *values;         /* one per input: the graph's */
    ry_spot *in, *out;
    int64_t actual_row; /* of the first bounded output in the session's actual dims; -1: none */
    ry_place packed;    /* its packed weights, on its device */
    size_t workspace_offset; /* into the session's arena */
    size_t activations;      /* bytes of the arena that hold values while it runs */
    const char *reason;      /* why this kernel */
} ry_step;

/* Steps that run one after another, `micro_batches` times, each time for the next share of the
 * batch (micro_batches.h), or of the rows of a product (product_rows.h). */
typedef struct ry_batch_split {
    size_t first, end;     /* steps */
    int64_t micro_batches; /* 1: the whole batch at once */
    bool rows;             /* shares are of rows */
} ry_batch_split;

typedef struct ry_plan_output {
    const char *name;
    ry_tensor tensor; /* description; an upper bound when `bounded` */
    bool later;       /* computed by the rest: only the name is known */
    bool state;       /* of a state: it is read as such */
    bool bounded;
    uint32_t actual; /* which row of the session's actual dims, when bounded */
    uint32_t rest;   /* which of the rest's outputs, when later */
    ry_spot spot;
} ry_plan_output;

/* Why a plan has its form. */
typedef enum ry_plan_origin {
    RY_PLAN_PREDICTED_ONLY, /* nobody said anything else */
    RY_PLAN_SET,            /* by the caller */
    RY_PLAN_MEASURED,       /* by the adviser */
} ry_plan_origin;
/* What a session keeps from run to run (graph.h). */
typedef struct ry_plan_state {
    uint32_t input, output;
    bool in_place;       /* what comes next is written where the old content is, which nobody reads
                          * any more; else it is copied there after the last step */
    const void *initial; /* NULL: zeros */
} ry_plan_state;

typedef struct ry_plan {
    ry_arena arena;
    ry_device *device;
    ry_graph *graph; /* bound, folded, rewritten */
    ry_value_layouts layouts;
    size_t step_count;
    ry_step *steps;
    size_t batch_split_count;
    ry_batch_split *batch_splits; /* all steps, in order */
    size_t input_count, output_count;
    const ry_tensor *inputs; /* descriptions, of any strides, in the model's order */
    const char **input_names;
    ry_plan_output *outputs; /* the model's, then (from model_outputs on) what the rest needs */
    size_t model_outputs;
    ry_names input_index, output_index; /* of the model's inputs and outputs, by name */
    size_t state_count;
    ry_plan_state *states;
    /* told of a state's initial content when a session has its copy, as in ry_plan_options */
    void (*unneeded)(const void *user, const void *data, size_t size);
    const void *unneeded_user;
    size_t constant_count;
    ry_buffer **constants;
    bool *constant_is_shared; /* the lots have the buffer */
    /* bytes of packed weights that steps of the device read, and of those that the CPU beside it
     * reads; of constants */
    size_t packed_size, host_packed_size, constant_size;
    /* packed weights of this plan alone, on the device and on the CPU beside it; NULL: none */
    ry_buffer *packed, *host_packed;
    /* store that the model's plans share; NULL: nothing is shared */
    struct ry_weights *weights;
    ry_lot **lots; /* held: one per step with shared weights, one per shared constant */
    size_t lot_count;
    size_t own_weights; /* as the options say */
    bool bound;         /* bound to the forms of the first `decisions` */
    uint64_t decisions;
    bool without_weights;       /* it is looked at, not run: constants have no buffers, and
                                 * devices compile nothing */
    ry_buffer **host_constants; /* for steps that fall back to the CPU beside the device */
    /* activations and workspaces, then scratch of every worker; values_size: up to the end of the
     * last activation */
    size_t arena_size, values_size, scratch_offset;
    size_t bounded_count;
    /* NULL: the plan is complete. Its inputs are named like the outputs that feed it */
    ry_graph *rest;
    double network_bytes; /* of its constants: kernels are chosen within it (ry_target) */
    double seconds;       /* that making it took */
    ry_plan_form form;    /* of its decisions about the network as a whole */
    ry_plan_origin origin;
    double measured;            /* seconds of a run, by who advised the form; 0: not known */
    uint64_t measured_steps;    /* ry_plan_hash_steps of the plan that was measured; 0: any */
    unsigned asked;             /* bit k: something in the network depends on knob k of the form */
    ry_names concerned;         /* nodes that are decided otherwise than predicted */
    struct ry_choices *choices; /* kernels chosen so far, while it is made */
    struct ry_settings *settings;     /* the caller's own choices, while it is made */
    const struct ry_adviser *adviser; /* who knows of problems that were measured; NULL: nobody */
    rynd_progress_function progress;  /* while it is made; NULL: nobody */
    void *progress_user;
} ry_plan;

typedef struct ry_plan_options {
    ry_accuracy accuracy;
    /* One per graph input: its shape and strides, and its content where data is not NULL and may
     * decide a shape (ry_plan_reads_content): the plan then holds for that content only. dtype
     * none: not given. NULL: none given. */
    const ry_tensor *inputs;
    int64_t batch; /* first dim of the inputs whose first dim is a symbol; 0: not given */
    const ry_dim_binding *dims;
    size_t dim_count;
    /* Told of constants that are packed and not read again (NULL: nobody): a mapped file's pages
     * may go back to the system. */
    void (*unneeded)(const void *user, const void *data, size_t size);
    const void *unneeded_user;
    const struct rynd_setting *settings; /* of kernels and knobs, by the names of steps */
    size_t setting_count;
    /* asked which kernel a problem shall have (predict/advice.h), for the plan's rest, too: must
     * outlive the plan. NULL: nobody is */
    const struct ry_adviser *adviser;
    /* Bytes that a session may take, with `memory_beside` of what is not of this plan; 0: any. Of
     * graphs of training: what does not fit is recomputed (recompute.h). */
    size_t memory_limit, memory_beside;
    size_t *memory_least; /* receives what is possible, where the limit is not; NULL: nobody asks */
    bool skip_packing;    /* for measuring, and for commands that never run the plan */
    /* what plans of the same model share, for the plan's rest, too: must outlive the plan. NULL:
     * nothing */
    struct ry_weights *weights;
    /* a network whose constants have no more bytes is free to pack them anew (weights.h); 0: 2 MiB
     */
    size_t own_weights;
    rynd_progress_function progress; /* plan_progress.h; NULL: nobody hears */
    void *progress_user;
} ry_plan_options;

/* Does a step run on the CPU beside the plan's device? */
static inline bool ry_plan_falls_back(const ry_plan *plan, const ry_step *step)
{
    return plan->device->host != plan->device && !step->prepared.kernel->gpu;
}

static inline ry_device *ry_plan_step_device(const ry_plan *plan, const ry_step *step)
{
    return ry_plan_falls_back(plan, step) ? plan->device->host : plan->device;
}

/* The batch split that a step belongs to. */
const ry_batch_split *ry_plan_batch_split_of(const ry_plan *plan, size_t step);

void ry_plan_destroy(ry_plan *plan);

#endif
