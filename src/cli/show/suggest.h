/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SHOW_SUGGEST_H
#define SPATE_CLI_SHOW_SUGGEST_H

/*
 * Returns which of n names a mistyped word was probably meant to be; NULL: none
 * is near enough.
 */
const char *suggest(const char *word, const char *const *names, unsigned n);

#endif
