/* SPDX-License-Identifier: Apache-2.0 */
/* Puts a page together: styles, body, data, scripts. */
#include "page.h"

#include "json_out.h"
#include "output_file.h"

#include <stdlib.h>
#include <string.h>

/* Texts of cli/page, made by ry_embed. */
extern const char cli_page_style[], cli_page_body[], cli_page_common[], cli_page_charts[],
    cli_page_time[], cli_page_graph[];

static bool put(cli_output *output, const char *text)
{
    return cli_output_put(output, text, strlen(text));
}

/* A name with "</script>" in it would end the data: JSON's \u003c means the same "<". */
static bool put_json(cli_output *output, const char *json)
{
    for (bool done = true; done;) {
        const size_t plain = strcspn(json, "<");
        done = cli_output_put(output, json, plain);
        if (!json[plain]) {
            return done;
        }
        done = done && put(output, "\\u003c");
        json += plain + 1;
    }
    return false;
}

bool cli_page_write(cJSON *data, const char *path, cli_failure *failure)
{
    cli_output output;
    char *json = cli_json_write(data, false, failure);
    if (!json || !cli_output_begin(&output, path, failure)) {
        free(json);
        return false;
    }
    const char *const before[] = {"<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
                                  "<meta name=\"viewport\" content=\"width=device-width\">\n"
                                  "<title>rynd</title>\n<style>\n",
                                  cli_page_style, "</style>\n", cli_page_body,
                                  "<script type=\"application/json\" id=\"data\">"};
    const char *const after[] = {"</script>\n<script>\n", cli_page_common, cli_page_charts,
                                 cli_page_time,           cli_page_graph,  "</script>\n</html>\n"};
    bool done = true;
    for (size_t i = 0; done && i < sizeof before / sizeof *before; i++) {
        done = put(&output, before[i]);
    }
    done = done && put_json(&output, json);
    for (size_t i = 0; done && i < sizeof after / sizeof *after; i++) {
        done = put(&output, after[i]);
    }
    free(json);
    return cli_output_end(&output, done, failure) && done;
}
