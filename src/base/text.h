/* SPDX-License-Identifier: MIT */
#ifndef SPATE_BASE_TEXT_H
#define SPATE_BASE_TEXT_H

#include <jansson.h>

/*
 * The name of a file is of bytes, and JSON of characters: what is not UTF-8
 * becomes U+FFFD.  NULL without memory.
 */
json_t *text_json(const char *bytes);

#endif
