/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in's streams and events. */
#include "fake_cuda_inside.h"

EXPORT int cuStreamWaitEvent(void *stream, void *event, unsigned flags)
{
    BEGIN_IN_CONTEXT("cuStreamWaitEvent");
    return flags == 0 && fake_is_open(stream) && fake_is(event, 'e') ? OK : INVALID_HANDLE;
}

EXPORT int cuEventQuery(void *event)
{
    BEGIN_IN_CONTEXT("cuEventQuery");
    return fake_is(event, 'e') ? OK : INVALID_HANDLE;
}

EXPORT int cuStreamCreate(void **stream, unsigned flags)
{
    BEGIN_IN_CONTEXT("cuStreamCreate");
    atomic_fetch_add(&fake_cuda.misused, flags != 1); /* one that waits for others */
    *stream = fake_make('s', &fake_cuda.streams);
    return OK;
}

EXPORT int cuStreamDestroy_v2(void *stream)
{
    return fake_drop(stream, 's', &fake_cuda.streams);
}

EXPORT int cuStreamSynchronize(void *stream)
{
    BEGIN_IN_CONTEXT("cuStreamSynchronize");
    return fake_is_open(stream) ? OK : INVALID_HANDLE;
}

EXPORT int cuEventCreate(void **event, unsigned flags)
{
    (void)flags;
    BEGIN_IN_CONTEXT("cuEventCreate");
    *event = fake_make('e', &fake_cuda.events);
    return OK;
}

EXPORT int cuEventDestroy_v2(void *event)
{
    return fake_drop(event, 'e', &fake_cuda.events);
}

EXPORT int cuEventRecord(void *event, void *stream)
{
    BEGIN_IN_CONTEXT("cuEventRecord");
    if (!fake_is(event, 'e') || !fake_is_open(stream)) {
        return INVALID_HANDLE;
    }
    clock_gettime(CLOCK_MONOTONIC, &((object *)event)->time);
    return OK;
}

EXPORT int cuEventSynchronize(void *event)
{
    BEGIN_IN_CONTEXT("cuEventSynchronize");
    return fake_is(event, 'e') ? OK : INVALID_HANDLE;
}

EXPORT int cuEventElapsedTime(float *milliseconds, void *from, void *to)
{
    BEGIN_IN_CONTEXT("cuEventElapsedTime");
    if (!fake_is(from, 'e') || !fake_is(to, 'e')) {
        return INVALID_HANDLE;
    }
    const struct timespec a = ((object *)from)->time, b = ((object *)to)->time;
    *milliseconds =
        (float)((double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) * 1e-6);
    return OK;
}
