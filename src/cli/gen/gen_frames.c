/* SPDX-License-Identifier: MIT */
/*
 * Options of the format plugin are given as `-o key=value`.  They are written
 * as a piece of configuration and read by the same code as a stream's
 * configuration, so the plugin's table checks them.
 *
 * Data is noise, made once for 64 packets, about half a MiB: it stays in the
 * processor's second-level cache, so that sending costs little more than the
 * kernel's copy.
 *
 *   datagram   prefix | header | noise of packet % 64 ... | mark
 *
 * The mark, 8 bytes, makes the data of each packet unique, so that a recording
 * in which two packets changed places differs from the right one.  Every port
 * has other marks; those of port 0 are the same as without a range of ports.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/conf.h"
#include "base/fault.h"
#include "base/module.h"
#include "base/shape.h"
#include "cli/gen/gen_frames.h"
#include "cli/gen/gen_signal.h"
#include "cli/gen/gen_source.h"
#include "cli/show/args.h"
#include "contract/format.h"

enum { THREADS_MOST = 1024, WHY = 320 };

#define USUAL_RATE 1000000000u /* for frame numbers if no rate is given */

/* ---- the format ---------------------------------------------------- */

static int
threads_refuse(const char *text, struct fault *fault)
{
	fault_set(fault, -EINVAL, "usage", "--threads %s", text);
	fault_why(fault, "not a list of at most %d thread numbers",
		  THREADS_MOST);
	fault_hint(fault, "0,1,2,3 or 0-3");
	return -EINVAL;
}

/* Reads "4" or "4-7" at *text, and moves *text behind it. */
static int
range_read(const char **text, unsigned long *from, unsigned long *to)
{
	char *end;

	if (!isdigit((unsigned char)**text))
		return -EINVAL;
	*from = *to = strtoul(*text, &end, 10);
	if (*end == '-' && isdigit((unsigned char)end[1]))
		*to = strtoul(end + 1, &end, 10);
	*text = end;
	return *to < *from || *to > UINT32_MAX ? -EINVAL : 0;
}

static int
threads_read(struct gen_format *f, const char *list, struct fault *fault)
{
	struct format_shape *s = &f->shape;
	const char *text = list ? list : "0";
	unsigned long from, to;

	f->threads = calloc(THREADS_MOST, sizeof *f->threads);
	if (!f->threads)
		return fault_no_memory(fault);
	s->threads = f->threads;
	for (;; text++) {
		if (range_read(&text, &from, &to) < 0 ||
		    to - from >= THREADS_MOST - s->threads_n)
			return threads_refuse(list, fault);
		while (from <= to)
			f->threads[s->threads_n++] = (uint32_t)from++;
		if (!*text)
			return 0;
		if (*text != ',')
			return threads_refuse(list, fault);
	}
}

static bool
is_quoted(const struct option_key *options, const char *key, size_t length)
{
	for (; options && options->name; options++)
		if (strlen(options->name) == length &&
		    strncmp(options->name, key, length) == 0)
			return options->type != OPTION_FLAG &&
			       options->type != OPTION_COUNT &&
			       options->type != OPTION_SHARE;
	return true;
}

static void
value_write(FILE *to, const char *value, bool quoted)
{
	if (!quoted) {
		fputs(value, to);
		return;
	}
	putc('"', to);
	for (; *value; value++) {
		if (*value == '"' || *value == '\\')
			putc('\\', to);
		putc(*value, to);
	}
	putc('"', to);
}

/*
 * Tells whether a text is a key or a bare value; anything else could change the
 * piece of configuration.
 */
static bool
is_word(const char *text, size_t length)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyz"
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";

	return length && strspn(text, good) >= length;
}

static int
option_write(FILE *to, const struct option_key *options, const char *text,
	     struct fault *fault)
{
	const char *value = strchr(text, '=');
	size_t length = value ? (size_t)(value - text) : 0;
	bool quoted = is_quoted(options, text, length);

	if (!is_word(text, length) ||
	    (!quoted && !is_word(value + 1, strlen(value + 1)))) {
		fault_set(fault, -EINVAL, "usage", "-o %s", text);
		fault_hint(fault, "an option of the format, as -o station=Ef");
		return -EINVAL;
	}
	fprintf(to, "%.*s = ", (int)length, text);
	value_write(to, value + 1, quoted);
	fputs(";\n", to);
	return 0;
}

static int
options_text(char **text, const struct option_key *options,
	     const struct args_texts *given, struct fault *fault)
{
	size_t bytes;
	FILE *to = open_memstream(text, &bytes);
	int err = 0;

	if (!to)
		return fault_no_memory(fault);
	for (unsigned i = 0; !err && i < given->n; i++)
		err = option_write(to, options, given->text[i], fault);
	if (fclose(to) != 0 && !err)
		err = fault_no_memory(fault);
	return err;
}

static int
options_read(struct gen_format *f, const struct args_texts *given,
	     struct fault *fault)
{
	struct conf_part part = { .options = f->ops->head.options };
	char *text = NULL;
	int err = options_text(&text, part.options, given, fault);

	f->options = calloc(1, f->ops->head.options_bytes + 1);
	if (!err && !f->options)
		err = fault_no_memory(fault);
	part.out = f->options;
	if (!err)
		err = conf_open_text(&f->conf, text, "-o", fault);
	if (!err)
		err = conf_fill(f->conf, conf_root(f->conf), &part, 1, NULL,
				fault);
	if (err == -EINVAL)
		fault->code = "usage";
	f->shape.options = f->options;
	free(text);
	return err;
}

static int
shape_complete(struct gen_format *f, struct fault *fault)
{
	char why[WHY] = "";
	int err = f->ops->shape(&f->shape, why, sizeof why);

	if (!err)
		return 0;
	fault_set(fault, err, "usage", "cannot make %s packets",
		  f->ops->head.name);
	fault_why(fault, "%s", why);
	return err;
}

/*
 * Sets fps if it is still unknown: the rate divided by the size of a frame,
 * rounded down.
 */
static int
fps_choose(struct gen_format *f, struct fault *fault)
{
	struct format_shape *s = &f->shape;
	uint64_t frames;

	if (s->fps)
		return 0;
	frames = s->rate / (8ull * s->payload * s->parts * s->threads_n);
	s->fps = frames > UINT32_MAX ? UINT32_MAX : (uint32_t)frames;
	if (!s->fps)
		s->fps = 1;
	return shape_complete(f, fault);
}

static int
shape_make(struct gen_format *f, const struct gen_wish *wish,
	   struct fault *fault)
{
	int err;

	f->shape.prefix = f->ops->piece ? 0 : wish->prefix;
	f->shape.payload = f->ops->piece ? wish->heap : wish->payload;
	f->shape.fps = wish->fps;
	f->shape.rate = wish->rate ? wish->rate : USUAL_RATE;
	f->shape.around = wish->around;
	if (wish->sequence &&
	    shape_sequence_parse(&f->shape, wish->sequence) < 0) {
		fault_set(fault, -EINVAL, "usage", "--sequence %s",
			  wish->sequence);
		fault_hint(fault, "le64@0, le32@4, be64@0, be32@0, edv2, "
				  "time or arrival");
		return -EINVAL;
	}
	err = threads_read(f, wish->threads, fault);
	if (!err)
		err = shape_complete(f, fault);
	if (!err)
		err = fps_choose(f, fault);
	return err;
}

int
gen_format_open(struct gen_format *f, const struct gen_wish *wish,
		struct fault *fault)
{
	int err;

	memset(f, 0, sizeof *f);
	err = module_format(wish->format, &f->ops, fault);
	if (!err)
		err = options_read(f, wish->options, fault);
	if (!err)
		err = shape_make(f, wish, fault);
	if (err)
		gen_format_close(f);
	return err;
}

void
gen_format_close(struct gen_format *f)
{
	free(f->threads);
	free(f->options);
	if (f->conf)
		conf_close(f->conf);
	memset(f, 0, sizeof *f);
}

enum { READY = 64, MARK = 8 };

/* ---- the datagrams -------------------------------------------------- */

static void
noise(uint8_t *to, uint32_t bytes, uint64_t seed)
{
	for (uint32_t i = 0; i < bytes; i++) {
		if (i % 8 == 0)
			seed = mix64(seed);
		to[i] = (uint8_t)(seed >> i % 8 * 8);
	}
}

static unsigned
make(struct gen_source *s, unsigned port, uint64_t packet, struct iovec *piece)
{
	piece->iov_base = gen_frames_make((struct gen_frames *)s, port, packet);
	piece->iov_len = s->most;
	return 1;
}

static uint64_t
heap(const struct gen_source *s, unsigned port, uint64_t packet)
{
	(void)s;
	(void)port;
	return packet;
}

static uint64_t
end(struct gen_source *s, unsigned port, uint64_t least)
{
	(void)s;
	(void)port;
	return least;
}

static const struct gen_source_ops ops = { make, heap, end };

int
gen_frames_init(struct gen_frames *f)
{
	const struct format_shape *s = f->shape;
	uint32_t bytes = s->prefix + s->payload;

	f->source = (struct gen_source){
		.ops = &ops,
		.most = bytes,
		.mean = bytes,
		.ready =
		    s->parts < READY ? READY / s->parts * s->parts : s->parts,
	};
	f->data = calloc(f->source.ready, bytes);
	if (!f->data)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->source.ready; i++) {
		uint8_t *payload = f->data + (size_t)i * bytes + s->prefix;

		noise(payload, s->payload, mix64(f->seed) + i);
		if (i % s->parts == 0 && f->format->model)
			f->format->model(s, payload);
	}
	return 0;
}

void
gen_frames_finish(struct gen_frames *f)
{
	free(f->data);
	f->data = NULL;
}

static void
packet_describe(const struct gen_frames *f, uint64_t packet,
		struct format_packet *p)
{
	const struct format_shape *s = f->shape;
	uint64_t frame = packet / s->parts;
	uint64_t of_thread = frame / s->threads_n + f->frame;

	*p = (struct format_packet){
		.has = FORMAT_SEQUENCE | FORMAT_READABLE | FORMAT_TIME |
		       FORMAT_VALID,
		.sequence = f->first + packet,
		.second = f->second + (int64_t)(of_thread / s->fps),
		.frame = (uint32_t)(of_thread % s->fps),
		.part = (uint32_t)(packet % s->parts),
		.thread = s->threads[frame % s->threads_n],
		.bytes = s->payload * s->parts,
	};
}

uint8_t *
gen_frames_make(struct gen_frames *f, unsigned port, uint64_t packet)
{
	const struct format_shape *s = f->shape;
	uint8_t *datagram = f->data + packet % f->source.ready * f->source.most;
	uint8_t *payload = datagram + s->prefix;
	uint64_t of_port = (uint64_t)port << 48;
	struct format_packet p;

	packet_describe(f, packet, &p);
	if (f->signal)
		gen_signal_make(f->signal, port, &p, payload);
	else if (s->payload >= s->header + MARK)
		write_le64(payload + s->payload - MARK,
			   mix64(mix64(f->seed) ^ of_port ^ packet));
	f->format->stamp(s, &p, datagram, payload);
	if (f->signal)
		gen_signal_header(f->signal, &p, payload);
	return datagram;
}

uint64_t
gen_frames_sequence(struct gen_frames *f, uint64_t packet)
{
	const uint8_t *datagram = gen_frames_make(f, 0, packet);
	struct format_packet p;

	f->format->parse(f->shape, datagram, datagram + f->shape->prefix, &p);
	return p.has & FORMAT_SEQUENCE ? p.sequence : f->first + packet;
}
