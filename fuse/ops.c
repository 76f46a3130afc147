/* SPDX-License-Identifier: MIT */
/*
 * Answers the requests of the kernel: for killed programs, open files, names,
 * attributes and lists, in this order.
 *
 * The kernel checks modes itself (default_permissions), and refuses all changes
 * before it asks, because the mount is read-only.  For requests without a
 * callback here (xattr, locks, poll, ioctl) it takes "not supported" as the
 * answer after it has asked once; it handles locks alone.
 */
#include <errno.h>
#include <fuse_lowlevel.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "fuse/ops.h"
#include "fuse/tree/measure.h"
#include "fuse/tree/tree.h"
#include "store/read/open_recordings.h"
#include "store/read/cursor.h"

/* ---- requests of programs that are being killed -------------------------- */

/*
 * Answers requests of programs that are being killed.  A killed program is gone
 * only when its request was answered, and that may wait for a disk.  Another
 * thread then answers the request at once with EINTR, and the result that the
 * first thread finds is dropped.
 *
 *   watch -> OPEN --- settle ---> the caller answers
 *              \
 *               `- killed ------> was answered; settle says so
 */
struct interrupt {
	fuse_req_t req;
	_Atomic int state;
};

/*
 * The kernel reports only the first signal that reaches a waiting program, and
 * not only those that kill.  A program with a timer does not expect EINTR from
 * reading a file, so EINTR is only returned to a program that will never see
 * it: one whose thread has SIGKILL pending, into which the kernel turns each
 * signal that ends a process.  A program that gets another signal first and is
 * killed later waits, at most as long as a disk is waited for.
 *
 * libfuse calls killed() with the request locked: either from the thread that
 * took the interruption, where the request may be answered, or from within
 * interrupt_watch(), where it must not be, because answering would free the
 * lock before it is unlocked.
 *
 *   SETUP -- watch --> OPEN -- settle --> SETTLED
 *     |                 `----- killed --> ANSWERED, by killed()
 *     `----- killed --> DOOMED            answered by watch()
 */
enum { SETUP, OPEN, SETTLED, ANSWERED, DOOMED };

/*
 * Reads SigPnd (signals pending for the thread) or ShdPnd (for its process): a
 * mask in hex, signal 1 in bit 0.
 */
static bool
has_kill(const char *line)
{
	uint64_t set;

	if (sscanf(line, "SigPnd: %" SCNx64, &set) != 1 &&
	    sscanf(line, "ShdPnd: %" SCNx64, &set) != 1)
		return false;
	return set >> (SIGKILL - 1) & 1;
}

static bool
is_dying(pid_t thread)
{
	char path[40], line[256];
	bool dying = false;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/status", (int)thread);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (!dying && fgets(line, sizeof line, file))
		dying = has_kill(line);
	fclose(file);
	return dying;
}

/*
 * Callback of libfuse.  `i` is not touched after its state has changed: its
 * owner may have freed it.
 */
static void
killed(fuse_req_t req, void *data)
{
	struct interrupt *i = data;
	int was = SETUP;

	if (!is_dying(fuse_req_ctx(req)->pid))
		return;
	if (atomic_compare_exchange_strong(&i->state, &was, DOOMED))
		return;
	if (was == OPEN &&
	    atomic_compare_exchange_strong(&i->state, &was, ANSWERED))
		fuse_reply_err(req, EINTR);
}

/*
 * Begins: from now on another thread may answer the request.  Returns false if
 * the program was killed before; the request is then answered, and must not be
 * touched any more.
 */
static bool
interrupt_watch(struct interrupt *i, fuse_req_t req)
{
	int was = SETUP;

	i->req = req;
	atomic_init(&i->state, SETUP);
	fuse_req_interrupt_func(req, killed, i);
	if (atomic_compare_exchange_strong(&i->state, &was, OPEN))
		return true;
	fuse_req_interrupt_func(req, NULL, NULL);
	fuse_reply_err(req, EINTR);
	return false;
}

/*
 * Ends it.  Returns true if the caller has to answer the request, false if it
 * was answered.
 */
static bool
interrupt_settle(struct interrupt *i)
{
	int was = OPEN;

	if (!atomic_compare_exchange_strong(&i->state, &was, SETTLED))
		return false;
	/* This call waits for a killed() that is running. */
	fuse_req_interrupt_func(i->req, NULL, NULL);
	return true;
}

enum { TELL_AGAIN_S = 10 };

static struct ops *
ops_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

/* Add a handle to the list of open ones, or remove it.  Any thread. */
static void
ops_handle_add(struct ops *ops, struct ops_handle *h)
{
	pthread_mutex_lock(&ops->lock);
	h->before = NULL;
	h->next = ops->handles;
	if (h->next)
		h->next->before = h;
	ops->handles = h;
	pthread_mutex_unlock(&ops->lock);
}

static void
ops_handle_remove(struct ops *ops, struct ops_handle *h)
{
	pthread_mutex_lock(&ops->lock);
	if (h->before)
		h->before->next = h->next;
	else
		ops->handles = h->next;
	if (h->next)
		h->next->before = h->before;
	pthread_mutex_unlock(&ops->lock);
}

/* ---- open files ---------------------------------------------------------- */

/*
 * Pages of a file stay in the kernel's page cache, over many openings, while
 * the recording is unchanged (its stamp).  They are dropped if they contain
 * fill for data that a disk refused.  Files that grow, or may because their
 * recorder was interrupted, and all files with -o direct_io, bypass the page
 * cache, in requests as large as fuse has them: the kernel puts zeros behind
 * the end of a file's last page, and readers get them when the file has grown.
 *
 * The stamp of the last opening is kept for OPS_STAMPS files, at an index that
 * follows from the file's id.  Two files with one index cost each other their
 * cached pages, nothing more.
 *
 * A reply is one writev of the reader's buffers (the kernel copies it once, to
 * where it is wanted).  For 64 MiB that stay in memory, in requests of 1 MiB
 * with direct_io, on two cores that others use, too, with libfuse 3.14 and
 * Linux 6.18, processor time of this side per GB:
 *
 *   fuse_reply_iov, one piece or eight   0.11 to 0.14 s     6.1 GB/s at best
 *   fuse_reply_data of memory            0.14 s             4.9
 *   fuse_reply_data of a memfd (splice)  0.87 s             0.6
 *
 * The second is the first with a copy of the list.  Splicing takes a pipe for
 * each thread and goes page by page through it, and data read with O_DIRECT are
 * in no file's page cache anyway.  Through the page cache, read ahead by 4 MiB,
 * the first costs 0.17 to 0.19 s, because its pages are made meanwhile.
 */

/*
 * An open file: either text (.info) or data of a recording.  A program that got
 * its answer may close the file while the request is still being finished, so
 * each request counts as a holder.
 */
struct file {
	struct ops_handle handle;
	atomic_uint holders;
	char *text;
	size_t bytes;
	struct open_recording *op;
	struct cursor *cursor;
};

static struct file *
file_of(const struct fuse_file_info *fi)
{
	return (struct file *)(uintptr_t)fi->fh;
}

/*
 * Drops a holder; the last one closes. acq_rel: the last holder sees everything
 * that the others did with the file.
 */
static void
file_drop(struct file *file)
{
	if (atomic_fetch_sub_explicit(&file->holders, 1, memory_order_acq_rel) >
	    1)
		return;
	cursor_close(file->cursor);
	if (file->op)
		open_recording_put(file->op);
	free(file->text);
	free(file);
}

static void
handle_close(struct ops_handle *h)
{
	file_drop((struct file *)h);
}

/* Logs a refusal, one line in TELL_AGAIN_S for the same file and error. */
static void
refusal_tell(struct ops *ops, const char *name, int err,
	     const struct fault *fault)
{
	int64_t now = clock_steady();
	char line[1024];
	bool again;

	pthread_mutex_lock(&ops->lock);
	again = ops->told.err == err && now < ops->told.until &&
		strncmp(ops->told.name, name, sizeof ops->told.name - 1) == 0;
	ops->told.err = err;
	ops->told.until = now + TELL_AGAIN_S * NS_SECOND;
	snprintf(ops->told.name, sizeof ops->told.name, "%.63s", name);
	pthread_mutex_unlock(&ops->lock);
	if (again || !fault->code)
		return;
	fault_line(fault, line, sizeof line);
	log_line(LEVEL_WARN, name, "%s", line);
}

/*
 * Returns an errno that programs expect from open(2).  A recording without a
 * readable index, or whose disk does not answer, exists and cannot be read:
 * EIO.
 */
static int
err_for_opener(int err)
{
	switch (err) {
	case -ENODATA:
	case -EBADMSG:
	case -ETIMEDOUT: return -EIO;
	case -EIDRM: return -ENOENT;
	default: return err;
	}
}

static int
data_open(struct ops *ops, struct file *file, const struct tree_file *what)
{
	struct fault fault = { .code = NULL };
	struct view_choice choice;
	struct open_recording_facts facts;
	int err =
	    open_recording_get(ops->opened, what->name, &file->op, &fault);

	/*
	 * A later recording of the same name must not be opened in its place.
	 */
	if (!err) {
		open_recording_facts(file->op, &facts);
		err = facts.begun_ns == what->begun_ns ? 0 : -ESTALE;
	}
	if (!err) {
		choice = measure_choice(&ops->choice, what, facts.store);
		err = cursor_open(&file->cursor, file->op, &choice, &fault);
	}
	if (err && err != -ENOENT && err != -EIDRM && err != -ESTALE)
		refusal_tell(ops, what->name, err, &fault);
	return err_for_opener(err);
}

/*
 * Tells whether the kernel may keep its cached pages of a file, and notes the
 * stamp.  Called when nothing can fail any more, because the kernel drops or
 * keeps its pages when the file is open.
 */
static bool
is_same(struct ops *ops, fuse_ino_t id, uint64_t stamp)
{
	struct ops_stamp *s = &ops->stamp[id % OPS_STAMPS];
	bool same;

	pthread_mutex_lock(&ops->lock);
	same = s->id == id && s->stamp == stamp;
	*s = (struct ops_stamp){ id, stamp };
	pthread_mutex_unlock(&ops->lock);
	return same;
}

/*
 * Makes the kernel drop its cached pages at the next opening: the next reader
 * may get data where this one got fill or an error.
 */
static void
stamp_forget(struct ops *ops, fuse_ino_t id)
{
	struct ops_stamp *s = &ops->stamp[id % OPS_STAMPS];

	pthread_mutex_lock(&ops->lock);
	if (s->id == id)
		*s = (struct ops_stamp){ .id = 0 };
	pthread_mutex_unlock(&ops->lock);
}

static int
file_open(struct ops *ops, fuse_ino_t id, struct file *file,
	  struct fuse_file_info *fi)
{
	struct tree_file what;
	struct tree_attr a;
	int err = tree_get(ops->tree, id, &a);

	if (err)
		return err;
	if (a.text) {
		fi->direct_io = 1;
		return tree_text(ops->tree, id, &file->text, &file->bytes);
	}
	err = tree_open(ops->tree, id, &what);
	if (err)
		return err;
	fi->direct_io = what.growing || ops->direct_io;
	err = data_open(ops, file, &what);
	if (!err && !fi->direct_io)
		fi->keep_cache = is_same(ops, id, what.stamp);
	if (err != -ENOENT && err != -ESTALE)
		return err;
	/*
	 * After ESTALE the kernel looks the name up again, and finds the
	 * recording or not.
	 */
	tree_doubt(ops->tree, id);
	return -ESTALE;
}

static void
ops_open(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
	struct file *file = calloc(1, sizeof *file);
	struct ops *ops = ops_of(req);
	struct interrupt interrupt;
	int err = 0;

	if (!file) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	atomic_init(&file->holders, 1);
	if (interrupt_watch(&interrupt, req)) {
		err = file_open(ops, id, file, fi);
		if (!interrupt_settle(&interrupt))
			err = -EINTR;
		else if (err)
			fuse_reply_err(req, -err);
	} else {
		err = -EINTR;
	}
	if (err) {
		file_drop(file);
		return;
	}
	file->handle.close = handle_close;
	ops_handle_add(ops, &file->handle);
	fi->fh = (uintptr_t)file;
	/* The request was interrupted: the kernel will not release the file. */
	if (fuse_reply_open(req, fi) == -ENOENT) {
		stamp_forget(ops, id);
		ops_handle_remove(ops, &file->handle);
		file_drop(file);
	}
}

static void
ops_release(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
	(void)id;
	ops_handle_remove(ops_of(req), &file_of(fi)->handle);
	file_drop(file_of(fi));
	fuse_reply_err(req, 0);
}

/* Returns the size of an open file; 0: empty, or the tree knows better. */
static uint64_t
ops_file_bytes(const struct fuse_file_info *fi)
{
	struct file *file = file_of(fi);

	return file->cursor ? cursor_bytes(file->cursor) : file->bytes;
}

static void
text_read(fuse_req_t req, const struct file *file, size_t bytes,
	  uint64_t offset)
{
	size_t left = offset < file->bytes ? file->bytes - offset : 0;

	fuse_reply_buf(req, file->text + (left ? offset : 0),
		       bytes < left ? bytes : left);
}

static void
data_read(fuse_req_t req, fuse_ino_t id, struct file *file, size_t bytes,
	  uint64_t offset)
{
	struct cursor_answer answer;
	struct interrupt interrupt;
	bool ours;
	int err;

	if (!interrupt_watch(&interrupt, req))
		return;
	err = cursor_read(file->cursor, offset, bytes, &answer);
	if (!err && answer.passing)
		stamp_forget(ops_of(req), id);
	ours = interrupt_settle(&interrupt);
	if (ours && err)
		fuse_reply_err(req, -err);
	else if (ours)
		fuse_reply_iov(req, answer.iov, (int)answer.parts);
	if (!err)
		cursor_done(file->cursor, &answer);
}

static void
ops_read(fuse_req_t req, fuse_ino_t id, size_t bytes, off_t offset,
	 struct fuse_file_info *fi)
{
	struct file *file = file_of(fi);

	atomic_fetch_add_explicit(&file->holders, 1, memory_order_relaxed);
	if (file->text)
		text_read(req, file, bytes, (uint64_t)offset);
	else
		data_read(req, id, file, bytes, (uint64_t)offset);
	file_drop(file);
}

/* ---- opening and closing ------------------------------------------------- */

void
ops_init(struct ops *ops)
{
	memset(ops, 0, sizeof *ops);
	pthread_mutex_init(&ops->lock, NULL);
}

void
ops_finish(struct ops *ops)
{
	struct ops_handle *h;

	while ((h = ops->handles)) {
		ops_handle_remove(ops, h);
		h->close(h);
	}
	pthread_mutex_destroy(&ops->lock);
}

/*
 * Sets limits when the kernel greets. max_background is the number of
 * read-ahead requests under way for all files together; beyond it, readers wait
 * for each other.  With 12, the default, four readers of a file each had three.
 */
static void
greet(void *data, struct fuse_conn_info *conn)
{
	(void)data;
	conn->max_readahead = OPS_READ_AHEAD;
	conn->max_background = 256;
	conn->congestion_threshold = 192;
}

/* ---- names and attributes ------------------------------------------------ */

static struct fuse_entry_param
entry_of(const struct tree_attr *a)
{
	return (struct fuse_entry_param){
		.ino = a->id,
		.attr = a->st,
		.attr_timeout = a->keep_ms / 1e3,
		.entry_timeout = a->keep_ms / 1e3,
	};
}

static void
lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct tree *tree = ops_of(req)->tree;
	struct fuse_entry_param entry;
	struct interrupt interrupt;
	struct tree_attr a;
	bool known = true;
	int err;

	if (!interrupt_watch(&interrupt, req))
		return;
	err = tree_lookup(tree, parent, name, &a);
	if (!interrupt_settle(&interrupt)) {
		known = false;
	} else if (err) {
		fuse_reply_err(req, -err);
	} else {
		entry = entry_of(&a);
		known = fuse_reply_entry(req, &entry) != -ENOENT;
	}
	/* The kernel was not told of the node, and will not forget it. */
	if (!err && !known)
		tree_forget(tree, a.id, 1);
}

static void
forget(fuse_req_t req, fuse_ino_t id, uint64_t n)
{
	tree_forget(ops_of(req)->tree, id, n);
	fuse_reply_none(req);
}

static void
forget_multi(fuse_req_t req, size_t n, struct fuse_forget_data *all)
{
	for (size_t i = 0; i < n; i++)
		tree_forget(ops_of(req)->tree, all[i].ino, all[i].nlookup);
	fuse_reply_none(req);
}

/* The tree may know a smaller size than the open file has. */
static void
getattr(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
	struct interrupt interrupt;
	struct tree_attr a;
	uint64_t bytes;
	int err;

	if (!interrupt_watch(&interrupt, req))
		return;
	err = tree_get(ops_of(req)->tree, id, &a);
	if (!interrupt_settle(&interrupt))
		return;
	if (err) {
		fuse_reply_err(req, -err);
		return;
	}
	bytes = fi ? ops_file_bytes(fi) : 0;
	if (a.growing && bytes > (uint64_t)a.st.st_size)
		a.st.st_size = (off_t)bytes;
	fuse_reply_attr(req, &a.st, a.keep_ms / 1e3);
}

static void
statfs(fuse_req_t req, fuse_ino_t id)
{
	struct statvfs vfs = { .f_namemax = 255 };

	(void)id;
	tree_statfs(ops_of(req)->tree, &vfs);
	fuse_reply_statfs(req, &vfs);
}

/* ---- lists ------------------------------------------------------------ */

struct open_folder {
	struct ops_handle handle;
	struct tree_dir *dir;
};

struct dir_reply {
	fuse_req_t req;
	char *data;
	size_t used, room;
	bool plus;
};

static struct open_folder *
folder_of(const struct fuse_file_info *fi)
{
	return (struct open_folder *)(uintptr_t)fi->fh;
}

static bool
list_put(void *arg, const char *name, const struct tree_attr *a, uint64_t next)
{
	struct dir_reply *l = arg;
	struct fuse_entry_param entry = entry_of(a);
	size_t left = l->room - l->used, n;

	if (l->plus)
		n = fuse_add_direntry_plus(l->req, l->data + l->used, left,
					   name, &entry, (off_t)next);
	else
		n = fuse_add_direntry(l->req, l->data + l->used, left, name,
				      &a->st, (off_t)next);
	if (n > left)
		return false;
	l->used += n;
	return true;
}

static void
list(fuse_req_t req, size_t bytes, off_t at, struct fuse_file_info *fi,
     bool plus)
{
	struct dir_reply l = { .req = req, .room = bytes, .plus = plus };
	const struct tree_entry e = { list_put, &l, plus };
	int err;

	l.data = malloc(bytes);
	if (!l.data) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	err = tree_dir_read(folder_of(fi)->dir, (uint64_t)at, &e);
	if (err)
		fuse_reply_err(req, -err);
	else
		fuse_reply_buf(req, l.data, l.used);
	free(l.data);
}

static void
readdir(fuse_req_t req, fuse_ino_t id, size_t bytes, off_t at,
	struct fuse_file_info *fi)
{
	(void)id;
	list(req, bytes, at, fi, false);
}

static void
readdirplus(fuse_req_t req, fuse_ino_t id, size_t bytes, off_t at,
	    struct fuse_file_info *fi)
{
	(void)id;
	list(req, bytes, at, fi, true);
}

static void
folder_close(struct ops_handle *h)
{
	struct open_folder *folder = (struct open_folder *)h;

	tree_dir_close(folder->dir);
	free(folder);
}

static void
opendir(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
	struct open_folder *folder = calloc(1, sizeof *folder);
	struct ops *ops = ops_of(req);
	struct interrupt interrupt;
	int err = -ENOMEM;
	bool ours;

	if (!interrupt_watch(&interrupt, req)) {
		free(folder);
		return;
	}
	if (folder)
		err = tree_dir_open(ops->tree, id, &folder->dir);
	ours = interrupt_settle(&interrupt);
	if (err || !ours) {
		if (ours)
			fuse_reply_err(req, -err);
		if (!err)
			tree_dir_close(folder->dir);
		free(folder);
		return;
	}
	folder->handle.close = folder_close;
	ops_handle_add(ops, &folder->handle);
	fi->fh = (uintptr_t)folder;
	/*
	 * The request was interrupted: the kernel will not release the folder.
	 */
	if (fuse_reply_open(req, fi) == -ENOENT) {
		ops_handle_remove(ops, &folder->handle);
		folder_close(&folder->handle);
	}
}

static void
releasedir(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
	struct open_folder *folder = folder_of(fi);

	(void)id;
	ops_handle_remove(ops_of(req), &folder->handle);
	folder_close(&folder->handle);
	fuse_reply_err(req, 0);
}

const struct fuse_lowlevel_ops ops_table = {
	.init = greet,
	.lookup = lookup,
	.forget = forget,
	.forget_multi = forget_multi,
	.getattr = getattr,
	.open = ops_open,
	.read = ops_read,
	.release = ops_release,
	.opendir = opendir,
	.readdir = readdir,
	.readdirplus = readdirplus,
	.releasedir = releasedir,
	.statfs = statfs,
};
