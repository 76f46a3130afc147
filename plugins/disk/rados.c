/* SPDX-License-Identifier: MIT */
/*
 * A disk that is a namespace of a RADOS pool (Ceph):
 *
 *   rados://pool/namespace?conf=/etc/ceph/ceph.conf&user=NAME&data=POOL
 *
 * The pool has to keep omaps: a replicated one.  Chunks may be in another one,
 * which may be erasure coded; the disk's folder remembers which.  Data is
 * durable when a write is answered, on as many OSDs as the pool says, so that
 * nothing is left to sync.  Operations have a time limit: a cluster that does
 * not answer is to the core a disk that hangs, and then one that fails.
 *
 * Room is what the monitors say of the pool, which counts replicas and the
 * fullest OSD in.  They know it some seconds late, and it takes a round trip:
 * so a thread fetches it as long as anybody asks, and what was written in the
 * last seconds counts as not yet known.  Another one keeps the locks: it never
 * waits for the cluster.
 */
#include <errno.h>
#include <jansson.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "contract/bytes.h"
#include "rados.h"

enum { TEXT = RADOS_POOL };

static const uint64_t piece_most = UINT64_C(64) << 20;

/* ---- where it is --------------------------------------------------------- */

struct place {
	char pool[TEXT], name_space[TEXT], conf[TEXT], user[TEXT], data[TEXT];
};

/* Copies up to one of the characters of `end`; returns what is behind. */
static const char *
text_until(const char *from, const char *end, char to[TEXT])
{
	size_t length = strcspn(from, end);

	snprintf(to, TEXT, "%.*s", (int)(length < TEXT ? length : TEXT - 1),
		 from);
	return from + length;
}

/* Returns where the value of an option goes; NULL: there is none of this name.
 */
static char *
option_of(struct place *p, const char *key)
{
	return !strcmp(key, "conf")   ? p->conf
	       : !strcmp(key, "user") ? p->user
	       : !strcmp(key, "data") ? p->data
				      : NULL;
}

/* Reads "pool/namespace?conf=...&user=...". */
static int
place_read(struct place *p, const char *text, char *why, size_t why_bytes)
{
	char key[TEXT], *value;

	*p = (struct place){ 0 };
	text = text_until(text, "/?", p->pool);
	if (*text == '/')
		text = text_until(text + 1, "?", p->name_space);
	if (!*p->pool || strchr(p->name_space, '/')) {
		snprintf(why, why_bytes,
			 "its form is rados://pool/namespace, and a namespace "
			 "has no '/'");
		return -EINVAL;
	}
	while (*text) {
		text = text_until(text + 1, "=&", key);
		value = *text == '=' ? option_of(p, key) : NULL;
		if (!value || !text[1] || text[1] == '&') {
			snprintf(why, why_bytes,
				 option_of(p, key)
				     ? "its option %.100s has no value, as in "
				       "?%.100s=NAME"
				     : "'%.100s' is none of its options, which "
				       "are conf, user and data",
				 key, key);
			return -EINVAL;
		}
		text = text_until(text + 1, "&", value);
	}
	/* Ceph's own commands call it either way. */
	if (!strncmp(p->user, "client.", strlen("client.")))
		memmove(p->user, p->user + strlen("client."),
			strlen(p->user + strlen("client.")) + 1);
	return 0;
}

/* ---- room ---------------------------------------------------------------- */

/* Finds a pool's room in what the monitors told. */
static int
room_find(const json_t *all, const char *of, struct disk_room *room)
{
	uint64_t stored = 0, left = 0, quota = 0;
	json_t *pool, *stats;
	int err = -ENOENT;
	size_t i;

	json_array_foreach(json_object_get(all, "pools"), i, pool) {
		const char *name =
		    json_string_value(json_object_get(pool, "name"));

		if (!name || strcmp(name, of) != 0)
			continue;
		stats = json_object_get(pool, "stats");
		stored = (uint64_t)json_number_value(
		    json_object_get(stats, "stored"));
		left = (uint64_t)json_number_value(
		    json_object_get(stats, "max_avail"));
		quota = (uint64_t)json_number_value(
		    json_object_get(stats, "quota_bytes"));
		err = 0;
	}
	if (quota && quota < stored + left)
		left = quota > stored ? quota - stored : 0;
	*room = (struct disk_room){ .total = stored + left, .free = left };
	return err;
}

/* Asks the monitors for the pool's room.  With one for data, that is what
 * counts, as long as there is some for names. */
static int
room_fetch(struct disk_store *s, struct disk_room *room)
{
	const char *ask = "{\"prefix\":\"df\",\"detail\":\"detail\","
			  "\"format\":\"json\"}";
	char *out = NULL, *said = NULL;
	size_t out_bytes = 0, said_bytes = 0;
	struct disk_room data;
	const char *pool;
	json_t *all;
	int err = rados_mon_command(s->cluster, &ask, 1, "", 0, &out,
				    &out_bytes, &said, &said_bytes);

	if (err < 0) {
		rados_buffer_free(said);
		return err;
	}
	all = json_loadb(out, out_bytes, 0, NULL);
	err = room_find(all, s->pool, room);
	pthread_mutex_lock(&s->lock);
	pool = s->data_pool; /* set once */
	pthread_mutex_unlock(&s->lock);
	if (!err && pool) {
		err = room_find(all, pool, &data);
		room->total = data.total;
		room->free = data.free < room->free ? data.free : room->free;
	}
	json_decref(all);
	rados_buffer_free(out);
	rados_buffer_free(said);
	return err;
}

/* Without the right to ask for the pool, the cluster's raw bytes are what is
 * known: too many, since replicas share them. */
static int
room_of_cluster(struct disk_store *s, struct disk_room *room)
{
	struct rados_cluster_stat_t is;
	int err = rados_cluster_stat(s->cluster, &is);

	if (err)
		return err;
	*room = (struct disk_room){ .total = is.kb * 1024,
				    .free = is.kb_avail * 1024 };
	return 0;
}

static int
room_look(struct disk_store *s)
{
	struct disk_room room;
	int err = room_fetch(s, &room);

	if (err && err != -ETIMEDOUT)
		err = room_of_cluster(s, &room);
	if (err)
		return err;
	pthread_mutex_lock(&s->lock);
	s->room = room;
	pthread_mutex_unlock(&s->lock);
	return 0;
}

static int
ceph_room(struct disk_store *s, struct disk_room *room)
{
	uint64_t late;

	pthread_mutex_lock(&s->lock);
	*room = s->room;
	late = s->written + s->written_before;
	room->free -= late < room->free ? late : room->free;
	s->asked = true;
	pthread_mutex_unlock(&s->lock);
	return 0;
}

/* ---- threads ------------------------------------------------------------- */

int
ceph_thread(void *(*run)(void *arg), void *arg)
{
	enum { STACK = 512 << 10 };
	pthread_t thread;
	pthread_attr_t how;
	sigset_t all, old;
	int err;

	pthread_attr_init(&how);
	pthread_attr_setdetachstate(&how, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&how, STACK);
	/* Signals are for the threads of the program. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = -pthread_create(&thread, &how, run, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&how);
	return err;
}

static const struct timespec second = { .tv_sec = 1 };

static void *
locks_keep(void *arg)
{
	for (;;) {
		nanosleep(&second, NULL);
		ceph_locks_renew(arg);
	}
	return NULL;
}

static void *
room_keep(void *arg)
{
	struct disk_store *s = arg;
	bool asked;

	for (unsigned i = 1;; i++) {
		nanosleep(&second, NULL);
		pthread_mutex_lock(&s->lock);
		asked = s->asked && i % 2 == 0;
		s->asked &= !asked;
		if (i % (RADOS_LATE_S / 2) == 0) {
			s->written_before = s->written;
			s->written = 0;
		}
		pthread_mutex_unlock(&s->lock);
		ceph_doubts_end(s);
		/* Answers of monitors stay true where they do not
		 * answer now: OSDs go on without them for a while. */
		if (asked)
			room_look(s);
	}
	return NULL;
}

/* ---- the end of the process ---------------------------------------------- */

/* Ends the process without the destructors of librados, whose threads still use
 * what those free.  To disconnect instead would free what a thread that waits
 * for the cluster uses. */
static void
leave(int status, void *arg)
{
	(void)arg;
	/* Not all files: a thread may hang in one. */
	fflush(stdout);
	fflush(stderr);
	_exit(status);
}

static void
leave_so(void)
{
	on_exit(leave, NULL);
}

/* ---- opening ------------------------------------------------------------- */

/* Sets a time limit that the configuration does not set itself. */
static void
limit_set(struct disk_store *s, const char *key, const char *unset,
	  const char *value)
{
	char is[64] = "";

	if (!rados_conf_get(s->cluster, key, is, sizeof is) &&
	    strtod(is, NULL) == strtod(unset, NULL))
		rados_conf_set(s->cluster, key, value);
}

static int
conf_read(struct disk_store *s, const struct place *p)
{
	int err = rados_create(&s->cluster, *p->user ? p->user : NULL);

	if (err)
		return err;
	/* NULL: $CEPH_CONF, or the usual places. */
	err = rados_conf_read_file(s->cluster, *p->conf ? p->conf : NULL);
	if (!err)
		rados_conf_parse_env(s->cluster, NULL); /* $CEPH_ARGS */
	limit_set(s, "rados_osd_op_timeout", "0", "30");
	limit_set(s, "rados_mon_op_timeout", "0", "10");
	limit_set(s, "client_mount_timeout", "300", "10");
	return err;
}

static uint64_t
piece_size(struct disk_store *s)
{
	char is[64] = "";
	uint64_t most = 0;

	if (!rados_conf_get(s->cluster, "osd_max_object_size", is, sizeof is))
		most = strtoull(is, NULL, 10);
	return most && most < piece_most ? most : piece_most;
}

static uint64_t
device_of(struct disk_store *s)
{
	char fsid[64] = "";

	rados_cluster_fsid(s->cluster, fsid, sizeof fsid);
	return bytes_hash(0, fsid, strlen(fsid)) ^
	       (uint64_t)rados_ioctx_get_id(s->io);
}

/* Says which configuration was looked for. */
static void
why_no_conf(const struct disk_args *a, const struct place *p, int err)
{
	const char *conf = *p->conf ? p->conf : getenv("CEPH_CONF");

	snprintf(a->why, a->why_bytes, "%.200s cannot be read: %s",
		 conf && *conf ? conf : "/etc/ceph/ceph.conf", strerror(-err));
}

/* Says who was not let in, and where its key was looked for. */
static void
why_no_entry(struct disk_store *s, const struct disk_args *a,
	     const struct place *p, int err)
{
	char keyring[200] = "";

	rados_conf_get(s->cluster, "keyring", keyring, sizeof keyring);
	snprintf(a->why, a->why_bytes,
		 "cannot connect as client.%.60s, whose key has to be in "
		 "%.180s: %s",
		 *p->user ? p->user : "admin", keyring, strerror(-err));
}

static void
why_not(const struct disk_args *a, const struct place *p, const char *step,
	int err)
{
	if (*a->why)
		return;
	if (err == -EOPNOTSUPP)
		snprintf(a->why, a->why_bytes,
			 "the pool %s is erasure coded, and cannot keep names; "
			 "use a replicated one, and this for ?data=",
			 p->pool);
	else if (err == -EBUSY)
		snprintf(a->why, a->why_bytes,
			 "its data is in another pool than %s", p->data);
	else if (err == -ETIMEDOUT)
		snprintf(a->why, a->why_bytes,
			 "%s: the cluster does not answer", step);
	else
		snprintf(a->why, a->why_bytes, "%s: %s", step, strerror(-err));
}

/* Looks whether a pool is an erasure coded one without overwrites, and writes
 * nothing.  0 or -EOPNOTSUPP. */
static int
coded(rados_ioctx_t io)
{
	int is = 0;
	int err = rados_ioctx_pool_requires_alignment2(io, &is);

	return !err && is ? -EOPNOTSUPP : 0;
}

/* Says that a disk is none yet, or can be none. */
static int
why_nothing(struct disk_store *s, const struct disk_args *a)
{
	int err = coded(s->io);

	if (err)
		return err;
	snprintf(a->why, a->why_bytes,
		 "there is nothing of spate in it yet; it is made by the "
		 "recorder that has it in `disks`");
	return -ENOENT;
}

/* Opens a pool for data. */
static int
data_open(struct disk_store *s, const char *pool, rados_ioctx_t *io)
{
	int err = rados_ioctx_create(s->cluster, pool, io);

	if (err)
		return err;
	rados_ioctx_set_namespace(*io, s->name_space);
	/* A pool that is full can be read, and made room in. */
	rados_set_pool_full_try(*io);
	return 0;
}

/* Opens the pool for data that is configured, or noted on the disk. */
static int
data_connect(struct disk_store *s, const struct disk_args *a,
	     const struct place *p)
{
	int err = data_open(s, s->data_pool, &s->data);

	if (err) {
		snprintf(a->why, a->why_bytes,
			 "cannot open the pool %s of its data: %s",
			 s->data_pool, strerror(-err));
		return err;
	}
	if (*p->data)
		err = a->makes ? ceph_data_try(s->data) : coded(s->data);
	err = err == -EOPNOTSUPP ? err : 0;
	if (err)
		snprintf(a->why, a->why_bytes,
			 "the pool %s cannot be written to at any place: ceph "
			 "osd pool set %s allow_ec_overwrites true",
			 s->data_pool, s->data_pool);
	return err;
}

/* Opens the pool for data, which the disk got since it was opened here.  The
 * first thread that has it open decides. */
static int
data_find(struct disk_store *s, rados_ioctx_t *io)
{
	char pool[RADOS_POOL], *copy;
	int err = ceph_root_data(s, pool);

	if (!err && !*pool)
		err = -EBADMSG; /* a name says that there is one */
	if (!err)
		err = data_open(s, pool, io);
	if (err)
		return err;
	copy = strdup(pool);
	pthread_mutex_lock(&s->lock);
	if (!s->data && copy) {
		s->data = *io;
		s->data_pool = copy;
		copy = NULL;
		*io = NULL;
	}
	pthread_mutex_unlock(&s->lock);
	free(copy);
	if (*io)
		rados_ioctx_destroy(*io);
	return 0;
}

int
ceph_pool_of(struct disk_store *s, const char *value, rados_ioctx_t *io)
{
	int err;

	*io = s->io;
	if (*value != 'x')
		return 0;
	pthread_mutex_lock(&s->lock);
	*io = s->data;
	pthread_mutex_unlock(&s->lock);
	if (*io)
		return 0;
	err = data_find(s, io);
	if (err)
		return err;
	pthread_mutex_lock(&s->lock);
	*io = s->data;
	pthread_mutex_unlock(&s->lock);
	return *io ? 0 : -ENOMEM;
}

static int
connect_to(struct disk_store *s, const struct disk_args *a,
	   const struct place *p)
{
	const char *step = "cannot connect";
	int err = conf_read(s, p);

	if (err)
		why_no_conf(a, p, err);
	else
		err = rados_connect(s->cluster);
	if (err && !*a->why && err != -ETIMEDOUT)
		why_no_entry(s, a, p, err);
	if (!err) {
		step = "cannot open the pool";
		err = rados_ioctx_create(s->cluster, p->pool, &s->io);
	}
	if (!err) {
		rados_ioctx_set_namespace(s->io, p->name_space);
		/* A full pool is an error, not a wait. */
		rados_set_pool_full_try(s->io);
		s->device = device_of(s);
		if (s->data_pool)
			err = data_connect(s, a, p);
	}
	if (!err) {
		step = "cannot make its folder";
		err = ceph_root(s, a->makes ? piece_size(s) : 0);
		if (err == -ENOENT && !a->makes)
			err = why_nothing(s, a);
	}
	if (!err && s->data_pool && !s->data)
		err = data_connect(s, a, p);
	if (!err) {
		step = "cannot ask for its room";
		err = room_look(s);
	}
	if (!err)
		err = ceph_thread(locks_keep, s);
	if (!err) {
		s->kept = true;
		err = ceph_thread(room_keep, s);
	}
	if (err)
		why_not(a, p, step, err);
	return err;
}

/* librados copies each request into memory of its own.  malloc gives that back
 * to the kernel when it is free, which then makes and clears it anew: 0.1 of
 * 0.7 CPU seconds per GB, and a twentieth of the rate where OSDs share the
 * processors.  So programs that write to pools keep what all requests in flight
 * take (24 of 4 MiB). malloc takes that for the whole process: each thread's
 * heap keeps the most that it had. */
static void
memory_keep(void)
{
	enum { KEPT = 128 << 20, HEAP_MOST = 32 << 20 };

	mallopt(M_MMAP_THRESHOLD, HEAP_MOST);
	mallopt(M_TRIM_THRESHOLD, KEPT);
	mallopt(M_TOP_PAD, KEPT);
}

static int
ceph_open(struct disk_store **store, const struct disk_args *a)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct disk_store *s;
	struct place p;
	int err = place_read(&p, a->place, a->why, a->why_bytes);

	if (err)
		return err;
	if (a->makes)
		memory_keep();
	s = calloc(1, sizeof *s);
	if (!s)
		return -ENOMEM;
	s->host = a->host;
	s->pool = strdup(p.pool);
	s->name_space = strdup(p.name_space);
	s->data_pool = *p.data ? strdup(p.data) : NULL;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->renewed, NULL);
	pthread_once(&once, leave_so);
	err = s->pool && s->name_space ? connect_to(s, a, &p) : -ENOMEM;
	if (!err) {
		*store = s;
		return 0;
	}
	if (s->kept)
		return err;
	if (s->data)
		rados_ioctx_destroy(s->data);
	if (s->io)
		rados_ioctx_destroy(s->io);
	if (s->cluster)
		rados_shutdown(s->cluster);
	pthread_cond_destroy(&s->renewed);
	pthread_mutex_destroy(&s->lock);
	free(s->data_pool);
	free(s->name_space);
	free(s->pool);
	free(s);
	return err;
}

static int
ceph_check(const struct disk_args *a)
{
	struct place p;

	return place_read(&p, a->place, a->why, a->why_bytes);
}

/* Nothing is left to do: a write is answered when it is durable. */
static int
ceph_sync(struct disk_file *f)
{
	return ceph_lock_lost(f) ? -ESTALE : 0;
}

SPATE_PLUGIN const struct disk_ops spate_disk = {
	.head = { .abi = SPATE_ABI,
		  .bytes = sizeof(struct disk_ops),
		  .name = "rados",
		  .help = "a namespace of a RADOS pool (Ceph)" },
	.open = ceph_open,
	.file_open = ceph_file_open,
	.file_close = ceph_file_close,
	.read = ceph_data_read,
	.write = ceph_data_write,
	.append = ceph_data_append,
	.sync = ceph_sync,
	.cut = ceph_data_cut,
	.stat = ceph_stat_of,
	.stat_at = ceph_stat_at,
	.lock = ceph_lock_set,
	.remove = ceph_remove,
	.rename = ceph_rename,
	.make_folder = ceph_make_folder,
	.nameless = ceph_nameless,
	.link = ceph_link,
	.list = ceph_list,
	.room = ceph_room,
	.write_start = ceph_data_write_start,
	.belongs = ceph_belongs,
	.check = ceph_check,
};
