/* SPDX-License-Identifier: MIT */
#ifndef SPATE_BASE_TEXT_H
#define SPATE_BASE_TEXT_H

#include <jansson.h>

/*
 * The name of a file is of bytes, and JSON of characters: what is not UTF-8
 * becomes U+FFFD.  NULL without memory.
 */
json_t *text_json(const char *bytes);

/* Puts blanks for control characters, so that a text is one line that no
 * terminal obeys.  Returns the text. */
char *text_clean(char *text);

/*
 * Writes each control character but '\n' and '\t' as \u001b, and what is not
 * UTF-8 as U+FFFD, into TEXT_ESCAPED times `bytes`.  Where the last bytes are
 * the beginning of a character, *left is how many: they come again with the
 * next ones.  Returns how many were written.
 */
enum { TEXT_CHARACTER = 4, TEXT_ESCAPED = 6 };
size_t text_escape(char *to, const char *from, size_t bytes, size_t *left);

#endif
