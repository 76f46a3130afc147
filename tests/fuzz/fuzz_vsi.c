/* SPDX-License-Identifier: MIT */
/*
 * Feeds a recorder with what comes in over VSI-S, in pieces of the size that
 * the first byte says.  Every reply is one command's: it begins with '!', has
 * a code, ends with " ;", and nothing in it can be taken for its end, or for a
 * line's; a recording is begun under a name that is one; and a setting that
 * was refused changes nothing.
 */
#include <stdarg.h>
#include <stdlib.h>

#include "vsi/vsi_copy.c"
#include "vsi/vsi_record.c"
#include "vsi/vsi_mode.c"
#include "vsi/vsi_line.c"
#include "vsi/vsi.c"
#include "vsi/vsi_net.c"
#include "store/disk/layout.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static struct {
	struct vsi v;
	bool runs;
	char name[VSI_NAME];
	unsigned calls;
	struct vsi_reply reply;
	struct vsi_lines lines;
} f;

static void
must(bool truth)
{
	if (!truth)
		abort();
}

int64_t
clock_now(void)
{
	return 1795283464360000000 + f.calls;
}

int64_t
clock_steady(void)
{
	return 1000 * f.calls;
}

void
log_line(enum log_level level, const char *subject, const char *format, ...)
{
	char text[2048];
	va_list args;

	(void)level;
	(void)subject;
	va_start(args, format);
	must(vsnprintf(text, sizeof text, format, args) > 0);
	va_end(args);
}

static int
host_record(void *arg, char name[VSI_NAME], bool rename, struct fault *fault)
{
	(void)arg;
	must(layout_name_good(name));
	if (++f.calls % 7 == 0)
		return fault_set(fault, -EAGAIN, "busy", "not: now; soon");
	if (rename && f.calls % 3 == 0)
		strcat(name, "a");
	strcpy(f.name, name);
	f.runs = true;
	return 0;
}

static void
host_stop(void *arg, const char *name)
{
	(void)arg;
	must(!strcmp(name, f.name));
	f.runs = false;
}

/* Some end by themselves. */
static bool
host_runs(void *arg, const char *name)
{
	(void)arg;
	if (strcmp(name, f.name) != 0)
		return false;
	return f.runs &= ++f.calls % 11 != 0;
}

static void
host_facts(void *arg, const char *name, struct vsi_facts *to)
{
	(void)arg;
	*to = (struct vsi_facts){ .known = strlen(name) % 5,
				  .failed = true,
				  .received = f.calls % 4,
				  .lost = f.calls % 3,
				  .bytes = 100000000,
				  .payload = 8032,
				  .start_ns = 1,
				  .end_ns = 1 + f.calls % 2 };
	strcpy(to->format, f.calls % 2 ? "vdif" : "mark5b");
	strcpy(to->why, "so: and so;\n");
}

static void
host_space(void *arg, struct vsi_space *s)
{
	(void)arg;
	*s = (struct vsi_space){ .total = f.calls % 2, .rate = f.calls % 3 };
}

static const char *
host_disk(void *arg, unsigned i)
{
	(void)arg;
	return i < 2 ? "/mnt/disks/1/0/data" : NULL;
}

static int
host_settle(void *arg, const struct vsi_settings *s, struct fault *fault)
{
	(void)arg;
	must(s->ports <= VSI_PORTS && s->prefix >= -1);
	for (unsigned i = 0; i < s->ports; i++)
		must(s->port[i].port != 0);
	return ++f.calls % 5 ? 0 : fault_set(fault, -EINVAL, "conf", "no;");
}

static const char *
host_format(void *arg, uint32_t *payload, uint32_t *prefix, uint16_t *port)
{
	(void)arg;
	*payload = 8032;
	*prefix = 8;
	*port = 46227;
	return "vdif";
}

static int
host_send(void *arg, const struct vsi_send *s, unsigned *id,
	  struct fault *fault)
{
	(void)arg;
	must(s->name[0] && strlen(s->name) < VSI_NAME);
	must(!s->to || s->from < s->to);
	must(!s->host != !s->path);
	for (const char *at = s->host; at && *at; at++)
		must(isalnum((unsigned char)*at) || strchr(".-", *at));
	*id = 1 + f.calls % 9;
	return ++f.calls % 6 ? 0 : fault_set(fault, -EBUSY, "busy", "not: so");
}

static void
host_sent(void *arg, unsigned id, struct vsi_sent *s)
{
	(void)arg;
	must(id != 0);
	*s = (struct vsi_sent){ .runs = ++f.calls % 5,
				.failed = f.calls % 10 == 5,
				.bytes = f.calls };
	strcpy(s->why, "so: and so;\n");
}

static void
host_unsend(void *arg, unsigned id)
{
	(void)arg;
	must(id != 0);
}

static bool
host_inbox(void *arg, uint16_t port)
{
	(void)arg;
	return port % 2;
}

struct vsi_file {
	enum vsi_file_what what;
};

int
vsi_file_start(struct vsi_file **file, const struct vsi_file_args *args,
	       struct fault *fault)
{
	must(strchr("nwa", args->mode) || args->what == VSI_FILE_LOOK ||
	     args->what == VSI_FILE_GIVE);
	if (++f.calls % 4 == 0)
		return fault_set(fault, -EPERM, "usage", "in no: folder;");
	*file = calloc(1, sizeof **file);
	must(*file);
	(*file)->what = args->what;
	return 0;
}

void
vsi_file_go(struct vsi_file *file, uint64_t from, uint64_t to)
{
	must(file->what == VSI_FILE_GIVE && from <= to && to <= 1000);
}

void
vsi_file_facts(const struct vsi_file *file, struct vsi_file_facts *facts)
{
	(void)file;
	*facts = (struct vsi_file_facts){ .state = ++f.calls % 6,
					  .size = 1000,
					  .bytes = f.calls };
	strcpy(facts->why, "so: and so;\n");
	strcpy(facts->data.format, f.calls % 2 ? "vdif" : "");
	facts->data.mbps = f.calls % 3;
}

int
vsi_file_take(struct vsi_file *file)
{
	must(file->what == VSI_FILE_OUT);
	return -1;
}

void
vsi_file_stop(struct vsi_file *file)
{
	free(file);
}

static void
host_runtime(void *arg, const struct vsi_command *c, struct vsi_reply *r)
{
	(void)arg;
	vsi_say(r, VSI_DONE, "%s", vsi_field(c, 0));
}

static void
reply_check(void)
{
	const char *text = f.reply.text;
	int code = -1;

	must(f.reply.used == strlen(text) && f.reply.used < VSI_REPLY);
	must(sscanf(text, "!%*[a-z0-9_]%*1[=?] %d", &code) == 1);
	must(code >= 0 && code <= 8);
	must(!strcmp(text + f.reply.used - 2, " ;"));
	must(strchr(text, ';') == text + f.reply.used - 1);
	for (; *text; text++)
		must(*text >= ' ' && *text <= '~');
}

static void
command(void)
{
	struct vsi_settings was = f.v.set;
	struct vsi_command c;
	const char *why;
	int code = vsi_command_parse(&c, f.lines.text, &why);

	vsi_reply_begin(&f.reply, &c);
	if (code)
		vsi_say(&f.reply, (enum vsi_code)code, "%s", why);
	for (bool done = code; !done; c.tries++) {
		vsi_reply_begin(&f.reply, &c);
		done = vsi_command(&f.v, &c, &f.reply);
	}
	vsi_reply_end(&f.reply);
	reply_check();
	if (!strstr(f.reply.text, "= 0"))
		must(!memcmp(&was, &f.v.set, sizeof was));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	const struct vsi_host host = {
		.record = host_record,
		.stop = host_stop,
		.runs = host_runs,
		.facts = host_facts,
		.space = host_space,
		.disk = host_disk,
		.settle = host_settle,
		.format = host_format,
		.send = host_send,
		.sent = host_sent,
		.unsend = host_unsend,
		.inbox = host_inbox,
		.runtime = host_runtime,
	};
	size_t piece = bytes ? (size_t)data[0] + 1 : 0, room;
	enum vsi_end end;

	memset(&f, 0, sizeof f);
	vsi_init(&f.v, &host);
	for (size_t at = 1, n; at < bytes; at += n) {
		char *to = vsi_lines_room(&f.lines, &room);

		must(room > 0);
		n = bytes - at < piece ? bytes - at : piece;
		n = n < room ? n : room;
		memcpy(to, data + at, n);
		vsi_lines_add(&f.lines, n);
		while ((end = vsi_lines_next(&f.lines)) != VSI_END_NONE) {
			if (end == VSI_END_COMMAND)
				command();
		}
	}
	vsi_finish(&f.v);
	return 0;
}
