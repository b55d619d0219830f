/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the trainer share. */
#ifndef RY_API_TRAINER_H
#define RY_API_TRAINER_H

#include "api/api_plan.h"
#include "api/api_session.h"
#include "api/handles.h"
#include "api/trainer_sharing.h"
#include "train/training.h"

/* A plan of one of a trainer's graphs, and its session. */
typedef struct ry_trainer_run {
    rynd_model *model; /* made of the run's graph */
    rynd_plan *plan;
    rynd_session *session;
    ry_tensor *bound;    /* last bound tensor per input */
    ry_sharing *sharing; /* exchange with other ranks; NULL: none */
} ry_trainer_run;

/* What is kept from step to step: a state of one of the runs. */
typedef struct ry_trainer_state {
    const char *name;
    const ry_trainer_run *run;
    uint32_t index;                         /* among the run's states */
    const ry_training_parameter *parameter; /* NULL: it is the optimizer's */
} ry_trainer_state;

struct rynd_trainer {
    const rynd_model *model; /* the caller's */
    ry_arena arena;
    const ry_training *training;
    ry_graph *graph;      /* bound and folded, of which both runs are made */
    ry_graph *step_graph; /* the step's graph, which holds the plan's constants */
    size_t inputs;        /* inputs of the model */
    ry_tensor target;     /* its description */
    ry_trainer_state *states;
    size_t state_count;
    /* a step sums up gradients, and `update` is there, where several make one update */
    ry_trainer_run step, update, evaluation;
    int64_t accumulate, summed; /* micro-batches of an update, and of the one in hand so far */
    float more;                 /* whether there was one before: an input */
    const ry_trainer_run *last; /* that ran; NULL: none */
    bool updated;               /* gradients belong to the last update */
    double learning_rate;       /* learning rate of the current step: an input */
    rynd_accuracy accuracy;
    const char *identity; /* words of the options; with those of the steps once `identified` */
    bool identified;
};

rynd_status ry_trainer_check_options(const rynd_trainer_options *options, ry_error *error);
/* Names and patterns are the caller's. */
ry_training_options ry_trainer_training_options(const rynd_trainer_options *options);

/* Fills in `identity`, while the options are there. */
rynd_status ry_trainer_describe(rynd_trainer *trainer, const rynd_trainer_options *options,
                                ry_error *error);

/* A plan and a session of a graph, which is the run's then, also when this fails. options NULL: of
 * the trainer's accuracy only. */
rynd_status ry_trainer_run_create(const rynd_trainer *trainer, ry_graph *graph,
                                  const rynd_trainer_options *options, ry_api_memory memory,
                                  ry_trainer_run *run, ry_error *error);
void ry_trainer_run_destroy(ry_trainer_run *run);

static inline ry_session *ry_trainer_session(const ry_trainer_run *run)
{
    return run->session->running;
}

/* Which run changes a parameter or a statistic. */
static inline const ry_trainer_run *ry_trainer_run_of(const rynd_trainer *trainer,
                                                      const ry_training_parameter *parameter)
{
    return trainer->accumulate > 1 && !parameter->statistic ? &trainer->update : &trainer->step;
}

/* A state's tensor: its memory where the host can read it, else data NULL. */
ry_tensor ry_trainer_state_in_place(const ry_trainer_state *state);

/* "model.onnx: " before a message that does not speak of the caller's arguments. */
rynd_status ry_trainer_end(const rynd_trainer *trainer, rynd_status status, ry_error *error);

#endif
