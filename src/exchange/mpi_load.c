/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the module by dlopen, as other libraries that a machine need not have. */
#define _GNU_SOURCE /* dladdr */
#include "exchange/mpi_load.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_NAME "librynd_mpi.so"
enum { FOLDER_LENGTH = 4096, PATH_LENGTH = FOLDER_LENGTH + 32 };

int ry_mpi_ranks(void)
{
    /* set by Open MPI; by MPICH, its relatives and srun (PMI-1, PMI-2) */
    static const char *const variables[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *text = getenv(variables[i]);
        const long ranks = text ? strtol(text, NULL, 10) : 0;
        if (ranks > 1) {
            return ranks < 1 << 24 ? (int)ranks : 1 << 24;
        }
    }
    return 1;
}

/* The folder of what this function is in: the library, or a program that it is a part of. */
static void own_folder(char *folder, size_t size)
{
    Dl_info info;
    int (*const own)(void) = ry_mpi_ranks;
    const void *address;
    memcpy(&address, &own, sizeof address);
    *folder = 0;
    if (dladdr(address, &info) && info.dli_fname && strchr(info.dli_fname, '/')) {
        snprintf(folder, size, "%.*s", (int)(strrchr(info.dli_fname, '/') - info.dli_fname),
                 info.dli_fname);
    }
}

/* MPI's own plugins need its symbols in the global scope. */
static void *open_file(const char *path)
{
    return dlopen(path, RTLD_NOW | RTLD_GLOBAL);
}

static void *open_module(const char *folder, ry_error *error)
{
    static const char *const places[] = {"", "../lib/"};
    const char *own = getenv("RYND_MPI_LIBRARY");
    char path[PATH_LENGTH];
    void *module = NULL;
    if (own && *own) {
        module = open_file(own);
        if (!module) {
            ry_error_write(error, "RYND_MPI_LIBRARY: %s", dlerror());
        }
        return module;
    }
    for (size_t i = 0; *folder && !module && i < sizeof places / sizeof *places; i++) {
        snprintf(path, sizeof path, "%s/%s" FILE_NAME, folder, places[i]);
        if (access(path, F_OK) == 0) {
            module = open_file(path);
            if (!module) { /* librynd_mpi.so exists, but its MPI library does not */
                ry_error_write(error,
                               "%s: install the MPI that it was built with (Debian: openmpi-bin), "
                               "whose mpirun starts the ranks",
                               dlerror());
                return NULL;
            }
        }
    }
    module = module ? module : open_file(FILE_NAME);
    if (!module) {
        ry_error_write(error,
                       "there is no " FILE_NAME " (%s): it is built where MPI's headers are "
                       "(Debian: libopenmpi-dev) and installed beside the library",
                       dlerror());
    }
    return module;
}

rynd_status ry_mpi_load(const ry_mpi_module **module, ry_error *error)
{
    char folder[FOLDER_LENGTH];
    own_folder(folder, sizeof folder);
    void *library = open_module(folder, error);
    if (!library) {
        return RYND_ERROR_UNSUPPORTED;
    }
    *module = dlsym(library, RY_MPI_MODULE_SYMBOL);
    return *module && (*module)->version == RY_MPI_MODULE_VERSION
               ? RYND_OK
               : ry_fail(error, RYND_ERROR_UNSUPPORTED,
                         FILE_NAME " is of another version of rynd: build and install both");
}
