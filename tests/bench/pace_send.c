/* SPDX-License-Identifier: MIT */
/*
 * A sender over memory: packets of a prefix and 8032 bytes of data, without
 * end, as fast as is asked for.
 *
 *   pace_send URL RATE SECONDS [PAYLOAD [CONNECTIONS [plain]]]
 *
 * RATE is in bits per second of data; 0: as fast as it goes.  It is the
 * sender of the daemon, with its thread, pacer and plugin; only its source is
 * made up, so that no disk has a part in what is measured.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/conf.h"
#include "base/module.h"
#include "flow/send/sender.h"

enum {
	BLOCK = 16 << 20,
	BLOCKS = 16, /* of memory: no cache has it all */
	PREFIX = 8,
	PAYLOAD = 8032,
};

/* ---- a source of made-up blocks ------------------------------------------ */

struct made {
	struct source source;
	uint8_t *memory;
	struct format_shape shape;
	const struct format_ops *format;
	uint64_t number;
};

static struct made *
made_of(struct source *s)
{
	return (struct made *)s;
}

static int
made_next(struct source *source, struct parcel *p, int64_t until)
{
	struct made *m = made_of(source);
	uint32_t slots = BLOCK / m->shape.payload;

	(void)until;
	*p = (struct parcel){
		.record = { .number = m->number,
			    .first = m->number * slots,
			    .bytes = (uint64_t)slots * m->shape.payload,
			    .present = slots,
			    .kind = INDEX_BLOCK },
		.bytes = (uint64_t)slots * m->shape.payload,
		.offset = m->number * slots * m->shape.payload,
		.data = m->memory + m->number % BLOCKS * BLOCK,
		.source = source,
	};
	m->number++;
	return 0;
}

static void
made_put(struct source *s, struct parcel *p)
{
	(void)s;
	(void)p;
}

static int
made_seek(struct source *s, uint32_t run, uint64_t first)
{
	(void)run;
	made_of(s)->number = first / (BLOCK / made_of(s)->shape.payload);
	return 0;
}

static int
made_seek_number(struct source *s, uint64_t number)
{
	made_of(s)->number = number;
	return 0;
}

static bool
made_wanted(struct source *s)
{
	(void)s;
	return false;
}

static int
made_fd(struct source *s)
{
	(void)s;
	return -1;
}

static void
made_facts(struct source *s, struct source_facts *f)
{
	*f = (struct source_facts){ .number = made_of(s)->number };
}

static void
made_close(struct source *s)
{
	(void)s;
}

static int
made_about(struct source *s, struct source_about *a)
{
	struct made *m = made_of(s);

	*a = (struct source_about){ .format = m->format,
				    .shape = &m->shape,
				    .subs = 1,
				    .extension = "raw" };
	return 0;
}

static const struct source_ops made_ops = {
	.next = made_next,
	.put = made_put,
	.seek = made_seek,
	.seek_number = made_seek_number,
	.wanted = made_wanted,
	.fd = made_fd,
	.facts = made_facts,
	.close = made_close,
	.about = made_about,
};

/* ---- all of it ----------------------------------------------------------------- */

static void
fail(const char *what, const struct fault *f)
{
	char line[512] = "";

	if (f)
		fault_line(f, line, sizeof line);
	fprintf(stderr, "pace_send: %s %s\n", what, line);
	exit(1);
}

static void
made_open(struct made *m, uint32_t payload)
{
	struct fault fault;
	char why[256];

	m->source.ops = &made_ops;
	m->memory = mmap(NULL, (size_t)BLOCK * BLOCKS, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (m->memory == MAP_FAILED)
		fail("no memory", NULL);
	madvise(m->memory, (size_t)BLOCK * BLOCKS, MADV_HUGEPAGE);
	memset(m->memory, 0x5a, (size_t)BLOCK * BLOCKS);
	if (module_format("raw", &m->format, &fault))
		fail("format", &fault);
	m->shape = (struct format_shape){ .prefix = PREFIX,
					  .payload = payload,
					  .sequence = SEQUENCE_LE64 };
	if (m->format->shape(&m->shape, why, sizeof why))
		fail(why, NULL);
}

static void *
options_of(const struct send_ops *ops)
{
	struct conf_part part = { ops->head.options, NULL };
	struct conf *conf;
	struct fault fault;

	if (!ops->head.options)
		return NULL;
	part.out = calloc(1, ops->head.options_bytes);
	if (conf_open_text(&conf, "", "none", &fault) ||
	    conf_fill(conf, conf_root(conf), &part, 1, NULL, &fault))
		fail("options", &fault);
	return part.out;
}

static void
facts_show(struct sender *s, int64_t ns)
{
	struct sender_facts f;

	sender_facts(s, &f);
	printf("{\"bytes\": %llu, \"seconds\": %.6f, \"burst\": %llu, "
	       "\"send_burst\": %llu, \"calls\": %llu, \"refused\": %llu, "
	       "\"way\": \"%s\", \"why\": \"%.200s\"}\n",
	       (unsigned long long)f.send.bytes, (double)ns / 1e9,
	       (unsigned long long)f.burst, (unsigned long long)f.send.burst,
	       (unsigned long long)f.send.calls,
	       (unsigned long long)f.send.refused, f.send.way ? f.send.way : "",
	       f.why);
}

int
main(int argc, char **argv)
{
	struct sender_args args = { .subs = 1 };
	struct made made = { 0 };
	struct sender *sender;
	struct fault fault;
	char kind[16];
	int64_t from;

	if (argc < 4 || argc > 7 || sscanf(argv[1], "%15[a-z]", kind) != 1)
		fail("URL RATE SECONDS [PAYLOAD [CONNECTIONS [plain]]]", NULL);
	made_open(&made, argc > 4 ? (uint32_t)atoi(argv[4]) : PAYLOAD);
	if (module_send(kind, &args.ops, &fault))
		fail("plugin", &fault);
	args.name = "pace";
	args.to = argv[1];
	args.source = &made.source;
	args.options = options_of(args.ops);
	args.choice.sub = -1;
	args.connections = argc > 5 ? (unsigned)atoi(argv[5]) : 0;
	args.plain = argc > 6;
	args.rate = strtoull(argv[2], NULL, 10);
	from = clock_steady();
	if (sender_start(&sender, &args, &fault))
		fail("sender", &fault);
	while (clock_steady() - from < (int64_t)(atof(argv[3]) * 1e9) &&
	       !sender_ended(sender))
		usleep(20000);
	facts_show(sender, clock_steady() - from);
	sender_stop(sender);
	while (!sender_ended(sender))
		usleep(1000);
	sender_free(sender);
	return 0;
}
