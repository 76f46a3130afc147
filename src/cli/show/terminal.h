/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SHOW_TERMINAL_H
#define SPATE_CLI_SHOW_TERMINAL_H

#include <stdio.h>

/*
 * Names, metadata and reasons come from files and from peers, and a terminal
 * obeys control characters wherever they come from.  So stdout and stderr let
 * none through but '\n' and '\t': each is printed as \u001b.  Within a string
 * of JSON that says the same.  What is written to the descriptors, such as the
 * data of an export, is left alone.  Called before anything is printed.
 */
void terminal_guard(void);

/* What we ask of a terminal ourselves, behind what was printed before. */
#define ERASE_LINE   "\r\033[K"
#define CLEAR_SCREEN "\033[H\033[J"
void terminal_do(FILE *to, const char *sequence);

/* How wide the terminal at fd is; 80 where it does not say. */
unsigned terminal_width(int fd);

#endif
