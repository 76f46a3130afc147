noinst_LIBRARIES += libstore.a
libstore_a_SOURCES = \
	%D%/adopt.c %D%/adopt.h \
	%D%/catalogue.c %D%/catalogue.h \
	%D%/catalogue_page.c \
	%D%/catalogue_pass.c %D%/catalogue_priv.h \
	%D%/copied.c %D%/copied.h \
	%D%/cube.c %D%/cube.h \
	%D%/disk.c %D%/disk.h \
	%D%/entry.c %D%/entry.h %D%/entry_json.c %D%/entry_row.c \
	%D%/entry_line.c %D%/entry_line.h \
	%D%/entry_stamp.c %D%/entry_stamp.h \
	%D%/fill.c %D%/fill.h \
	%D%/fill_learn.c %D%/fill_priv.h \
	%D%/folder.c %D%/folder.h %D%/folder_priv.h \
	%D%/folder_data.c \
	%D%/folder_place.c %D%/folder_reopen.c %D%/folder_resume.c \
	%D%/folder_sums.c \
	%D%/foreign.c %D%/foreign.h %D%/foreign_priv.h \
	%D%/foreign_bytes.c \
	%D%/foreign_cfg.c \
	%D%/foreign_fill.c \
	%D%/foreign_find.c \
	%D%/foreign_form.c %D%/foreign_form.h \
	%D%/foreign_learn.c \
	%D%/foreign_rate.c \
	%D%/foreign_sg.c \
	%D%/foreign_single.c \
	%D%/foreign_time.c \
	%D%/geometry.c %D%/geometry.h \
	%D%/glance.c %D%/glance.h %D%/glance_priv.h \
	%D%/glance_read.c %D%/glance_second.c %D%/glance_time.c \
	%D%/index.c %D%/index.h \
	%D%/layout.c %D%/layout.h \
	%D%/layout_map.c %D%/layout_map.h \
	%D%/read_whole.h \
	%D%/reader.c %D%/reader.h %D%/reader_priv.h \
	%D%/reader_chunk.c \
	%D%/reader_lane.c \
	%D%/reader_piece.c \
	%D%/reader_pool.c \
	%D%/reader_sums.c \
	%D%/reader_way.c \
	%D%/reader_wish.c \
	%D%/loss.c %D%/loss.h \
	%D%/map_page.c %D%/map_page.h \
	%D%/meta.c %D%/meta.h %D%/meta_heap.c \
	%D%/notes.c %D%/notes.h %D%/notes_priv.h \
	%D%/notes_cube.c %D%/notes_row.c \
	%D%/recording.c %D%/recording.h \
	%D%/recording_chunk.c \
	%D%/recording_count.c \
	%D%/recording_describe.c \
	%D%/recording_fault.c \
	%D%/recording_fill.c \
	%D%/recording_hold.c \
	%D%/recording_info.c \
	%D%/recording_list.c \
	%D%/recording_merge.c %D%/recording_priv.h \
	%D%/recording_meta.c \
	%D%/recording_place.c \
	%D%/recording_range.c \
	%D%/recording_read.c \
	%D%/recording_remember.c \
	%D%/recording_resumed.c \
	%D%/protect.c %D%/protect.h \
	%D%/resume.c %D%/resume.h %D%/resume_fits.c \
	%D%/recover.c %D%/recover.h \
	%D%/recover_chunk.c %D%/recover_priv.h \
	%D%/recover_data.c \
	%D%/recover_find.c \
	%D%/recover_foreign.c \
	%D%/recover_heads.c \
	%D%/recover_heaps.c \
	%D%/recover_index.c \
	%D%/recover_place.c \
	%D%/removal.c %D%/removal.h \
	%D%/removal_lock.c %D%/removal_run.c %D%/removal_priv.h \
	%D%/recover_sums.c \
	%D%/recover_twins.c \
	%D%/row.c %D%/row.h \
	%D%/sg.c %D%/sg.h \
	%D%/sums.c %D%/sums.h \
	%D%/stride.c %D%/stride.h \
	%D%/telling.c %D%/telling.h \
	%D%/verify.c %D%/verify.h \
	%D%/verify_chunk.c %D%/verify_priv.h \
	%D%/verify_data.c \
	%D%/verify_item.c \
	%D%/verify_read.c \
	%D%/verify_tell.c \
	%D%/where.c %D%/where.h \
	%D%/opened.c %D%/opened.h %D%/opened_priv.h \
	%D%/opened_desk.c \
	%D%/opened_get.c \
	%D%/opened_look.c \
	%D%/reading.c %D%/reading.h %D%/reading_priv.h \
	%D%/reading_answer.c \
	%D%/reading_desk.c \
	%D%/reading_give.c \
	%D%/trail.c %D%/trail.h \
	%D%/view.c %D%/view.h %D%/view_priv.h \
	%D%/view_fill.c \
	%D%/view_find.c \
	%D%/view_holes.c \
	%D%/view_lay.c \
	%D%/view_thread.c \
	%D%/view_time.c \
	%D%/view_turn.c \
	%D%/write_whole.h
# How a reader's threads read.
if HAVE_LIBURING
libstore_a_SOURCES += %D%/reader_ring.c
else
libstore_a_SOURCES += %D%/reader_noring.c
endif
EXTRA_DIST += %D%/reader_ring.c %D%/reader_noring.c
STORE_LIBS = libstore.a $(LIBURING_LIBS) $(BASE_LIBS)
