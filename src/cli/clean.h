/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_CLEAN_H
#define SPATE_CLI_CLEAN_H

/* Takes out of a text what would make a terminal do something: names and
 * reasons may come from a file that anybody wrote.  Returns it.  Some control
 * characters have two bytes in UTF-8. */
static inline char *
text_clean(char *text)
{
	for (unsigned char *c = (unsigned char *)text; *c; c++) {
		if (*c < ' ' || *c == 127)
			*c = '?';
		else if (*c == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0)
			*c = c[1] = '?';
	}
	return text;
}

#endif
