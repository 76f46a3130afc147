/* SPDX-License-Identifier: MIT */
/*
 * Feeds the reader of URLs with foreign text.  One that is taken is sane, and
 * written again from what was read of it it means the same; what is refused
 * has a sentence.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "net/url.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void
must(bool truth)
{
	if (!truth)
		abort();
}

static void
write_again(const struct url *u, char *text, size_t bytes)
{
	bool v6 = strchr(u->host, ':');
	char more[16] = "", last[16] = "";

	if (u->groups > 1)
		snprintf(more, sizeof more, "+%u", u->groups - 1);
	if (u->last != u->first)
		snprintf(last, sizeof last, "-%u", u->last);
	snprintf(text, bytes, "%s://%s%s%s%s%s%s:%u%s%s",
		 schemes[u->scheme].name, u->device, u->device[0] ? "@" : "",
		 v6 ? "[" : "", u->host, v6 ? "]" : "", more, u->first, last,
		 u->path);
}

static void
text_check(const char *text)
{
	char why[512] = "", again[2048];
	struct url u, v;

	if (url_read(&u, text, why, sizeof why) < 0) {
		must(strstr(why, "; write it as ") != NULL);
		return;
	}
	must(u.host[0] && u.first && u.first <= u.last && u.groups >= 1);
	must(u.groups == 1 || u.first == u.last);
	must(!u.path[0] || u.path[0] == '/');
	write_again(&u, again, sizeof again);
	must(url_read(&v, again, why, sizeof why) == 0);
	must(u.scheme == v.scheme && u.first == v.first && u.last == v.last &&
	     u.groups == v.groups && strcmp(u.host, v.host) == 0 &&
	     strcmp(u.device, v.device) == 0 && strcmp(u.path, v.path) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char *text = malloc(bytes + 1);

	memcpy(text, data, bytes);
	text[bytes] = 0;
	text_check(text);
	free(text);
	return 0;
}
