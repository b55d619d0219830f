/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the list of rewrites until nothing changes. */
#include "graph/rewrite.h"

typedef rynd_status (*rewrite)(ry_graph *graph, bool *changed, ry_error *error);

static const rewrite rewrites[] = {
#define RY_REWRITE(name, what) ry_rewrite_##name,
    RY_REWRITES(RY_REWRITE)
#undef RY_REWRITE
};

/* Each round removes nodes or makes them richer; a graph that still changes after this many would
 * cycle. */
enum { MAX_ROUNDS = 16 };

rynd_status ry_graph_rewrite(ry_graph *graph, bool *changed, ry_error *error)
{
    bool again = true, any = false;
    for (int round = 0; again && round < MAX_ROUNDS; round++) {
        again = false;
        for (size_t i = 0; i < sizeof rewrites / sizeof *rewrites; i++) {
            bool here = false;
            RY_TRY(rewrites[i](graph, &here, error));
            if (here) {
                RY_TRY(ry_graph_compact(graph, error));
            }
            again |= here;
        }
        any |= again;
    }
    if (changed) {
        *changed = any;
    }
    return RYND_OK;
}
