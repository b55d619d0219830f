/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the predicted choices about nodes apart and joined. */
#include "plan/fusing.h"

#include "plan/fold.h"
#include "plan/make_steps.h"
#include "predict/choices.h"

#include <math.h>

rynd_status ry_fusing_begin(ry_fusing *f, ry_plan_builder *b, ry_error *error)
{
    *f = (ry_fusing){.b = b, .error = error};
    ry_arena_init(&f->arena, b->plan->arena.allocator);
    f->channels_last = RY_TAKE(&f->arena, bool, b->graph->value_count);
    return f->channels_last ? RYND_OK : ry_fail_memory(error);
}

void ry_fusing_end(ry_fusing *f)
{
    ry_arena_free(&f->arena);
}

void ry_fusing_lay(ry_fusing *f, ry_value_id id, bool last)
{
    if (id != RY_NO_VALUE) {
        f->channels_last[id] = last && ry_value_has_layouts(&f->b->graph->values[id]);
    }
}

rynd_status ry_fusing_problem(ry_fusing *f, const ry_node *node, ry_problem *problem)
{
    return ry_plan_problem(f->b->graph, node, f->b->options->accuracy,
                           &(ry_value_layouts){.channels_last = f->channels_last}, 0, &f->arena,
                           problem, f->error);
}

rynd_status ry_fusing_separate(ry_fusing *f, const ry_node *node, double *seconds)
{
    ry_problem problem;
    ry_choice choice;
    RY_TRY(ry_fusing_problem(f, node, &problem));
    RY_TRY(ry_plan_predict_kernel(f->b, node, &problem, &choice, f->error));
    *seconds = RY_STEP_SECONDS + choice.seconds;
    return RYND_OK;
}

rynd_status ry_fusing_joined(ry_fusing *f, const ry_node *node, const ry_problem *problem,
                             double *seconds)
{
    ry_choice choice;
    RY_TRY(ry_plan_predict_kernel(f->b, node, problem, &choice, f->error));
    *seconds = choice.falls_back || choice.prepared.kernel->reference
                   ? INFINITY
                   : RY_STEP_SECONDS + choice.seconds;
    return RYND_OK;
}
