/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in's captures and graphs. */
#include "fake_cuda_inside.h"

#include <stdlib.h>

EXPORT int cuStreamBeginCapture_v2(void *stream, int mode)
{
    enum { THREAD_LOCAL = 1 };
    object *s = stream;
    BEGIN_IN_CONTEXT("cuStreamBeginCapture");
    if (mode != THREAD_LOCAL || !fake_is_open(s)) {
        return INVALID_VALUE;
    }
    s->capturing = true;
    s->spoilt = false;
    s->first = NULL;
    s->last = &s->first;
    return OK;
}

static void free_nodes(object *o)
{
    while (o->first) {
        node *next = o->first->next;
        free(o->first);
        o->first = next;
    }
}

EXPORT int cuStreamEndCapture(void *stream, void **graph)
{
    enum { INVALIDATED = 901 };
    object *s = stream;
    const int code = fake_is(s, 's') && s->capturing ? fake_outcome_in_context("cuStreamEndCapture")
                                                     : INVALID_HANDLE;
    *graph = NULL;
    s->capturing = false;
    if (code || s->spoilt) {
        free_nodes(s);
        return code ? code : INVALIDATED;
    }
    object *made = fake_make('g', &fake_cuda.graphs);
    made->first = s->first;
    s->first = NULL;
    *graph = made;
    return OK;
}

EXPORT int cuGraphInstantiateWithFlags(void **executable, void *graph, unsigned long long flags)
{
    BEGIN_IN_CONTEXT("cuGraphInstantiate");
    if (flags != 0 || !fake_is(graph, 'g')) {
        return INVALID_VALUE;
    }
    object *made = fake_make('x', &fake_cuda.graphs);
    node **last = &made->first;
    for (const node *n = ((object *)graph)->first; n; n = n->next) {
        *last = malloc(sizeof **last);
        **last = *n;
        (*last)->next = NULL;
        last = &(*last)->next;
    }
    *executable = made;
    return OK;
}

EXPORT int cuGraphLaunch(void *executable, void *stream)
{
    BEGIN_IN_CONTEXT("cuGraphLaunch");
    if (!fake_is(executable, 'x') || !fake_is_open(stream)) {
        return INVALID_HANDLE;
    }
    atomic_fetch_add(&fake_cuda.replays, 1);
    for (const node *n = ((object *)executable)->first; n; n = n->next) {
        fake_run_node(n);
    }
    return OK;
}

EXPORT int cuGraphExecDestroy(void *executable)
{
    free_nodes(executable);
    return fake_drop(executable, 'x', &fake_cuda.graphs);
}

EXPORT int cuGraphDestroy(void *graph)
{
    free_nodes(graph);
    return fake_drop(graph, 'g', &fake_cuda.graphs);
}
