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

#include "../../src/daemon/vsi_kept.c"
#include "../../src/daemon/vsi_label.c"
#include "../../src/daemon/vsi_line.c"
#include "../../src/daemon/vsi_mode.c"
#include "../../src/daemon/vsi_record.c"
#include "../../src/daemon/vsi_scan.c"
#include "../../src/daemon/vsi.c"
#include "../../src/daemon/vsi_about.c"
#include "../../src/daemon/vsi_net.c"
#include "store/layout.h"

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
	must(!strcmp(name, f.name));
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
	return 0;
}
