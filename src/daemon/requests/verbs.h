/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_REQUESTS_VERBS_H
#define SPATE_DAEMON_REQUESTS_VERBS_H

#include "daemon/requests/daemon.h"

/*
 * Requests of the control socket, and their answers (control/control.h has the
 * framing).  Keys in [] are optional.  Times are ISO 8601 UTC with nine digits.
 * Programs read the keys of DISK and INFO, so those do not change.
 *
 * record   {name, streams:[S or VARY...], [for:"30s"], [until:TIME],
 *          [resume:true], [send:URL], [rename:true], [share:true], [by:TEXT],
 *          [wait:false]}
 *          -> {name, recordings:[INFO...]}
 *          Several streams are recorded as <name>_ds<stream> each.  `resume`
 *          continues an interrupted recording of the name.  `send`: each
 *          recording is sent there while it is made.  `rename`: a taken name
 *          gets a letter.  `share`: also streams that are recorded already.
 *          `by`: the client, for INFO.  It is answered when a disk has the
 *          folder, with wait:false at once.  Error "again": a recording that
 *          is ending holds ports or memory for a moment
 *          With at: TIME, [backlog:"5s"], [priority:N] the request adds a scan
 *          to the schedule; `at` and `until` may then be times of the data,
 *          "@TIME"
 *          -> {recordings:[], scan:SCAN}
 * scan     {scan: ID}  a scan of the schedule -> {scan:SCAN}
 * stop     {name: "NAME" or "ID", [recording:true], [by:TEXT], [wait:false]}
 *          answers when the data is durable, with wait:false at once.  With
 *          `recording` only recordings that were ordered by that name
 *          -> {recordings:[INFO...]}; for a recording that waits or is armed
 *             {recordings:[], scans:[SCAN...]}; for data that is only sent, or
 *             with the ID of a transfer, {recordings:[], sends:[SEND...]}
 *          {send: ID, [by:TEXT], [wait:false]}  a transfer, nothing else
 * info     {name}  a recording that runs, or ended since the daemon started
 *          -> {recordings:[INFO...]}; error "not-found" for any other
 * status   {[ended:N], [brief:true]}  with the N recordings, at most 64, that
 *          ended last since the daemon started; brief: of those that run no more
 *          than the keys of INFO_BRIEF
 *          -> STATUS_KEYS (control/answer.h)
 * reload   {}  reads the configuration again; a fault in it changes nothing
 *          -> {conf, changes:[TEXT...], restart:[TEXT...] (keys that need one)}
 * streams  {[streams:[S or VARY...]]}  all streams; or these, if they could be
 *          recorded together, else an error
 *          -> {streams:[STREAM_KEYS (control/answer.h)...]}
 * keep     {name, [value]}  keeps a value for a client as long as spated runs,
 *          at most 16 of 512 KiB; null forgets it -> {name, value or null}
 * disks    {} -> {disks:[DISK...], space:SPACE, patterns:[..], skipped}
 * disks-add   {path, [force:bool]}  answers when the writer has tried the disk;
 *          `force` accepts a folder on the system's own disk
 *          -> {path, configured:bool (a restart finds it again), disk:DISK}
 * disks-drop  {path}  answers when everything on it is durable and closed
 *          -> {path, configured:bool}
 *
 * ls       {[patterns:[..]], [after:NAME]}  one page of the catalogue
 *          -> {rows:[ROW...], more: NAME to continue after, or null,
 *              disks:[PATH...] (for the bits in ROW), listed (disks whose
 *              names are known), recordings_n, unread (of these),
 *              space:SPACE}
 *
 * map      {name, [from:N]}  a recording that is made, or an incoming copy: its
 *          blocks can be read in shared memory for 10 s from now on, while this
 *          connection lasts (store/record/shm_blocks.h)
 *          -> {recording (its ID in the page), first (smaller numbers are from
 *              before it was resumed), floor (all smaller numbers are durable,
 *              lost, or on a disk that does not answer), lost:[[A,B]...]
 *              (numbers A to B-1 were lost; only those from N on and below the
 *              floor), end (one behind the last number given out; null for a
 *              copy), over:bool (no more will come), arena_bytes, page_bytes,
 *              fds:bool}.
 *              The first answer on a connection has fds true and brings two
 *              read-only descriptors: the arena and the page.  If memory cannot
 *              be shared, descriptors and bytes are missing.
 *              Error "not-found": not being made, or ended
 * rm       {name, [force:true], [look:true]}  answers when it is removed;
 *          `look` only says what would be removed
 *          -> as removal_json() says (store/repair/removal.h)
 * protect  {name, [off:true]} -> {name, protected, disks:[PATH...]}
 * look     {name}  another program changed the recording: the catalogue reads
 *          it again -> {}
 *
 * send     {name, to, [rate:"8Gbps|data|free"], [connections:N], [plain:bool],
 *          [follow:bool], [range:"T1..T2" or bytes:"A..B"], [threads:[N..]],
 *          [sub:N], [strip:N or "header"], [no_prefix:bool], [packet:BYTES],
 *          [as:NAME], [priority:N], [patience:"1m"], [wait:bool], [fd:true]}
 *          sends a complete recording, or with `follow` one that is made;
 *          answers when it is in the queue, with `wait` when it has ended.
 *          `fd`: it is written to the descriptor that came with the request,
 *          and `to` only names that
 *          -> {sends:[SEND...]}
 * relay    {stream, to, [for:"30s"], and as above: rate, connections, plain,
 *          threads, sub, strip, no_prefix, packet, priority, patience, wait}
 *          sends a stream without recording it
 *          -> {sends:[SEND...]}
 * sends    {[send:ID], [all:bool]}  transfers that wait or run, with `all` also
 *          the last that ended; with `send` one of either
 *          -> {sends:[SEND...]}
 * rate     {send:ID, rate}  from now on -> {sends:[SEND]}
 * pause    {send:ID} -> {sends:[SEND]}
 * resume-send  {send:ID} -> {sends:[SEND]}
 *
 * schedule-ls     {[all:true]}  scans ahead and those that ended within a day;
 *          with `all` every scan
 *          -> {now, folder (or null), scans:[SCAN...],
 *              files:[{file, error: text or null, scans_n,
 *                      others_n}...]}
 * schedule-add    {file:"x.conf", text, [dry:true], [replace:true]}  writes a
 *          file into the folder, which takes effect at once; `dry` only says
 *          what it would do
 *          -> {file, scans:[SCAN and CHECK...], others}
 * schedule-rm     {which}  an ID or a NAME: cancels the scan, and stops it if
 *          it runs; a FILE.conf: removes it from the folder
 *          -> {removed:[SCAN...]}
 * schedule-check  {[file, text]}  all scans ahead; with a text, as they would
 *          be with that file
 *          -> {scans:[SCAN and CHECK...]} and SCHEDULE_SUM_KEYS
 *             (control/answer.h)
 *
 * probe    {stream, [for:"3s"]}  looks at a stream without recording it
 *          -> PROBE; for a stream that is being recorded
 *             {stream, format, recording: NAME, recordings:[INFO...]}
 *
 * VARY     {stream:S} and keys of a stream's configuration that differ:
 *          {[name], [format], [payload], [prefix], [legacy:bool], [layout],
 *          [split:"thread"], [socket_buffer:N] (at least), [listen:[..]],
 *          [receive:"tcp"] (bytes as they come), [allow:[..]] (with `receive`)}
 * PROBE    the keys that flow/receive/sample.h lists, and {stream, format,
 *           recording: null, seconds, subs, overruns, sources:[{address,
 *           device, sender, datagrams, overruns}...]}
 * DISK     the keys of DISK_KEYS (store/disk/disk_keys.h); null if not known
 * SPACE    all disks together: SPACE_KEYS (control/answer.h)
 * INFO     the keys of INFO_KEYS (store/recording/recording_info.h).  `state`
 *          of one that runs is "armed|recording|stopping"; a recording that was
 *          stopped while armed is "cancelled", and left nothing
 *
 * SEND     a transfer: the keys of SEND_KEYS (control/answer.h)
 *
 * SCAN     a scan of the schedule: SCAN_KEYS (control/answer.h) of ANSWER
 * CHECK    the others of these, of ANSWER_CHECK
 *
 * ROW      a recording, as entry_row() makes it (store/list/entry.h)
 */

/* verbs_schedule.c */
int verb_record_at(struct daemon *d, struct server_ticket ticket,
		   const json_t *request, struct fault *fault);
int verb_scan(struct daemon *d, struct server_ticket ticket,
	      const json_t *request, struct fault *fault);
/* Cancels scans of this name or ID that wait or are armed.  Returns 0 and has
 * answered, or -ENOENT: there is none. */
int verb_stop_waiting(struct daemon *d, struct server_ticket ticket,
		      const char *which);

/* verbs_disks.c */
int verb_rm(struct daemon *d, struct server_ticket ticket,
	    const json_t *request, struct fault *fault);
int verb_protect(struct daemon *d, struct server_ticket ticket,
		 const json_t *request, struct fault *fault);
int verb_look(struct daemon *d, struct server_ticket ticket,
	      const json_t *request, struct fault *fault);

/* verbs_disks.c */
int verb_disks(struct daemon *d, struct server_ticket ticket,
	       const json_t *request, struct fault *fault);
int verb_disks_add(struct daemon *d, struct server_ticket ticket,
		   const json_t *request, struct fault *fault);
int verb_disks_drop(struct daemon *d, struct server_ticket ticket,
		    const json_t *request, struct fault *fault);

/* reload.c */
int verb_reload(struct daemon *d, struct server_ticket ticket,
		const json_t *request, struct fault *fault);

/* verbs_send.c */
int verb_send(struct daemon *d, struct server_ticket ticket,
	      const json_t *request, struct fault *fault);
int verb_relay(struct daemon *d, struct server_ticket ticket,
	       const json_t *request, struct fault *fault);
int verb_sends(struct daemon *d, struct server_ticket ticket,
	       const json_t *request, struct fault *fault);
int verb_rate(struct daemon *d, struct server_ticket ticket,
	      const json_t *request, struct fault *fault);
int verb_pause(struct daemon *d, struct server_ticket ticket,
	       const json_t *request, struct fault *fault);
int verb_resume_send(struct daemon *d, struct server_ticket ticket,
		     const json_t *request, struct fault *fault);
/* Stops transfers, by ID or by the name of the recording or stream that they
 * send.  Returns 0, and answers when the last has ended; or -ENOENT: there is
 * none. */
int verb_stop_send(struct daemon *d, struct server_ticket ticket,
		   const char *which);
/* Stops the transfer of `send`. */
int verb_stop_one(struct daemon *d, struct server_ticket ticket,
		  const json_t *request, struct fault *fault);
/* True if the request comes from VSI-S, which `by` says. */
bool verb_is_vsi(const json_t *request);

/* verbs_schedule.c */
int verb_schedule_ls(struct daemon *d, struct server_ticket ticket,
		     const json_t *request, struct fault *fault);
int verb_schedule_add(struct daemon *d, struct server_ticket ticket,
		      const json_t *request, struct fault *fault);
int verb_schedule_rm(struct daemon *d, struct server_ticket ticket,
		     const json_t *request, struct fault *fault);
int verb_schedule_check(struct daemon *d, struct server_ticket ticket,
			const json_t *request, struct fault *fault);

#endif
