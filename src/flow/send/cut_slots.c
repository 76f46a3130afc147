/* SPDX-License-Identifier: MIT */
/*
 * Turns slots into runs.  A block without missing packets is one run, and
 * finding that out costs a look at its bits, not at its packets.  If only every
 * fourth packet is chosen, the run has a stride.
 *
 * Packets of a run are numbered consecutively, so a missing one ends it.  With
 * a choice of threads the numbers are new and have no holes.
 */
#include "flow/send/cut_priv.h"

uint32_t
cut_alike(const struct cut *c, uint32_t slot, uint32_t end)
{
	bool has = cut_has(c, slot);

	if (!c->has)
		return end;
	while (slot < end) {
		uint64_t word = c->has[slot / 64] >> slot % 64;
		uint32_t left = 64 - slot % 64, other;

		word = has ? ~word : word;
		other = word ? (uint32_t)__builtin_ctzll(word) : left;
		if (other < left)
			return slot + other < end ? slot + other : end;
		slot += left;
	}
	return end;
}

/* Finds the bytes of a slot that are sent: *bytes from offset *at on. */
static void
extent(const struct cut *c, uint32_t slot, uint32_t *at, uint32_t *bytes)
{
	uint64_t begin = (uint64_t)slot * c->slot_bytes, end;
	uint32_t strip = cut_strip(c, slot);

	*at = strip;
	end = begin + c->slot_bytes;
	if (c->plain && c->from > begin + strip)
		*at =
		    c->from < end ? (uint32_t)(c->from - begin) : c->slot_bytes;
	if (c->plain && c->to < end)
		end = c->to;
	*bytes = end > begin + *at ? (uint32_t)(end - begin) - *at : 0;
}

/* Returns how many slots, from this one on, have the same extent. */
static uint32_t
uniform(const struct cut *c, uint32_t slot, uint32_t end)
{
	bool parts = c->choice->headers_off && c->shape->parts > 1;
	uint64_t slot_bytes = c->slot_bytes;

	if (parts || (c->plain && c->from > slot * slot_bytes))
		return 1;
	if (c->plain && c->to < end * slot_bytes)
		end = (uint32_t)(c->to / slot_bytes);
	return end > slot ? end - slot : 1;
}

/* Makes the prefixes of n consecutive packets; NULL: they have none. */
static const uint8_t *
heads_make(struct cut *c, uint64_t number, uint32_t n)
{
	uint8_t *first = c->heads + (uint64_t)c->heads_n * c->head_bytes;
	uint8_t *head = first;

	if (!c->head_bytes)
		return NULL;
	for (uint32_t i = 0; i < n; i++, head += c->head_bytes)
		if (c->shape->sequence_at < c->shape->prefix)
			format_counter_write(c->shape, c->p.base + number + i,
					     head, NULL);
	c->heads_n += n;
	return first;
}

/* True if packet `next` can be added to the last run; *step: slots from packet
 * to packet. */
static bool
continues(const struct cut *c, const struct send_run *next, uint32_t slot,
	  uint32_t *step)
{
	unsigned last = c->runs - 1;
	const struct send_run *r = &c->run[last];
	uint64_t pos = c->run_pos[last];

	if (r->data_bytes != next->data_bytes ||
	    next->first != r->first + r->packets)
		return false;
	*step = c->run_step[last];
	if (r->packets == 1)
		*step = slot - (uint32_t)pos;
	if (slot != pos + (uint64_t)r->packets * *step ||
	    (next->packets > 1 && *step > 1))
		return false;
	return next->data ==
	       r->data + (uint64_t)r->packets * *step * c->slot_bytes;
}

static void
add(struct cut *c, uint32_t slot, uint32_t n, uint64_t number)
{
	struct send_run next = { .head_bytes = c->head_bytes,
				 .head_stride = c->head_bytes,
				 .data_stride = c->slot_bytes,
				 .packets = n,
				 .run = c->p.record.run,
				 .first = number,
				 .time_ns = cut_time(c, slot),
				 .every = c->every };
	struct send_run *r;
	uint32_t at, step = 1;

	extent(c, slot, &at, &next.data_bytes);
	if (!next.data_bytes)
		return;
	next.data = c->data + (slot - c->in) * c->slot_bytes + at;
	next.sub = c->choice->sub < 0 ? c->p.record.sub : 0;
	next.head = heads_make(c, number, n);
	if (c->runs && continues(c, &next, slot, &step)) {
		r = &c->run[c->runs - 1];
		r->packets += n;
		r->data_stride = step * c->slot_bytes;
		r->every = step * c->every;
		c->run_step[c->runs - 1] = step;
		return;
	}
	c->run[c->runs] = next;
	c->run_pos[c->runs] = slot;
	c->run_step[c->runs++] = 1;
}

/* Returns how many of n packets from `number` on come before the one that a
 * cut_back asked for, and are skipped. */
static uint32_t
pass_back(struct cut *c, uint64_t number, uint32_t n)
{
	uint32_t run = c->p.record.run;

	if (!c->back)
		return 0;
	if (run < c->back_run)
		return n;
	if (run == c->back_run && number + n <= c->back_first)
		return n;
	c->back = false;
	if (run == c->back_run && number < c->back_first)
		return (uint32_t)(c->back_first - number);
	return 0;
}

static void
one(struct cut *c, uint32_t slot)
{
	const uint8_t *payload = c->data + (slot - c->in) * c->slot_bytes;
	bool there = c->plain || cut_has(c, slot);
	uint64_t number;

	if (cut_thread(c, slot, there ? payload : NULL, &number) && there &&
	    !pass_back(c, number, 1))
		add(c, slot, 1, number);
	c->pos = slot + 1;
}

static void
stretch(struct cut *c, uint32_t slot, uint32_t end)
{
	uint32_t n = end - slot, pass;

	if (!c->plain && !cut_has(c, slot)) {
		c->pos = cut_alike(c, slot, end);
		return;
	}
	if (!c->plain)
		n = cut_alike(c, slot, end) - slot;
	n = uniform(c, slot, slot + n);
	if (c->head_bytes && n > CUT_HEADS - c->heads_n)
		n = CUT_HEADS - c->heads_n;
	pass = pass_back(c, c->first + slot, n);
	if (pass < n)
		add(c, slot + pass, n - pass, c->first + slot + pass);
	c->pos = slot + n;
}

void
cut_slots(struct cut *c)
{
	uint32_t end = (uint32_t)(c->hi < c->out ? c->hi : c->out);

	while (c->pos < end && c->runs < SEND_RUNS &&
	       (!c->head_bytes || c->heads_n < CUT_HEADS)) {
		if (c->threads)
			one(c, (uint32_t)c->pos);
		else
			stretch(c, (uint32_t)c->pos, end);
	}
}
