/* SPDX-License-Identifier: Apache-2.0 */
/** @file version.h
 *  @brief The version of the headers, and of the library. */
#ifndef RYND_VERSION_H
#define RYND_VERSION_H

#include <rynd/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* CMakeLists.txt and pyproject.toml read these three lines. */
#define RYND_VERSION_MAJOR 0
#define RYND_VERSION_MINOR 1
#define RYND_VERSION_PATCH 0

/** The headers' version as a number that grows: 100 for 0.1.0, 10203 for 1.2.3. */
#define RYND_VERSION_NUMBER \
    (RYND_VERSION_MAJOR * 10000 + RYND_VERSION_MINOR * 100 + RYND_VERSION_PATCH)

/** RYND_VERSION_NUMBER of the library that the program runs with. Any thread. */
RYND_API unsigned rynd_version_number(void);

/** The library's version as text, "0.1.0". Never NULL; any thread. */
RYND_API const char *rynd_version(void);

#ifdef __cplusplus
}
#endif
#endif
