/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a model: refused with a message, or looked at, planned and, when it is small enough,
 * run. */
#include <rynd/rynd.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* What a run may take, so that an honest but large model is not mistaken for a hang. */
#define MEMORY_LIMIT     ((size_t)16 << 20)
#define FLOP_LIMIT       1e7
#define ALLOCATION_LIMIT ((size_t)256 << 20)

static rynd_context *context;

static void *take(void *user, size_t size, size_t alignment)
{
    (void)user;
    return size > ALLOCATION_LIMIT
               ? NULL
               : aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

static void give_back(void *user, void *memory)
{
    (void)user;
    free(memory);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    static const rynd_allocator allocator = {take, give_back, NULL};
    rynd_context_options options =
        RYND_SIZED(rynd_context_options, .threads = 1, .allocator = &allocator);
    if (rynd_context_create(&options, &context) != RYND_OK) {
        fprintf(stderr, "%s\n", rynd_last_error());
        exit(1);
    }
    return 0;
}

static void need_message(rynd_status status)
{
    if (status != RYND_OK && !rynd_last_error()[0]) {
        abort();
    }
}

static void look(const rynd_model *model)
{
    rynd_model_info info = RYND_SIZED(rynd_model_info);
    rynd_value_info value = RYND_SIZED(rynd_value_info);
    rynd_node_info node = RYND_SIZED(rynd_node_info);
    need_message(rynd_model_get_info(model, &info));
    for (size_t i = 0; i < rynd_model_input_count(model); i++) {
        need_message(rynd_model_get_input(model, i, &value));
    }
    for (size_t i = 0; i < rynd_model_output_count(model); i++) {
        need_message(rynd_model_get_output(model, i, &value));
    }
    for (size_t i = 0; i < rynd_model_node_count(model); i++) {
        need_message(rynd_model_get_node(model, i, &node));
        (void)rynd_model_node_output(model, i, 0);
    }
}

static int is_small(const rynd_plan *plan)
{
    rynd_memory memory = RYND_SIZED(rynd_memory);
    double flop = 0;
    for (size_t i = 0; i < rynd_plan_step_count(plan); i++) {
        rynd_step_info step = RYND_SIZED(rynd_step_info);
        if (rynd_plan_get_step(plan, i, &step) == RYND_OK) {
            flop += step.flop + step.bytes;
        }
    }
    return rynd_plan_get_memory(plan, &memory) == RYND_OK && memory.total < MEMORY_LIMIT &&
           flop < FLOP_LIMIT;
}

static void run(const rynd_model *model, rynd_plan *plan)
{
    /* Zeros serve as values of every type. */
    static uint64_t zeros[MEMORY_LIMIT / sizeof(uint64_t)];
    rynd_session *session = NULL;
    rynd_status status = rynd_session_create(plan, &session);
    for (size_t i = 0; i < rynd_model_input_count(model) && status == RYND_OK; i++) {
        rynd_value_info value = RYND_SIZED(rynd_value_info);
        rynd_tensor tensor;
        status = rynd_model_get_input(model, i, &value);
        status = status ? status : rynd_plan_get_input(plan, i, &tensor);
        if (status == RYND_OK &&
            (size_t)rynd_tensor_elements(&tensor) <= sizeof zeros / sizeof zeros[0]) {
            tensor.data = zeros;
            status = rynd_session_bind(session, value.name, &tensor);
        }
    }
    status = status ? status : rynd_session_run(session);
    need_message(status);
    for (size_t i = 0; i < rynd_model_output_count(model) && status == RYND_OK; i++) {
        rynd_tensor tensor;
        status = rynd_session_get_output(session, i, &tensor);
    }
    rynd_session_destroy(session);
}

/* A model that was read can be written; what is written is read, and written as the same bytes. */
static void write_twice(const rynd_model *model)
{
    rynd_model *again = NULL;
    void *first = NULL, *second = NULL;
    size_t size = 0, size_again = 0;
    rynd_status status = rynd_model_save_memory(model, NULL, 0, &first, &size);
    need_message(status);
    if (status != RYND_OK) {
        abort();
    }
    if (rynd_model_load_memory(context, first, size, &again) != RYND_OK ||
        rynd_model_save_memory(again, NULL, 0, &second, &size_again) != RYND_OK ||
        size != size_again || memcmp(first, second, size) != 0) {
        abort();
    }
    rynd_model_destroy(again);
    rynd_memory_free(context, first);
    rynd_memory_free(context, second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rynd_model *model = NULL;
    rynd_plan *plan = NULL;
    rynd_plan_options options = RYND_SIZED(rynd_plan_options, .batch = 1, .without_weights = 1);
    /* The model borrows the bytes: a copy of the exact size lets AddressSanitizer see every read
     * beyond them. */
    uint8_t *copy = malloc(size ? size : 1);
    memcpy(copy, data, size);
    rynd_status status = rynd_model_load_memory(context, copy, size, &model);
    need_message(status);
    if (status == RYND_OK) {
        look(model);
        write_twice(model);
        status = rynd_plan_create(model, &options, &plan);
        need_message(status);
    }
    if (status == RYND_OK && is_small(plan)) {
        rynd_plan_destroy(plan);
        plan = NULL;
        options.without_weights = 0;
        status = rynd_plan_create(model, &options, &plan);
        need_message(status);
        if (status == RYND_OK) {
            run(model, plan);
        }
    }
    rynd_plan_destroy(plan);
    rynd_model_destroy(model);
    free(copy);
    return 0;
}
