/* SPDX-License-Identifier: Apache-2.0 */
/* What is timed by `rynd bench`: a model or a problem, made ready to run again and again on random
 * inputs. */
#ifndef CLI_BENCH_SUBJECT_H
#define CLI_BENCH_SUBJECT_H

#include "held_tensor.h"
#include "setup.h"

typedef struct cli_subject {
    const char *name;
    const char *kernel; /* NULL: a model */
    double flop, bytes; /* per run */
    rynd_session *session;
    rynd_op *op;
    cli_tensor *tensors; /* inputs, then (of an operator) outputs */
    size_t count, inputs;
    const void **in; /* an operator's */
    void **out;
} cli_subject;

/* Floats are from -1 to 1, 8-bit integers use their whole range, others are 0 or 1, so that they
 * are valid as indices: the same for the same seed. */
void cli_fill_random(const rynd_tensor *tensor, uint64_t seed);

/* On such inputs; gradient: of the problem's gradient. The weights and bias of a convolution are
 * constants, packed beforehand, as in a model. setup has a context; the caller frees the subject
 * also when this fails. */
bool cli_subject_open(cli_subject *subject, cli_setup *setup, const cli_common *common,
                      const char *name, bool gradient, cli_failure *failure);
/* Plans a model that setup has loaded, on the caller's inputs (one for each of the model's, which
 * must outlive the subject), or on random ones if NULL. *subject holds the model's name. */
bool cli_subject_open_loaded(cli_subject *subject, cli_setup *setup, const cli_common *common,
                             const rynd_tensor *inputs, cli_failure *failure);
bool cli_subject_run(cli_subject *subject, cli_failure *failure);
void cli_subject_close(cli_subject *subject);

#endif
