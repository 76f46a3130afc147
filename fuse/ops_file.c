/* SPDX-License-Identifier: MIT */
/*
 * Answers requests for open files.
 *
 * Pages of a file stay in the kernel's page cache, over many openings, while
 * the recording is unchanged (its stamp).  They are dropped if they contain
 * fill for data that a disk refused.  Files that grow, and all files with -o
 * direct_io, bypass the page cache, in requests as large as fuse has them.
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
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "fuse/interrupt.h"
#include "fuse/tree/measure.h"
#include "fuse/ops.h"
#include "fuse/tree/tree.h"
#include "store/read/open_recordings.h"
#include "store/read/open_file.h"

enum { TELL_AGAIN_S = 10 };

/*
 * An open file: either text (.info) or a reading of data.  A program that got
 * its answer may close the file while the request is still being finished, so
 * each request counts as a holder.
 */
struct file {
	struct ops_handle handle;
	atomic_uint holders;
	char *text;
	size_t bytes;
	struct opened *op;
	struct reading *rd;
};

static struct file *
file_of(const struct fuse_file_info *fi)
{
	return (struct file *)(uintptr_t)fi->fh;
}

static struct ops *
ops_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
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
	reading_close(file->rd);
	if (file->op)
		opened_put(file->op);
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
	struct opened_facts facts;
	int err = opened_get(ops->opened, what->name, &file->op, &fault);

	/*
	 * A later recording of the same name must not be opened in its place.
	 */
	if (!err) {
		opened_facts(file->op, &facts);
		err = facts.begun_ns == what->begun_ns ? 0 : -ESTALE;
	}
	if (!err) {
		choice = measure_choice(&ops->choice, what, facts.store);
		err = reading_open(&file->rd, file->op, &choice, &fault);
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

void
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

void
ops_release(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
	(void)id;
	ops_handle_remove(ops_of(req), &file_of(fi)->handle);
	file_drop(file_of(fi));
	fuse_reply_err(req, 0);
}

uint64_t
ops_file_bytes(const struct fuse_file_info *fi)
{
	struct file *file = file_of(fi);

	return file->rd ? reading_bytes(file->rd) : file->bytes;
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
	struct reading_answer answer;
	struct interrupt interrupt;
	bool ours;
	int err;

	if (!interrupt_watch(&interrupt, req))
		return;
	err = reading_read(file->rd, offset, bytes, &answer);
	if (!err && answer.passing)
		stamp_forget(ops_of(req), id);
	ours = interrupt_settle(&interrupt);
	if (ours && err)
		fuse_reply_err(req, -err);
	else if (ours)
		fuse_reply_iov(req, answer.iov, (int)answer.parts);
	if (!err)
		reading_done(file->rd, &answer);
}

void
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
