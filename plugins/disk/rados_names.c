/* SPDX-License-Identifier: MIT */
/*
 * A folder is an object whose name ends in '/', and whose omap has a key for
 * each name in it.  The value is 'd' and its id for a folder, or 'f' and the
 * name of the file's object, or 'x' and that if the object is in the pool for
 * data.  That is the path, so that `rados ls` shows what users know; it stays
 * as it was when the file gets another name, and with it stay the data, and the
 * lock of a file that is open.  So giving a file a new name is one operation on
 * one object, the folder, which RADOS does wholly or not at all.
 *
 * The object of a file that its maker alone writes (DISK_ONCE) has a random
 * number behind its path, "~18a2c4e6f0123456", and an attribute that says
 * so.  Whoever has a later lock and opens the file to write it gets a copy in
 * an object of its own, and the other one is removed: a late write does not
 * come to anything.
 *
 * The order of steps decides what a crash leaves behind:
 *
 *   new file     the object, exclusively; then its name.  Left: an object
 *                without a name, which takes no room; the next file of that name
 *                gets an object with "~1" behind it.
 *   its copy     an object with all data; the name, if it still leads to the
 *                first; no data of that.  Left: an object without a name, up
 *                to the size of a chunk, which `rados rm` removes.
 *   removal      the data, then the name.  Left: a name without an object,
 *                which can be removed again, and which a new file may take.
 *   new folder   its object, exclusively, which decides who made it; then its
 *                name, which whoever finds the object without it repeats.
 *   no folder    its object, if nothing changed since it was seen to be empty;
 *                then its name, if it is still that of this folder and not of
 *                one that was made meanwhile.  Left: a name that leads nowhere.
 *
 * When the making of a name is not answered in time, it may happen yet.  Such a
 * doubt is remembered: who asks for the name again gets what the first attempt
 * made, or of a file that is written once another one in its place, instead of
 * being told that there is a file of that name.
 *
 * Every change of a folder writes "changed" to it, in the same operation: the
 * time, for who wants to know whether to list it again, and a random number, so
 * that two changes never look alike.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "contract/bytes.h"
#include "rados.h"

enum { VALUE = RADOS_OBJECT + 1, CHANGED = 16, NAMES_AT_ONCE = 1000 };

static const char id_key[] = "id", changed_key[] = "changed",
		  piece_key[] = "piece", data_key[] = "data";

/* ---- paths --------------------------------------------------------------- */

/* Makes the name of a folder's object.  0 or -ENAMETOOLONG. */
static int
folder_object(const char *path, size_t length, char object[RADOS_OBJECT])
{
	if (length + 2 > RADOS_OBJECT - 32)
		return -ENAMETOOLONG;
	memcpy(object, path, length);
	memcpy(object + length, "/", 2);
	return 0;
}

/* Makes the name of the object of the folder that a path is in, and returns
 * the path's last part in *name. */
static int
parent_of(const char *path, char object[RADOS_OBJECT], const char **name)
{
	const char *slash = strrchr(path, '/');

	if (!*path)
		return -EEXIST; /* the disk's own folder is in none */
	*name = slash ? slash + 1 : path;
	return folder_object(path, slash ? (size_t)(slash - path) : 0, object);
}

static uint64_t
random_number(void)
{
	uint64_t is = 0;

	if (getrandom(&is, sizeof is, 0) != sizeof is)
		return 0;
	return is;
}

/* ---- names in a folder --------------------------------------------------- */

/* Finds a name in a folder.  0 with its value; -ENOENT, with ""; or -errno. */
static int
name_find(struct disk_store *s, const char *folder, const char *name,
	  char value[VALUE])
{
	const size_t length = strlen(name);
	rados_read_op_t op = rados_create_read_op();
	rados_omap_iter_t found;
	char *key, *val;
	size_t key_bytes, val_bytes;
	int err, part = 0;

	*value = '\0';
	if (!op)
		return -ENOMEM;
	rados_read_op_omap_get_vals_by_keys2(op, &name, 1, &length, &found,
					     &part);
	err = rados_read_op_operate(op, s->io, folder, 0);
	rados_release_read_op(op);
	err = err ? err : part;
	if (!err)
		err = rados_omap_get_next2(found, &key, &val, &key_bytes,
					   &val_bytes);
	if (!err && !key)
		err = -ENOENT;
	if (!err && (!val_bytes || val_bytes >= VALUE))
		err = -EBADMSG;
	if (!err) {
		memcpy(value, val, val_bytes);
		value[val_bytes] = '\0';
	}
	rados_omap_get_end(found);
	return err;
}

/* A change of one folder, in one operation. */
struct folder_change {
	rados_write_op_t op;
	int compared[2];
	uint8_t changed[CHANGED];
};

/* Begins a change, which another one's later term refuses. */
static int
change_begin(struct folder_change *c, struct disk_store *s, const char *folder)
{
	char term[RADOS_TERM];
	int err = ceph_term_of(s, folder, term);

	if (err)
		return err;
	*c = (struct folder_change){ .op = rados_create_write_op() };
	if (!c->op)
		return -ENOMEM;
	ceph_term_guard(c->op, term);
	write_le64(c->changed, (uint64_t)s->host->now(s->host->ctx));
	write_le64(c->changed + 8, random_number());
	rados_write_op_assert_exists(c->op);
	return 0;
}

/* Makes the change fail with -ECANCELED unless the name has this value; "": it
 * is not there.  `i` is another one for each name. */
static void
change_if(struct folder_change *c, int i, const char *name, const char *value)
{
	rados_write_op_omap_cmp2(c->op, name, LIBRADOS_CMPXATTR_OP_EQ, value,
				 strlen(name), strlen(value), &c->compared[i]);
}

static void
change_set(struct folder_change *c, const char *name, const char *value)
{
	const size_t length = strlen(name), bytes = strlen(value);

	rados_write_op_omap_set2(c->op, &name, &value, &length, &bytes, 1);
}

static void
change_remove(struct folder_change *c, const char *name)
{
	const size_t length = strlen(name);

	rados_write_op_omap_rm_keys2(c->op, &name, &length, 1);
}

static int
change_end(struct folder_change *c, struct disk_store *s, const char *folder)
{
	int err;

	rados_write_op_setxattr(c->op, changed_key, (char *)c->changed,
				CHANGED);
	err = rados_write_op_operate2(c->op, s->io, folder, NULL, 0);
	rados_release_write_op(c->op);
	/* No name was other than it had to be: the term was. */
	if (err == -ECANCELED && !c->compared[0] && !c->compared[1])
		err = -ESTALE;
	return err;
}

/* Gives a name in a folder another value, or removes it (`to` NULL), if it
 * still has that of `from`.  -ECANCELED: it has another one. */
static int
name_swap(struct disk_store *s, const char *folder, const char *name,
	  const char *from, const char *to)
{
	struct folder_change c;
	int err = change_begin(&c, s, folder);

	if (err)
		return err;
	change_if(&c, 0, name, from);
	if (to)
		change_set(&c, name, to);
	else
		change_remove(&c, name);
	return change_end(&c, s, folder);
}

/* Returns -ENOENT if the object of a name's value is not there: the name is
 * free.  0, or another error. */
static int
object_look(struct disk_store *s, const char *value)
{
	rados_ioctx_t io;
	uint64_t bytes;
	time_t changed;
	int err;

	if (*value == 'd')
		return 0;
	err = ceph_pool_of(s, value, &io);
	return err ? err : rados_stat(io, value + 1, &bytes, &changed);
}

/* Gives a name in a folder to an object, if it is free.  -EEXIST: it is not. */
static int
name_add(struct disk_store *s, const char *folder, const char *name,
	 const char *value)
{
	char old[VALUE] = "";
	int err;

	do {
		err = name_swap(s, folder, name, old, value);
		if (err != -ECANCELED)
			return err;
		err = name_find(s, folder, name, old);
		if (!err)
			err = object_look(s, old);
	} while (err == -ENOENT);
	return err ? err : -EEXIST;
}

/* ---- names that may have been made --------------------------------------- */

/* A name whose making was not answered in time. */
struct rados_doubt {
	struct rados_doubt *next; // disk_store::doubts
	bool ends;		  /* it is being ended just now */
	char *path;
	char value[]; /* as it was to be */
};

/* Notes that the making of a name was not answered.  Without memory for that,
 * it is as if it had been refused. */
static void
doubt_add(struct disk_store *s, const char *path, const char *value)
{
	struct rados_doubt *d = calloc(1, sizeof *d + strlen(value) + 1);

	if (!d)
		return;
	d->path = strdup(path);
	if (!d->path) {
		free(d);
		return;
	}
	strcpy(d->value, value);
	pthread_mutex_lock(&s->lock);
	d->next = s->doubts;
	s->doubts = d;
	pthread_mutex_unlock(&s->lock);
}

/* Frees a doubt.  Caller holds disk_store::lock. */
static void
doubt_drop(struct disk_store *s, struct rados_doubt *d)
{
	struct rados_doubt **at = &s->doubts;

	while (*at != d)
		at = &(*at)->next;
	*at = d->next;
	free(d->path);
	free(d);
}

/* Takes the value that a path was to have out of the doubts.  0; -ENOENT: there
 * is none, and value is ""; -ETIMEDOUT: it is being ended just now. */
static int
doubt_take(struct disk_store *s, const char *path, char value[VALUE])
{
	struct rados_doubt *d;
	int err = -ENOENT;

	*value = '\0';
	pthread_mutex_lock(&s->lock);
	for (d = s->doubts; d && strcmp(d->path, path) != 0; d = d->next)
		;
	if (d)
		err = d->ends ? -ETIMEDOUT : 0;
	if (!err) {
		snprintf(value, VALUE, "%s", d->value);
		doubt_drop(s, d);
	}
	pthread_mutex_unlock(&s->lock);
	return err;
}

/* Removes a name that has this value, and the object of the value.  If the name
 * has another value, removes the object only if it was made with `once`: any
 * other is empty, or has another name by now. */
static int
name_undo(struct disk_store *s, const char *path, const char *value)
{
	char parent[RADOS_OBJECT];
	rados_ioctx_t io;
	const char *name;
	int err = parent_of(path, parent, &name), name_err;

	if (err)
		return err;
	name_err = name_swap(s, parent, name, value, NULL);
	if (name_err && name_err != -ECANCELED)
		return name_err;
	err = ceph_pool_of(s, value, &io);
	if (err || (name_err && !ceph_object_once(io, value + 1)))
		return err;
	return ceph_data_remove(io, value + 1, "");
}

/* Finds a doubt about a file, to be ended.  Doubts about folders stay: one that
 * was made late is empty, and if this process asks for it again, its id says
 * that it is its own. */
static struct rados_doubt *
doubt_of_file(struct disk_store *s)
{
	struct rados_doubt *d;

	pthread_mutex_lock(&s->lock);
	for (d = s->doubts; d && *d->value == 'd'; d = d->next)
		;
	if (d)
		d->ends = true;
	pthread_mutex_unlock(&s->lock);
	return d;
}

void
ceph_doubts_end(struct disk_store *s)
{
	struct rados_doubt *d;
	int err = 0;

	/* While it ends, no other thread frees it. */
	while (err != -ETIMEDOUT && (d = doubt_of_file(s))) {
		err = name_undo(s, d->path, d->value);
		pthread_mutex_lock(&s->lock);
		if (err == -ETIMEDOUT)
			d->ends = false;
		else
			doubt_drop(s, d);
		pthread_mutex_unlock(&s->lock);
	}
}

/* ---- folders ------------------------------------------------------------- */

struct folder_facts {
	uint64_t id, piece;
	char data[RADOS_POOL]; /* of the disk's own: the pool for data */
	uint8_t changed[CHANGED];
};

static int
folder_facts(struct disk_store *s, const char *object, struct folder_facts *to)
{
	rados_xattrs_iter_t all;
	const char *name, *value;
	size_t bytes;
	int err = rados_getxattrs(s->io, object, &all);

	*to = (struct folder_facts){ 0 };
	if (err < 0)
		return err;
	while (!(err = rados_getxattrs_next(all, &name, &value, &bytes)) &&
	       name) {
		if (!strcmp(name, id_key) && bytes == 8)
			to->id = read_le64(value);
		else if (!strcmp(name, piece_key) && bytes == 8)
			to->piece = read_le64(value);
		else if (!strcmp(name, data_key) && bytes < RADOS_POOL)
			memcpy(to->data, value, bytes);
		else if (!strcmp(name, changed_key) && bytes == CHANGED)
			memcpy(to->changed, value, CHANGED);
	}
	rados_getxattrs_end(all);
	/* An object of that name that no spate made. */
	return err || to->id ? err : -ENOTDIR;
}

/* Makes a folder's object.  -EEXIST: it is there. */
static int
folder_new(struct disk_store *s, const char *object, uint64_t own,
	   uint64_t piece)
{
	rados_write_op_t op = rados_create_write_op();
	uint8_t id[8], size[8], changed[CHANGED];
	/* An erasure coded pool has no omap, and says so now. */
	const char *none = "";
	const size_t length = 0;
	int err;

	if (!op)
		return -ENOMEM;
	write_le64(id, own);
	write_le64(changed, (uint64_t)s->host->now(s->host->ctx));
	write_le64(changed + 8, random_number());
	write_le64(size, piece);
	rados_write_op_create(op, LIBRADOS_CREATE_EXCLUSIVE, NULL);
	rados_write_op_setxattr(op, id_key, (char *)id, sizeof id);
	rados_write_op_setxattr(op, changed_key, (char *)changed, CHANGED);
	if (piece) {
		rados_write_op_setxattr(op, piece_key, (char *)size,
					sizeof size);
		rados_write_op_omap_rm_keys2(op, &none, &length, 1);
	}
	err = rados_write_op_operate2(op, s->io, object, NULL, 0);
	rados_release_write_op(op);
	return err;
}

/* Notes the pool for data in the disk's own folder, unless that names one. */
static int
root_data_set(struct disk_store *s)
{
	rados_write_op_t op = rados_create_write_op();
	int err;

	if (!op)
		return -ENOMEM;
	rados_write_op_assert_exists(op);
	rados_write_op_cmpxattr(op, data_key, LIBRADOS_CMPXATTR_OP_EQ, "", 0);
	rados_write_op_setxattr(op, data_key, s->data_pool,
				strlen(s->data_pool));
	err = rados_write_op_operate2(op, s->io, "/", NULL, 0);
	rados_release_write_op(op);
	return err;
}

int
ceph_root(struct disk_store *s, uint64_t piece)
{
	struct folder_facts facts;
	int err = folder_facts(s, "/", &facts);

	if (err == -ENOENT && piece) {
		err = folder_new(s, "/", random_number() | 1, piece);
		if (!err || err == -EEXIST)
			err = folder_facts(s, "/", &facts);
	}
	if (!err && !facts.piece)
		err = -EBADMSG;
	if (err)
		return err;
	s->piece = facts.piece;
	if (!s->data_pool) {
		s->data_pool = *facts.data ? strdup(facts.data) : NULL;
		return *facts.data && !s->data_pool ? -ENOMEM : 0;
	}
	if (*facts.data)
		return strcmp(s->data_pool, facts.data) ? -EBUSY : 0;
	err = piece ? root_data_set(s) : 0;
	/* Another recorder has set it just now. */
	return err == -ECANCELED ? ceph_root(s, piece) : err;
}

int
ceph_root_data(struct disk_store *s, char pool[RADOS_POOL])
{
	struct folder_facts facts;
	int err = folder_facts(s, "/", &facts);

	memcpy(pool, facts.data, RADOS_POOL);
	return err;
}

/* Makes a folder's object with the id of `own`.  If there is one, writes its id
 * to `value`; -EEXIST: that id is not the one of `own`. */
static int
folder_find(struct disk_store *s, const char *object, const char *own,
	    char value[VALUE])
{
	struct folder_facts facts;
	int err = folder_new(s, object, strtoull(own + 1, NULL, 16), 0);

	strcpy(value, own);
	if (err != -EEXIST)
		return err;
	err = folder_facts(s, object, &facts);
	if (err)
		return err;
	snprintf(value, VALUE, "d%016llx", (unsigned long long)facts.id);
	return strcmp(value, own) ? -EEXIST : 0;
}

/* Makes a folder with the id of `own`.  -ECANCELED: another process changed
 * something meanwhile. */
static int
folder_make(struct disk_store *s, const char *path, const char *own)
{
	char parent[RADOS_OBJECT], object[RADOS_OBJECT];
	char old[VALUE], value[VALUE];
	struct folder_facts facts;
	const char *name;
	int err = parent_of(path, parent, &name), made;

	if (!err)
		err = folder_object(path, strlen(path), object);
	if (!err)
		err = name_find(s, parent, name, old);
	if (err == -ENOENT)
		err = folder_facts(s, parent, &facts);
	if (err)
		return err;
	if (*old && *old != 'd')
		return -EEXIST;
	made = folder_find(s, object, own, value);
	if (made && made != -EEXIST) /* -ENOENT: it was removed just now */
		return made == -ENOENT ? -ECANCELED : made;
	/* Folders had "d" alone before. */
	if (made && (!strcmp(old, value) || !strcmp(old, "d")))
		return made;
	err = name_swap(s, parent, name, old, value);
	return err ? err : made;
}

int
ceph_make_folder(struct disk_store *s, const char *path)
{
	char own[VALUE];
	int err;

	if (doubt_take(s, path, own))
		snprintf(own, sizeof own, "d%016llx",
			 (unsigned long long)random_number() | 1);
	do
		err = folder_make(s, path, own);
	while (err == -ECANCELED);
	if (err == -ETIMEDOUT)
		doubt_add(s, path, own);
	return err;
}

/* Tells the names behind `*last` in a folder, and sets it to the last
 * one.  *more says whether there are others. */
static int
list_part(struct disk_store *s, const char *object, char last[RADOS_OBJECT],
	  uint64_t most, bool *more,
	  int (*take)(void *arg, const char *name, bool folder), void *arg)
{
	rados_read_op_t op = rados_create_read_op();
	rados_omap_iter_t found;
	unsigned char others = 0;
	char *key, *val;
	size_t key_bytes, val_bytes;
	int err, part = 0;

	if (!op)
		return -ENOMEM;
	rados_read_op_omap_get_vals2(op, last, "", most, &found, &others,
				     &part);
	err = rados_read_op_operate(op, s->io, object, 0);
	rados_release_read_op(op);
	err = err ? err : part;
	while (!err &&
	       !(err = rados_omap_get_next2(found, &key, &val, &key_bytes,
					    &val_bytes)) &&
	       key) {
		snprintf(last, RADOS_OBJECT, "%.*s", (int)key_bytes, key);
		err = take(arg, last, val_bytes && *val == 'd');
	}
	rados_omap_get_end(found);
	*more = others;
	return err;
}

int
ceph_list(struct disk_file *folder,
	  int (*take)(void *arg, const char *name, bool folder), void *arg)
{
	char last[RADOS_OBJECT] = "";
	bool more = true;
	int err = folder->folder ? 0 : -ENOTDIR;

	while (!err && more)
		err = list_part(folder->store, folder->object, last,
				NAMES_AT_ONCE, &more, take, arg);
	return err;
}

static int
is_there(void *arg, const char *name, bool folder)
{
	(void)arg, (void)name, (void)folder;
	return -ENOTEMPTY;
}

/* Removes a folder's object, if the folder is empty.  -ENOENT: it is not there.
 */
static int
folder_end(struct disk_store *s, const char *object)
{
	char last[RADOS_OBJECT] = "";
	struct folder_facts facts;
	rados_write_op_t op;
	bool more;
	int err = folder_facts(s, object, &facts);

	if (!err)
		err = list_part(s, object, last, 1, &more, is_there, NULL);
	if (err)
		return err;
	op = rados_create_write_op();
	if (!op)
		return -ENOMEM;
	rados_write_op_cmpxattr(op, changed_key, LIBRADOS_CMPXATTR_OP_EQ,
				(char *)facts.changed, CHANGED);
	rados_write_op_remove(op);
	err = rados_write_op_operate2(op, s->io, object, NULL, 0);
	rados_release_write_op(op);
	return err == -ECANCELED ? -ENOTEMPTY : err;
}

static int
folder_remove(struct disk_store *s, const char *path)
{
	char parent[RADOS_OBJECT], object[RADOS_OBJECT], value[VALUE];
	const char *name;
	int err = parent_of(path, parent, &name), name_err;

	if (!err)
		err = folder_object(path, strlen(path), object);
	if (err)
		return err;
	name_err = name_find(s, parent, name, value);
	if (name_err && name_err != -ENOENT)
		return name_err;
	if (!name_err && *value != 'd')
		return -ENOTDIR;
	err = folder_end(s, object);
	/* A name whose object is gone was left by a removal before. */
	if (err && (err != -ENOENT || name_err))
		return err;
	err = name_err ? 0 : name_swap(s, parent, name, value, NULL);
	/* Another one made a folder of that name, which is not this one. */
	return err == -ECANCELED ? 0 : err;
}

/* ---- opening ------------------------------------------------------------- */

/* Returns what the values of new files begin with that are not appended to. */
static char
data_kind(struct disk_store *s)
{
	char kind;

	pthread_mutex_lock(&s->lock);
	kind = s->data ? 'x' : 'f';
	pthread_mutex_unlock(&s->lock);
	return kind;
}

/* Makes an open file of a name's value, to be written in a term, or "". */
static int
file_new(struct disk_store *s, const char *value, const char *term,
	 struct disk_file **file)
{
	struct disk_file *f = calloc(1, sizeof *f);
	int err = f ? ceph_pool_of(s, value, &f->io) : -ENOMEM;

	if (!err) {
		f->object = strdup(value + 1);
		err = f->object ? 0 : -ENOMEM;
	}
	if (err) {
		free(f);
		return err;
	}
	f->store = s;
	memcpy(f->term, term, strlen(term) + 1);
	*file = f;
	return 0;
}

static int
folder_open(struct disk_store *s, const char *path, struct disk_file **file)
{
	char parent[RADOS_OBJECT], value[VALUE], own[VALUE] = "d";
	char *object = own + 1;
	struct folder_facts facts;
	const char *name;
	int err = folder_object(path, strlen(path), object);

	/* The disk's own folder is called "/". */
	if (!err)
		err = folder_facts(s, object, &facts);
	if (err == -ENOENT && *path && !parent_of(path, parent, &name) &&
	    !name_find(s, parent, name, value) && *value != 'd')
		return -ENOTDIR;
	if (!err)
		err = file_new(s, own, "", file);
	if (err)
		return err;
	(*file)->folder = true;
	(*file)->id = facts.id;
	return 0;
}

/* Makes an object for a new file.  Its name is the path, or if that is in use
 * the path with a number behind it; never `old`, the object that the file's
 * name still leads to: a process that is removing the old file would remove the
 * new one. */
static int
object_new(rados_ioctx_t io, const char *path, const char *term,
	   const char *old, char object[RADOS_OBJECT])
{
	enum { NUMBERS = 10000 };
	int err = -EEXIST;

	for (int i = 0; i < NUMBERS && err == -EEXIST; i++) {
		if (!i)
			snprintf(object, RADOS_OBJECT, "%s", path);
		else
			snprintf(object, RADOS_OBJECT, "%s~%d", path, i);
		if (!strcmp(object, old))
			continue;
		err = ceph_object_end(ceph_object_start(io, object, term, 0));
	}
	return err;
}

/* Makes an object for a file that nobody else writes, and the value of its
 * name. */
static int
once_new(struct disk_store *s, const char *path, const char *term,
	 char value[VALUE], struct disk_file **file)
{
	rados_ioctx_t io;
	int err;

	snprintf(value, VALUE, "%c%s~%016llx", data_kind(s), path,
		 (unsigned long long)random_number());
	err = file_new(s, value, term, file);
	if (err)
		return err;
	(*file)->once = true;
	io = (*file)->io;
	err = ceph_object_end(ceph_object_start(io, value + 1, term, s->piece));
	if (err)
		ceph_file_close(*file);
	return err;
}

/* Puts a file that another one made once and still writes, perhaps, into an
 * object of this one. */
static int
take_over(struct disk_store *s, const char *path, const char *from,
	  struct disk_file **file)
{
	char parent[RADOS_OBJECT], value[VALUE];
	struct disk_file *was = *file;
	const char *name;
	int err = parent_of(path, parent, &name);

	if (!err)
		err = once_new(s, path, was->term, value, file);
	if (!err) {
		err = ceph_data_copy(*file, was);
		if (!err)
			err = name_swap(s, parent, name, from, value);
		if (err == -ECANCELED)
			err = -ESTALE;
		/* Not known: it may be what the name leads to now. */
		if (err && err != -ETIMEDOUT)
			ceph_data_remove((*file)->io, value + 1, "");
		if (err)
			ceph_file_close(*file);
		else
			ceph_data_remove(was->io, was->object, "");
	}
	ceph_file_close(was);
	return err;
}

/* Opens a file that has a name, to write to it. */
static int
file_again(struct disk_store *s, const char *path, const char *value,
	   const char *term, struct disk_file **file)
{
	int err = file_new(s, value, term, file), whose;

	if (err)
		return err;
	whose = *term ? ceph_data_once(*file) : 0;
	if (whose == DATA_OF_OTHER)
		return take_over(s, path, value, file);
	(*file)->once = whose == DATA_OWN;
	err = whose < 0 ? whose : ceph_data_mark(*file);
	if (err)
		ceph_file_close(*file);
	return err;
}

/* Makes an object for a path, and gives it the name, which may have the value
 * `old` whose object is gone. */
static int
file_make(struct disk_store *s, const char *path, bool appended,
	  const char *term, const char *old, struct disk_file **file)
{
	char parent[RADOS_OBJECT], value[VALUE];
	rados_ioctx_t io;
	const char *name;
	int err;

	*value = appended ? 'f' : data_kind(s);
	err = ceph_pool_of(s, value, &io);
	if (!err)
		err = parent_of(path, parent, &name);
	if (!err)
		err =
		    object_new(io, path, term, *old ? old + 1 : "", value + 1);
	if (err)
		return err;
	err = name_add(s, parent, name, value);
	if (!err)
		return file_new(s, value, term, file);
	if (err == -ETIMEDOUT)
		doubt_add(s, path, value);
	else /* -ENOENT: there is no such folder */
		ceph_data_remove(io, value + 1, "");
	return err;
}

/* Makes a file that nobody else writes. */
static int
file_make_once(struct disk_store *s, const char *path, struct disk_file **file)
{
	char parent[RADOS_OBJECT], term[RADOS_TERM], value[VALUE];
	const char *name;
	int err = parent_of(path, parent, &name);

	if (!err)
		err = ceph_term_of(s, parent, term);
	if (err)
		return err;
	/* An attempt before may have been done late. */
	err = doubt_take(s, path, value);
	if (!err && name_undo(s, path, value) == -ETIMEDOUT) {
		doubt_add(s, path, value);
		err = -ETIMEDOUT;
	}
	if (err == -ETIMEDOUT)
		return err;
	err = once_new(s, path, term, value, file);
	if (err == -ETIMEDOUT)
		doubt_add(s, path, value);
	if (err)
		return err;
	err = name_add(s, parent, name, value);
	if (!err)
		return 0;
	if (err == -ETIMEDOUT)
		doubt_add(s, path, value);
	else /* -ENOENT: there is no such folder */
		ceph_data_remove((*file)->io, value + 1, "");
	ceph_file_close(*file);
	return err;
}

int
ceph_file_open(struct disk_store *s, const char *path, enum disk_how how,
	       struct disk_file **file)
{
	char parent[RADOS_OBJECT], value[VALUE], doubt[VALUE] = "";
	char term[RADOS_TERM] = "";
	bool appended = how & DISK_APPENDED, makes;
	const char *name;
	int err;

	how &= ~DISK_APPENDED;
	if (how == DISK_FOLDER)
		return folder_open(s, path, file);
	if (!*path)
		return -EISDIR;
	if (how & DISK_ONCE)
		return file_make_once(s, path, file);
	makes = how == DISK_MAKE || how == DISK_NEW;
	err = parent_of(path, parent, &name);
	if (!err && how != DISK_READ)
		err = ceph_term_of(s, parent, term);
	if (!err && how != DISK_READ)
		err = doubt_take(s, path, doubt);
	if (err && err != -ENOENT)
		return err;
	err = name_find(s, parent, name, value);
	if (!err && *value == 'd')
		return how == DISK_NEW ? -EEXIST : -EISDIR;
	if (!err && makes)
		err = object_look(s, value);
	if (!err && how == DISK_READ)
		return file_new(s, value, "", file);
	if (!err && how == DISK_NEW && strcmp(value, doubt) != 0)
		return -EEXIST;
	if (!err)
		return file_again(s, path, value, term, file);
	/* Operations on one folder are done in their order: what is not there
	 * now was not made. */
	if (*doubt && err != -ENOENT)
		doubt_add(s, path, doubt);
	if (err != -ENOENT || !makes)
		return err;
	err = file_make(s, path, appended, term, value, file);
	/* Another one made it meanwhile. */
	if (err == -EEXIST && how == DISK_MAKE)
		return ceph_file_open(s, path, DISK_WRITE, file);
	return err;
}

void
ceph_file_close(struct disk_file *f)
{
	ceph_lock_set(f, DISK_UNLOCK);
	if (f->nameless)
		ceph_data_remove(f->io, f->object, "");
	free(f->object);
	free(f);
}

int
ceph_nameless(struct disk_store *s, const char *folder, struct disk_file **file)
{
	char path[RADOS_OBJECT], parent[RADOS_OBJECT], value[VALUE];
	char term[RADOS_TERM];
	rados_ioctx_t io;
	int err;

	/* The object keeps this name, and `rados ls` shows it. */
	snprintf(path, sizeof path, "%.*s%snew-%016llx", RADOS_OBJECT - 64,
		 folder, *folder ? "/" : "",
		 (unsigned long long)random_number());
	ceph_folder_of(path, parent);
	*value = data_kind(s);
	err = ceph_term_of(s, parent, term);
	if (!err)
		err = ceph_pool_of(s, value, &io);
	if (!err)
		err = object_new(io, path, term, "", value + 1);
	if (!err)
		err = file_new(s, value, term, file);
	if (!err)
		(*file)->nameless = true;
	return err;
}

int
ceph_link(struct disk_file *f, const char *path)
{
	char parent[RADOS_OBJECT], value[VALUE];
	const char *name;
	int err = f->nameless ? parent_of(path, parent, &name) : -EINVAL;

	if (err)
		return err;
	snprintf(value, sizeof value, "%c%s", f->io == f->store->io ? 'f' : 'x',
		 f->object);
	err = name_add(f->store, parent, name, value);
	/* Not removed when it is closed: it may have got the name. */
	f->nameless = err && err != -ETIMEDOUT;
	return err;
}

/* ---- facts --------------------------------------------------------------- */

int
ceph_stat_of(struct disk_file *f, struct disk_stat *is)
{
	struct folder_facts facts;
	int err;

	*is = (struct disk_stat){
		.id = f->folder ? f->id
				: bytes_hash(f->store->device, f->object,
					     strlen(f->object)),
		.device = f->store->device,
		.folder = f->folder,
	};
	if (f->folder) {
		err = folder_facts(f->store, f->object, &facts);
		is->gone = err == -ENOENT || (!err && facts.id != f->id);
		is->changed_ns = err ? 0 : (int64_t)read_le64(facts.changed);
	} else {
		err = ceph_data_bytes(f, &is->bytes, &is->changed_ns);
		is->gone = err == -ENOENT;
	}
	return err == -ENOENT ? 0 : err;
}

int
ceph_stat_at(struct disk_store *s, const char *path, struct disk_stat *is)
{
	char parent[RADOS_OBJECT], value[VALUE] = "d";
	struct disk_file *f;
	const char *name;
	int err = *path ? parent_of(path, parent, &name) : 0;

	if (!err && *path)
		err = name_find(s, parent, name, value);
	if (!err)
		err = *value == 'd' ? folder_open(s, path, &f)
				    : file_new(s, value, "", &f);
	if (err)
		return err;
	err = ceph_stat_of(f, is);
	is->gone = false; /* it has a name */
	ceph_file_close(f);
	return err;
}

/* ---- removing, renaming -------------------------------------------------- */

int
ceph_remove(struct disk_store *s, const char *path, bool folder)
{
	char parent[RADOS_OBJECT], value[VALUE], term[RADOS_TERM];
	rados_ioctx_t io;
	const char *name;
	int err;

	if (folder)
		return folder_remove(s, path);
	err = parent_of(path, parent, &name);
	if (!err)
		err = ceph_term_of(s, parent, term);
	if (!err)
		err = name_find(s, parent, name, value);
	if (!err && *value == 'd')
		err = -EISDIR;
	if (!err && *term)
		err = ceph_term_check(s, parent, term);
	if (!err)
		err = ceph_pool_of(s, value, &io);
	if (!err)
		err = ceph_data_remove(io, value + 1, term);
	if (!err)
		err = name_swap(s, parent, name, value, NULL);
	return err == -ECANCELED ? -ENOENT : err;
}

int
ceph_rename(struct disk_store *s, const char *from, const char *to)
{
	char parent[RADOS_OBJECT], beside[RADOS_OBJECT];
	char value[VALUE], old[VALUE] = "";
	const char *name, *new;
	struct folder_change c;
	rados_ioctx_t io;
	int err = parent_of(from, parent, &name);

	if (!err)
		err = parent_of(to, beside, &new);
	if (!err && strcmp(parent, beside) != 0)
		err = -EXDEV;
	if (!err)
		err = name_find(s, parent, name, value);
	if (!err)
		err = name_find(s, parent, new, old);
	else
		return err;
	if (err && err != -ENOENT)
		return err;
	if (*value == 'd' || *old == 'd')
		return -EISDIR;
	if (!strcmp(value, old))
		return 0;
	err = change_begin(&c, s, parent);
	if (err)
		return err;
	change_if(&c, 0, name, value);
	change_if(&c, 1, new, old);
	change_set(&c, new, value);
	change_remove(&c, name);
	err = change_end(&c, s, parent);
	if (err)
		return err == -ECANCELED ? -ENOENT : err;
	/* The name is given: what it meant before is only room. */
	if (*old && !ceph_pool_of(s, old, &io))
		ceph_data_remove(io, old + 1, "");
	return 0;
}
