/* SPDX-License-Identifier: Apache-2.0 */
/* Public functions with one pointer NULL: each is refused by the parameter's name, or does what its
 * header says of NULL. Each pointer that is tried is noted. The last test of a program reads a
 * tier's headers and fails for a pointer that was not tried. */
#ifndef TESTS_SUPPORT_NULL_ARGUMENTS_H
#define TESTS_SUPPORT_NULL_ARGUMENTS_H

#include "tiny_model.h"

#include <rynd/rynd.h>

#include <stdbool.h>

/* Good arguments. null_arguments_begin makes them. */
extern rynd_context *context;
extern rynd_model *model;
extern rynd_plan *plan;
extern rynd_session *session;
extern rynd_op *op;
extern uint8_t bytes[TINY_MODEL_CAPACITY];
extern size_t size;

void null_note(const char *function, const char *parameter);
void null_refused(const char *function, const char *parameter, rynd_status status);
void null_taken(const char *function, const char *parameter, bool right);

#define REFUSES(function, parameter, ...) null_refused(#function, #parameter, function(__VA_ARGS__))
/* `right` is true when the call did what the header says. */
#define TAKES(function, parameter, right) null_taken(#function, #parameter, (right))
#define IGNORES(function, parameter, ...) (function(__VA_ARGS__), null_note(#function, #parameter))

/* Set-up and tear-down of a cmocka group. */
int null_arguments_begin(void **state);
int null_arguments_end(void **state);

/* The test of rynd/quantize.h. */
void null_quantizers(void **state);
/* The test of rynd/eval.h. */
void null_evals(void **state);
/* The test of rynd/tasks.h. */
void null_tasks(void **state);

/* Tests of the experimental tier: device memory, streams and events. */
void null_buffers(void **state);
void null_bound_buffers(void **state);
void null_streams(void **state);
void null_op_runs(void **state);
void null_op_cache(void **state);
void null_copies(void **state);
void null_events(void **state);

/* Tests, the last of a group: every pointer in the headers of the tier was tried. The core is what
 * rynd.h includes by itself, the experimental tier all other headers. */
void null_core_is_tried(void **state);
void null_experimental_is_tried(void **state);

#endif
