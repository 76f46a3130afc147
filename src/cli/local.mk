# libcli.a is everything but main(), for the unit tests.
noinst_LIBRARIES += libcli.a
libcli_a_SOURCES = \
	%D%/check.c \
	%D%/check_signal.c %D%/check_signal.h \
	%D%/export.c %D%/export.h \
	%D%/export_cube.c \
	%D%/info.c %D%/info_plot.c %D%/info_plot.h \
	%D%/info_quality.c %D%/info_quality.h \
	%D%/ls.c \
	%D%/mend.c %D%/mend.h \
	%D%/mount.c \
	%D%/probe.c \
	%D%/record.c \
	%D%/recover.c \
	%D%/reload.c \
	%D%/rm.c \
	%D%/status.c \
	%D%/stop.c \
	%D%/streams.c \
	%D%/verify.c \
	%D%/disks/disk_try.c %D%/disks/disk_try.h \
	%D%/disks/disks.c %D%/disks/disks.h \
	%D%/disks/disks_test.c \
	%D%/gen/gen.c \
	%D%/gen/gen_frames.c %D%/gen/gen_frames.h \
	%D%/gen/gen_heaps.c %D%/gen/gen_heaps.h \
	%D%/gen/gen_sender.c %D%/gen/gen_sender.h \
	%D%/gen/gen_signal.c %D%/gen/gen_signal.h \
	%D%/gen/gen_socket.c %D%/gen/gen_socket.h \
	%D%/gen/gen_source.h \
	%D%/rehearse/bench.c %D%/rehearse/bench.h \
	%D%/rehearse/rehearse.c \
	%D%/rehearse/traffic.c %D%/rehearse/traffic.h \
	%D%/schedule/import.c \
	%D%/schedule/import_scans.c %D%/schedule/import_scans.h \
	%D%/schedule/import_snp.c \
	%D%/schedule/import_time.c \
	%D%/schedule/import_vex.c \
	%D%/schedule/schedule.c %D%/schedule/schedule.h \
	%D%/schedule/schedule_show.c \
	%D%/send/send.c \
	%D%/send/sends.c %D%/send/sends.h \
	%D%/show/args.c %D%/show/args.h \
	%D%/show/cli.h \
	%D%/show/field.h \
	%D%/show/follow.c %D%/show/follow.h \
	%D%/show/listing.c %D%/show/listing.h \
	%D%/show/losses.c %D%/show/losses.h \
	%D%/show/show.c %D%/show/show.h \
	%D%/show/site.c %D%/show/site.h \
	%D%/show/table.c %D%/show/table.h \
	%D%/show/terminal.c %D%/show/terminal.h \
	%D%/watch/page.c %D%/watch/page.h \
	%D%/watch/screen.h \
	%D%/watch/watch.c %D%/watch/watch.h
# Plots need cairo; without it `info --plot` says so.
libcli_a_SOURCES += %D%/plot/canvas.h %D%/plot/plot.h
if HAVE_CAIRO
libcli_a_SOURCES += %D%/plot/canvas.c %D%/plot/plot.c
libcli_a_CPPFLAGS = $(AM_CPPFLAGS) $(CAIRO_CFLAGS)
else
libcli_a_SOURCES += %D%/plot/plot_none.c
endif
# The whole terminal needs ncurses; without it `status --watch` says so.
if HAVE_NCURSES
libcli_a_SOURCES += %D%/watch/screen.c
else
libcli_a_SOURCES += %D%/watch/screen_none.c
endif
# Schedules in XML need expat; without it they are refused by name.
if HAVE_EXPAT
libcli_a_SOURCES += %D%/schedule/import_xml.c
else
libcli_a_SOURCES += %D%/schedule/import_noxml.c
endif
CLI_LIBS = libcli.a $(SIGNAL_LIBS) $(STORE_LIBS) $(EXPAT_LIBS) $(NCURSES_LIBS) $(CAIRO_LIBS)

bin_PROGRAMS += spate
spate_SOURCES = %D%/main.c
spate_LDADD = $(CLI_LIBS)
