/* SPDX-License-Identifier: Apache-2.0 */
/* A context, a model, a plan and a session for tests of the arguments of the public functions. */
#ifndef TESTS_SUPPORT_API_CASE_H
#define TESTS_SUPPORT_API_CASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tiny_model.h"
#include <rynd/rynd.h>

#include <stdbool.h>
#include <string.h>

#define PROBLEM "conv c=3 h=8 w=8 k=3 r=3 s=3 pad=1"

static rynd_context *context;
static rynd_model *model;
static rynd_plan *plan;
static rynd_session *session;
static uint8_t bytes[TINY_MODEL_CAPACITY];
static size_t size;
static float memory[8 * TINY_CHANNELS * TINY_SIDE * TINY_SIDE];

static inline int begin(void **state)
{
    (void)state;
    const rynd_plan_options options = RYND_SIZED(rynd_plan_options, .batch = 1);
    size = tiny_model(bytes);
    return rynd_context_create(NULL, &context) ||
           rynd_model_load_memory(context, bytes, size, &model) ||
           rynd_plan_create(model, &options, &plan) || rynd_session_create(plan, &session);
}

static inline int end(void **state)
{
    (void)state;
    rynd_session_destroy(session);
    rynd_plan_destroy(plan);
    rynd_model_destroy(model);
    rynd_context_destroy(context);
    return 0;
}

static inline void assert_refused(rynd_status status, rynd_status expected, const char *says)
{
    if (status != expected || !strstr(rynd_last_error(), says)) {
        fail_msg("got '%s' (%s), expected '%s' (...%s...)", rynd_status_text(status),
                 rynd_last_error(), rynd_status_text(expected), says);
    }
}

/* Makes PROBLEM and destroys it. */
static inline rynd_status make_op(const rynd_op_options *options)
{
    rynd_op *made = (rynd_op *)memory;
    const rynd_status status = rynd_op_create(context, PROBLEM, options, &made);
    assert_true((status == RYND_OK) == (made != NULL));
    rynd_op_destroy(made);
    return status;
}

#endif
