/* SPDX-License-Identifier: Apache-2.0 */
/* One problem on the caller's memory. */
#include "api/handles.h"
#include "predict/predict.h"

#include <string.h>

struct rynd_op {
    rynd_context *context;
    ry_arena arena;
    ry_problem problem;
    ry_tensor *in, *out;
    const ry_kernel *kernel;
    ry_prepared prepared;
    double seconds[RY_MAX_PHASES]; /* predicted, of each phase on one worker */
    void *state;
    ry_buffer *packed, *work; /* work: workspace, then scratch */
    ry_stream *stream;
    unsigned constants;
    bool no_values;             /* of some constants: it cannot run */
    const void **constant_data; /* the caller's, for constant inputs */
    rynd_step_info info;
    char reason[RY_REASON_LENGTH];
};

int rynd_op_is_problem(const char *text)
{
    const size_t length = text ? strcspn(text, " \t") : 0;
    for (int op = 0; op < RY_OPS; op++) {
        const char *name = ry_op_name((ry_op)op);
        if (strlen(name) == length && memcmp(name, text, length) == 0) {
            return 1;
        }
    }
    return 0;
}

enum { OWN_ARGUMENTS = 3 }; /* packed, workspace, scratch */

static bool same_dims(const rynd_tensor *a, const rynd_tensor *b)
{
    return a->rank == b->rank && a->dtype == b->dtype && memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim) == 0;
}

static rynd_status take_layout(ry_tensor *own, const rynd_tensor *given, bool written, ry_error *error)
{
    ry_tensor taken;
    RY_TRY(ry_api_take_tensor(given, &taken, error));
    if (!same_dims(own, &taken)) {
        return ry_fail(error, RYND_ERROR_SHAPE, "its dtype and dims are not those of the problem's text");
    }
    RY_TRY(written ? ry_api_check_writable(&taken, error) : RYND_OK);
    *own = taken;
    own->data = NULL;
    return RYND_OK;
}

static rynd_status take_layouts(ry_tensor *own, int count, const rynd_tensor *given, bool written, ry_error *error)
{
    for (int i = 0; given && i < count; i++) {
        if (!ry_tensor_present(&own[i]) || given[i].dtype == RYND_DTYPE_NONE) {
            continue;
        }
        const rynd_status status = take_layout(&own[i], &given[i], written, error);
        if (status != RYND_OK) {
            ry_error_prefix(error, "%s %d: ", written ? "output" : "input", i);
            return status;
        }
    }
    return RYND_OK;
}

/* A bit of `constants` for each input that keeps its value, whether its value is known or not. */
static rynd_status take_constants(rynd_op *op, const rynd_op_options *options, ry_error *error)
{
    enum { BITS = 32 };
    for (int i = 0; i < op->problem.inputs; i++) {
        const bool named = i < BITS && (options->constants >> i & 1u);
        const void *data = options->inputs ? options->inputs[i].data : NULL;
        if (!ry_tensor_present(&op->in[i]) || (!data && !named)) {
            continue;
        }
        const rynd_status status = data ? ry_api_check_data(&op->in[i], data, error) : RYND_OK;
        if (status != RYND_OK) {
            ry_error_prefix(error, "input %d: ", i);
            return status;
        }
        op->constant_data[i] = data;
        op->constants |= i < BITS ? 1u << i : 0;
        op->no_values |= !data;
    }
    return RYND_OK;
}

/* Whatever its accuracy. */
static bool takes(const rynd_op *op, const ry_kernel *kernel)
{
    ry_problem problem = op->problem;
    problem.accuracy = kernel->accuracy > problem.accuracy ? kernel->accuracy : problem.accuracy;
    return ry_kernel_takes(kernel, &problem, (ry_isa)op->context->device->isa, op->constants);
}

static rynd_status choose_named(rynd_op *op, const char *name, ry_error *error)
{
    op->kernel = ry_kernel_find(name);
    if (!op->kernel) {
        return ry_fail(error, RYND_ERROR_NOT_FOUND, "no kernel is called '%s'", name);
    }
    if (!takes(op, op->kernel)) {
        return ry_fail(error, RYND_ERROR_UNSUPPORTED, "kernel '%s' does not take this problem on this machine", name);
    }
    return op->kernel->prepare(&op->problem, &op->prepared, error);
}

static rynd_status choose(rynd_op *op, const char *name, ry_error *error)
{
    if (name) {
        return choose_named(op, name, error);
    }
    const ry_device *device = op->context->device;
    ry_choice choice;
    RY_TRY(ry_predict_choose(&op->problem, (ry_isa)device->isa, op->constants, device->machine, &choice, error));
    if (!choice.kernel) {
        return ry_fail(error, RYND_ERROR_UNSUPPORTED, "no kernel computes this problem's types or layouts");
    }
    op->kernel = choice.kernel;
    op->prepared = choice.prepared;
    ry_choice_reason(&choice, op->reason, sizeof op->reason);
    return RYND_OK;
}

/* What the kernel found wrong in the content of the inputs. */
static rynd_status check_fault(const rynd_op *op, const ry_fault *fault, ry_error *error)
{
    rynd_status status = ry_fault_check(fault, &op->problem, error);
    if (status != RYND_OK) {
        ry_error_prefix(error, "%s: ", ry_op_name(op->problem.op));
    }
    return status;
}

/* A launch of this operator's kernel; `arguments` has room for `resolved` pointers too. */
static rynd_status launch(rynd_op *op, ry_place *arguments, int count, bool packing, ry_error *error)
{
    ry_arena scratch;
    ry_arena_init(&scratch, &op->context->allocator);
    void **resolved = RY_TAKE(&scratch, void *, count);
    int64_t(*actual)[RY_MAX_RANK] = ry_arena_take(&scratch, (size_t)op->problem.outputs, sizeof *actual);
    rynd_status status = resolved && actual ? RYND_OK : ry_fail_memory(error);
    if (status == RYND_OK) {
        ry_fault fault = {0};
        ry_kernel_call call = {op->kernel, &op->problem, &op->prepared, op->state, actual, &fault};
        ry_launch l = {.call = &call,
                       .program.cpu = packing ? ry_kernel_cpu_pack_program : ry_kernel_cpu_program,
                       .phases = packing ? 1 : op->prepared.phases,
                       .tasks = packing ? &op->prepared.pack_tasks : op->prepared.tasks,
                       .seconds = packing ? NULL : op->seconds,
                       .argument_count = count,
                       .arguments = arguments,
                       .resolved = resolved};
        status = op->context->device->table->launch(op->stream, &l, error);
        if (status == RYND_OK) {
            status = check_fault(op, &fault, error);
        }
    }
    ry_arena_free(&scratch);
    return status;
}

static rynd_status wrap(rynd_op *op, const void *data, ry_place *place, ry_error *error)
{
    return data ? op->context->device->table->buffer_wrap(op->context->device, data, 0, &place->buffer, error) : RYND_OK;
}

static void unwrap(rynd_op *op, ry_place *places, int count)
{
    for (int i = 0; i < count; i++) {
        op->context->device->table->buffer_destroy(op->context->device, places[i].buffer);
    }
}

static rynd_status pack(rynd_op *op, const rynd_tensor *inputs, ry_error *error)
{
    int count = op->problem.inputs;
    ry_place *places = RY_TAKE(&op->arena, ry_place, count + 1);
    if (!places) {
        return ry_fail_memory(error);
    }
    rynd_status status = op->context->device->table->buffer_create(op->context->device, op->prepared.packed, &op->packed, error);
    for (int i = 0; i < count && status == RYND_OK; i++) {
        status = wrap(op, (op->constants >> i & 1u) ? inputs[i].data : NULL, &places[i], error);
    }
    places[count].buffer = op->packed;
    if (status == RYND_OK) {
        status = launch(op, places, count + 1, true, error);
    }
    unwrap(op, places, count);
    return status;
}

/* SIZE_MAX, which no allocator has: it is beyond the address space. */
static size_t work_size(const rynd_op *op)
{
    size_t scratches, size;
    const bool fits = ry_mul_size(op->prepared.scratch, op->context->device->workers, &scratches) &&
                      ry_add_size(op->prepared.workspace, scratches, &size) && ry_add_size(size, RY_ALIGNMENT, &size);
    return fits ? size : SIZE_MAX;
}

/* What only a run needs. */
static rynd_status get_ready(rynd_op *op, const rynd_op_options *options, ry_error *error)
{
    ry_device *device = op->context->device;
    RY_TRY(device->table->stream_create(device, &op->stream, error));
    if (op->prepared.state) {
        op->state = ry_allocate(&op->context->allocator, op->prepared.state);
        if (!op->state) {
            return ry_fail_memory(error);
        }
        op->kernel->initialise(&op->problem, &op->prepared, op->state);
    }
    RY_TRY(device->table->buffer_create(device, work_size(op), &op->work, error));
    return op->prepared.packed ? pack(op, options->inputs, error) : RYND_OK;
}

static rynd_status prepare(rynd_op *op, const rynd_op_options *options, ry_error *error)
{
    RY_TRY(choose(op, options->kernel, error));
    ry_predict_phases(op->kernel, &op->problem, &op->prepared, op->context->device->machine, op->seconds);
    if (!op->no_values) {
        RY_TRY(get_ready(op, options, error));
    }
    RY_TRY(ry_api_describe(op->kernel, &op->problem, &op->prepared, &op->arena, &op->info, error));
    op->info.name = op->info.op = ry_op_name(op->problem.op);
    op->info.reason = options->kernel ? "asked for by name" : op->reason;
    return RYND_OK;
}

static rynd_status create(rynd_op *op, const char *text, const rynd_op_options *options, ry_error *error)
{
    RY_TRY(ry_api_check_accuracy(options->accuracy, error));
    RY_TRY(ry_problem_parse(text, &op->arena, &op->problem, error));
    RY_TRY(ry_problem_check(&op->problem, &op->context->allocator, error));
    if (options->accuracy != RYND_ACCURACY_DEFAULT) {
        op->problem.accuracy = ry_api_accuracy(options->accuracy);
    }
    op->in = RY_TAKE(&op->arena, ry_tensor, op->problem.inputs);
    op->out = RY_TAKE(&op->arena, ry_tensor, op->problem.outputs);
    op->constant_data = RY_TAKE(&op->arena, const void *, op->problem.inputs);
    if (!op->in || !op->out || !op->constant_data) {
        return ry_fail_memory(error);
    }
    memcpy(op->in, op->problem.in, (size_t)op->problem.inputs * sizeof *op->in);
    memcpy(op->out, op->problem.out, (size_t)op->problem.outputs * sizeof *op->out);
    op->problem.in = op->in;
    op->problem.out = op->out;
    RY_TRY(take_layouts(op->in, op->problem.inputs, options->inputs, false, error));
    RY_TRY(take_layouts(op->out, op->problem.outputs, options->outputs, true, error));
    RY_TRY(take_constants(op, options, error));
    return prepare(op, options, error);
}

rynd_status rynd_op_create(rynd_context *context, const char *problem, const rynd_op_options *given, rynd_op **op)
{
    RY_API_REQUIRE(context, problem, op);
    *op = NULL;
    ry_error error = {""};
    rynd_op_options options;
    rynd_status status = ry_api_options(&options, sizeof options, given, "rynd_op_options", &error);
    rynd_op *o = NULL;
    if (status == RYND_OK) {
        o = ry_allocate_array(&context->allocator, 1, sizeof *o);
        status = o ? RYND_OK : ry_fail_memory(&error);
    }
    if (status == RYND_OK) {
        o->context = context;
        ry_arena_init(&o->arena, &context->allocator);
        status = create(o, problem, &options, &error);
    }
    if (status == RYND_ERROR_OUT_OF_MEMORY) {
        ry_error_prefix(&error, "problem '%.200s': ", problem);
    }
    if (status != RYND_OK) {
        rynd_op_destroy(o);
        return ry_api_end(status, &error);
    }
    *op = o;
    return RYND_OK;
}

void rynd_op_destroy(rynd_op *op)
{
    if (!op) {
        return;
    }
    ry_device *device = op->context->device;
    device->table->buffer_destroy(device, op->packed);
    device->table->buffer_destroy(device, op->work);
    if (op->stream) {
        device->table->stream_destroy(device, op->stream);
    }
    ry_release(&op->context->allocator, op->state);
    ry_arena_free(&op->arena);
    ry_release(&op->context->allocator, op);
}

size_t rynd_op_input_count(const rynd_op *op)
{
    return op ? (size_t)op->problem.inputs : 0;
}

size_t rynd_op_output_count(const rynd_op *op)
{
    return op ? (size_t)op->problem.outputs : 0;
}

static rynd_status describe(const ry_tensor *tensors, int count, size_t index, rynd_tensor *tensor)
{
    ry_error error = {""};
    if (index >= (size_t)count) {
        return ry_api_end(ry_fail(&error, RYND_ERROR_ARGUMENT, "operand %zu: there are %d", index, count), &error);
    }
    *tensor = tensors[index];
    return RYND_OK;
}

rynd_status rynd_op_input(const rynd_op *op, size_t index, rynd_tensor *tensor)
{
    RY_API_REQUIRE(op, tensor);
    return describe(op->in, op->problem.inputs, index, tensor);
}

rynd_status rynd_op_output(const rynd_op *op, size_t index, rynd_tensor *tensor)
{
    RY_API_REQUIRE(op, tensor);
    return describe(op->out, op->problem.outputs, index, tensor);
}

/* The caller's memory of an operand. */
static rynd_status take_operand(rynd_op *op, const char *what, int index, const ry_tensor *description, const void *data, ry_place *place,
                                ry_error *error)
{
    const rynd_status status = ry_api_check_data(description, data, error);
    if (status != RYND_OK) {
        ry_error_prefix(error, "rynd_op_execute: %s %d: ", what, index);
        return status;
    }
    return wrap(op, data, place, error);
}

static rynd_status execute(rynd_op *op, ry_place *places, const void *const *inputs, void *const *outputs, ry_error *error)
{
    int in = op->problem.inputs, out = op->problem.outputs;
    if (op->no_values) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "rynd_op_execute: the operator was made without the values of its constants; give them to rynd_op_create");
    }
    for (int i = 0; i < in; i++) {
        const void *data = op->constant_data[i] ? op->constant_data[i] : inputs[i];
        RY_TRY(take_operand(op, "input", i, &op->in[i], data, &places[i], error));
    }
    for (int i = 0; i < out; i++) {
        RY_TRY(take_operand(op, "output", i, &op->out[i], outputs[i], &places[in + i], error));
    }
    places[in + out] = (ry_place){op->packed, 0};
    places[in + out + 1] = (ry_place){op->work, 0};
    places[in + out + 2] = (ry_place){op->work, (op->prepared.workspace + RY_ALIGNMENT - 1) / RY_ALIGNMENT * RY_ALIGNMENT};
    return launch(op, places, in + out + OWN_ARGUMENTS, false, error);
}

rynd_status rynd_op_execute(rynd_op *op, const void *const *inputs, void *const *outputs)
{
    RY_API_REQUIRE(op, inputs, outputs);
    ry_error error = {""};
    int count = op->problem.inputs + op->problem.outputs;
    ry_place *places = ry_allocate_array(&op->context->allocator, (size_t)count + OWN_ARGUMENTS, sizeof *places);
    if (!places) {
        return ry_api_end(ry_fail_memory(&error), &error);
    }
    rynd_status status = execute(op, places, inputs, outputs, &error);
    unwrap(op, places, count);
    ry_release(&op->context->allocator, places);
    return ry_api_end(status, &error);
}

rynd_status rynd_op_info(const rynd_op *op, rynd_step_info *info)
{
    RY_API_REQUIRE(op, info);
    ry_error error = {""};
    return ry_api_end(ry_api_info(info, &op->info, sizeof *info, "rynd_step_info", &error), &error);
}

rynd_status rynd_op_memory(const rynd_op *op, rynd_memory *memory)
{
    RY_API_REQUIRE(op, memory);
    ry_error error = {""};
    rynd_memory all = {.weights = op->prepared.packed, .workspace = work_size(op) + op->prepared.state};
    for (int i = 0; i < op->problem.inputs; i++) {
        const bool constant = i < 32 && (op->constants >> i & 1u);
        const bool packed = constant && (op->kernel->constant_inputs >> i & 1u);
        *(constant ? &all.weights : &all.activations) += packed || !ry_tensor_present(&op->in[i]) ? 0 : ry_tensor_bytes(&op->in[i]);
    }
    for (int i = 0; i < op->problem.outputs; i++) {
        all.activations += ry_tensor_present(&op->out[i]) ? ry_tensor_bytes(&op->out[i]) : 0;
    }
    all.total = all.weights + all.activations + all.workspace;
    return ry_api_end(ry_api_info(memory, &all, sizeof all, "rynd_memory", &error), &error);
}
