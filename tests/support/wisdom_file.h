/* SPDX-License-Identifier: Apache-2.0 */
/* A file of wisdom in a folder of its own, for tests. */
#ifndef TESTS_SUPPORT_WISDOM_FILE_H
#define TESTS_SUPPORT_WISDOM_FILE_H

extern char wisdom_folder[]; /* created by wisdom_file_set_up */
extern char wisdom_path[];   /* path of a wisdom file in it, which may be missing */

/* Removes every file of the folder. */
void wisdom_file_forget(void);

/* For cmocka: of a group, and of a test that begins without files. */
int wisdom_file_set_up(void **state);
int wisdom_file_tear_down(void **state);
int wisdom_file_clean(void **state);

#endif
