/* SPDX-License-Identifier: Apache-2.0 */
/** @file check.h
 *  @brief Experimental (see <rynd/rynd.h>): self-test of a device's kernels. */
#ifndef RYND_CHECK_H
#define RYND_CHECK_H

#include <rynd/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The result for one kernel. */
typedef enum rynd_finding {
    RYND_FINDING_UNTRIED,  /**< no test problem fits the kernel on this device */
    RYND_FINDING_RIGHT,    /**< outputs equal the reference's within the class's bound */
    RYND_FINDING_WRONG,    /**< outputs differ from the reference's */
    RYND_FINDING_UNSTEADY, /**< two runs gave different bits */
    RYND_FINDING_FAILED,   /**< the driver refused the program or the launch */
    RYND_FINDINGS
} rynd_finding;

/** A checked kernel. Texts live until the context's next check. */
typedef struct rynd_checked_kernel {
    size_t size;
    const char *kernel, *op; /**< names */
    rynd_finding finding;
    int problems;        /**< number of test problems */
    const char *problem; /**< the problem that failed; "" */
    const char *why;     /**< what was wrong; "" */
} rynd_checked_kernel;

/** Options of rynd_context_check. */
typedef struct rynd_check_options {
    size_t size;
    rynd_progress_function progress; /**< NULL: none */
    void *progress_user;
} rynd_check_options;

/** Runs each kernel of the context's device twice on problems with known answers. Takes seconds, or
 * minutes if a driver compiles slowly. Plans and operators made afterwards avoid kernels that are
 * wrong, unsteady or failing, and say so in their reasons.
 *
 * The findings are kept for later contexts with this device, driver and version of rynd, beside the
 * machine file (rynd_context_keep_machine). *path (optional) receives the file's name, or NULL if
 * there is no folder for it; it lives as long as the context. options NULL: all defaults. One
 * thread at a time, while the context makes no plan. Fails with OUT_OF_MEMORY, DEVICE, IO,
 * CANCELLED. */
RYND_API rynd_status rynd_context_check(rynd_context *context, const rynd_check_options *options,
                                        const char **path);

/** Number of kernels in the context's last check; 0 before it. */
RYND_API size_t rynd_context_checked_count(const rynd_context *context);

/** Describes a checked kernel. Any thread, except during a check. */
RYND_API rynd_status rynd_context_get_checked(const rynd_context *context, size_t index,
                                              rynd_checked_kernel *kernel);

/** "right", "wrong", "unsteady", "failed", "untried"; "" for other numbers. Any thread. */
RYND_API const char *rynd_finding_text(rynd_finding finding);

#ifdef __cplusplus
}
#endif
#endif
