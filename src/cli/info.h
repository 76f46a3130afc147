/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_INFO_H
#define SPATE_CLI_INFO_H

#include <jansson.h>

struct cli;

/* Prints an array of INFO as `spate info NAME` does. */
void info_print(const struct cli *cli, const char *name, const json_t *infos,
		bool all);

#endif
