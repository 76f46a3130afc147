/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SHOW_LOSS_SHOW_H
#define SPATE_CLI_SHOW_LOSS_SHOW_H

#include <jansson.h>

/* Prints when packets of an INFO were lost, in at most eight lines: a bar
 * over its length, and the worst of it.  Nothing where nothing was lost. */
void loss_show(const json_t *info);

#endif
