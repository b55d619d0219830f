/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor files by their extension: what can be read and written, and by which function. */
#ifndef CLI_FILES_H
#define CLI_FILES_H

#include "image.h"
#include "receiver.h"

typedef enum cli_file_kind { CLI_FILE_NONE, CLI_FILE_TENSORS, CLI_FILE_IMAGE } cli_file_kind;

/* Extensions of the pictures that are read, for messages. */
#define CLI_PICTURES_IN ".png, .jpg, .bmp, .webp, .tiff"

/* By the extension, whatever its case; NONE when rynd does not read (write) such files. */
cli_file_kind cli_input_kind(const char *path);
cli_file_kind cli_output_kind(const char *path);
bool cli_output_takes_many(const char *path); /* an archive */

/* Gives the tensors of a file to the receiver; only an archive has more than one. cli_input_kind
 * must be TENSORS. */
bool cli_tensors_read(rynd_context *context, const char *path, const cli_receiver *receiver,
                      cli_failure *failure);
/* Reads one .npy from standard input, which may be a pipe; leaves the following bytes there. */
bool cli_tensor_read_standard_input(const cli_receiver *receiver, cli_failure *failure);
/* cli_input_kind must be IMAGE. The content decides between the kinds, not the extension. */
bool cli_image_read(const char *path, const cli_image_check *check, cli_image *image,
                    cli_failure *failure);

/* cli_output_kind must be TENSORS; more than one tensor, and plain names (file_names.h), only where
 * cli_output_takes_many. */
bool cli_tensors_write(rynd_context *context, const char *path, const rynd_tensor *tensors,
                       const char *const *names, size_t count, cli_failure *failure);
bool cli_image_write(const char *path, const cli_image *image, cli_failure *failure);

#endif
