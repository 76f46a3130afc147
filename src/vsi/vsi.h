/* SPDX-License-Identifier: MIT */
#ifndef SPATE_VSI_VSI_H
#define SPATE_VSI_VSI_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "contract/option.h"
#include "vsi/vsi_mode.h"
#include "vsi/vsi_line.h"

/*
 * A vsi is one recorder as a Field System sees it: what jive5ab is on a
 * FlexBuff.  It answers commands of VSI-S and keeps the settings they make;
 * struct vsi_host carries the commands out.  All clients share the settings,
 * which last until the program ends.
 */
enum {
	VSI_PORTS = 64,
	VSI_NAME = 128,
	VSI_RECORDINGS = 256, /* recordings whose names are remembered */
	VSI_ERRORS = 16,
	VSI_TEXT = 320,
	VSI_TRIES = 250, /* most tries of a command that is put off, 20 ms
			  * apart */
};

/* One port of `net_port=`. */
struct vsi_port {
	char host[64]; /* "": where the stream is configured to listen */
	uint16_t port;
	char suffix[32]; /* suffix of the recording's name; or "" */
};

/* Settings that replace those of a stream's configuration. */
struct vsi_settings {
	struct vsi_mode mode;
	char protocol[12]; /* "": as configured */
	int prefix;	   /* bytes before the data; -1: as configured */
	uint64_t buffer;   /* bytes of the sockets' buffers; 0: as configured */
	struct vsi_port port[VSI_PORTS];
	unsigned ports; /* 0: as configured */
	int sg;		/* 1: write files as Mark 6 does, 0: do not; -1: as
			 * configured */
	bool by_thread; /* make one recording per thread */
};

/* Facts of a recording, all of its parts together. */
struct vsi_facts {
	bool known, failed;
	bool unread; /* the recording exists, but its index was not read yet */
	uint64_t received, lost, reordered, dropped; /* packets */
	uint64_t bytes;				     /* bytes on disks */
	uint32_t payload; /* bytes of a packet; 0: unknown */
	double rate;	  /* bits per second, most recently; 0: unknown */
	double queue;	  /* share of its blocks that wait for disks, 0 to 1 */
	int64_t start_ns, end_ns;
	char format[16];
	char why[VSI_TEXT]; /* why it failed */
};

struct vsi_space {
	uint64_t total, free;
	unsigned disks;
	uint64_t recordings;
	double rate; /* bits per second of the streams together; 0: unknown */
};

/* A request to send a recording, or a part of it. */
struct vsi_send {
	const char *name; /* name of the recording */
	const char *host; /* NULL: write to the file `fd` */
	uint16_t port;
	bool plain;	   /* true: the bytes of its file; false: a copy of
			    * the whole recording */
	uint64_t from, to; /* bytes; `to` 0: to its end */
	int fd;		   /* descriptor of the file; taken over, also on an
			    * error */
	const char *path;  /* path of the file, for messages */
};

/* How far a transfer is, or how it ended. */
struct vsi_sent {
	bool runs, failed;
	bool nothing; /* failed because there was nothing in that range */
	uint64_t bytes;
	char why[VSI_TEXT]; /* why it failed */
};

/* Functions of the recorder for a vsi.  None of them waits for a disk or a
 * peer. */
struct vsi_host {
	/*
	 * Begins a recording named `name`; may change the name if it is taken
	 * and `rename` allows it.  0, or -errno with a fault; -EAGAIN: the last
	 * recording will hold its ports for a moment.
	 */
	int (*record)(void *arg, char name[VSI_NAME], bool rename,
		      struct fault *fault);
	void (*stop)(void *arg, const char *name);
	bool (*runs)(void *arg, const char *name); /* packets are taken in */
	/*
	 * Gets the facts of a recording that runs, has ended, or lies on disks.
	 */
	void (*facts)(void *arg, const char *name, struct vsi_facts *f);
	void (*space)(void *arg, struct vsi_space *s);
	const char *(*disk)(void *arg, unsigned i); /* NULL: no more disks */
	/*
	 * Checks whether streams can be made with these settings.  0, or -errno
	 * with a fault.
	 */
	int (*settle)(void *arg, const struct vsi_settings *s,
		      struct fault *fault);
	/*
	 * Returns the configured format, as "vdif", and bytes of a frame, of
	 * the prefix, and the first port.
	 */
	const char *(*format)(void *arg, uint32_t *payload, uint32_t *prefix,
			      uint16_t *port);
	/*
	 * Begins to send; 0 with the number that sent() and unsend() take, or
	 * -errno with a fault.
	 */
	int (*send)(void *arg, const struct vsi_send *s, unsigned *id,
		    struct fault *fault);
	void (*sent)(void *arg, unsigned id, struct vsi_sent *s);
	void (*unsend)(void *arg, unsigned id);
	/* Tells whether copies come in on this port. */
	bool (*inbox)(void *arg, uint16_t port);
	/*
	 * Returns why the recorder could not be asked during this command, so
	 * that its functions left their answers empty; NULL: it could.  May be
	 * NULL itself: it always can.
	 */
	const char *(*away)(void *arg);
	/*
	 * folders below which files may be read and written; networks that data
	 * for files may come from
	 */
	const struct option_texts *files, *allow;
	/*
	 * Handles runtime=: chooses the runtime that the client's commands are
	 * for.
	 */
	void (*runtime)(void *arg, const struct vsi_command *c,
			struct vsi_reply *r);
	/*
	 * "jive5ab 3.1.0": program and version that version? shows; NULL:
	 * spate's own.
	 */
	const char *version;
	void *arg;
};

/* An error that error? has not shown yet. */
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

/* The copy that was ordered last, until it is ended or replaced by another. */
struct vsi_copy {
	enum vsi_copying what;
	char host[128]; /* host of this copy, or of the last one */
	char path[512], mode[8];
	char scan[VSI_NAME];
	bool on;   /* the copy's bytes are under way */
	bool seen; /* a query has shown it active */
	uint64_t from, to, total;
	unsigned id;		/* number of the transfer; 0: none */
	struct vsi_file *file;	/* the copy's file; or NULL */
	struct vsi_file *check; /* the file of file_check?; or NULL */
};

struct vsi {
	struct vsi_host host;
	struct vsi_settings set;
	/* Values that are only stored and shown. */
	uint64_t workbuf;
	uint32_t blocks, mtu, readers, writers;
	bool rename;
	int64_t ipd_ns; /* ns between packets; -1: computed by the sender */
	int32_t ack;
	char task[16]; /* "none" if no task is set */
	char itcp[64];

	bool on;			     /* record=on was given, and no
					      * record=off yet */
	char name[VSI_NAME];		     /* name of the last recording;
					      * or "" */
	uint64_t recordings;		     /* number of recordings since
					      * the start */
	char list[VSI_RECORDINGS][VSI_NAME]; /* ring: number n is at (n - 1)
					      * % VSI_RECORDINGS */

	char scan[VSI_NAME]; /* chosen by scan_set=; or "" */
	char search[VSI_NAME];
	uint64_t scan_at; /* number of the chosen scan; 0: not of this
			   * session */
	int64_t scan_start, scan_end;

	struct vsi_error error[VSI_ERRORS];
	unsigned errors;

	int64_t log_second;
	unsigned log_lines; /* lines logged in that second */

	struct vsi_copy copy;

	bool later; /* the command is put off: the client's turn asks again */
};

void vsi_init(struct vsi *v, const struct vsi_host *host);
/* Ends a copy that is going on. */
void vsi_finish(struct vsi *v);

/*
 * Carries out one command and fills in the reply; the caller has begun the
 * reply and ends it.  False: the command is put off; call again in a moment,
 * with c->tries incremented.
 */
bool vsi_command(struct vsi *v, const struct vsi_command *c,
		 struct vsi_reply *r);

/* ---- shared by the commands ------------------------------------------ */

typedef void vsi_act(struct vsi *v, const struct vsi_command *c,
		     struct vsi_reply *r);

/*
 * Tells whether it is recording.  A recording that ended by itself is added to
 * the errors.
 */
bool vsi_is_on(struct vsi *v);

/* Tells whether the recorder could not be asked during this command, which is
 * then refused, whatever it says. */
bool vsi_is_away(const struct vsi *v);

/* Adds an error for error? to show. */
void vsi_error_add(struct vsi *v, int number, const char *text);

/* Refuses a command: reply code, sentence, and a line in the log. */
void vsi_refuse(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r,
		enum vsi_code code, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void vsi_refuse_fault(struct vsi *v, const struct vsi_command *c,
		      struct vsi_reply *r, enum vsi_code code,
		      const struct fault *fault);

/* Logs a line, unless there were too many in this second. */
void vsi_log(struct vsi *v, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Replaces ':' and ';', which separate a reply's fields, and what cannot be
 * printed.
 */
void vsi_clean(char *text);

/* Returns "VDIF" for "vdif". */
const char *vsi_format_name(const char *format);

/* Formats UTC ns as "2026y325d10h00m00.0000s". */
enum { VSI_TIME = 40 };
const char *vsi_time(char text[VSI_TIME], int64_t ns);

/*
 * Reads digits or "0x..."; vsi_bytes() also "32M" or "128k".  False for
 * anything else, or more than `most`.
 */
bool vsi_number(const char *text, uint64_t most, uint64_t *number);
bool vsi_bytes(const char *text, uint64_t most, uint64_t *bytes);

/*
 * Returns the name of recording number n since the start; NULL: forgotten, or
 * none.
 */
const char *vsi_listed(const struct vsi *v, uint64_t n);

/* vsi_copy.c: copies */
vsi_act vsi_do_disk2file, vsi_do_disk2net, vsi_do_file2net, vsi_do_file_check,
    vsi_do_net2disk, vsi_do_net2file, vsi_do_net2vbs, vsi_do_reset,
    vsi_do_vbs2net;
/*
 * Returns the name of the copy that runs or failed, as "disk2net"; NULL: none.
 */
const char *vsi_copy_runs(struct vsi *v, struct vsi_sent *now);
/* vsi_record.c: commands without effect */
vsi_act vsi_do_ack, vsi_do_bufsize, vsi_do_clock_set, vsi_do_constraints,
    vsi_do_echo, vsi_do_group_def, vsi_do_ipd, vsi_do_itcp_id, vsi_do_memstat,
    vsi_do_protect, vsi_do_task_id, vsi_do_trackmask, vsi_do_transfermode;
/* vsi.c: the recorder and its disks */
vsi_act vsi_do_version, vsi_do_dts_id, vsi_do_os_rev, vsi_do_runtime,
    vsi_do_error, vsi_do_status, vsi_do_set_disks, vsi_do_dir_info,
    vsi_do_rtime;
/* vsi_net.c: what is received */
vsi_act vsi_do_mode, vsi_do_net_protocol, vsi_do_net_port, vsi_do_mtu,
    vsi_do_datastream;
/* vsi_record.c: recording */
vsi_act vsi_do_record, vsi_do_evlbi, vsi_do_tstat;
/* vsi_record.c: the chosen scan */
vsi_act vsi_do_scan_set, vsi_do_scan_check;

#endif
