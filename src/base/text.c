/* SPDX-License-Identifier: MIT */
/* Of names of others, some were written when there was no UTF-8. */
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static const char unknown[] = "\xef\xbf\xbd";

/* The bytes of the character that they begin with; 0: it is none. */
static size_t
length_of(const unsigned char *c)
{
	unsigned char least = 0x80, most = 0xbf;
	size_t n;

	if (c[0] < 0x80)
		return 1;
	if (c[0] < 0xc2 || c[0] > 0xf4)
		return 0;
	n = c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;
	switch (c[0]) {
	case 0xe0: least = 0xa0; break; /* else it would be shorter */
	case 0xed: most = 0x9f; break;	/* surrogates */
	case 0xf0: least = 0x90; break;
	case 0xf4: most = 0x8f; break; /* beyond U+10FFFF */
	default: break;
	}
	if (c[1] < least || c[1] > most)
		return 0;
	for (size_t i = 2; i < n; i++) {
		if (c[i] < 0x80 || c[i] > 0xbf)
			return 0;
	}
	return n;
}

json_t *
text_json(const char *bytes)
{
	json_t *json = json_string(bytes);
	char *text = NULL, *to;

	if (!json)
		text = malloc(3 * strlen(bytes) + 1);
	if (!text)
		return json;
	for (to = text; *bytes;) {
		size_t n = length_of((const unsigned char *)bytes);

		memcpy(to, n ? bytes : unknown, n ? n : sizeof unknown - 1);
		to += n ? n : sizeof unknown - 1;
		bytes += n ? n : 1;
	}
	json = json_stringn(text, (size_t)(to - text));
	free(text);
	return json;
}
