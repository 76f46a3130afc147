/* SPDX-License-Identifier: MIT */
/*
 * A parallel copy.  Every move has one source and one target, no target is
 * named twice, and no source lies in two places; so following "the packet that
 * has to leave my target first" gives a chain, which ends at a free slot or
 * comes back to its beginning.
 *
 *   one packet lost      slots   10 11 12 13 14       a chain, copied from
 *                        landed  10 12 13 14          its end: 14, 13, 12
 *
 *   two packets swapped  slots   10 11 12 13          a ring of two: 12 waits
 *                        landed  10 12 11 13          in the scratch slot
 *
 * Chains are copied back to front, so each packet is copied once; a ring costs
 * one copy more.  Copying the whole batch aside first was rejected: it doubles
 * the cost of the commonest case, one lost packet.
 */
#include "flow/place/moves.h"

#include <string.h>

void
moves_start(struct moves *m, const uint64_t *key, unsigned keys)
{
	m->key = key;
	m->keys = keys;
	m->n = 0;
	memset(m->leaving, -1, keys * sizeof m->leaving[0]);
}

static int
landing_find(const struct moves *m, uint64_t key)
{
	unsigned low = 0, high = m->keys;

	while (low < high) {
		unsigned mid = (low + high) / 2;

		if (m->key[mid] < key)
			low = mid + 1;
		else
			high = mid;
	}
	return low < m->keys && m->key[low] == key ? (int)low : MOVES_NOWHERE;
}

static void
add(struct moves *m, uint8_t *from, int at, uint8_t *to, int landing)
{
	m->move[m->n] = (struct move){ from, to, landing };
	if (at != MOVES_NOWHERE)
		m->leaving[at] = (int16_t)m->n;
	m->n++;
}

void
moves_add(struct moves *m, uint8_t *from, int at, uint8_t *to, uint64_t key)
{
	add(m, from, at, to, landing_find(m, key));
}

void
moves_add_outside(struct moves *m, uint8_t *from, int at, uint8_t *to)
{
	add(m, from, at, to, MOVES_NOWHERE);
}

/* Returns the move that has to happen before this one, or NULL. */
static struct move *
before(struct moves *m, const struct move *v)
{
	int i = v->landing == MOVES_NOWHERE ? -1 : m->leaving[v->landing];

	return i < 0 || !m->move[i].to ? NULL : &m->move[i];
}

static void
copy(struct moves *m, struct move *v)
{
	memcpy(v->to, v->from, m->bytes);
	v->to = NULL; /* NULL marks a move that is done */
}

static void
settle_chain(struct moves *m, struct move *first)
{
	struct move *chain[MOVES];
	unsigned n = 0;

	for (struct move *v = first; v; v = before(m, v)) {
		if (n && v == first) {
			memcpy(m->scratch, first->from, m->bytes);
			first->from = m->scratch;
			break;
		}
		chain[n++] = v;
	}
	while (n--)
		copy(m, chain[n]);
}

void
moves_settle(struct moves *m)
{
	for (unsigned i = m->n; i--;) {
		if (m->move[i].to)
			settle_chain(m, &m->move[i]);
	}
	m->n = 0;
}
