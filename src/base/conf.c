/* SPDX-License-Identifier: MIT */
/*
 * A configuration is read in three steps: the text is opened and parsed (scan,
 * libconfig), one value is read into a member of a struct, and a group is
 * filled in, option by option.
 *
 * libconfig parses the text, but two of its habits must be caught before it
 * sees it:
 *
 *  - an integer without L is cut to 32 bits without a message (libconfig
 *    1.5), so that memory = 8589934592 would mean 0;
 *  - @include of something that is no file ends the process, in flex.  A
 *    configuration is one file here.
 *
 * So the text is checked first with a scanner that knows strings, comments,
 * names and numbers, and libconfig parses it from memory.
 *
 * A fallback takes the same path as a value from the file: it becomes a setting
 * of a small configuration of its own.  So there is one reader for each type,
 * and a fallback that is itself invalid is found by the first test that uses
 * the table.  Every refused value is reported in one form, whatever its type:
 * file:line, the key, the value, and what the key accepts.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/conf.h"
#include "base/units.h"

struct conf {
	config_t config;
	unsigned refs;
	char *name;		/* file name, as faults show it */
	char *where;		/* buffer for conf_where() */
	struct conf_kept *kept; /* memory of the lists that were filled in */
	struct conf_fallback *fallbacks;
};

struct conf_kept {
	struct conf_kept *next; /* links conf::kept */
	void *data[];
};

/* The fallback of one option: a configuration of its own, with one key. */
struct conf_fallback {
	struct conf_fallback *next; /* links conf::fallbacks */
	config_t config;
};

/* One setting, and the option that it is read for. */
struct conf_value {
	struct conf *conf;
	const struct option_key *option;
	const config_setting_t *setting;
	bool fallback; /* the setting is the option's fallback, not from the
			* file */
	struct fault *fault;
};

/* ---- the text ------------------------------------------------------- */

enum { FILE_MAX = 16 << 20, PATIENCE_MS = 2000 };

#define NAME_CHARACTERS                                                        \
	"-_*0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS	   "0123456789"
#define HEX_DIGITS DIGITS "abcdefABCDEF"

/* A text and how far the scanner has come. */
struct conf_scan {
	const char *name;
	const char *text;
	const char *at;
	struct fault *fault;
};

static unsigned
line_of(const struct conf_scan *scan)
{
	unsigned line = 1;

	for (const char *c = scan->text; c < scan->at; c++)
		line += *c == '\n';
	return line;
}

static void
skip_string(struct conf_scan *scan)
{
	for (scan->at++; *scan->at && *scan->at != '"'; scan->at++)
		if (*scan->at == '\\' && scan->at[1])
			scan->at++;
	if (*scan->at)
		scan->at++;
}

/* Skips a comment; false if none begins here. */
static bool
skip_comment(struct conf_scan *scan)
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
skip_float(struct conf_scan *scan)
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
check_integer(struct conf_scan *scan)
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
check_word(struct conf_scan *scan)
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
	struct conf_scan scan = { name, text, text, fault };
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

/* Reads some bytes; 0 at the end, -1 with errno on failure.  A pipe that nobody
 * writes to would be waited for for ever. */
static ssize_t
read_some(int fd, char *to, size_t most)
{
	struct pollfd in = { .fd = fd, .events = POLLIN };
	int n;

	do {
		n = poll(&in, 1, PATIENCE_MS);
	} while (n < 0 && errno == EINTR);
	if (!n)
		errno = ETIMEDOUT;
	return n > 0 ? read(fd, to, most) : -1;
}

/* Returns the whole file as one malloc'ed text; NULL with errno on failure. */
static char *
read_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err;
	char *text = NULL, *more;
	size_t used = 0, room = 0;
	ssize_t got;

	if (fd < 0)
		return NULL;
	do {
		if (used + 1 >= room) {
			room = room ? 2 * room : 8192;
			more = room <= FILE_MAX ? realloc(text, room) : NULL;
			if (!more) {
				errno = room <= FILE_MAX ? ENOMEM : EFBIG;
				goto fail;
			}
			text = more;
		}
		got = read_some(fd, text + used, room - used - 1);
		if (got < 0)
			goto fail;
		used += (size_t)got;
	} while (got);
	text[used] = '\0';
	if (strlen(text) != used) {
		errno = EBADMSG;
		goto fail;
	}
	close(fd);
	return text;
fail:
	err = errno;
	free(text);
	close(fd);
	errno = err;
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
	case ETIMEDOUT: return "it is a pipe that nobody writes to";
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

int
conf_blame_key(struct conf *conf, const config_setting_t *group,
	       const char *key, struct fault *fault)
{
	const config_setting_t *s =
	    config_setting_get_member((config_setting_t *)group, key);

	return conf_blame(conf, s ? s : group, -EINVAL, fault);
}

/* ---- one value ------------------------------------------------------ */

/* A text that grows piece by piece, and is cut at the end of its buffer. */
struct sentence {
	char text[CONF_FORM];
	size_t used;
};

static void __attribute__((format(printf, 2, 3)))
say(struct sentence *s, const char *format, ...)
{
	size_t room = sizeof s->text - s->used;
	va_list args;
	int put;

	va_start(args, format);
	put = vsnprintf(s->text + s->used, room, format, args);
	va_end(args);
	s->used += (size_t)put < room ? (size_t)put : room - 1;
}

static void
say_number(struct sentence *s, enum option_type type, uint64_t value)
{
	char text[UNITS_TEXT];

	switch (type) {
	case OPTION_BYTES: say(s, "%s", units_show_bytes(text, value)); break;
	case OPTION_RATE: say(s, "%s", units_show_rate(text, value)); break;
	case OPTION_SPAN: say(s, "%s", units_show_span(text, value)); break;
	default: say(s, "%" PRIu64, value); break;
	}
}

static void
say_setting(struct sentence *s, const config_setting_t *setting)
{
	switch (config_setting_type(setting)) {
	case CONFIG_TYPE_INT:
	case CONFIG_TYPE_INT64:
		say(s, "%lld", config_setting_get_int64(setting));
		break;
	case CONFIG_TYPE_FLOAT:
		say(s, "%g", config_setting_get_float(setting));
		break;
	case CONFIG_TYPE_BOOL:
		say(s, config_setting_get_bool(setting) ? "true" : "false");
		break;
	case CONFIG_TYPE_STRING:
		say(s, "\"%s\"", config_setting_get_string(setting));
		break;
	case CONFIG_TYPE_GROUP: say(s, "a group"); break;
	default: say(s, "a list"); break;
	}
}

/* Says what an option accepts: its form, and its bounds if it has any. */
static void
say_form(struct sentence *s, const struct option_key *option)
{
	static const char *const forms[] = {
		[OPTION_FLAG] = "true or false",
		[OPTION_COUNT] = "a whole number",
		[OPTION_BYTES] = "a size, as \"64M\" or 67108864",
		[OPTION_RATE] = "a rate in bits per second, as \"8Gbps\"",
		[OPTION_SPAN] = "a time, as \"10s\" or \"250ms\"",
		[OPTION_SHARE] = "a number from 0.0 to 1.0, or as \"1%\"",
		[OPTION_TEXT] = "text in quotes",
		[OPTION_CHOICE] = "one of",
		[OPTION_TEXTS] = "a list of texts, as [ \"a\", \"b\" ]",
		[OPTION_COUNTS] = "a list of whole numbers, as [ 0, 1 ]",
	};
	const char *word = option->choices;

	say(s, "%s", forms[option->type]);
	if (option->type == OPTION_CHOICE)
		for (; *word; word += strspn(word, "|")) {
			int length = strcspn(word, "|");

			say(s, "%s %.*s", word == option->choices ? "" : ",",
			    length, word);
			word += length;
		}
	if (option->min) {
		say(s, ", at least ");
		say_number(s, option->type, option->min);
	}
	if (option->max) {
		say(s, ", at most ");
		say_number(s, option->type, option->max);
	}
}

const char *
conf_form(char text[CONF_FORM], const struct option_key *option)
{
	struct sentence form = { .used = 0 };

	say_form(&form, option);
	return memcpy(text, form.text, sizeof form.text);
}

/*
 * Reports that the setting, perhaps one of a list, cannot be the option's
 * value.
 */
static int
refuse(const struct conf_value *v, const config_setting_t *setting)
{
	struct sentence value = { .used = 0 }, form = { .used = 0 };

	say_setting(&value, setting);
	say_form(&form, v->option);
	if (v->fallback)
		fault_set(v->fault, -EINVAL, "internal",
			  "the fallback of %s cannot be %s", v->option->name,
			  value.text);
	else
		fault_set(v->fault, -EINVAL, "conf", "%s: %s cannot be %s",
			  conf_where(v->conf, setting), v->option->name,
			  value.text);
	fault_hint(v->fault, "%s takes %s", v->option->name, form.text);
	return -EINVAL;
}

static int
no_memory(struct fault *fault)
{
	return fault_set(fault, -ENOMEM, "no-memory",
			 "cannot read the configuration: no memory");
}

static int
number_of_text(const char *text, enum option_type type, uint64_t *value)
{
	switch (type) {
	case OPTION_BYTES: return units_bytes(text, value);
	case OPTION_RATE: return units_rate(text, value);
	case OPTION_SPAN: return units_span(text, (int64_t *)value);
	default: break;
	}
	if (text[strspn(text, "0123456789")])
		return -EINVAL;
	return units_bytes(text, value); /* digits only, so no unit is read */
}

/*
 * Reads a number from a setting of any type.  A span without a unit is seconds,
 * and may have a fraction.
 */
static int
number_of_setting(const config_setting_t *s, enum option_type type,
		  uint64_t *value)
{
	const bool span = type == OPTION_SPAN;
	long long number;
	double real;

	switch (config_setting_type(s)) {
	case CONFIG_TYPE_INT:
	case CONFIG_TYPE_INT64:
		number = config_setting_get_int64(s);
		if (number < 0 || (span && number > INT64_MAX / NS_SECOND))
			return -ERANGE;
		*value = number * (span ? NS_SECOND : 1);
		return 0;
	case CONFIG_TYPE_FLOAT:
		real = config_setting_get_float(s) * NS_SECOND;
		if (!span || !(real >= 0 && real < (double)INT64_MAX))
			return -EINVAL;
		*value = real;
		return 0;
	case CONFIG_TYPE_STRING:
		return number_of_text(config_setting_get_string(s), type,
				      value);
	default: return -EINVAL;
	}
}

static int
read_number(const struct conf_value *v, const config_setting_t *s,
	    uint64_t *value)
{
	const struct option_key *o = v->option;
	const bool small = o->type == OPTION_COUNT || o->type == OPTION_COUNTS;

	if (number_of_setting(s, o->type, value) || *value < o->min ||
	    (o->max && *value > o->max) || (small && *value > UINT32_MAX))
		return refuse(v, s);
	return 0;
}

static int
read_share(const struct conf_value *v, double *share)
{
	switch (config_setting_type(v->setting)) {
	case CONFIG_TYPE_INT:
		*share = config_setting_get_int(v->setting);
		break;
	case CONFIG_TYPE_FLOAT:
		*share = config_setting_get_float(v->setting);
		break;
	case CONFIG_TYPE_STRING:
		if (units_share(config_setting_get_string(v->setting), share))
			return refuse(v, v->setting);
		break;
	default: return refuse(v, v->setting);
	}
	return *share >= 0 && *share <= 1 ? 0 : refuse(v, v->setting);
}

static int
read_text(const struct conf_value *v, const config_setting_t *s,
	  const char **text)
{
	if (config_setting_type(s) != CONFIG_TYPE_STRING)
		return refuse(v, s);
	*text = config_setting_get_string(s);
	return 0;
}

static int
read_choice(const struct conf_value *v, const char **choice)
{
	const char *word = v->option->choices, *text = "";
	int err = read_text(v, v->setting, &text);
	size_t length;

	if (err)
		return err;
	for (; *word; word += length + strspn(word + length, "|")) {
		length = strcspn(word, "|");
		if (length == strlen(text) && memcmp(word, text, length) == 0) {
			*choice = text;
			return 0;
		}
	}
	return refuse(v, v->setting);
}

/* Allocates memory for a list that lives as long as the configuration. */
static void *
keep(struct conf *conf, unsigned n, size_t bytes)
{
	struct conf_kept *kept = calloc(1, sizeof *kept + n * bytes);

	if (!kept)
		return NULL;
	kept->next = conf->kept;
	conf->kept = kept;
	return kept->data;
}

/*
 * Returns the length of a list; a list of one may be written as a bare value.
 */
static unsigned
list_length(const config_setting_t *s)
{
	return config_setting_is_aggregate(s) ? config_setting_length(s) : 1;
}

static const config_setting_t *
list_element(const config_setting_t *s, unsigned i)
{
	return config_setting_is_aggregate(s) ? config_setting_get_elem(s, i)
					      : s;
}

static int
read_texts(const struct conf_value *v, struct option_texts *list)
{
	unsigned n = list_length(v->setting);
	const char **texts = keep(v->conf, n, sizeof *texts);
	int err = texts ? 0 : no_memory(v->fault);

	for (unsigned i = 0; i < n && !err; i++)
		err = read_text(v, list_element(v->setting, i), &texts[i]);
	if (!err)
		*list = (struct option_texts){ texts, n };
	return err;
}

static int
read_counts(const struct conf_value *v, struct option_counts *list)
{
	unsigned n = list_length(v->setting);
	uint32_t *counts = keep(v->conf, n, sizeof *counts);
	int err = counts ? 0 : no_memory(v->fault);
	uint64_t value = 0;

	for (unsigned i = 0; i < n && !err; i++) {
		err = read_number(v, list_element(v->setting, i), &value);
		counts[i] = value;
	}
	if (!err)
		*list = (struct option_counts){ counts, n };
	return err;
}

/* Writes the value to `out`.  0, or -EINVAL or -ENOMEM with a fault. */
static int
read_value(const struct conf_value *v, void *out)
{
	uint64_t value = 0;
	int err = 0;

	if (config_setting_is_group(v->setting))
		return refuse(v, v->setting);
	switch (v->option->type) {
	case OPTION_FLAG:
		if (config_setting_type(v->setting) != CONFIG_TYPE_BOOL)
			return refuse(v, v->setting);
		*(bool *)out = config_setting_get_bool(v->setting);
		return 0;
	case OPTION_COUNT:
		err = read_number(v, v->setting, &value);
		if (!err)
			*(uint32_t *)out = value;
		return err;
	case OPTION_BYTES:
	case OPTION_RATE:
	case OPTION_SPAN: /* an int64_t, never negative */
		err = read_number(v, v->setting, &value);
		if (!err)
			*(uint64_t *)out = value;
		return err;
	case OPTION_SHARE: return read_share(v, out);
	case OPTION_TEXT: return read_text(v, v->setting, out);
	case OPTION_CHOICE: return read_choice(v, out);
	case OPTION_TEXTS: return read_texts(v, out);
	case OPTION_COUNTS: return read_counts(v, out);
	}
	return fault_set(v->fault, -EINVAL, "internal",
			 "option %s is of no known type", v->option->name);
}

/* ---- a group -------------------------------------------------------- */

enum { KEY_MAX = 32, KEYS_MAX = 128 };

/* All keys that a group may have. */
struct keys {
	const char *key[KEYS_MAX];
	unsigned n;
};

static void
collect_keys(struct keys *keys, const struct conf_part *parts, unsigned n,
	     const char *const *known)
{
	const struct option_key *o;

	for (unsigned i = 0; i < n; i++)
		for (o = parts[i].options; o && o->name; o++)
			if (keys->n < KEYS_MAX)
				keys->key[keys->n++] = o->name;
	for (; known && *known; known++)
		if (keys->n < KEYS_MAX)
			keys->key[keys->n++] = *known;
}

static bool
has_key(const struct keys *keys, const char *key)
{
	for (unsigned i = 0; i < keys->n; i++)
		if (strcmp(keys->key[i], key) == 0)
			return true;
	return false;
}

static unsigned
least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/*
 * Returns how many letters to add, drop or change (Levenshtein distance),
 * computed row by row.
 */
static unsigned
distance(const char *a, const char *b)
{
	unsigned row[KEY_MAX + 1], left, above;
	size_t length = strlen(b);

	if (length > KEY_MAX)
		return KEY_MAX;
	for (unsigned j = 0; j <= length; j++)
		row[j] = j;
	for (; *a; a++) {
		left = row[0]++;
		for (unsigned j = 1; j <= length; j++) {
			above = row[j];
			row[j] = least(left + (*a != b[j - 1]),
				       least(above, row[j - 1]) + 1);
			left = above;
		}
	}
	return row[length];
}

/*
 * Returns the known key that the user most likely meant; NULL if none is
 * similar.
 */
static const char *
nearest_key(const struct keys *keys, const char *key)
{
	const char *best = NULL;
	unsigned least_far = least(3, strlen(key) / 2 + 1), far;

	for (unsigned i = 0; i < keys->n; i++) {
		far = distance(key, keys->key[i]);
		if (far < least_far) {
			least_far = far;
			best = keys->key[i];
		}
	}
	return best;
}

static int
unknown_key(struct conf *conf, const config_setting_t *setting,
	    const struct keys *keys, struct fault *fault)
{
	const char *key = config_setting_name(setting);
	const char *near = nearest_key(keys, key);
	char all[sizeof fault->hint] = "";
	size_t used = 0;

	for (unsigned i = 0; i < keys->n && used < sizeof all; i++)
		used += snprintf(all + used, sizeof all - used, "%s%s",
				 i ? ", " : "", keys->key[i]);
	fault_set(fault, -EINVAL, "conf", "%s: unknown key '%s'",
		  conf_where(conf, setting), key);
	if (near)
		fault_hint(fault, "did you mean '%s'? the keys here are %s",
			   near, all);
	else
		fault_hint(fault, "the keys here are %s", all);
	return -EINVAL;
}

static int
check_group(struct conf *conf, config_setting_t *group, const struct keys *keys,
	    struct fault *fault)
{
	config_setting_t *setting;
	int n;

	if (!config_setting_is_group(group)) {
		fault_set(fault, -EINVAL, "conf", "%s: '%s' is not a group",
			  conf_where(conf, group),
			  config_setting_name(group)
			      ? config_setting_name(group)
			      : "an element");
		fault_hint(fault, "write it as { key = value; ... }");
		return -EINVAL;
	}
	n = config_setting_length(group);
	for (int i = 0; i < n; i++) {
		setting = config_setting_get_elem(group, i);
		if (!has_key(keys, config_setting_name(setting)))
			return unknown_key(conf, setting, keys, fault);
	}
	return 0;
}

/*
 * Tells whether a fallback is plain text to be taken as a string.  Fallbacks
 * are written as in the file, except that text needs no quotes.  Anything else
 * is left to libconfig, which parses booleans, fractions and lists.
 */
static bool
is_plain(const struct option_key *o)
{
	return o->type != OPTION_FLAG && o->type != OPTION_SHARE &&
	       !strchr("\"[(", o->fallback[0]);
}

static const config_setting_t *
fallback_setting(struct conf *conf, const struct option_key *option)
{
	struct conf_fallback *f = calloc(1, sizeof *f);
	config_setting_t *setting;
	char *text;
	int good;

	if (!f)
		return NULL;
	f->next = conf->fallbacks;
	conf->fallbacks = f;
	config_init(&f->config);
	if (is_plain(option)) {
		setting = config_setting_add(config_root_setting(&f->config),
					     "v", CONFIG_TYPE_STRING);
		config_setting_set_string(setting, option->fallback);
		return setting;
	}
	if (asprintf(&text, "v = %s;", option->fallback) < 0)
		return NULL;
	good = config_read_string(&f->config, text);
	free(text);
	return good ? config_lookup(&f->config, "v") : NULL;
}

static int
fill_option(struct conf *conf, config_setting_t *group,
	    const struct option_key *option, void *out, struct fault *fault)
{
	struct conf_value value = { .conf = conf,
				    .option = option,
				    .fault = fault };

	if (group)
		value.setting = config_setting_get_member(group, option->name);
	if (!value.setting && option->fallback) {
		value.fallback = true;
		value.setting = fallback_setting(conf, option);
		if (!value.setting)
			return fault_set(fault, -EINVAL, "internal",
					 "the fallback of %s cannot be read",
					 option->name);
	}
	if (!value.setting)
		return 0;
	return read_value(&value, (char *)out + option->offset);
}

int
conf_fill(struct conf *conf, config_setting_t *group,
	  const struct conf_part *parts, unsigned n, const char *const *known,
	  struct fault *fault)
{
	const struct option_key *o;
	struct keys keys = { .n = 0 };
	int err = 0;

	collect_keys(&keys, parts, n, known);
	if (group)
		err = check_group(conf, group, &keys, fault);
	for (unsigned i = 0; i < n && !err; i++)
		for (o = parts[i].options; o && o->name && !err; o++)
			err = fill_option(conf, group, o, parts[i].out, fault);
	return err;
}

/*
 * Compares two settings by value: spelling, place in the file and the order of
 * a group's keys do not matter.
 */
static bool
is_same_value(const config_setting_t *a, const config_setting_t *b)
{
	switch (config_setting_type(a)) {
	case CONFIG_TYPE_STRING:
		return !strcmp(config_setting_get_string(a),
			       config_setting_get_string(b));
	case CONFIG_TYPE_BOOL:
		return config_setting_get_bool(a) == config_setting_get_bool(b);
	case CONFIG_TYPE_FLOAT:
		return config_setting_get_float(a) ==
		       config_setting_get_float(b);
	default:
		return config_setting_get_int64(a) ==
		       config_setting_get_int64(b);
	}
}

static bool
is_same_inside(const config_setting_t *a, const config_setting_t *b)
{
	int n = config_setting_length(a);

	if (config_setting_length(b) != n)
		return false;
	for (int i = 0; i < n; i++) {
		const config_setting_t *x =
		    config_setting_get_elem(a, (unsigned)i);
		const char *name = config_setting_name(x);

		if (!conf_same(x,
			       name ? config_setting_get_member(b, name)
				    : config_setting_get_elem(b, (unsigned)i)))
			return false;
	}
	return true;
}

bool
conf_same(const config_setting_t *a, const config_setting_t *b)
{
	if (!a || !b)
		return a == b;
	if (config_setting_type(a) != config_setting_type(b))
		return false;
	return config_setting_is_aggregate(a) ? is_same_inside(a, b)
					      : is_same_value(a, b);
}
