/* SPDX-License-Identifier: MIT */
/* What a writer tells of itself, as it comes and goes. */
#include <pthread.h>

#include "flow/output/queue.h"
#include "flow/write/writer_priv.h"
#include "lib/suite.h"

/* A disk that was slow, left and comes back is one among all others: nothing
 * calls it slow before it is so again. */
START_TEST(slow_until_it_leaves)
{
	static struct writer w;
	struct queue *queue;

	ck_assert_int_eq(queue_make(&queue, 4), 0);
	pthread_mutex_init(&w.lock, NULL);
	w.queue = queue;
	ck_assert_int_eq(taker_join(&w.taker, queue, 0), 0);
	w.facts.benched = true;
	writer_queue_leave(&w);
	ck_assert_ptr_null(w.taker);
	ck_assert(!w.facts.benched);
	queue_free(queue);
	pthread_mutex_destroy(&w.lock);
}
END_TEST

SUITE("writer_rank", slow_until_it_leaves)
