/* SPDX-License-Identifier: MIT */
/*
 * Recognises a schedule by its content, because users change extensions.  Some
 * files that are close to a schedule get a hint what would work instead.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/schedule/import_scans.h"

enum { LOOK = 1 << 20, STEP = 1 << 20 };

static const char what_works[] =
    "a Field System .snp, a VEX file, or the XML of a Mark6";

static bool
holds(const char *text, size_t bytes, const char *word)
{
	size_t length = strlen(word);

	for (size_t i = 0; i + length <= bytes; i++)
		if (strncasecmp(text + i, word, length) == 0)
			return true;
	return false;
}

/* Returns the first text that is neither blank nor a comment of VEX. */
static const char *
vex_first(const char *text)
{
	for (;;) {
		text += strspn(text, " \t\r\n");
		if (*text != '*')
			return text;
		text += strcspn(text, "\n");
	}
}

static int
no_schedule(const struct import *im, const char *why, const char *hint,
	    struct fault *fault)
{
	import_fault(im, 0, fault, "%s", why);
	fault_hint(fault, "%s", hint);
	return -EINVAL;
}

static int
unknown(const struct import *im, const char *text, size_t look,
	struct fault *fault)
{
	if (strncmp(text, "\x1f\x8b", 2) == 0)
		return no_schedule(im, "it is compressed", "gunzip it first",
				   fault);
	if (memchr(text, 0, look))
		return no_schedule(im, "it is no text", what_works, fault);
	if (holds(text, look, "enddef") && holds(text, look, "define "))
		return no_schedule(im, "it is a library of procedures",
				   "import the .snp beside it", fault);
	if (holds(text, look, "$EXPER") || holds(text, look, "$SKED"))
		return no_schedule(im, "it looks like a .skd file",
				   "let drudg make a .snp of it", fault);
	return no_schedule(im, "it is no schedule that spate knows", what_works,
			   fault);
}

int
import_text(struct import *im, const char *text, size_t bytes,
	    struct fault *fault)
{
	size_t look = bytes < LOOK ? bytes : LOOK;
	const char *first;
	int err;

	if (look >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
		text += 3; /* byte order mark that some editors write */
		bytes -= 3;
		look -= 3;
	}
	first = vex_first(text);
	if (strncasecmp(first, "VEX_rev", 7) == 0)
		err = import_vex(im, text, bytes, fault);
	else if (text[strspn(text, " \t\r\n")] == '<')
		err = import_xml(im, text, bytes, fault);
	else if (!memchr(text, 0, look) &&
		 (holds(text, look, "scan_name") ||
		  holds(text, look, "data_valid") ||
		  holds(text, look, "disk_record")) &&
		 !holds(text, look, "enddef"))
		err = import_snp(im, text, bytes, fault);
	else
		return unknown(im, text, look, fault);
	return err ? err : import_finish(im, fault);
}

/* Reads the whole file, and puts a 0 behind it; at most IMPORT_BYTES. */
static int
read_whole(int fd, char **text, size_t *bytes)
{
	size_t room = STEP;
	ssize_t got = 1;
	char *grown;

	*bytes = 0;
	*text = malloc(room + 1);
	while (*text && got && *bytes <= IMPORT_BYTES) {
		got = read(fd, *text + *bytes, room - *bytes);
		if (got < 0 && errno != EINTR)
			return -errno;
		*bytes += got > 0 ? (size_t)got : 0;
		if (*bytes < room)
			continue;
		room *= 2;
		grown = realloc(*text, room + 1);
		if (!grown)
			return -ENOMEM;
		*text = grown;
	}
	if (!*text)
		return -ENOMEM;
	(*text)[*bytes] = '\0';
	return *bytes > IMPORT_BYTES ? -EFBIG : 0;
}

int
import_file(struct import *im, const char *path, struct fault *fault)
{
	int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC)
				   : dup(STDIN_FILENO);
	char *text = NULL;
	size_t bytes = 0;
	int err = fd < 0 ? -errno : read_whole(fd, &text, &bytes);

	if (fd >= 0)
		close(fd);
	if (!err && text) {
		err = import_text(im, text, bytes, fault);
	} else {
		fault_set(fault, err, "io", "cannot read %.250s", path);
		fault_why(fault, "%s", strerror(-err));
		if (err == -EFBIG)
			fault_hint(fault, "no schedule is larger than %d MiB",
				   IMPORT_BYTES >> 20);
	}
	free(text);
	return err;
}
