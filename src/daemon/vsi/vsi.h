/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_VSI_VSI_H
#define SPATE_DAEMON_VSI_VSI_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "contract/option.h"
#include "daemon/vsi/vsi_label.h"
#include "daemon/vsi/vsi_line.h"
#include "daemon/vsi/vsi_mode.h"

/*
 * A vsi is a recorder as a Field System sees it: what jive5ab is on a
 * FlexBuff.  It answers commands, and keeps what was set by them; what they do
 * is the host's.  The settings belong to all clients alike, and last until the
 * daemon ends.
 */
enum {
	VSI_PORTS = 64,
	VSI_NAME = 128,
	VSI_RECORDINGS = 256, /* remembered by name */
	VSI_ERRORS = 16,
	VSI_TEXT = 320,
	VSI_TRIES = 250, /* of a command that is put off */
};

/* One of `net_port=`. */
struct vsi_port {
	char host[64]; /* "": as configured */
	uint16_t port;
	char suffix[32]; /* of the recording's name; "" */
};

/* What a stream is to be like, where it differs from the configuration. */
struct vsi_settings {
	struct vsi_mode mode;
	char protocol[12]; /* "": as configured */
	int prefix;	   /* bytes; -1: as configured */
	uint64_t buffer;   /* of sockets; 0 */
	struct vsi_port port[VSI_PORTS];
	unsigned ports; /* 0: as configured */
	int sg;		/* written as Mark 6 does: 1, 0; -1 */
	bool by_thread; /* a recording for each */
};

/* Of a recording, all of its parts together. */
struct vsi_facts {
	bool known, failed;
	bool unread; /* there is one, and no more is known yet */
	uint64_t received, lost, reordered, dropped; /* packets */
	uint64_t bytes;				     /* on disks */
	uint32_t payload; /* of a packet; 0: not known */
	double rate;	  /* bits per second, the last; 0 */
	double queue;	  /* share of its blocks that wait for disks */
	int64_t start_ns, end_ns;
	char format[16];
	char why[VSI_TEXT]; /* it failed */
};

struct vsi_space {
	uint64_t total, free;
	unsigned disks;
	uint64_t recordings;
	double rate; /* bits per second, of the streams; 0: not known */
};

/* A recording, or a part of it, that is to go somewhere. */
struct vsi_send {
	const char *name; /* of the recording */
	const char *host; /* NULL: to the file */
	uint16_t port;
	bool plain;	   /* the bytes of its file; else a copy of all */
	uint64_t from, to; /* bytes; to 0: to its end */
	int fd;		   /* of the file, taken over; also on an error */
	const char *path;  /* to be told */
};

/* What became of it. */
struct vsi_sent {
	bool runs, failed;
	bool nothing; /* because there was nothing in that range */
	uint64_t bytes;
	char why[VSI_TEXT]; /* it failed */
};

/* What a vsi needs of the daemon.  Nothing here waits. */
struct vsi_host {
	/* Begins one, under `name`, which it may change where it is taken and
	 * `rename` allows that.  0 or -errno with a fault; -EAGAIN: the last
	 * one still has its ports, for moments. */
	int (*record)(void *arg, char name[VSI_NAME], bool rename,
		      struct fault *fault);
	void (*stop)(void *arg, const char *name);
	bool (*runs)(void *arg, const char *name); /* and is not stopping */
	/* What runs, has ended, or lies on disks. */
	void (*facts)(void *arg, const char *name, struct vsi_facts *f);
	void (*space)(void *arg, struct vsi_space *s);
	const char *(*disk)(void *arg, unsigned i); /* NULL: not there */
	/* Would these settings do?  0 or -errno with a fault. */
	int (*settle)(void *arg, const struct vsi_settings *s,
		      struct fault *fault);
	/* What the configuration has: "vdif", bytes of a frame, of the prefix,
	 * and the first port. */
	const char *(*format)(void *arg, uint32_t *payload, uint32_t *prefix,
			      uint16_t *port);
	/* Begins to send; 0 and the number that the two others want, or -errno
	 * with a fault. */
	int (*send)(void *arg, const struct vsi_send *s, unsigned *id,
		    struct fault *fault);
	void (*sent)(void *arg, unsigned id, struct vsi_sent *s);
	void (*unsend)(void *arg, unsigned id);
	/* Do copies come in on this port? */
	bool (*inbox)(void *arg, uint16_t port);
	/* Folders below which files may be read and written, and networks that
	 * data for them may come from. */
	const struct option_texts *files, *allow;
	/* Which runtime the client's commands are for. */
	void (*runtime)(void *arg, const struct vsi_command *c,
			struct vsi_reply *r);
	/* "jive5ab 3.1.0": program and version that version? tells; NULL: its
	 * own. */
	const char *version;
	void *arg;
};

/* Something that went wrong and was not asked for yet. */
struct vsi_error {
	int number;
	char text[VSI_TEXT];
	int64_t first, last; /* UTC ns */
	unsigned times;
};

enum vsi_copying {
	VSI_NOTHING,
	VSI_DISK2NET,
	VSI_DISK2FILE,
	VSI_FILE2NET,
	VSI_NET2FILE,
	VSI_VBS2NET,
	VSI_NET2VBS,
};

/* The copy that was ordered last, until another one is or it is ended. */
struct vsi_copy {
	enum vsi_copying what;
	char host[128]; /* of this, or the last one */
	char path[512], mode[8];
	char scan[VSI_NAME];
	bool on;   /* and the bytes are to go */
	bool seen; /* that it did was told */
	uint64_t from, to, total;
	unsigned id;		/* of what is sent; 0 */
	struct vsi_file *file;	/* or NULL */
	struct vsi_file *check; /* of file_check?; or NULL */
};

struct vsi {
	struct vsi_host host;
	struct vsi_settings set;
	/* These are kept to be told, and change nothing here. */
	uint64_t workbuf;
	uint32_t blocks, mtu, readers, writers;
	bool rename;
	int64_t ipd_ns; /* between packets; -1: as computed */
	int32_t ack;
	char task[16]; /* "none" */
	char itcp[64];

	bool on;			     /* record=on, and no off yet */
	char name[VSI_NAME];		     /* of the last recording; "" */
	uint64_t recordings;		     /* since it began */
	char list[VSI_RECORDINGS][VSI_NAME]; /* number n at (n - 1) % size */

	char scan[VSI_NAME]; /* scan_set; "" */
	char search[VSI_NAME];
	uint64_t scan_at; /* its number; 0: not of this session */
	int64_t scan_start, scan_end;

	struct vsi_error error[VSI_ERRORS];
	unsigned errors;

	int64_t log_second;
	unsigned log_lines; /* in that second */

	struct vsi_copy copy;

	bool later; /* this command is to be asked again */
};

void vsi_init(struct vsi *v, const struct vsi_host *host);
/* Ends what it copies. */
void vsi_finish(struct vsi *v);

/* One command; the reply is begun, and ended by who asked.  False: not yet;
 * ask again in a moment, with one more in c->tries. */
bool vsi_command(struct vsi *v, const struct vsi_command *c,
		 struct vsi_reply *r);

/* ---- for the commands ------------------------------------------------ */

typedef void vsi_act(struct vsi *v, const struct vsi_command *c,
		     struct vsi_reply *r);

/* Is it recording?  One that ended by itself becomes an error. */
bool vsi_is_on(struct vsi *v);

/* What error? will tell. */
void vsi_error_add(struct vsi *v, int number, const char *text);

/* A refusal: code, a sentence, and a line in the log. */
void vsi_refuse(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r,
		enum vsi_code code, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void vsi_refuse_fault(struct vsi *v, const struct vsi_command *c,
		      struct vsi_reply *r, enum vsi_code code,
		      const struct fault *fault);

/* A line in the log, unless there were many in this second. */
void vsi_log(struct vsi *v, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Without the characters that a reply is cut at. */
void vsi_clean(char *text);

/* "VDIF" of "vdif". */
const char *vsi_format_name(const char *format);

/* "2026y325d10h00m00.0000s" */
enum { VSI_TIME = 40 };
const char *vsi_time(char text[VSI_TIME], int64_t ns);

/* Digits, or "0x..."; of bytes also "32M" or "128k".  At most `most`. */
bool vsi_number(const char *text, uint64_t most, uint64_t *number);
bool vsi_bytes(const char *text, uint64_t most, uint64_t *bytes);

/* Number n of the recordings since it began; NULL: forgotten, or none. */
const char *vsi_listed(const struct vsi *v, uint64_t n);

/* "MHz" of a track, as `mode` told it; 0. */
double vsi_track_mhz(const struct vsi *v);

/* vsi_copy.c */
vsi_act vsi_do_disk2file, vsi_do_disk2net, vsi_do_file2net, vsi_do_file_check,
    vsi_do_net2disk, vsi_do_net2file, vsi_do_net2vbs, vsi_do_reset,
    vsi_do_vbs2net;
/* "disk2net", of one that runs; NULL: there is none. */
const char *vsi_copy_runs(struct vsi *v, struct vsi_sent *now);
/* vsi_kept.c */
vsi_act vsi_do_ack, vsi_do_bufsize, vsi_do_clock_set, vsi_do_constraints,
    vsi_do_echo, vsi_do_group_def, vsi_do_ipd, vsi_do_itcp_id, vsi_do_memstat,
    vsi_do_protect, vsi_do_task_id, vsi_do_trackmask, vsi_do_transfermode;
/* vsi_about.c */
vsi_act vsi_do_version, vsi_do_dts_id, vsi_do_os_rev, vsi_do_runtime,
    vsi_do_error, vsi_do_status, vsi_do_set_disks, vsi_do_dir_info,
    vsi_do_rtime;
/* vsi_net.c */
vsi_act vsi_do_mode, vsi_do_net_protocol, vsi_do_net_port, vsi_do_mtu,
    vsi_do_datastream;
/* vsi_record.c */
vsi_act vsi_do_record, vsi_do_evlbi, vsi_do_tstat;
/* vsi_scan.c */
vsi_act vsi_do_scan_set, vsi_do_scan_check;

#endif
