bin_PROGRAMS += spate
spate_SOURCES = \
	%D%/args.c %D%/args.h \
	%D%/await.c %D%/await.h \
	%D%/check.c %D%/check.h %D%/check_show.c \
	%D%/disk_try.c %D%/disk_try.h \
	%D%/disks.c %D%/disks.h %D%/disks_order.c \
	%D%/disks_test.c %D%/disks_test_show.c %D%/disks_test.h \
	%D%/export.c %D%/export.h \
	%D%/export_cube.c \
	%D%/export_file.c \
	%D%/export_map.c %D%/export_map.h \
	%D%/follow.c %D%/follow.h \
	%D%/gen.c %D%/gen_priv.h \
	%D%/gen_dump.c \
	%D%/gen_format.c %D%/gen_format.h \
	%D%/gen_frames.c %D%/gen_frames.h \
	%D%/gen_heaps.c %D%/gen_heaps.h \
	%D%/gen_open.c \
	%D%/gen_plan.c %D%/gen_plan.h %D%/mix.h \
	%D%/gen_report.c \
	%D%/gen_sender.c %D%/gen_sender.h \
	%D%/gen_socket.c %D%/gen_socket.h \
	%D%/gen_source.h \
	%D%/gen_spead.c %D%/gen_spead.h \
	%D%/gen_tcp.c %D%/gen_tcp.h \
	%D%/gen_train.h \
	%D%/gen_url.c %D%/gen_url.h \
	%D%/info.c %D%/info.h \
	%D%/import.c %D%/import.h \
	%D%/import_conf.c \
	%D%/import_file.c \
	%D%/import_scans.c %D%/import_scans.h \
	%D%/import_snap.c %D%/import_snap.h \
	%D%/import_snp.c \
	%D%/import_time.c %D%/import_time.h \
	%D%/import_vex.c \
	%D%/import_words.c %D%/import_words.h \
	%D%/live.c %D%/live.h \
	%D%/loss_show.c %D%/loss_show.h \
	%D%/losses.c %D%/losses.h \
	%D%/listing.c %D%/listing.h \
	%D%/listing_show.c %D%/listing_show.h \
	%D%/ls.c \
	%D%/main.c %D%/cli.h \
	%D%/site.c %D%/site.h \
	%D%/mount.c \
	%D%/probe.c \
	%D%/progress.c %D%/progress.h \
	%D%/protect.c \
	%D%/record.c \
	%D%/recover.c \
	%D%/reload.c \
	%D%/rm.c %D%/rm_each.c %D%/rm_each.h \
	%D%/schedule.c %D%/schedule_add.c %D%/schedule.h \
	%D%/schedule_show.c %D%/schedule_show.h \
	%D%/send.c \
	%D%/sends.c %D%/sends_follow.c %D%/sends_show.c %D%/sends.h \
	%D%/show.c %D%/show_disks.c %D%/show.h %D%/field.h \
	%D%/status.c \
	%D%/stop.c \
	%D%/streams.c \
	%D%/subs.c %D%/subs.h \
	%D%/suggest.c %D%/suggest.h \
	%D%/table.c %D%/table.h \
	%D%/terminal.c %D%/terminal.h \
	%D%/verify.c
# Schedules in XML need expat; without it they are refused by name.
if HAVE_EXPAT
spate_SOURCES += %D%/import_xml.c
else
spate_SOURCES += %D%/import_noxml.c
endif
spate_LDADD = $(STORE_LIBS) $(EXPAT_LIBS)
