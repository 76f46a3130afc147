/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_REQUESTS_VERBS_H
#define SPATE_DAEMON_REQUESTS_VERBS_H

#include "daemon/main/daemon.h"

/*
 * The verbs of the control socket (see control/control.h for the framing).
 * Names in [] may be left out.  Times are ISO 8601 UTC with nine digits.
 *
 * record   {name, streams:[S...], [for:"30s"], [until:TIME], [resume:true],
 *          [send:URL]}
 *          -> {recordings:[{id, name, stream}...]}
 *          With several streams each makes <name>_ds<stream>.  `resume`: an
 *          interrupted recording of the name goes on.  `send`: each is sent
 *          there while it is made.
 *          with at: TIME, [backlog:"5s"], [priority:N] an entry of the
 *          schedule; then at and until may be of the data, "@TIME"
 *          -> {recordings:[], scan:SCAN}
 * scan     {scan: ID}  of the schedule -> {scan:SCAN}
 * stop     {name: "NAME" or "ID"}  answers when the data is durable
 *          -> {recordings:[INFO...]}; of one that waits, or is armed
 *             {recordings:[], scans:[SCAN...]}; of one that is only sent, or
 *             by the ID of a transfer {recordings:[], sends:[SEND...]}
 * info     {name}  of a recording that runs or ended since the daemon started
 *          -> {recordings:[INFO...]}; error "not-found" otherwise
 * status   {} -> {version, pid, started, uptime_s,
 *            memory:{bytes, borrowed, pages:"hugetlb|transparent|small",
 *                    locked:bool, shared:bool (with live readers)},
 *            recordings:[INFO...]  (those that run),
 *            sends:[SEND...] (that wait or run), sends_n (that run),
 *            inbox:[{id, name, from, state:"looking|beginning|copying|waiting|
 *            broken|there|closing|failed", why, stream, format, bytes (durable),
 *            total, there (bytes that were here), chunks, told, packets, rate,
 *            connections, start}...] (copies that come in),
 *            disks:[DISK...], streams_n, space:SPACE,
 *            catalogue:{disks, listed, recordings, unread, read (since the
 *            start), whole (of these, with every record)}}
 * reload   {}  reads the configuration again; where it is wrong all stays
 *          -> {conf, changes:[TEXT...], restart:[TEXT...] (of what takes one)}
 * streams  {} -> {streams:[{name, receive, format, listen:[..], prefix,
 *            payload, sequence, rate, block_bytes, block_packets, blocks,
 *            memory, layout, fill, subs, store: "heap", "cube" or null,
 *            recording: NAME or null, armed: NAME or null}...]}
 * disks    {} -> {disks:[DISK...], space:SPACE, patterns:[..], skipped}
 * disks-add   {path, [force:bool]}  answers when its writer has tried it; with
 *          force also one on the system's own disk
 *          -> {path, configured:bool (it will be found again), disk:DISK}
 * disks-drop  {path}  answers when all on it is durable and it is closed
 *          -> {path, configured:bool}
 *
 * ls       {[patterns:[..]], [after:NAME]}  a page of what the catalogue knows
 *          -> {rows:[ROW...], more: NAME to go on after or null,
 *              disks:[PATH...] (of their bits in ROW), listed (disks whose
 *              names are known), recordings_n, unread (of these),
 *              space:SPACE}
 *
 * map      {name, [from:N]}  of a recording that is made, or a copy that comes
 *          in: its blocks are to be seen in memory for 10 s from now on, as long
 *          as this connection is there (store/record/map_page.h)
 *          -> {recording (its ID in the page), first (numbers below are of
 *              before it was resumed), floor (all below are durable or lost, or
 *              on a disk that does not answer), lost:[[A,B]...] (from N on and
 *              below the floor: A to B-1 were lost), end (one behind the last
 *              number that was given; of a copy null), over:bool (there will
 *              be no more), arena_bytes, page_bytes, fds:bool}; the first time
 *              on a connection `fds` is true, and two descriptors come along,
 *              which can only be read: the arena and the page.  Where memory
 *              cannot be shared these and the bytes are missing.
 *              Error "not-found": it is not made, or has ended
 * rm       {name, [force:true], [look:true]}  answers when it is gone; `look`
 *          says what would be, and changes nothing
 *          -> as removal_json() says (store/repair/removal.h)
 * protect  {name, [off:true]} -> {name, protected, disks:[PATH...]}
 * look     {name}  something became of it; the catalogue reads it again -> {}
 *
 * send     {name, to, [rate:"8Gbps|data|free"], [connections:N], [plain:bool],
 *          [follow:bool], [range:"T1..T2" or bytes:"A..B"], [threads:[N..]],
 *          [sub:N], [strip:N or "header"], [no_prefix:bool], [packet:BYTES],
 *          [as:NAME], [priority:N], [patience:"1m"], [wait:bool]}
 *          a recording that is complete, or with `follow` one that is made;
 *          answers when it is in the queue, with `wait` when it has ended
 *          -> {sends:[SEND...]}
 * relay    {stream, to, [for:"30s"], and of the above: rate, connections,
 *          plain, threads, sub, strip, no_prefix, packet, priority, patience,
 *          wait}  a stream, without recording it
 *          -> {sends:[SEND...]}
 * sends    {[send:ID], [all:bool]}  those that wait or run, with `all` also the
 *          last that ended, with `send` one of either
 *          -> {sends:[SEND...]}
 * rate     {send:ID, rate}  from now on -> {sends:[SEND]}
 * pause    {send:ID} -> {sends:[SEND]}
 * resume-send  {send:ID} -> {sends:[SEND]}
 *
 * schedule-ls     {[all:true]}  without `all` what is ahead, and what ended in
 *          the last day
 *          -> {now, folder (or null), scans:[SCAN...],
 *              files:[{file, error: text or null, scans_n}...]}
 * schedule-add    {file:"x.conf", text, [dry:true], [replace:true]}  a file of
 *          the folder, which the daemon writes; acts at once.  dry: says what
 *          would be, and changes nothing.
 *          -> {file, scans:[SCAN and CHECK...]}
 * schedule-rm     {which}  an ID or a NAME: cancelled, and stopped where it
 *          runs; a FILE.conf: taken out of the folder
 *          -> {removed:[SCAN...]}
 * schedule-check  {[file, text]}  all that is ahead; with a text: as it would
 *          be with that file
 *          -> {scans:[SCAN and CHECK...], volume (of those that fit), unknown
 *              (those of which no volume is known), refused,
 *              full_at: TIME or null (the disks, if those were recorded, too,
 *              that find no room there),
 *              memory:{bytes, peak, peak_at}, rate:{speed (bits/s, or null),
 *              peak, peak_at}, disks:SPACE}
 *
 * probe    {stream, [for:"3s"]}  a look at a stream, without recording it
 *          -> PROBE; of one that is being recorded
 *             {stream, format, recording: NAME, recordings:[INFO...]}
 *
 * PROBE    what flow/receive/sample.h lists, and {stream, format, recording: null,
 *           seconds, subs, overruns, sources:[{address, device, sender,
 *           datagrams, overruns}...]}
 * DISK     {path, state:"idle|writing|slow|full|failed|hung|missing|leaving",
 *           why: text or null, total, free (bytes, above the reserve), written
 *           (bytes, since it takes part), chunks, rate (bytes/s, last second),
 *           writer:"direct", errors, queued (blocks it has), latency_ms (what
 *           the last block took), latency_p99_ms (99 of 100 took at most),
 *           speed (bytes/s while it writes), device: "8:1" (those with the
 *           same share their space), full_s (seconds until it is full at the
 *           rate of the last minute)}; null where it is not known
 * SPACE    {disks (that work), total, free, written, rate (bytes/s, last
 *           minute), full_s or null}; of all of them, file systems counted
 *           once
 * INFO     as `spate info --json` prints (store/recording/recording.h), and of one that
 *          runs also {id, state:"armed|recording|stopping", elapsed_s, left_s or
 *          null, rate (bits/s, last second), blocks:{total, free}, stop_at,
 *          [scan: ID of the schedule's], [why: no disk takes blocks just
 *          now]}; one that was stopped while it was
 *          armed is "cancelled", and left nothing
 *
 * SEND     {id, name (of a relay: the stream), kind:"send|copy|relay", to,
 *          state:"queued|connecting|sending|waiting|paused|finishing|done|
 *          stopped|failed", why: text or null, priority, queued, started,
 *          ended (TIME or null), bytes (that went, now), there (that the peer
 *          had before), total (or null), packets, and packets of it that were not sent: missing (never there), unreadable
 *          (damaged), dropped (nobody kept them), lost (on the way),
 *          refused (nobody listened); from_memory, from_disk (bytes), rate
 *          (bits/s, last second), asked_rate (bits/s, "data" or "free"),
 *          behind_s (live: of what was recorded; or null), left_s (or null),
 *          connections, reconnects, burst (bytes, or null), peer (or null),
 *          way (or null), [scan: ID of the schedule's]}
 *
 * SCAN     an entry of the schedule, as scan_json() makes it (daemon/schedule/scan.h)
 * CHECK    {volume (bytes from now on, or null), memory (bytes), free_after
 *          (bytes on the disks at its end, or null), fits:bool,
 *          conflicts:[{name, why:"memory|speed|space"}...] (who has what it
 *          lacks; the first eight), verdict:"ok|refused|unknown|over",
 *          reason: text or null}; unknown: the stream has no `rate`
 *
 * ROW      a recording, as entry_row() makes it (store/list/entry.h)
 *
 * DISK and INFO keys are stable: programs read them.
 */

/* verbs_at.c */
int verb_record_at(struct daemon *d, struct server_ticket ticket,
		   const json_t *request, struct fault *fault);
int verb_scan(struct daemon *d, struct server_ticket ticket,
	      const json_t *request, struct fault *fault);
/* Cancels scans that wait, or are armed: 0, and it was answered; or -ENOENT:
 * there is none of that name or number. */
int verb_stop_waiting(struct daemon *d, struct server_ticket ticket,
		      const char *which);

/* verbs_chores.c */
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

/* verbs_list.c */
json_t *verb_ls_facts(struct daemon *d);
int verb_ls(struct daemon *d, struct server_ticket ticket,
	    const json_t *request, struct fault *fault);

/* verbs_map.c */
int verb_map(struct daemon *d, struct server_ticket ticket,
	     const json_t *request, struct fault *fault);

/* reload.c */
int verb_reload(struct daemon *d, struct server_ticket ticket,
		const json_t *request, struct fault *fault);

/* verbs_probe.c */
int verb_probe(struct daemon *d, struct server_ticket ticket,
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
/* Stops transfers, by the name of what they send or by number: 0, and it is
 * answered when the last has ended; or -ENOENT: there is none. */
int verb_stop_send(struct daemon *d, struct server_ticket ticket,
		   const char *which);

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
