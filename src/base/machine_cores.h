/* SPDX-License-Identifier: Apache-2.0 */
/* How many cores the machine has, whichever of them this process may use (ry_cpu_info.cores):
 * predictions are of the machine. */
#ifndef RY_BASE_MACHINE_CORES_H
#define RY_BASE_MACHINE_CORES_H

unsigned ry_machine_cores(void); /* at least 1 */

/* Counts the cores of a Linux CPU list: "0-3,8,10-11" has 7. Returns 0 for any other text. */
unsigned ry_count_cores(const char *list);

#endif
