noinst_LIBRARIES += libstore.a
# store/disk
libstore_a_SOURCES = \
	%D%/disk/configured.c %D%/disk/configured.h %D%/disk/disk.c \
	%D%/disk/disk.h %D%/disk/disk_keys.h %D%/disk/file.c %D%/disk/file.h %D%/disk/layout.c \
	%D%/disk/layout.h %D%/disk/remote.c %D%/disk/remote.h %D%/disk/sg.c %D%/disk/sg.h

# store/record
libstore_a_SOURCES += \
	%D%/record/block.h %D%/record/fill.c %D%/record/fill.h %D%/record/geometry.c \
	%D%/record/geometry.h %D%/record/heap_chunk.c %D%/record/heap_chunk.h \
	%D%/record/index.c %D%/record/index.h %D%/record/meta.c \
	%D%/record/meta.h %D%/record/notes.c %D%/record/notes.h \
	%D%/record/shm_blocks.c %D%/record/shm_blocks.h %D%/record/sums.c \
	%D%/record/sums.h

# store/parity
libstore_a_SOURCES += \
	%D%/parity/code.c %D%/parity/code.h %D%/parity/heal.c \
	%D%/parity/heal.h %D%/parity/parity.c %D%/parity/parity.h \
	%D%/parity/parity_file.c %D%/parity/parity_file.h

# store/foreign
libstore_a_SOURCES += \
	%D%/foreign/foreign.c %D%/foreign/foreign.h %D%/foreign/foreign_fill.c \
	%D%/foreign/foreign_find.c %D%/foreign/foreign_learn.c \
	%D%/foreign/foreign_piece.h %D%/foreign/foreign_time.c \
	%D%/foreign/packet_form.c %D%/foreign/packet_form.h \
	%D%/foreign/vbs_cfg.c %D%/foreign/vbs_cfg.h

# store/recording
libstore_a_SOURCES += \
	%D%/recording/loss.c %D%/recording/loss.h %D%/recording/recording.c \
	%D%/recording/recording.h %D%/recording/recording_info.c \
	%D%/recording/recording_list.c %D%/recording/recording_merge.c \
	%D%/recording/recording_meta.c %D%/recording/recording_parity.c \
	%D%/recording/recording_place.c \
	%D%/recording/recording_info.h %D%/recording/recording_priv.h %D%/recording/recording_read.c

# store/list
libstore_a_SOURCES += \
	%D%/list/catalogue.c %D%/list/catalogue.h %D%/list/entry.c \
	%D%/list/entry.h %D%/list/frames.c %D%/list/frames.h %D%/list/quick_check.c %D%/list/quick_check.h

# store/view
libstore_a_SOURCES += \
	%D%/view/view.c %D%/view/view.h %D%/view/view_lay.c \
	%D%/view/view_priv.h %D%/view/view_thread.c

# store/read
libstore_a_SOURCES += \
	%D%/read/cube.c %D%/read/cube.h %D%/read/cursor.c \
	%D%/read/cursor.h %D%/read/open_recordings.c \
	%D%/read/open_recordings.h %D%/read/open_recordings_priv.h \
	%D%/read/readahead.c %D%/read/readahead.h %D%/read/pool.c \
	%D%/read/pool.h %D%/read/pool_disk.c %D%/read/pool_priv.h

# store/write
libstore_a_SOURCES += \
	%D%/write/copy_lines.c %D%/write/copy_lines.h \
	%D%/write/copy_origin.c %D%/write/copy_origin.h %D%/write/folder.c \
	%D%/write/folder.h %D%/write/folder_priv.h

# store/finish
libstore_a_SOURCES += \
	%D%/finish/folder_resume.c %D%/finish/leftovers.c \
	%D%/finish/leftovers.h %D%/finish/recover.c \
	%D%/finish/recover.h %D%/finish/recover_chunk.c \
	%D%/finish/recover_data.c %D%/finish/recover_find.c \
	%D%/finish/recover_foreign.c \
	%D%/finish/recover_parity.c %D%/finish/recover_priv.h \
	%D%/finish/resume.c %D%/finish/resume.h

# store/repair
libstore_a_SOURCES += \
	%D%/repair/mend.c %D%/repair/mend.h %D%/repair/mend_priv.h \
	%D%/repair/protect.c %D%/repair/protect.h %D%/repair/quality_file.c \
	%D%/repair/quality_file.h %D%/repair/rebuild.c \
	%D%/repair/rebuild_folder.c %D%/repair/rebuild_parity.c \
	%D%/repair/removal.c %D%/repair/removal.h %D%/repair/scrub.c \
	%D%/repair/verify.c %D%/repair/verify.h \
	%D%/repair/verify_items.c %D%/repair/verify_items.h

# How a reader's threads read.
if HAVE_LIBURING
libstore_a_SOURCES += %D%/read/pool_ring.c
else
libstore_a_SOURCES += %D%/read/pool_noring.c
endif
EXTRA_DIST += %D%/read/pool_ring.c %D%/read/pool_noring.c
STORE_LIBS = libstore.a $(LIBURING_LIBS) $(BASE_LIBS)
