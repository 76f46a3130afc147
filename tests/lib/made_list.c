/* SPDX-License-Identifier: MIT */
#include "lib/made_list.h"

void
made_put(struct made *m, unsigned disk, const char *name, const char *file)
{
	char path[512];
	int fd;

	snprintf(path, sizeof path, "%s/%s/%s", m->disks.disk[disk].path, name,
		 file);
	fd = open(path, O_CREAT | O_WRONLY, 0644);
	ck_assert_int_ge(fd, 0);
	close(fd);
}

json_t *
made_tail(unsigned chunks, unsigned subs)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < subs; i++)
		json_array_append_new(
		    list, json_pack("{s:i, s:s}", "sub", (int)i, "address",
				    "a text to make the line a longer one"));
	return json_pack("{s:{s:s, s:i, s:i, s:i, s:i, s:o}}", "end", "reason",
			 "asked", "bytes", (int)chunks * 4096, "chunks",
			 (int)chunks, "packets", (int)chunks * 60,
			 "packets_lost", (int)chunks * 4, "subs", list);
}

void
made_other(struct made *m, const char *name, unsigned mask, unsigned n, int how)
{
	unsigned all = (unsigned)__builtin_popcount(mask) * n, number = 0;
	struct index_record end = {
		.kind = INDEX_END,
		.number = all,
		.first_ns = MADE_SECOND * 1000000000 + 5,
		.last_ns = MADE_SECOND * 1000000000 + 7000000000,
	};
	json_t *tail = made_tail(all, 1);

	for (unsigned i = 0; i < MADE_DISKS; i++) {
		struct folder *f;

		if (!(mask >> i & 1))
			continue;
		ck_assert_int_eq(
		    folder_create(&f, &m->disks.disk[i], name, m->head), 0);
		for (unsigned k = 0; k < n; k++) {
			struct index_record r = { .number = number,
						  .bytes = 4096,
						  .present = 60,
						  .missing = 4,
						  .first = number * 64,
						  .kind = INDEX_BLOCK };

			number++;
			ck_assert_int_eq(folder_sync(f, &r, 1), 0);
		}
		if (how & MADE_OPEN)
			m->folder[i] = f;
		else
			folder_close(f, how & MADE_ENDED ? &end : NULL,
				     how & MADE_ENDED ? tail : NULL);
	}
	json_decref(tail);
}

void
made_bare(struct made *m)
{
	made_begin(m);
	for (unsigned i = 0; i < MADE_DISKS; i++) {
		folder_close(m->folder[i], NULL, NULL);
		m->folder[i] = NULL;
		unlink(made_path(m, i, MADE_NAME ".index"));
		unlink(made_path(m, i, MADE_NAME ".meta.jsonl"));
		ck_assert_int_eq(
		    unlinkat(m->disks.disk[i].fd, MADE_NAME, AT_REMOVEDIR), 0);
	}
}
