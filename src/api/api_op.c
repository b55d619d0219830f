/* SPDX-License-Identifier: Apache-2.0 */
/* One problem on the caller's memory. */
#include "api/api_check.h"
#include "api/api_knobs.h"
#include "api/api_op_plan.h"
#include "api/api_plan.h"
#include "api/api_status.h"
#include "api/api_wisdom.h"
#include "base/integer.h"
#include "predict/settings.h"

#include <string.h>

int rynd_op_is_problem(const char *text)
{
    if (!text) {
        return 0;
    }
    const size_t length = strcspn(text, " \t");
    for (int op = 0; op < RY_OPS; op++) {
        const char *name = ry_op_name((ry_op)op);
        if (strlen(name) == length && memcmp(name, text, length) == 0) {
            return 1;
        }
    }
    return 0;
}

static bool same_dims(const rynd_tensor *a, const rynd_tensor *b)
{
    return a->rank == b->rank && a->dtype == b->dtype &&
           memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim) == 0;
}

static rynd_status take_layout(ry_tensor *own, const rynd_tensor *given, bool written,
                               ry_error *error)
{
    ry_tensor taken;
    RY_TRY(ry_api_take_tensor(given, &taken, error));
    if (!same_dims(own, &taken)) {
        return ry_fail(error, RYND_ERROR_SHAPE,
                       "its dtype and dims are not those of the problem's text");
    }
    RY_TRY(written ? ry_api_check_writable(&taken, error) : RYND_OK);
    *own = taken;
    own->data = NULL;
    return RYND_OK;
}

static rynd_status take_layouts(ry_tensor *own, int count, const rynd_tensor *given, bool written,
                                ry_error *error)
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

static rynd_status choose(rynd_op *op, const ry_settings *settings, ry_choice *choice,
                          ry_error *error)
{
    const ry_target target = ry_target_of(op->context->device);
    RY_TRY(ry_advice_take(settings->count ? NULL : op->adviser, &op->problem, &target,
                          op->constants, choice, error));
    if (!choice->prepared.kernel) {
        RY_TRY(ry_settings_choose(settings, ry_op_name(op->problem.op), &op->problem, &target,
                                  op->constants, choice, error));
    }
    return choice->prepared.kernel
               ? RYND_OK
               : ry_choice_fail(choice, op->context->device->table->name, error);
}

/* The operator is one step, of the chosen kernel. */
static rynd_status take_choice(rynd_op *op, const ry_settings *settings, const ry_choice *choice,
                               ry_error *error)
{
    const ry_target target = ry_target_of(op->context->device);
    RY_TRY(ry_settings_check(settings, ": an operator has one step, of its own name", error));
    op->prepared = choice->prepared;
    ry_choice_reason(choice, settings->count > 0, op->reason, sizeof op->reason);
    ry_predict_phases(&op->prepared, target.machine, op->seconds);
    if (op->no_values && op->prepared.kernel->gpu) {
        return RYND_OK; /* it is looked at: nothing is compiled */
    }
    return (settings->count > 0 ? ry_prepared_initialise : ry_prepared_fit)(
        &op->prepared, op->context->device, &target, &op->arena, error);
}

/* The steps that the problem takes in a model, unless they are one of a kernel that takes the
 * problem as it is, or the caller chose the problem's kernel. */
static rynd_status choose_steps(rynd_op *op, const rynd_op_options *options, ry_error *error)
{
    const rynd_setting kernel = {NULL, "kernel", options->kernel};
    ry_settings settings = {options->settings, options->setting_count, NULL};
    if (options->kernel) {
        settings = (ry_settings){&kernel, 1, NULL};
    }
    settings.used = RY_TAKE(&op->arena, bool, settings.count);
    if (!settings.used) {
        return ry_fail_memory(error);
    }
    ry_op_steps steps = RY_OP_ONE;
    const bool named = ry_settings_have(&settings, ry_op_name(op->problem.op));
    if (!named) {
        RY_TRY(ry_op_rewritten(op, &steps, error));
    }
    ry_choice choice = {.seconds = 0};
    if (steps != RY_OP_SEVERAL) {
        const rynd_status status = choose(op, &settings, &choice, error);
        RY_TRY(steps == RY_OP_ONE ? status : RYND_OK); /* another problem may have a kernel */
    }
    const ry_kernel *kernel_of_all = choice.prepared.kernel;
    bool planned = false;
    if (steps == RY_OP_SEVERAL ||
        (!named && (kernel_of_all ? kernel_of_all->reference : steps == RY_OP_OTHER))) {
        RY_TRY(ry_op_plan(op, options, &planned, error));
    }
    if (planned) {
        return RYND_OK;
    }
    RY_TRY(choice.prepared.kernel ? RYND_OK : choose(op, &settings, &choice, error));
    return take_choice(op, &settings, &choice, error);
}

static rynd_status pack(rynd_op *op, ry_error *error)
{
    const size_t packed = ry_prepared_packed(&op->prepared);
    if (packed == 0) {
        return RYND_OK;
    }
    ry_device *device = op->context->device;
    ry_stream *stream;
    RY_TRY(ry_op_own_stream(op, &stream, error));
    RY_TRY(device->table->buffer_create(device, packed, &op->packed, error));
    return ry_prepared_pack(&op->prepared, device, stream, op->constant_data,
                            (ry_pointer){op->packed, 0}, &op->arena, error);
}

static rynd_status get_kernel_ready(rynd_op *op, ry_error *error)
{
    ry_device *device = op->context->device;
    RY_TRY(pack(op, error));
    op->actual = ry_arena_take(&op->arena, (size_t)op->problem.outputs, sizeof *op->actual);
    if (!op->actual) {
        return ry_fail_memory(error);
    }
    RY_TRY(ry_bind(&op->prepared, op->seconds, op->actual, &op->arena, &op->bound, error));
    if (!device->host_memory) {
        RY_TRY(device->table->buffer_create(device, sizeof(ry_fault), &op->fault, error));
        ry_bound_set_fault(&op->bound, (ry_pointer){op->fault, 0});
    }
    op->operands = op->bound.arguments;
    return RYND_OK;
}

/* Makes what only a run needs. */
static rynd_status get_ready(rynd_op *op, ry_error *error)
{
    RY_TRY(op->plan ? ry_session_create(op->plan->plan, NULL, &op->session, error)
                    : get_kernel_ready(op, error));
    return ry_op_prepare_runs(op, error);
}

static rynd_status prepare(rynd_op *op, const rynd_op_options *options, ry_error *error)
{
    RY_TRY(choose_steps(op, options, error));
    if (!op->no_values) {
        RY_TRY(get_ready(op, error));
    }
    if (!op->plan) {
        RY_TRY(ry_api_describe(&op->prepared, &op->arena, &op->info, error));
    }
    op->info.name = op->info.op = ry_op_name(op->problem.op);
    op->info.reason = op->reason;
    return RYND_OK;
}

static rynd_status create(rynd_op *op, const char *text, const rynd_op_options *options,
                          ry_error *error)
{
    RY_TRY(ry_api_check_accuracy(options->accuracy, error));
    RY_TRY(ry_api_check_settings(options->settings, options->setting_count, false,
                                 "rynd_op_options", error));
    if (options->kernel && options->setting_count) {
        return ry_fail(
            error, RYND_ERROR_ARGUMENT,
            "rynd_op_options: kernel and settings are both given: name the kernel in a setting");
    }
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
    op->no_values |= ry_api_check_runs(op->context->device, NULL) != RYND_OK;
    return prepare(op, options, error);
}

void ry_op_free(rynd_op *op)
{
    if (!op) {
        return;
    }
    ry_device *device = op->context->device;
    ry_session_destroy(op->session); /* waits for its run */
    ry_op_end_runs(op);
    rynd_plan_destroy(op->plan);
    ry_prepared_release(&op->prepared, device);
    device->table->buffer_destroy(device, op->packed);
    device->table->buffer_destroy(device, op->fault);
    ry_arena_free(&op->arena);
    ry_release(&op->context->allocator, op);
}

rynd_status ry_op_create(rynd_context *context, const char *problem, const rynd_op_options *options,
                         const ry_adviser *adviser, bool inspect, rynd_op **op, ry_error *error)
{
    rynd_op *o = ry_allocate_array(&context->allocator, 1, sizeof *o);
    rynd_status status = o ? RYND_OK : ry_fail_memory(error);
    if (o) {
        o->context = context;
        o->adviser = adviser;
        o->no_values = inspect;
        ry_arena_init(&o->arena, &context->allocator);
        status = create(o, problem, options, error);
    }
    if (status == RYND_ERROR_OUT_OF_MEMORY) {
        ry_error_prefix(error, "problem '%.200s': ", problem);
    }
    if (status != RYND_OK) {
        ry_op_free(o);
        return status;
    }
    *op = o;
    return RYND_OK;
}

rynd_status rynd_op_create(rynd_context *context, const char *problem, const rynd_op_options *given,
                           rynd_op **op)
{
    RY_API_REQUIRE(context, problem, op);
    *op = NULL;
    ry_error error = {""};
    rynd_op_options options;
    rynd_status status = ry_api_options(&options, sizeof options, given, "rynd_op_options", &error);
    if (status == RYND_OK) {
        status =
            ry_op_create(context, problem, &options, ry_api_adviser(context), false, op, &error);
    }
    return ry_api_end(status, &error);
}
