/* SPDX-License-Identifier: MIT */
/*
 * The kernel signals mounts (POLLPRI on mountinfo), but not a plain folder that
 * is made, nor a mount that is seen only through a link.  Hence also a look
 * every few seconds.  mountinfo itself is not read; store/disk/disk.c says why.
 */
#include "daemon/disks/disk_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/worker.h"
#include "store/disk/disk.h"

/* Reference-counted list of patterns, under the disk watch's lock.  A look in
 * progress keeps its own reference, because it may hang for ever. */
struct patterns {
	unsigned refs;
	unsigned n;
	char *text[];
};

struct disk_watch {
	void (*changed)(void *arg);
	void *arg;
	struct worker *worker;
	int mounts; /* descriptor of mountinfo; -1: none */
	/* the thread's own: the list it last published */
	struct disk_watch_list seen;

	pthread_mutex_t lock; /* over the fields below */
	struct patterns *patterns;
	char *extra[DISK_WATCH_EXTRA];
	unsigned extras;
	struct disk_watch_list told; /* published list that was not taken yet */
	bool news;
};

void
disk_watch_clear(struct disk_watch_list *l)
{
	for (unsigned i = 0; i < l->n; i++)
		free(l->disk[i].path);
	free(l->disk);
	*l = (struct disk_watch_list){ 0 };
}

/* ---- patterns -------------------------------------------------------- */

static void
patterns_drop(struct patterns *p)
{
	if (!p || --p->refs)
		return;
	for (unsigned i = 0; i < p->n; i++)
		free(p->text[i]);
	free(p);
}

static struct patterns *
patterns_copy(const struct option_texts *from)
{
	struct patterns *p = calloc(1, sizeof *p + from->n * sizeof(char *));

	if (!p)
		return NULL;
	p->refs = 1;
	for (; p->n < from->n; p->n++) {
		p->text[p->n] = strdup(from->text[p->n]);
		if (p->text[p->n])
			continue;
		patterns_drop(p);
		return NULL;
	}
	return p;
}

int
disk_watch_patterns(struct disk_watch *s, const struct option_texts *patterns)
{
	struct patterns *new = patterns_copy(patterns);

	if (!new)
		return -ENOMEM;
	pthread_mutex_lock(&s->lock);
	patterns_drop(s->patterns);
	s->patterns = new;
	pthread_mutex_unlock(&s->lock);
	worker_poke(s->worker);
	return 0;
}

/* ---- looking --------------------------------------------------------- */

static bool
is_known(const struct disk_watch_list *l, const char *path)
{
	for (unsigned i = 0; i < l->n; i++) {
		if (!strcmp(l->disk[i].path, path))
			return true;
	}
	return false;
}

static bool
has_twin(const struct disk_watch_list *l, const struct disk_id *id)
{
	for (unsigned i = 0; i < l->n; i++) {
		if (l->disk[i].there && disk_same(&l->disk[i].id, id))
			return true;
	}
	return false;
}

/* Appends `d` and takes over its path.  Returns 0 or -ENOMEM. */
static int
list_push(struct disk_watch_list *l, const struct disk_watch_disk *d)
{
	struct disk_watch_disk *grown =
	    realloc(l->disk, (l->n + 1) * sizeof *grown);

	if (!grown)
		return -ENOMEM;
	l->disk = grown;
	l->disk[l->n++] = *d;
	return 0;
}

/* Looks at `path` and appends it.  A path found by a wildcard is skipped unless
 * it is a mount point.  Without memory the path is missing this time. */
static void
list_add(struct disk_watch_list *l, const char *path, bool mount)
{
	struct disk_watch_disk d = { .mount = mount };
	char *copy = strndup(path, disk_path_length(path));

	if (!copy)
		return;
	d.there = !disk_look(copy, mount, &d.id);
	d.path = copy;
	d.twin = d.there && has_twin(l, &d.id);
	d.there &= !d.twin;
	if (is_known(l, copy) || (mount && !d.there && !d.twin) ||
	    list_push(l, &d) < 0)
		free(copy);
}

static void
list_match(struct disk_watch_list *l, const char *pattern)
{
	glob_t found;

	if (!disk_is_pattern(pattern)) {
		list_add(l, pattern, false);
		return;
	}
	if (glob(pattern, 0, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		list_add(l, found.gl_pathv[i], true);
	globfree(&found);
}

static bool
same(const struct disk_watch_list *a, const struct disk_watch_list *b)
{
	if (a->n != b->n)
		return false;
	for (unsigned i = 0; i < a->n; i++) {
		const struct disk_watch_disk *x = &a->disk[i], *y = &b->disk[i];

		if (strcmp(x->path, y->path) || x->there != y->there ||
		    x->twin != y->twin || !disk_same(&x->id, &y->id))
			return false;
	}
	return true;
}

static bool
copy(struct disk_watch_list *to, const struct disk_watch_list *from)
{
	*to = (struct disk_watch_list){ calloc(from->n + 1, sizeof *to->disk),
					0 };
	for (unsigned i = 0; to->disk && i < from->n; i++) {
		to->disk[i] = from->disk[i];
		to->disk[i].path = strdup(from->disk[i].path);
		to->n += to->disk[i].path != NULL;
		if (!to->disk[i].path)
			break;
	}
	if (to->n == from->n)
		return true;
	disk_watch_clear(to);
	return false;
}

static int64_t
look(void *arg)
{
	struct disk_watch *s = arg;
	struct disk_watch_list now = { 0 }, told;
	struct patterns *patterns;
	char *extra[DISK_WATCH_EXTRA];
	unsigned extras;

	pthread_mutex_lock(&s->lock);
	patterns = s->patterns;
	patterns->refs++;
	extras = s->extras;
	memcpy(extra, s->extra, extras * sizeof *extra);
	pthread_mutex_unlock(&s->lock);
	for (unsigned i = 0; i < patterns->n; i++)
		list_match(&now, patterns->text[i]);
	for (unsigned i = 0; i < extras; i++)
		list_add(&now, extra[i], false);
	pthread_mutex_lock(&s->lock);
	patterns_drop(patterns);
	pthread_mutex_unlock(&s->lock);
	if (same(&now, &s->seen) || !copy(&told, &now)) {
		disk_watch_clear(&now);
		return DISK_WATCH_SECONDS * NS_SECOND;
	}
	disk_watch_clear(&s->seen);
	s->seen = now;
	pthread_mutex_lock(&s->lock);
	disk_watch_clear(&s->told);
	s->told = told;
	s->news = true;
	pthread_mutex_unlock(&s->lock);
	s->changed(s->arg);
	return DISK_WATCH_SECONDS * NS_SECOND;
}

/* ---- starting and stopping ------------------------------------------- */

static void
disk_watch_free(struct disk_watch *s)
{
	if (s->mounts >= 0)
		close(s->mounts);
	for (unsigned i = 0; i < s->extras; i++)
		free(s->extra[i]);
	patterns_drop(s->patterns);
	disk_watch_clear(&s->seen);
	disk_watch_clear(&s->told);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

int
disk_watch_start(struct disk_watch **watch, const struct option_texts *patterns,
		 void (*changed)(void *arg), void *arg)
{
	struct disk_watch *s = calloc(1, sizeof *s);
	struct worker_args worker = { .name = "spate-watch",
				      .round = look,
				      .arg = s };
	int err;

	if (!s)
		return -ENOMEM;
	s->changed = changed;
	s->arg = arg;
	pthread_mutex_init(&s->lock, NULL);
	/* Without mountinfo the pause between two rounds still ends. */
	s->mounts = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	s->patterns = patterns_copy(patterns);
	worker.watch = s->mounts < 0 ? 0 : s->mounts;
	err = s->patterns ? worker_start(&s->worker, &worker) : -ENOMEM;
	if (err)
		disk_watch_free(s);
	else
		*watch = s;
	return err;
}

void
disk_watch_stop(struct disk_watch *s)
{
	/* A thread that hangs is left behind: the process is ending. */
	if (s && worker_stop(s->worker, NS_SECOND))
		disk_watch_free(s);
}

void
disk_watch_add(struct disk_watch *s, const char *path)
{
	char *copy_of = strdup(path);
	bool known = !copy_of;

	pthread_mutex_lock(&s->lock);
	for (unsigned i = 0; i < s->extras && !known; i++)
		known = !strcmp(s->extra[i], path);
	if (!known && s->extras < DISK_WATCH_EXTRA)
		s->extra[s->extras++] = copy_of;
	else
		free(copy_of);
	pthread_mutex_unlock(&s->lock);
	worker_poke(s->worker);
}

bool
disk_watch_take(struct disk_watch *s, struct disk_watch_list *list)
{
	bool news;

	pthread_mutex_lock(&s->lock);
	news = s->news;
	if (news) {
		*list = s->told;
		s->told = (struct disk_watch_list){ 0 };
		s->news = false;
	}
	pthread_mutex_unlock(&s->lock);
	return news;
}
