/* SPDX-License-Identifier: Apache-2.0 */
/** @file export.h
 *  @brief Marks the symbols that librynd exports. */
#ifndef RYND_EXPORT_H
#define RYND_EXPORT_H

#if defined(__GNUC__)
#define RYND_API __attribute__((visibility("default")))
#else
#define RYND_API
#endif

#endif
