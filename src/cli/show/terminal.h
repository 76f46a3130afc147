/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SHOW_TERMINAL_H
#define SPATE_CLI_SHOW_TERMINAL_H

#include <stdio.h>

/*
 * Protects the terminal from control characters in names, metadata and reasons,
 * which come from files and peers. stdout and stderr then print each control
 * character but '\n' and '\t' as \u001b or the like, which means the same
 * inside a string of JSON.  Bytes written to the descriptors directly, such as
 * the data of an export, are not changed.  Called before anything is printed.
 */
void terminal_guard(void);

/*
 * Control sequences that spate sends to a terminal itself, behind what was
 * printed before.
 */
#define ERASE_LINE   "\r\033[K"
#define CLEAR_SCREEN "\033[H\033[J"

/* Sends a control sequence, after flushing what was printed to `to`. */
void terminal_do(FILE *to, const char *sequence);

/* Returns the width of the terminal at fd; 80 if it is unknown. */
unsigned terminal_width(int fd);

#endif
