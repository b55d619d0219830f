/* SPDX-License-Identifier: Apache-2.0 */
/** @file check.h
 *  @brief A self-test of a device: its kernels on problems with known answers. */
#ifndef RYND_CHECK_H
#define RYND_CHECK_H

#include <rynd/machine.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a check found of a kernel. */
typedef enum rynd_finding {
    RYND_FINDING_UNTRIED,  /**< no test problem fits the kernel on this device */
    RYND_FINDING_RIGHT,    /**< outputs equal the reference's within the class's bound */
    RYND_FINDING_WRONG,    /**< outputs differ from the reference's */
    RYND_FINDING_UNSTEADY, /**< two runs gave different bits */
    RYND_FINDING_FAILED,   /**< the driver refused the program or the launch */
    RYND_FINDINGS
} rynd_finding;

/** A kernel and what was found. Set `size` to sizeof(rynd_checked_kernel) before it is filled;
 * texts live until the next check or as long as the context. */
typedef struct rynd_checked_kernel {
    size_t size;
    const char *kernel, *op; /**< names */
    rynd_finding finding;
    int problems;        /**< that it was tried on */
    const char *problem; /**< the one that it failed; "" */
    const char *why;     /**< what was wrong; "" */
} rynd_checked_kernel;

/** Set `size` to sizeof(rynd_check_options) and everything else that is not wanted to 0. */
typedef struct rynd_check_options {
    size_t size;
    rynd_progress progress; /**< NULL: nobody is told */
    void *user;
} rynd_check_options;

/** Runs the kernels of the context's device on problems with known answers, each twice; takes
 * seconds, or minutes where a driver compiles slowly. Kernels that are wrong, unsteady or fail are
 * not used by plans and operators that the context makes from then on, whose reasons say so.
 *
 * The findings are kept for later contexts on this device with this driver and version of rynd,
 * beside the machine's file (rynd_context_keep_machine): *path (may be NULL) receives the file's
 * name, which lives as long as the context, or NULL if there is no place for it. options NULL: all
 * defaults. One thread at a time, while the context makes no plan. Fails with ARGUMENT,
 * OUT_OF_MEMORY, DEVICE, IO. */
RYND_API rynd_status rynd_context_check(rynd_context *context, const rynd_check_options *options,
                                        const char **path);

/** How many kernels the last rynd_context_check of this context tried; 0 before it, or for NULL. */
RYND_API size_t rynd_context_checked_count(const rynd_context *context);

/** One of them. Any thread, but for the next check. Fails with ARGUMENT. */
RYND_API rynd_status rynd_context_get_checked(const rynd_context *context, size_t index,
                                              rynd_checked_kernel *kernel);

/** "right", "wrong", "unsteady", "failed", "untried"; "" of another number. */
RYND_API const char *rynd_finding_text(rynd_finding finding);

#ifdef __cplusplus
}
#endif
#endif
