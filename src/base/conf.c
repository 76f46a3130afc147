/* SPDX-License-Identifier: MIT */
/*
 * Opens a configuration.  libconfig parses it, but two of its habits must be
 * caught before it sees the text:
 *
 *  - an integer without L is cut to 32 bits without a message (libconfig
 *    1.5), so that memory = 8589934592 would mean 0;
 *  - @include of something that is no file ends the process, in flex.  A
 *    configuration is one file here.
 *
 * So this file reads the text, checks it with a scanner that knows strings,
 * comments, names and numbers, and lets libconfig parse it from memory.
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/conf_priv.h"

enum { FILE_MAX = 16 << 20 };

#define NAME_CHARACTERS                                                        \
	"-_*0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS	   "0123456789"
#define HEX_DIGITS DIGITS "abcdefABCDEF"

/* A text and how far the scanner has come. */
struct scan {
	const char *name;
	const char *text;
	const char *at;
	struct fault *fault;
};

static unsigned
line_of(const struct scan *scan)
{
	unsigned line = 1;

	for (const char *c = scan->text; c < scan->at; c++)
		line += *c == '\n';
	return line;
}

static void
skip_string(struct scan *scan)
{
	for (scan->at++; *scan->at && *scan->at != '"'; scan->at++)
		if (*scan->at == '\\' && scan->at[1])
			scan->at++;
	if (*scan->at)
		scan->at++;
}

/* Skips a comment; false if none begins here. */
static bool
skip_comment(struct scan *scan)
{
	const char *end;

	if (*scan->at == '#' || strncmp(scan->at, "//", 2) == 0) {
		scan->at += strcspn(scan->at, "\n");
		return true;
	}
	if (strncmp(scan->at, "/*", 2) != 0)
		return false;
	end = strstr(scan->at + 2, "*/");
	scan->at = end ? end + 2 : scan->at + strlen(scan->at);
	return true;
}

/*
 * Skips the rest of a number with a point or an exponent; false if the number
 * is an integer.
 */
static bool
skip_float(struct scan *scan)
{
	const char *c = scan->at + strspn(scan->at, DIGITS);
	bool point = *c == '.';

	if (point)
		c += 1 + strspn(c + 1, DIGITS);
	if (*c == 'e' || *c == 'E') {
		c += 1 + (c[1] == '-' || c[1] == '+');
		c += strspn(c, DIGITS);
		point = true;
	}
	if (point)
		scan->at = c;
	return point;
}

static int
check_integer(struct scan *scan)
{
	const char *from = scan->at;
	bool hex = from[0] == '0' && (from[1] == 'x' || from[1] == 'X');
	bool minus = from > scan->text && from[-1] == '-';
	int length =
	    hex ? 2 + strspn(from + 2, HEX_DIGITS) : strspn(from, DIGITS);
	bool wide = from[length] == 'L';
	unsigned long long value, most;

	errno = 0;
	value = strtoull(from, NULL, hex ? 16 : 10);
	most = (wide ? LLONG_MAX : INT_MAX) + (unsigned long long)minus;
	if (errno == 0 && value <= most) {
		scan->at += length;
		return 0;
	}
	fault_set(scan->fault, -EINVAL, "conf", "%s:%u: %.*s is too large",
		  scan->name, line_of(scan), length < 40 ? length : 40, from);
	if (errno || value > LLONG_MAX)
		fault_why(scan->fault, "it does not fit into 64 bits");
	else
		fault_hint(scan->fault,
			   "append L, as in %.*sL: a number over "
			   "2147483647 needs it",
			   length, from);
	return -EINVAL;
}

static int
check_word(struct scan *scan)
{
	if (*scan->at == '@') {
		fault_set(scan->fault, -EINVAL, "conf",
			  "%s:%u: @include is not possible", scan->name,
			  line_of(scan));
		fault_hint(scan->fault, "write all of it into one file");
		return -EINVAL;
	}
	scan->at += 1 + strspn(scan->at + 1, NAME_CHARACTERS);
	return 0;
}

static int
check_text(const char *name, const char *text, struct fault *fault)
{
	struct scan scan = { name, text, text, fault };
	int err = 0;

	while (*scan.at && !err) {
		if (*scan.at == '"')
			skip_string(&scan);
		else if (isalpha((unsigned char)*scan.at) || *scan.at == '@' ||
			 *scan.at == '*')
			err = check_word(&scan);
		else if (isdigit((unsigned char)*scan.at) || *scan.at == '.')
			err = skip_float(&scan) ? 0 : check_integer(&scan);
		else if (!skip_comment(&scan))
			scan.at++;
	}
	return err;
}

/* Turns libconfig's error into a fault that shows the line. */
static int
parse_fault(struct conf *conf, const char *text, struct fault *fault)
{
	int line = config_error_line(&conf->config);
	const char *error = config_error_text(&conf->config);

	if (strcmp(error, "duplicate setting name") == 0)
		error = "a key that is already there";
	fault_set(fault, -EINVAL, "conf", "%s:%d: %s", conf->name, line, error);
	for (; line > 1 && strchr(text, '\n'); line--)
		text = strchr(text, '\n') + 1;
	text += strspn(text, " \t");
	fault_why(fault, "at '%.*s'", (int)strcspn(text, "\n"), text);
	return -EINVAL;
}

int
conf_open_text(struct conf **conf, const char *text, const char *name,
	       struct fault *fault)
{
	struct conf *c;
	int err = check_text(name, text, fault);

	if (err)
		return err;
	c = calloc(1, sizeof *c);
	if (!c)
		goto no_memory;
	c->refs = 1;
	config_init(&c->config);
	c->name = strdup(name);
	c->where = malloc(strlen(name) + sizeof ":4294967295");
	if (!c->name || !c->where)
		goto no_name;
	if (!config_read_string(&c->config, text)) {
		err = parse_fault(c, text, fault);
		conf_close(c);
		return err;
	}
	*conf = c;
	return 0;
no_name:
	conf_close(c);
no_memory:
	return fault_set(fault, -ENOMEM, "no-memory",
			 "cannot read %s: no memory", name);
}

/* Returns the whole file as one malloc'ed text; NULL with errno on failure. */
static char *
read_file(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = NULL, *more;
	size_t used = 0, room = 4096, got;

	if (!file)
		return NULL;
	do {
		room *= 2;
		more = room <= FILE_MAX ? realloc(text, room) : NULL;
		if (!more) {
			errno = room <= FILE_MAX ? ENOMEM : EFBIG;
			goto fail;
		}
		text = more;
		got = fread(text + used, 1, room - used - 1, file);
		used += got;
	} while (got && used == room - 1);
	if (ferror(file))
		goto fail;
	text[used] = '\0';
	if (strlen(text) != used) {
		errno = EBADMSG;
		goto fail;
	}
	fclose(file);
	return text;
fail:
	free(text);
	fclose(file);
	return NULL;
}

static const char *
read_fault(int err)
{
	switch (err) {
	case ENOENT: return "there is no such file";
	case EISDIR: return "it is a folder";
	case EACCES: return "it may not be read by this user";
	case EFBIG: return "it is over 16 MiB";
	case EBADMSG: return "it is not text";
	default: return strerror(err);
	}
}

int
conf_text(char **text, const char *path, struct fault *fault)
{
	int err;

	*text = read_file(path);
	if (*text)
		return 0;
	err = errno;
	fault_set(fault, -err, err == ENOENT ? "not-found" : "conf",
		  "cannot read the configuration %s", path);
	fault_why(fault, "%s", read_fault(err));
	return -err;
}

int
conf_open(struct conf **conf, const char *path, struct fault *fault)
{
	char *text;
	int err = conf_text(&text, path, fault);

	if (err)
		return err;
	err = conf_open_text(conf, text, path, fault);
	free(text);
	return err;
}

struct conf *
conf_hold(struct conf *conf)
{
	conf->refs++;
	return conf;
}

void
conf_close(struct conf *conf)
{
	struct conf_kept *kept;
	struct conf_fallback *fallback;

	if (!conf || --conf->refs)
		return;
	while ((kept = conf->kept)) {
		conf->kept = kept->next;
		free(kept);
	}
	while ((fallback = conf->fallbacks)) {
		conf->fallbacks = fallback->next;
		config_destroy(&fallback->config);
		free(fallback);
	}
	config_destroy(&conf->config);
	free(conf->where);
	free(conf->name);
	free(conf);
}

config_setting_t *
conf_root(struct conf *conf)
{
	return config_root_setting(&conf->config);
}

const char *
conf_where(struct conf *conf, const config_setting_t *setting)
{
	sprintf(conf->where, "%s:%u", conf->name,
		config_setting_source_line(setting));
	return conf->where;
}

int
conf_blame(struct conf *conf, const config_setting_t *setting, int err,
	   struct fault *fault)
{
	const char *where = conf_where(conf, setting);
	size_t room = sizeof fault->what - strlen(where) - sizeof ": ";
	char what[sizeof fault->what];

	memcpy(what, fault->what, sizeof what);
	snprintf(fault->what, sizeof fault->what, "%s: %.*s", where, (int)room,
		 what);
	return err;
}
