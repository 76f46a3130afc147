/* SPDX-License-Identifier: MIT */
#include "talk.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void
talk_make(struct talk *t, const struct line_args *args)
{
	t->got = t->used = 0;
	line_make(&t->line, args);
}

int
talk_ask(struct talk *t, const char *format, ...)
{
	va_list args;
	int n, err;

	va_start(args, format);
	n = vsnprintf(t->out, sizeof t->out - 1, format, args);
	va_end(args);
	if (n < 0 || n >= (int)sizeof t->out - 1)
		return -EMSGSIZE;
	t->out[n++] = '\n';
	line_give(&t->line, t->out, (size_t)n);
	err = line_flush(&t->line, 0);
	return err == -EAGAIN ? 0 : err;
}

/* Returns the text without blanks around it. */
static char *
trim(char *text)
{
	char *end = text + strlen(text);

	while (end > text && isspace((unsigned char)end[-1]))
		*--end = '\0';
	while (isspace((unsigned char)*text))
		text++;
	return text;
}

char *
talk_line(struct talk *t, int *err)
{
	int got = 0;
	char *end;

	t->got -= t->used;
	memmove(t->in, t->in + t->used, t->got);
	t->used = 0;
	*err = line_flush(&t->line, 0);
	if (*err == -EAGAIN)
		*err = 0;
	end = memchr(t->in, '\n', t->got);
	if (!end && !*err)
		got = line_read(&t->line, t->in + t->got,
				(uint32_t)sizeof t->in - t->got);
	if (got < 0)
		*err = got;
	else
		t->got += (uint32_t)got;
	if (!end)
		end = memchr(t->in, '\n', t->got);
	if (!end) {
		if (t->got == sizeof t->in)
			*err = -EMSGSIZE;
		return NULL;
	}
	*end = '\0';
	t->used = (uint32_t)(end - t->in) + 1;
	return trim(t->in);
}
