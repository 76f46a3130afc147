/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SHOW_LOSS_SHOW_H
#define SPATE_CLI_SHOW_LOSS_SHOW_H

#include <jansson.h>

/*
 * Prints when packets of a recording were lost, in at most eight lines: a bar
 * over its length and the worst parts.  Prints nothing if none were lost.
 */
void loss_show(const json_t *info);

#endif
