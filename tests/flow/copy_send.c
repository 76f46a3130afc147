/* SPDX-License-Identifier: MIT */
/*
 * Copies a recording to an inbox, as `spate send` does of a daemon, but alone:
 *
 *   copy_send [-n CONNECTIONS] [-r BITS] [-a AS] [-s SECRET] [-p PATIENCE_S]
 *             [-f] NAME URL DISK...
 *
 * Prints what became of it as one line of JSON; ends with 0 where all of it is
 * there.  -f follows one that grows.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/secret.h"
#include "flow/copy/copy_out.h"
#include "flow/source/source_disk.h"

static const char *const word[SENDER_STATES] = {
	[SENDER_CONNECTING] = "connecting", [SENDER_SENDING] = "sending",
	[SENDER_WAITING] = "waiting",	    [SENDER_PAUSED] = "paused",
	[SENDER_FINISHING] = "finishing",   [SENDER_DONE] = "done",
	[SENDER_STOPPED] = "stopped",	    [SENDER_FAILED] = "failed",
};

static struct sender_facts facts;

static void
print(void)
{
	json_t *o = json_pack(
	    "{s:s, s:s, s:I, s:I, s:I, s:I, s:I}", "state", word[facts.state],
	    "why", facts.why, "bytes", (json_int_t)facts.bytes, "total",
	    (json_int_t)facts.total, "packets", (json_int_t)facts.packets,
	    "unreadable", (json_int_t)facts.unreadable, "reconnects",
	    (json_int_t)facts.send.reconnects);

	json_dumpf(o, stdout, JSON_COMPACT);
	putchar('\n');
	fflush(stdout);
	json_decref(o);
}

/* Until it ends; tells each state that it is in. */
static void
watch(struct sender *c)
{
	const struct timespec moment = { .tv_nsec = 10000000 };
	int was = -1;
	bool ended;

	do {
		ended = sender_ended(c);
		sender_facts(c, &facts);
		if ((int)facts.state != was)
			fprintf(stderr, "%s %s\n", word[facts.state],
				facts.why);
		was = (int)facts.state;
		nanosleep(&moment, NULL);
	} while (!ended);
}

static int
options(int argc, char **argv, struct copy_out_args *a, struct secret *secret)
{
	struct fault fault;
	int c;

	while ((c = getopt(argc, argv, "n:r:a:s:p:f")) > 0) {
		switch (c) {
		case 'n': a->connections = (unsigned)atoi(optarg); break;
		case 'r': a->rate = strtoull(optarg, NULL, 10); break;
		case 'a': a->as = optarg; break;
		case 'p': a->patience = atoll(optarg) * 1000000000; break;
		case 'f': a->follow = true; break;
		case 's':
			if (secret_read(secret, optarg, &fault) < 0) {
				fprintf(stderr, "%s\n", fault.what);
				return -1;
			}
			a->secret = secret->bytes;
			a->secret_bytes = secret->n;
			break;
		default: return -1;
		}
	}
	return argc - optind < 3 ? -1 : 0;
}

int
main(int argc, char **argv)
{
	struct copy_out_args args = { 0 };
	struct source_disk_args from = { .verify = true, .sub = -1 };
	struct secret secret = { 0 };
	struct disks disks = { 0 };
	struct fault fault = { 0 };
	struct sender *copy;

	if (options(argc, argv, &args, &secret) < 0)
		return 2;
	args.name = argv[optind];
	args.to = argv[optind + 1];
	disks.n = (unsigned)(argc - optind - 2);
	disks.disk = calloc(disks.n, sizeof *disks.disk);
	for (unsigned i = 0; i < disks.n; i++) {
		disks.disk[i].path = argv[optind + 2 + (int)i];
		disks.disk[i].fd = -1;
	}
	args.disks = from.disks = &disks;
	from.name = args.name;
	from.follow = args.follow;
	if (source_disk_make(&args.source, &from) < 0 ||
	    copy_out_start(&copy, &args, &fault) < 0) {
		fprintf(stderr, "%s\n", fault.what);
		return 1;
	}
	watch(copy);
	print();
	sender_free(copy);
	free(disks.disk);
	return facts.state == SENDER_DONE && !*facts.why ? 0 : 1;
}
