/* SPDX-License-Identifier: Apache-2.0 */
/* The tiny model, loaded for one thread before a group of tests and destroyed after it. */
#ifndef RY_TESTS_TINY_LOADED_H
#define RY_TESTS_TINY_LOADED_H

#include "tiny_model.h"
#include <rynd/rynd.h>

static rynd_context *context;
static rynd_model *model;
static uint8_t bytes[TINY_MODEL_CAPACITY];

static int begin(void **state)
{
    (void)state;
    const rynd_context_options options = RYND_SIZED(rynd_context_options, .threads = 1);
    const size_t size = tiny_model(bytes);
    return rynd_context_create(&options, &context) ||
           rynd_model_load_memory(context, bytes, size, &model);
}

static int end(void **state)
{
    (void)state;
    rynd_model_destroy(model);
    rynd_context_destroy(context);
    return 0;
}

#endif
