/* SPDX-License-Identifier: MIT */
/*
 * Copies as m5copy orders them: it tells one program where to send to, the
 * other what to do with the data, and asks both how far they are.
 *
 *   disk2net, disk2file, vbs2net   recordings, by ordinary transfers
 *   file2net, net2file             files, by a thread of their own (vsi_file.h)
 *   net2disk                       record=on for data that come over TCP
 *   net2vbs                        the inbox, if it listens on that port
 *
 * Each runtime has one copy at a time; `record` may go on beside copies that
 * only read.  A transfer begins with `on`, when the wanted bytes are known;
 * until then it is shown as connected.  A failed copy is shown with code 4:
 * m5copy takes "inactive" for success.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "vsi/vsi.h"
#include "vsi/vsi_file.h"

enum { DATA_PORT = 2630 };

static const char *const copy_words[] = {
	[VSI_DISK2NET] = "disk2net", [VSI_DISK2FILE] = "disk2file",
	[VSI_FILE2NET] = "file2net", [VSI_NET2FILE] = "net2file",
	[VSI_VBS2NET] = "vbs2net",   [VSI_NET2VBS] = "net2vbs",
};

/* ---- progress -------------------------------------------------------- */

/*
 * Gets the bytes that came or went so far; `runs` is true until it has ended by
 * itself.
 */
static void
copy_look(struct vsi *v, struct vsi_sent *now)
{
	struct vsi_copy *c = &v->copy;
	struct vsi_file_facts f;

	*now = (struct vsi_sent){
		.runs = c->what == VSI_NET2VBS ||
			(c->what == VSI_DISK2NET && !c->on),
	};
	if (c->id) {
		v->host.sent(v->host.arg, c->id, now);
		/* A resumed copy may have been complete already. */
		if (now->nothing && c->from && c->from >= c->total)
			now->failed = false;
	} else if (c->file) {
		vsi_file_facts(c->file, &f);
		now->runs = f.state < VSI_FILE_DONE;
		now->failed = f.state == VSI_FILE_FAILED;
		now->bytes = f.bytes;
		snprintf(now->why, sizeof now->why, "%.300s", f.why);
	}
}

const char *
vsi_copy_runs(struct vsi *v, struct vsi_sent *now)
{
	copy_look(v, now);
	return now->runs || now->failed ? copy_words[v->copy.what] : NULL;
}

/* Forgets the copy, and ends it if it runs. */
static void
copy_end(struct vsi *v)
{
	struct vsi_copy *c = &v->copy;

	if (c->id)
		v->host.unsend(v->host.arg, c->id);
	vsi_file_stop(c->file);
	c->file = NULL;
	c->id = 0;
	c->what = VSI_NOTHING;
	c->on = c->seen = false;
	c->from = c->to = c->total = 0;
}

void
vsi_finish(struct vsi *v)
{
	copy_end(v);
	vsi_file_stop(v->copy.check);
	v->copy.check = NULL;
}

/* Tells whether a new copy may begin; if not, the command is refused. */
static bool
may_begin(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	struct vsi_sent now;

	copy_look(v, &now);
	if (now.runs) {
		vsi_refuse(v, c, r, VSI_CONFLICT, "Already doing %s",
			   copy_words[v->copy.what]);
		return false;
	}
	copy_end(v);
	return true;
}

static bool
is_doing(const struct vsi *v, enum vsi_copying what)
{
	return v->copy.what == what;
}

/* ---- arguments ------------------------------------------------------- */

/* Takes the recording that scan_set= chose, or the one being made now. */
static bool
scan_take(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	const char *name = v->scan[0] ? v->scan : v->on ? v->name : "";
	struct vsi_facts f = { 0 };

	if (!*name) {
		vsi_refuse(v, c, r, VSI_CONFLICT,
			   "no scan was set using scan_set=");
		return false;
	}
	v->host.facts(v->host.arg, name, &f);
	if (!f.known) {
		vsi_refuse(v, c, r, VSI_FAILED, "there is no recording '%s'",
			   name);
		return false;
	}
	snprintf(v->copy.scan, sizeof v->copy.scan, "%.127s", name);
	v->copy.total = f.bytes;
	return true;
}

/* Takes a host name or IPv4 address, which becomes part of a URL. */
static bool
host_take(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r,
	  const char *host)
{
	size_t good = strspn(host, "abcdefghijklmnopqrstuvwxyz"
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-");

	if (!*host && v->copy.host[0])
		return true; /* keep that of the last copy */
	if (!*host || host[good] || good >= sizeof v->copy.host) {
		vsi_refuse(v, c, r, VSI_PARAMETER,
			   "'%.60s' is no name or IPv4 address of a host",
			   host);
		return false;
	}
	snprintf(v->copy.host, sizeof v->copy.host, "%s", host);
	return true;
}

static bool
tcp_check(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	if (!v->set.protocol[0] || !strcmp(v->set.protocol, "tcp"))
		return true;
	vsi_refuse(v, c, r, VSI_CONFLICT,
		   "only with net_protocol=tcp, and that is %s",
		   v->set.protocol);
	return false;
}

static uint16_t
port_of(const struct vsi *v)
{
	return v->set.ports ? v->set.port[0].port : DATA_PORT;
}

/*
 * Reads a byte number: "100"; or "+100", if `from` is not NULL, for that many
 * behind *from.  An empty text leaves *byte as it is.
 */
static bool
byte_read(const char *text, const uint64_t *from, uint64_t *byte)
{
	uint64_t n;

	if (!*text)
		return true;
	if (!vsi_number(text + (*text == '+'), INT64_MAX / 2, &n) ||
	    (*text == '+' && !from))
		return false;
	*byte = *text == '+' ? *from + n : n;
	return true;
}

/* ---- recordings ------------------------------------------------------ */

static bool
send_begin(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r,
	   const struct vsi_send *s)
{
	struct fault fault = { 0 };

	if (v->host.send(v->host.arg, s, &v->copy.id, &fault) == 0)
		return true;
	v->copy.id = 0;
	vsi_refuse_fault(v, c, r, VSI_FAILED, &fault);
	return false;
}

/*
 * Answers a query of a copy that sends: state, host, first byte, present byte,
 * end.
 */
static void
net_ask(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r,
	enum vsi_copying what)
{
	struct vsi_copy *copy = &v->copy;
	struct vsi_file_facts f;
	struct vsi_sent now;
	uint64_t at;
	bool goes;

	copy_look(v, &now);
	if (!is_doing(v, what)) {
		vsi_say(r, VSI_DONE, "inactive");
		return;
	}
	if (now.failed) {
		vsi_refuse(v, c, r, VSI_FAILED, "%s", now.why);
		return;
	}
	if (!copy->on) {
		if (copy->file)
			vsi_file_facts(copy->file, &f);
		vsi_say(r, VSI_DONE, "%s : %s",
			copy->file && f.state < VSI_FILE_CONNECTED
			    ? "inactive"
			    : "connected",
			copy->host);
		return;
	}
	at = copy->from + now.bytes;
	if ((!now.runs && !copy->to) || at > copy->total)
		copy->total = at;
	/*
	 * The first answer is "active" if anything was sent: m5copy takes
	 * "inactive" at once to mean that the receiver had everything before.
	 */
	goes = now.runs || (!copy->seen && now.bytes);
	copy->seen = true;
	vsi_say(r, VSI_DONE, "%s : %s : %llu : %llu : %llu",
		goes ? "active" : "inactive", copy->host,
		(unsigned long long)copy->from, (unsigned long long)at,
		(unsigned long long)(copy->to ? copy->to : copy->total));
}

/* Ends the copy of that kind. */
static void
disconnect(struct vsi *v, struct vsi_reply *r, enum vsi_copying what)
{
	if (!is_doing(v, what)) {
		/* m5copy ends everything twice, so this is not logged. */
		vsi_say(r, VSI_CONFLICT, "Not doing %s", copy_words[what]);
		return;
	}
	copy_end(v);
	vsi_say(r, VSI_BEGUN, NULL);
}

static void
does_not_apply(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	vsi_refuse(v, c, r, VSI_NEVER, "'%.40s' does not apply to %s",
		   vsi_field(c, 0), c->keyword);
}

/*
 * Takes the wanted bytes: those of this command, else those that scan_set
 * chose.
 */
static bool
range_take(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r,
	   bool relative)
{
	struct vsi_copy *copy = &v->copy;
	uint64_t start = 0, stop = 0, bytes = copy->total;

	if (!strcmp(v->scan, copy->scan)) {
		start = (uint64_t)v->scan_start;
		/*
		 * An end at the last byte means no limit, since the recording
		 * may grow.
		 */
		if (v->scan_end && (uint64_t)v->scan_end < bytes)
			stop = (uint64_t)v->scan_end;
	}
	/* A recording that is being made is sent up to its present size. */
	if (v->host.runs(v->host.arg, copy->scan)) {
		if (!bytes) {
			vsi_refuse(v, c, r, VSI_BUSY,
				   "nothing of %s is on disks yet", copy->scan);
			return false;
		}
		stop = stop ? stop : bytes;
	}
	copy->from = start;
	copy->to = stop;
	if (byte_read(vsi_field(c, 1), relative ? &start : NULL, &copy->from) &&
	    byte_read(vsi_field(c, 2), &copy->from, &copy->to) &&
	    (!copy->to || copy->to >= copy->from || !*vsi_field(c, 2)))
		return true;
	vsi_refuse(v, c, r, VSI_PARAMETER,
		   "bytes are written as 1000:2000, 1000:+1000%s",
		   relative ? " or +1000:" : "");
	return false;
}

/* Makes the range empty if the receiver has everything already. */
static void
nothing_left(struct vsi_copy *copy)
{
	if (copy->from &&
	    (copy->to ? copy->from > copy->to : copy->from == copy->total))
		copy->to = copy->from;
}

static void
disk2net_on(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	struct vsi_copy *copy = &v->copy;
	struct vsi_send s = { .name = copy->scan,
			      .host = copy->host,
			      .port = port_of(v),
			      .plain = true,
			      .fd = -1 };

	if (!is_doing(v, VSI_DISK2NET) || copy->on) {
		vsi_refuse(v, c, r, VSI_CONFLICT,
			   copy->on ? "already running" : "not doing anything");
		return;
	}
	if (!range_take(v, c, r, true))
		return;
	nothing_left(copy);
	s.from = copy->from;
	s.to = copy->to;
	if ((copy->to && copy->to == copy->from) || send_begin(v, c, r, &s)) {
		copy->on = true;
		vsi_say(r, VSI_DONE, NULL);
	}
}

void
vsi_do_disk2net(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	const char *what = vsi_field(c, 0);

	if (c->query) {
		net_ask(v, c, r, VSI_DISK2NET);
	} else if (!strcmp(what, "connect")) {
		if (tcp_check(v, c, r) && may_begin(v, c, r) &&
		    scan_take(v, c, r) && host_take(v, c, r, vsi_field(c, 1))) {
			v->copy.what = VSI_DISK2NET;
			vsi_say(r, VSI_BEGUN, NULL);
		}
	} else if (!strcmp(what, "on")) {
		disk2net_on(v, c, r);
	} else if (!strcmp(what, "disconnect")) {
		disconnect(v, r, VSI_DISK2NET);
	} else {
		does_not_apply(v, c, r);
	}
}

/* Copies a whole recording to the inbox of another spate. */
static void
vbs2net_connect(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	struct vsi_copy *copy = &v->copy;
	struct vsi_send s = { .name = copy->scan,
			      .host = copy->host,
			      .port = port_of(v),
			      .fd = -1 };
	const char *scan = vsi_field(c, 1);
	struct vsi_facts f;

	if (!tcp_check(v, c, r) || !may_begin(v, c, r) ||
	    !host_take(v, c, r, vsi_field(c, 2)))
		return;
	if (!*scan) {
		vsi_refuse(v, c, r, VSI_CONFLICT, "Must provide scan name");
		return;
	}
	v->host.facts(v->host.arg, scan, &f);
	if (!f.known) {
		vsi_refuse(v, c, r, VSI_FAILED,
			   "there is no recording '%.100s'", scan);
		return;
	}
	snprintf(copy->scan, sizeof copy->scan, "%.127s", scan);
	copy->total = f.bytes;
	if (!send_begin(v, c, r, &s))
		return;
	copy->what = VSI_VBS2NET;
	copy->on = true;
	vsi_say(r, VSI_DONE, NULL);
}

/* Answers nthread, which spate does not need. */
static bool
is_nthread(const struct vsi_command *c, struct vsi_reply *r)
{
	if (strcmp(vsi_field(c, 0), "nthread"))
		return false;
	vsi_say(r, VSI_DONE, c->query ? "1 : 1" : NULL);
	return true;
}

void
vsi_do_vbs2net(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	const char *what = vsi_field(c, 0);

	if (is_nthread(c, r))
		return;
	if (c->query)
		net_ask(v, c, r, VSI_VBS2NET);
	else if (!strcmp(what, "connect"))
		vbs2net_connect(v, c, r);
	else if (!strcmp(what, "disconnect"))
		disconnect(v, r, VSI_VBS2NET);
	else
		does_not_apply(v, c, r);
}

/*
 * Copies come in through the inbox; this only checks that it listens on the
 * port.
 */
static void
net2vbs_open(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	if (!tcp_check(v, c, r) || !may_begin(v, c, r))
		return;
	if (!v->host.inbox(v->host.arg, port_of(v))) {
		vsi_refuse(v, c, r, VSI_FAILED,
			   "no inbox listens on port %u - the group `inbox` of "
			   "spate.conf makes one, and m5copy -p takes its port",
			   port_of(v));
		return;
	}
	v->copy.what = VSI_NET2VBS;
	vsi_say(r, VSI_DONE, NULL);
}

void
vsi_do_net2vbs(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	const char *what = vsi_field(c, 0);

	if (is_nthread(c, r))
		return;
	if (c->query)
		vsi_say(r, VSI_DONE, "%s",
			is_doing(v, VSI_NET2VBS) ? "active" : "inactive");
	else if (!strcmp(what, "open"))
		net2vbs_open(v, c, r);
	else if (!strcmp(what, "close"))
		disconnect(v, r, VSI_NET2VBS);
	else
		does_not_apply(v, c, r);
}

/* ---- files ----------------------------------------------------------- */

/*
 * Checks a file that is being opened by its thread.  True: the command is put
 * off; or opening failed or took too long, and the command is refused and the
 * copy ended.  False: the file is open.
 */
static bool
opening(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r,
	struct vsi_file **file, struct vsi_file_facts *f)
{
	vsi_file_facts(*file, f);
	v->later = f->state == VSI_FILE_OPENING && c->tries < VSI_TRIES;
	if (v->later)
		return true;
	if (f->state != VSI_FILE_OPENING && f->state != VSI_FILE_FAILED)
		return false;
	vsi_refuse(v, c, r, VSI_FAILED, "%s",
		   f->state == VSI_FILE_FAILED ? f->why
					       : "the disk does not answer");
	vsi_file_stop(*file);
	*file = NULL;
	copy_end(v);
	return true;
}

static bool
file_begin(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r,
	   struct vsi_file **file, enum vsi_file_what what)
{
	const struct vsi_file_args args = {
		.what = what,
		.folders = v->host.files,
		.allow = v->host.allow,
		.name = what == VSI_FILE_LOOK ? vsi_field(c, 2) : v->copy.path,
		.mode = v->copy.mode[0],
		.host = v->copy.host,
		.port = port_of(v),
	};
	struct fault fault = { 0 };

	if (vsi_file_start(file, &args, &fault) == 0)
		return true;
	vsi_refuse_fault(v, c, r, VSI_FAILED, &fault);
	return false;
}

/* Takes the open mode: "n", "w", "a", and for disk2file "resume". */
static bool
mode_take(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r,
	  const char *mode)
{
	if (!*mode)
		mode = "n";
	snprintf(v->copy.mode, sizeof v->copy.mode, "%.7s",
		 strcmp(mode, "resume") ? mode : "a");
	if (!strcmp(mode, "n") || !strcmp(mode, "w") || !strcmp(mode, "a") ||
	    (!strcmp(mode, "resume") && !strcmp(c->keyword, "disk2file")))
		return true;
	vsi_refuse(v, c, r, VSI_PARAMETER, "open mode must be n, w or a");
	return false;
}

static void
disk2file_ask(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	struct vsi_copy *copy = &v->copy;
	struct vsi_sent now;
	uint64_t at;

	copy_look(v, &now);
	if (!is_doing(v, VSI_DISK2FILE)) {
		vsi_say(r, VSI_DONE, "inactive");
		return;
	}
	if (now.failed) {
		vsi_refuse(v, c, r, VSI_FAILED, "%s", now.why);
		return;
	}
	if (!now.runs || !copy->on) {
		vsi_say(r, VSI_DONE, "inactive : %s", copy->path);
		return;
	}
	at = copy->from + now.bytes;
	if (at > copy->total)
		copy->total = at;
	vsi_say(r, VSI_DONE, "active : %s : %llu : %llu : %llu : %s",
		copy->path, (unsigned long long)copy->from,
		(unsigned long long)at,
		(unsigned long long)(copy->to ? copy->to : copy->total),
		copy->mode);
}

/* Begins to write the recording into the opened file; `has` is its size. */
static void
disk2file_go(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r,
	     uint64_t has)
{
	struct vsi_copy *copy = &v->copy;
	struct vsi_send s = { .name = copy->scan,
			      .plain = true,
			      .path = copy->path };

	if (!strcmp(vsi_field(c, 3), "resume"))
		copy->from += has;
	nothing_left(copy);
	s.from = copy->from;
	s.to = copy->to;
	s.fd = vsi_file_take(copy->file);
	vsi_file_stop(copy->file);
	copy->file = NULL;
	copy->on = true;
	if (copy->to && copy->to == copy->from) {
		close(s.fd);
		copy_end(v);
		vsi_say(r, VSI_BEGUN, NULL);
	} else if (send_begin(v, c, r, &s)) {
		vsi_say(r, VSI_BEGUN, NULL);
	} else {
		copy_end(v);
	}
}

void
vsi_do_disk2file(struct vsi *v, const struct vsi_command *c,
		 struct vsi_reply *r)
{
	struct vsi_copy *copy = &v->copy;
	struct vsi_file_facts f;

	if (c->query) {
		disk2file_ask(v, c, r);
		return;
	}
	if (!c->tries) {
		if (!may_begin(v, c, r) || !scan_take(v, c, r) ||
		    !range_take(v, c, r, false) ||
		    !mode_take(v, c, r, vsi_field(c, 3)))
			return;
		if (*vsi_field(c, 0))
			snprintf(copy->path, sizeof copy->path, "%.511s",
				 vsi_field(c, 0));
		else
			snprintf(copy->path, sizeof copy->path, "%s.m5a",
				 copy->scan);
		if (!file_begin(v, c, r, &copy->file, VSI_FILE_OUT))
			return;
		copy->what = VSI_DISK2FILE;
	}
	if (!copy->file)
		vsi_refuse(v, c, r, VSI_FAILED, "it was ended meanwhile");
	else if (!opening(v, c, r, &copy->file, &f))
		disk2file_go(v, c, r, f.size);
}

static void
file2net_connect(struct vsi *v, const struct vsi_command *c,
		 struct vsi_reply *r)
{
	struct vsi_copy *copy = &v->copy;
	struct vsi_file_facts f;

	if (!c->tries) {
		if (!tcp_check(v, c, r) || !may_begin(v, c, r) ||
		    !host_take(v, c, r, vsi_field(c, 1)))
			return;
		if (!*vsi_field(c, 2)) {
			vsi_refuse(v, c, r, VSI_PARAMETER,
				   "need a source file");
			return;
		}
		snprintf(copy->path, sizeof copy->path, "%.511s",
			 vsi_field(c, 2));
		if (!file_begin(v, c, r, &copy->file, VSI_FILE_GIVE))
			return;
		copy->what = VSI_FILE2NET;
	}
	if (!copy->file)
		vsi_refuse(v, c, r, VSI_FAILED, "it was ended meanwhile");
	else if (!opening(v, c, r, &copy->file, &f))
		vsi_say(r, VSI_DONE, NULL);
}

/*
 * Reads a byte number as byte_read() does, or "-100" for that many before the
 * end.
 */
static bool
file_byte_read(const char *text, uint64_t size, const uint64_t *from,
	       uint64_t *byte)
{
	if (*text != '-')
		return byte_read(text, from, byte);
	if (!vsi_number(text + 1, size, byte))
		return false;
	*byte = size - *byte;
	return true;
}

static void
file2net_on(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	static const uint64_t zero = 0;
	struct vsi_copy *copy = &v->copy;
	struct vsi_file_facts f = { 0 };

	if (is_doing(v, VSI_FILE2NET) && copy->file)
		vsi_file_facts(copy->file, &f);
	if (f.state != VSI_FILE_CONNECTED || copy->on) {
		vsi_refuse(v, c, r, VSI_CONFLICT,
			   copy->on		       ? "already running"
			   : is_doing(v, VSI_FILE2NET) ? "not connected yet"
						       : "not doing anything");
		return;
	}
	copy->from = 0;
	copy->to = f.size;
	if (!file_byte_read(vsi_field(c, 1), f.size, &zero, &copy->from) ||
	    !file_byte_read(vsi_field(c, 2), f.size, &copy->from, &copy->to) ||
	    copy->from > copy->to || copy->to > f.size) {
		vsi_refuse(v, c, r, VSI_FAILED,
			   "start/end byte number invalid, the file has %llu",
			   (unsigned long long)f.size);
		return;
	}
	copy->on = true;
	vsi_file_go(copy->file, copy->from, copy->to);
	vsi_say(r, VSI_DONE, NULL);
}

void
vsi_do_file2net(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	const char *what = vsi_field(c, 0);

	if (c->query)
		net_ask(v, c, r, VSI_FILE2NET);
	else if (!strcmp(what, "connect"))
		file2net_connect(v, c, r);
	else if (!strcmp(what, "on"))
		file2net_on(v, c, r);
	else if (!strcmp(what, "disconnect"))
		disconnect(v, r, VSI_FILE2NET);
	else
		does_not_apply(v, c, r);
}

/* Handles net2file=open:...:FILE[,MODE]. */
static void
net2file_open(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	struct vsi_copy *copy = &v->copy;
	struct vsi_file_facts f;
	char *comma;

	if (!c->tries) {
		if (!tcp_check(v, c, r) || !may_begin(v, c, r))
			return;
		snprintf(copy->path, sizeof copy->path, "%.511s",
			 vsi_field(c, 1));
		comma = strchr(copy->path, ',');
		if (comma)
			*comma = '\0';
		if (!mode_take(v, c, r, comma ? comma + 1 : "") ||
		    !file_begin(v, c, r, &copy->file, VSI_FILE_TAKE))
			return;
		copy->what = VSI_NET2FILE;
		copy->on = true;
	}
	if (!copy->file)
		vsi_refuse(v, c, r, VSI_FAILED, "it was ended meanwhile");
	else if (!opening(v, c, r, &copy->file, &f))
		vsi_say(r, VSI_DONE, "%llu", (unsigned long long)f.size);
}

/*
 * The byte count is shown after the connection has ended too, until close, so
 * that m5copy can compare it with what was sent.
 */
void
vsi_do_net2file(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	const char *what = vsi_field(c, 0);
	bool ends =
	    !c->query && (!strcmp(what, "close") || !strcmp(what, "stop"));
	struct vsi_sent now;
	bool doing;

	copy_look(v, &now);
	doing = is_doing(v, VSI_NET2FILE);
	if (!c->query && !strcmp(what, "open"))
		net2file_open(v, c, r);
	else if (!c->query && !ends)
		does_not_apply(v, c, r);
	else if (!c->query && !doing)
		vsi_say(r, VSI_CONFLICT, "Not doing net2file yet");
	else if (doing && now.failed)
		vsi_refuse(v, c, r, VSI_FAILED, "%s", now.why);
	else if (c->query)
		vsi_say(r, VSI_DONE, "%s : %llu", doing ? "active" : "inactive",
			(unsigned long long)(doing ? now.bytes : 0));
	else
		vsi_say(r, VSI_DONE, NULL);
	if (ends && doing)
		copy_end(v);
}

/* ---- the data in a file ---------------------------------------------- */

/*
 * Shows format, tracks, begin, seconds, Mb/s of a track, bytes missing, and for
 * VDIF the bytes of a frame; "?" for unknown data.
 */
static void
file_say(struct vsi_reply *r, const struct vsi_file_data *d)
{
	bool vdif = !strcmp(d->format, "vdif");
	char start[VSI_TIME];

	if (d->mbps <= 0) {
		vsi_say(r, VSI_DONE, "?");
		return;
	}
	vsi_say(r, VSI_DONE, "%s%s", vsi_format_name(d->format),
		d->legacy ? " (legacy)" : "");
	if (d->tracks)
		vsi_more(r, "%u", d->tracks);
	else
		vsi_more(r, "%s", "");
	vsi_more(r, "%s : %.4fs : %.0fMbps : 0", vsi_time(start, d->start_ns),
		 d->seconds, d->mbps / (d->tracks ? d->tracks : 1));
	if (vdif)
		vsi_more(r, "%u", d->packet);
}

/* Handles file_check ? [strict] : [bytes] : FILE. */
void
vsi_do_file_check(struct vsi *v, const struct vsi_command *c,
		  struct vsi_reply *r)
{
	struct vsi_file **file = &v->copy.check;
	struct vsi_file_facts f;

	if (!*vsi_field(c, 2)) {
		vsi_refuse(v, c, r, VSI_PARAMETER, "no file name given");
		return;
	}
	if (!c->tries) {
		vsi_file_stop(*file);
		*file = NULL;
		if (!file_begin(v, c, r, file, VSI_FILE_LOOK))
			return;
	}
	if (!*file) {
		vsi_refuse(v, c, r, VSI_BUSY, "another file is looked at");
		return;
	}
	vsi_file_facts(*file, &f);
	v->later = f.state == VSI_FILE_OPENING && c->tries < VSI_TRIES;
	if (v->later)
		return;
	if (f.state == VSI_FILE_DONE)
		file_say(r, &f.data);
	else
		vsi_refuse(v, c, r, VSI_FAILED, "%s",
			   f.state == VSI_FILE_FAILED
			       ? f.why
			       : "the disk does not answer");
	vsi_file_stop(*file);
	*file = NULL;
}

/* ---- recording, and reset -------------------------------------------- */

/* Does what record=on and record=off do, for data that come over TCP. */
void
vsi_do_net2disk(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	const char *what = vsi_field(c, 0);
	struct vsi_command record = *c;
	struct vsi_facts f;

	if (c->query) {
		if (!vsi_is_on(v)) {
			vsi_say(r, VSI_DONE, "inactive");
			return;
		}
		v->host.facts(v->host.arg, v->name, &f);
		vsi_say(r, VSI_DONE, "active : %llu : %s : %llu",
			(unsigned long long)v->recordings, v->name,
			(unsigned long long)f.received * f.payload);
		return;
	}
	if (strcmp(what, "open") && strcmp(what, "close")) {
		does_not_apply(v, c, r);
		return;
	}
	record.field[0] = *what == 'o' ? "on" : "off";
	if (*what == 'o' && strcmp(v->set.protocol, "tcp"))
		vsi_refuse(v, c, r, VSI_CONFLICT,
			   "only with net_protocol=tcp, and that is %s",
			   v->set.protocol[0] ? v->set.protocol : "not set");
	else
		vsi_do_record(v, &record, r);
}

void
vsi_do_reset(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	struct vsi_sent now;

	copy_look(v, &now);
	if (c->query)
		vsi_say(r, VSI_NEVER, "only implemented as command");
	else if (strcmp(vsi_field(c, 0), "abort"))
		vsi_refuse(v, c, r, VSI_CONFLICT,
			   "only reset=abort, which ends a copy");
	else if (!now.runs ||
		 (!is_doing(v, VSI_DISK2FILE) && !is_doing(v, VSI_DISK2NET)))
		vsi_say(r, VSI_CONFLICT, "nothing running to abort");
	else {
		copy_end(v);
		vsi_say(r, VSI_DONE, NULL);
	}
}
