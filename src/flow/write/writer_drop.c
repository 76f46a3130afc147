/* SPDX-License-Identifier: MIT */
/* Orders to the writer that follow from plugging disks: end, since the disk is
 * to be taken away, or probe, since it may be there again.  Called on the event
 * loop; nothing here waits. */
#include "flow/write/writer_priv.h"

static void
poke(struct writer *w)
{
	pthread_cond_signal(&w->wake);
	if (w->taker)
		taker_poke(w->taker);
}

void
writer_drop(struct writer *w)
{
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	poke(w);
	pthread_mutex_unlock(&w->lock);
}

bool
writer_dropped(struct writer *w)
{
	bool finished;

	pthread_mutex_lock(&w->lock);
	finished = w->finished;
	pthread_mutex_unlock(&w->lock);
	return finished;
}

void
writer_retry(struct writer *w)
{
	pthread_mutex_lock(&w->lock);
	w->retry = true;
	poke(w);
	pthread_mutex_unlock(&w->lock);
}
