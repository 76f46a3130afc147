/* SPDX-License-Identifier: MIT */
/*
 * Open files.
 *
 * Data stay in the kernel's page cache, over many openings, as long as a
 * recording is what it was (its stamp), but not if there is fill among them for
 * what a disk refused; those of one that grows, and with -o direct_io those of
 * all, go past it, in requests as large as fuse has them.  Which stamp was opened last is kept for some thousand files, each in
 * a place that its id tells: two that share a place cost each other their
 * cached pages, nothing more.
 *
 * A reply is one writev of what the reader has in its buffers (the kernel
 * copies it once, to where it is wanted).  Of 64 MiB that stay in memory, in
 * requests of 1 MiB with direct_io, on two cores that others use, too, with
 * libfuse 3.14 and Linux 6.18, processor time of this side per GB:
 *
 *   fuse_reply_iov, one piece or eight   0.11 to 0.14 s     6.1 GB/s at best
 *   fuse_reply_data of memory            0.14 s             4.9
 *   fuse_reply_data of a memfd (splice)  0.87 s             0.6
 *
 * The second is the first with a copy of the list; splicing takes a pipe for
 * each thread and goes page by page through it, and what O_DIRECT has read is
 * in no file's page cache anyway.  Through the page cache, read ahead by
 * 4 MiB, the first costs 0.17 to 0.19 s, as its pages are made meanwhile.
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
#include "store/read/opened.h"
#include "store/read/reading.h"

enum { TELL_AGAIN_S = 10 };

/*
 * Text, or a reading: one of them.  A request that was answered is not over
 * yet, and who got the answer may close the file at once: each request holds
 * it.
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

/* The last one sees all that the others did with it. */
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

/* Who tries it a thousand times has one line. */
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
	ops->told.until = now + TELL_AGAIN_S * INT64_C(1000000000);
	snprintf(ops->told.name, sizeof ops->told.name, "%.63s", name);
	pthread_mutex_unlock(&ops->lock);
	if (again || !fault->code)
		return;
	fault_line(fault, line, sizeof line);
	log_line(LOG_WARN, name, "%s", line);
}

/* What programs that open files know of.  A recording without a readable
 * index, or whose disk does not answer, is there and cannot be read. */
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

	/* Not another that was recorded by the same name since. */
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

/* May what the kernel has of it be kept?  It is asked when nothing can fail any
 * more, since the kernel forgets what it has when a file is open. */
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

/* What the kernel has of it is not to be kept: who opens it next may be shown
 * what this one was not. */
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
	/* The kernel looks a stale one up again, and there it is, or not. */
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
	/* It was interrupted: nobody will release it. */
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
