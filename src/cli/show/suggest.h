/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SHOW_SUGGEST_H
#define SPATE_CLI_SHOW_SUGGEST_H

/* The one of n names that a mistyped word was meant to be, or NULL where
 * none is near enough to be worth saying. */
const char *suggest(const char *word, const char *const *names, unsigned n);

#endif
