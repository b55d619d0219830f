/* SPDX-License-Identifier: Apache-2.0 */
/* The folder, and what is in it. */
#include "wisdom_file.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROOM = 512 };

char wisdom_folder[] = "/tmp/rynd_wisdom_XXXXXX";
char wisdom_path[sizeof wisdom_folder + sizeof "/w.db"];

void wisdom_file_forget(void)
{
    DIR *folder = opendir(wisdom_folder);
    for (struct dirent *entry; folder && (entry = readdir(folder)) != NULL;) {
        char name[ROOM];
        snprintf(name, sizeof name, "%s/%s", wisdom_folder, entry->d_name);
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            remove(name);
        }
    }
    if (folder) {
        closedir(folder);
    }
}

int wisdom_file_set_up(void **state)
{
    (void)state;
    if (!mkdtemp(wisdom_folder)) {
        return 1;
    }
    snprintf(wisdom_path, sizeof wisdom_path, "%s/w.db", wisdom_folder);
    return 0;
}

int wisdom_file_tear_down(void **state)
{
    (void)state;
    wisdom_file_forget();
    return rmdir(wisdom_folder);
}

int wisdom_file_clean(void **state)
{
    (void)state;
    wisdom_file_forget();
    return 0;
}
