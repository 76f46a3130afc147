/* SPDX-License-Identifier: MIT */
/*
 * The texts of a fault may come from anywhere: a file, a peer, another fault.
 * So every text is formatted into a local buffer first (the arguments may be
 * texts of the same fault), cut with "..." if it does not fit, and freed of
 * control characters: a fault is one line.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/fault.h"
#include "base/text.h"

enum { TEXT = sizeof((struct fault *)0)->what };

_Static_assert(sizeof((struct fault *)0)->why == TEXT &&
		   sizeof((struct fault *)0)->hint == TEXT,
	       "the texts of a fault are of one size");

static void
put_text(char *to, const char *format, va_list args)
{
	char text[TEXT];
	int length = vsnprintf(text, sizeof text, format, args);

	if (length >= TEXT)
		strcpy(text + TEXT - 4, "...");
	strcpy(to, text_clean(text));
}

int
fault_set(struct fault *f, int err, const char *code, const char *what, ...)
{
	va_list args;

	va_start(args, what);
	put_text(f->what, what, args);
	va_end(args);
	f->code = code;
	f->why[0] = '\0';
	f->hint[0] = '\0';
	return err;
}

int
fault_no_memory(struct fault *f)
{
	return fault_set(f, -ENOMEM, "no-memory", "out of memory");
}

void
fault_why(struct fault *f, const char *why, ...)
{
	va_list args;

	va_start(args, why);
	put_text(f->why, why, args);
	va_end(args);
}

void
fault_hint(struct fault *f, const char *hint, ...)
{
	va_list args;

	va_start(args, hint);
	put_text(f->hint, hint, args);
	va_end(args);
}

int
fault_line(const struct fault *f, char *line, unsigned long bytes)
{
	int length =
	    snprintf(line, bytes, "%s%s%s%s%s", f->what, f->why[0] ? ": " : "",
		     f->why, f->hint[0] ? "; " : "", f->hint);

	return (unsigned long)length < bytes ? length : (int)bytes - 1;
}
