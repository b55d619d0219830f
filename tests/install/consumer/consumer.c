/* SPDX-License-Identifier: Apache-2.0 */
/* A program of someone else: makes a context and says what it runs on. */
#include <rynd/rynd.h>

#include <stdio.h>

int main(void)
{
    rynd_context *context = NULL;
    if (rynd_version_number() != RYND_VERSION_NUMBER) {
        fprintf(stderr, "headers and library have different versions\n");
        return 1;
    }
    if (rynd_context_create(NULL, &context) != RYND_OK) {
        fprintf(stderr, "%s\n", rynd_last_error());
        return 1;
    }
    rynd_device_info info = RYND_SIZED(rynd_device_info);
    rynd_status status = rynd_context_get_info(context, &info);
    if (status == RYND_OK) {
        printf("rynd %s on %s (%s)\n", rynd_version(), info.name, info.isa);
    }
    rynd_context_destroy(context);
    return status != RYND_OK;
}
