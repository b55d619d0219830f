/* SPDX-License-Identifier: Apache-2.0 */
/* What the public handles hold, and how a public function ends. */
#ifndef RY_API_HANDLES_H
#define RY_API_HANDLES_H

#include "base/threads.h"
#include "device/device.h"
#include "exec/run.h"
#include "kernels/refusals.h"
#include "machine/machine_file.h"
#include "onnx/onnx.h"
#include "place/fleet.h"
#include "plan/weights.h"
#include "predict/advice.h"
#include "predict/forecast.h"
#include "tune/check_kernels.h"
#include "wisdom/wisdom.h"

#include <rynd/rynd.h>

struct rynd_context {
    ry_allocator allocator;
    ry_threads *threads;
    ry_device *device;
    ry_device *host;         /* the CPU beside the device; the device itself where it is the CPU */
    ry_machine host_machine; /* of the CPU beside another device */
    unsigned device_index;   /* among those of its kind */
    ry_machine machine;
    unsigned predicted_threads; /* that a run is predicted for: the caller's, or all cores */
    char machine_path[RY_MACHINE_PATH]; /* the file that it is from; "": built in */
    char kept_path[RY_MACHINE_PATH];    /* where rynd_context_keep_machine wrote */
    rynd_log_function log;
    void *log_user;
    ry_wisdom *wisdom; /* NULL: off */
    char wisdom_path[RY_WISDOM_PATH];
    bool frozen;
    /* of the device's machine, and of the CPU's beside it */
    char fingerprint[RY_WISDOM_FINGERPRINT], host_fingerprint[RY_WISDOM_FINGERPRINT];
    ry_adviser adviser;
    ry_refusals refusals; /* of the device, by the last check */
    ry_checked checked;   /* by rynd_context_check, in `checks` */
    ry_arena checks;
    char checks_path[RY_MACHINE_PATH]; /* where it wrote */
};

struct rynd_model {
    rynd_context *context;
    ry_onnx_model onnx;
    int64_t parameters;
    ry_weights *weights; /* that its plans share */
};

struct rynd_plan {
    rynd_context *context;
    ry_plan *plan;
    const char *path; /* the model's, for messages; NULL: it came from memory */
    ry_accuracy accuracy;
    ry_arena texts;
    rynd_step_info *steps;
    rynd_plan_form form;
    const char *units[RY_PLAN_KNOBS]; /* of its own knobs */
};

struct rynd_fleet {
    ry_allocator allocator;
    ry_arena arena;
    ry_fleet list;
    rynd_context *context[RY_FLEET_DEVICES];
};

struct rynd_session {
    const rynd_plan *plan;
    ry_run *run;
};

struct rynd_buffer {
    rynd_context *context;
    ry_buffer *buffer;
    size_t size;
};

struct rynd_event {
    rynd_context *context;
    ry_event *event;
};

/* The caller's room for a text. */
typedef struct ry_text_room {
    char *text;
    size_t size;
} ry_text_room;

/* What a public function that returns a status begins with: RY_API_REQUIRE(context, path, model)
 * refuses the first that is NULL, by its name. */
#define RY_API_REQUIRE(...)                                                                 \
    do {                                                                                    \
        const void *const given_[] = {__VA_ARGS__};                                         \
        const rynd_status required_ =                                                       \
            ry_api_require(__func__, #__VA_ARGS__, given_, sizeof given_ / sizeof *given_); \
        if (required_ != RYND_OK) {                                                         \
            return required_;                                                               \
        }                                                                                   \
    } while (0)

/* names: "context, path, model", of the `count` arguments. */
rynd_status ry_api_require(const char *function, const char *names, const void *const *arguments,
                           size_t count);

/* The same of a pointer to a function, which no pointer to an object holds. */
rynd_status ry_api_require_function(const char *function, const char *name, bool given);

/* A caller's tensor, which every entry point takes by this function before it reads anything of it.
 * Refuses a dtype, rank or dim that there is not, more bytes than 63 bits count, and strides that
 * leave the address space; that it is the tensor that is wanted, the caller checks. Strides that
 * reach no second element become such that nothing overflows. The message does not name the tensor:
 * see ry_error_prefix. */
rynd_status ry_api_take_tensor(const rynd_tensor *given, ry_tensor *taken, ry_error *error);

/* For outputs: no two elements may share memory, as with a stride of 0. `tensor` was taken. */
rynd_status ry_api_check_writable(const ry_tensor *tensor, ry_error *error);

/* Memory for an operand that is used where it is. */
rynd_status ry_api_check_data(const ry_tensor *description, const void *data, ry_error *error);

/* Does a buffer have so many bytes from `offset` on? */
rynd_status ry_api_buffer_range(const rynd_buffer *buffer, size_t offset, size_t size,
                                ry_error *error);

/* Finds the index of a name; kind: "input" or "output". NOT_FOUND names both. */
rynd_status ry_api_find_name(const ry_names *names, const char *kind, const char *name,
                             size_t *index, ry_error *error);

/* Keeps the message for rynd_last_error when status is a failure; returns status. */
rynd_status ry_api_end(rynd_status status, const ry_error *error);

/* Copies a caller's options, whose size says how many of today's fields it knows, over zeros. given
 * NULL: all zeros. Fields of a later version must be 0. */
rynd_status ry_api_options(void *options, size_t size, const void *given, const char *what,
                           ry_error *error);

/* Copies an information struct out to a caller that may know fewer fields, or more: those become 0.
 */
rynd_status ry_api_info(void *to, const void *info, size_t size, const char *what, ry_error *error);

void ry_api_log(const rynd_context *context, int level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Logs what a graph of the model noted (ry_graph_warn). */
void ry_api_tell_warnings(const rynd_model *model, const ry_graph *graph);

/* Opens the device that the options, or RYND_DEVICE, name: "cpu", "opencl", "cuda:1". The context
 * has its threads; profile: the options have a machine's file, so that a device that is not here
 * can be planned for; isa: the CPU's. */
rynd_status ry_api_open_device(rynd_context *context, const char *name, bool profile, ry_isa isa,
                               ry_error *error);

/* A caller's allocator is whole. NULL: there is none. */
rynd_status ry_api_check_hooks(const rynd_allocator *hooks, ry_error *error);

/* Finds the machine of a new context: the file `given`, the one that is kept, or what is built in.
 */
rynd_status ry_api_load_machine(rynd_context *context, const char *given, ry_error *error);

/* The machine of the context's device as its driver tells it; the device is not the CPU. */
rynd_status ry_api_driver_machine(const rynd_context *context, ry_machine *machine,
                                  ry_error *error);

/* Takes what an earlier check of the context's device found, if it is kept and holds still. */
void ry_api_load_checks(rynd_context *context);

/* Opens the wisdom of a context that has its machine: what the options say, or RYND_WISDOM and
 * RYND_FREEZE. */
rynd_status ry_api_open_wisdom(rynd_context *context, const rynd_context_options *options,
                               ry_error *error);

/* Who knows what was measured; NULL: nobody. */
const ry_adviser *ry_api_adviser(const rynd_context *context);

/* What a context's records of a machine are of: `machine` is the device's or the CPU's beside it.
 */
const char *ry_api_fingerprint(const rynd_context *context, const ry_machine *machine);

/* A caller's filter, NULL: all. */
rynd_status ry_api_wisdom_filter(const rynd_wisdom_filter *given, ry_wisdom_filter *filter,
                                 ry_error *error);

/* A record as the caller sees it; its texts are those of key and record. */
void ry_api_wisdom_record(const rynd_context *context, const ry_wisdom_key *key,
                          const ry_wisdom_record *record, rynd_wisdom_record *shown);

/* Seconds that a kernel took in its form when it was measured here; 0: not known. */
double ry_api_measured(const rynd_context *context, const ry_prepared *prepared, unsigned constants,
                       const ry_machine *machine);

/* The records of a filter, copied into an arena. */
rynd_status ry_api_wisdom_rows(ry_wisdom *wisdom, const ry_wisdom_filter *filter, ry_arena *arena,
                               ry_wisdom_row **rows, size_t *count, ry_error *error);

rynd_status ry_api_check_accuracy(rynd_accuracy accuracy, ry_error *error);
ry_accuracy ry_api_accuracy(rynd_accuracy accuracy);

/* A caller's dims, in the arena; `what`: the options that they are of. */
rynd_status ry_api_take_dims(const rynd_dim *given, size_t count, const char *what, ry_arena *arena,
                             const ry_dim_binding **dims, ry_error *error);

/* A copy of a model's graph with its inputs' shapes known; fold: with constants folded, too, and
 * sorted. *later (may be NULL): some shapes depend on data. */
rynd_status ry_api_bound_graph(const rynd_model *model, const ry_dim_binding *dims,
                               size_t dim_count, int64_t batch, bool fold, ry_graph **graph,
                               bool *later, ry_error *error);

/* Lets the plans of a new model share weights. */
rynd_status ry_api_share_weights(rynd_model *model, ry_error *error);

/* A model of a graph that was made of another's; the graph is the part's then, also when this
 * fails. */
rynd_status ry_api_part_of(const rynd_model *model, rynd_context *context, ry_graph *graph,
                           rynd_model **part, ry_error *error);

/* Every setting has what it needs; the step's name, too, where there are several steps. `what`: the
 * options that they are of. */
rynd_status ry_api_check_settings(const rynd_setting *settings, size_t count, bool steps,
                                  const char *what, ry_error *error);

/* Does what is planned run here? UNSUPPORTED where the plans are for a better instruction set. */
rynd_status ry_api_check_runs(const ry_device *device, ry_error *error);

/* Describes a knob of a prepared kernel, or writes a legal value, to the caller's memory. */
rynd_status ry_api_knob(const ry_prepared *prepared, const ry_device *device, size_t index,
                        rynd_knob *knob, ry_error *error);
rynd_status ry_api_knob_value(const ry_prepared *prepared, const ry_device *device, size_t knob,
                              size_t index, ry_text_room room, ry_error *error);

/* Sets plan->form, as the caller sees it. */
rynd_status ry_api_describe_form(rynd_plan *plan, ry_error *error);

/* As rynd_op_predict. */
rynd_status ry_api_predict_op(const ry_prepared *prepared, const rynd_context *context,
                              rynd_prediction *prediction, ry_error *error);

/* rynd_plan_create with an adviser (NULL: nobody), which must outlive the plan; *plan is set where
 * it does not fail. */
rynd_status ry_api_plan_create(const rynd_model *model, const rynd_plan_options *options,
                               const ry_adviser *adviser, rynd_plan **plan, ry_error *error);
/* The same within bytes of memory (ry_plan_options). */
typedef struct ry_api_memory {
    size_t limit, beside; /* limit 0: any */
    size_t *least;
} ry_api_memory;
rynd_status ry_api_plan_create_within(const rynd_model *model, const rynd_plan_options *options,
                                      const ry_adviser *adviser, ry_api_memory memory,
                                      rynd_plan **plan, ry_error *error);

/* As rynd_op_explain. */
rynd_status ry_api_explain_op(const ry_prepared *prepared, unsigned constants,
                              const rynd_context *context, rynd_candidate_function function,
                              void *user, ry_error *error);

/* What a step, or an operator alone, is predicted to take. */
rynd_prediction ry_api_prediction(const rynd_context *context, const ry_forecast *forecast,
                                  const ry_time *time);

/* What `rynd plan` prints of a prepared problem; texts go into the arena. */
rynd_status ry_api_describe(const ry_prepared *prepared, ry_arena *arena, rynd_step_info *info,
                            ry_error *error);

#endif
