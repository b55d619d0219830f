/* SPDX-License-Identifier: Apache-2.0 */
/* NVRTC itself, behind tests/cuda/strict_nvrtc.c. */
#ifndef RYND_TESTS_NVRTC_NEED_H
#define RYND_TESTS_NVRTC_NEED_H

/* Names NVRTC's file of build/venv, of the version RYND_TEST_NVRTC (12 if unset), in STRICT_NVRTC;
 * where it is not installed, the test is skipped. */
void nvrtc_need(void);

#endif
