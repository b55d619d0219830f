/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON document of a command: {"rynd": VERSION, "command": NAME, "results": [...]}.
 *
 * Building ignores exhausted memory (cJSON's functions take NULL); cli_json_write and
 * cli_json_print notice it.
 * Numbers are seconds, bytes and counts; what is not known is null. */
#ifndef CLI_JSON_OUT_H
#define CLI_JSON_OUT_H

#include "failure.h"

#include <cjson/cJSON.h>
#include <rynd/rynd.h>

/* A new document: an empty object. */
cJSON *cli_json_document(void);
/* A new document of a command; *results is its array. */
cJSON *cli_json_begin(const char *command, cJSON **results);
/* A new object, appended to an array. */
cJSON *cli_json_object_in(cJSON *array);
/* text NULL: null. Keys are the command's own words; what comes from a file is a value. */
void cli_json_text(cJSON *object, const char *key, const char *text);
void cli_json_number(cJSON *object, const char *key, double value);
void cli_json_shape(cJSON *object, const rynd_tensor *tensor);
/* {"name", "shape", "dtype"}: open dims are strings, a shape of unknown rank is null */
void cli_json_value(cJSON *array, const rynd_value_info *info);
/* "time": {"median", "low", "high", "coverage"} */
void cli_json_time(cJSON *object, const rynd_prediction *prediction);
void cli_json_memory(cJSON *object, const char *key, const rynd_memory *memory);
/* Frees the document and returns its text, to be freed; NULL: memory was out, now or while it was
 * built. lines: indented, for people. */
char *cli_json_write(cJSON *document, bool lines, cli_failure *failure);
/* Prints on standard output and frees. */
bool cli_json_print(cJSON *document, cli_failure *failure);

#endif
