# Unit tests: each folder of the code has one here, whose test_*.c are linked
# into one program, as room-store-read.  Each file is a test of its own for make,
# which runs one suite of that program, so that many run at a time:
#
#	make check TESTS=tests/unit/store/read/test_pool.c check_PROGRAMS=
#
# Whatever a file defines, no other sees: it may include a source of the product
# for what is static there, as another of the same room may.
UNIT_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS) -I$(top_srcdir)/tests \
	-I$(top_srcdir) $(FUSE_CFLAGS) $(CURL_CFLAGS) -DFUSE_USE_VERSION=312
SUITE_LIBS = tests/lib/libsuite.a $(CHECK_LIBS)

unit_found = $(patsubst $(top_srcdir)/%,%,$(wildcard $(addprefix \
	$(top_srcdir)/tests/unit/,*/test_*.c */*/test_*.c)))
UNIT_WITHOUT =
if !HAVE_EXPAT
UNIT_WITHOUT += %D%/cli/schedule/test_import_xml.c %D%/plugins/s3/test_reply.c
endif
if !HAVE_S3
UNIT_WITHOUT += %D%/plugins/s3/test_disk.c %D%/plugins/s3/test_send.c
UNIT_WITHOUT += %D%/plugins/s3/test_silent.c
endif
if !HAVE_FUSE
UNIT_WITHOUT += %D%/fuse/test_spatefs_options.c
endif
if !HAVE_CHECK
UNIT_WITHOUT += $(unit_found)
endif
UNIT_TESTS = $(filter-out $(UNIT_WITHOUT),$(unit_found))
TESTS += @FOUND_TESTS@
C_LOG_COMPILER = bash $(top_srcdir)/%D%/run
EXTRA_DIST += %D%/run $(unit_found)

# Programs of their own: they put something in the place of what the libraries
# call.
UNIT_APART = \
	%D%/daemon/schedule/test_schedule_folder.c \
	%D%/daemon/transfers/test_transfer.c \
	%D%/flow/write/test_writer.c \
	%D%/store/write/test_folder.c
%D%/daemon/schedule/test_schedule_folder: UNIT_LDFLAGS = -Wl,--wrap=strcmp

# The programs of the tests that are asked for.
unit_room = $(addprefix %D%/room-,$(subst /,-,$(patsubst %D%/%/,%,$(dir $(1)))))
check_DATA = $(sort $(basename $(filter $(UNIT_APART),$(TESTS))) \
	$(call unit_room,$(filter-out $(UNIT_APART), \
	$(filter %D%/%.c,$(TESTS)))))
# Everything that `make check` builds, without a test that is run.
.PHONY: check-programs
check-programs: $(check_LIBRARIES) $(check_LTLIBRARIES) $(check_PROGRAMS) $(check_DATA)
CLEANFILES += $(basename $(UNIT_APART)) \
	$(wildcard $(addprefix %D%/,room-* */test_*.[do] */*/test_*.[do]))

# Every library: what a room does not call is not linked.  tests/lib/threads.c
# is asked before a thread is started.
UNIT_ARCHIVES = tests/lib/libsuite.a libdaemon.a libvsi.a libcli.a libfusetree.a \
	libflow.a libchannel.a libsignal.a libstore.a libbase.a
UNIT_LIBS = -Wl,--wrap=pthread_create,-u,__wrap_pthread_create \
	$(UNIT_ARCHIVES) $(CHECK_LIBS) $(LIBURING_LIBS) $(FUSE_LIBS) \
	$(EXPAT_LIBS) $(CURL_LIBS) $(KISSFFT_LIBS) $(BASE_LIBS)

%D%/%.o: %D%/%.c
	@$(MKDIR_P) $(@D)
	$(AM_V_CC)$(CC) $(DEFS) $(DEFAULT_INCLUDES) $(UNIT_CPPFLAGS) $(CPPFLAGS) \
		$(AM_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
	@$(if $(filter $*,$(UNIT_APART:%D%/%.c=%)),,objcopy --keep-global-symbol=none $@)

%D%/room-%:
	$(AM_V_CCLD)$(LINK) $(filter %.o,$^) $(UNIT_LIBS)

$(basename $(UNIT_APART)): %: %.o $(UNIT_ARCHIVES)
	$(AM_V_CCLD)$(LINK) $(UNIT_LDFLAGS) $< $(UNIT_LIBS)

room_needs = $(call unit_room,$(1)): $(patsubst %.c,%.o,$(filter-out $(UNIT_APART), \
	$(filter $(1)test_%,$(UNIT_TESTS)))) $(UNIT_ARCHIVES)
$(foreach room,$(sort $(dir $(UNIT_TESTS))),$(eval $(call room_needs,$(room))))
-include $(wildcard $(addprefix %D%/,*/test_*.d */*/test_*.d))
.DELETE_ON_ERROR:

# Plugins for the loader, most of them broken on purpose; a folder that does
# not exist makes libtool build modules of them.
UNIT_PLUGIN_FLAGS = $(PLUGIN_FLAGS) -rpath /nonexistent
check_LTLIBRARIES += \
	%D%/modules/write-alias.la \
	%D%/modules/write-bare.la \
	%D%/modules/write-mute.la \
	%D%/modules/write-old.la \
	%D%/modules/write-short.la \
	%D%/modules/write-stray.la \
	%D%/modules/write-tiny.la \
	%D%/modules/write-whole.la \
	%D%/modules/format-none.la \
	%D%/modules/receive-none.la
%C%_modules_write_alias_la_SOURCES = %D%/modules/write-alias.c %D%/modules/dummy.h
%C%_modules_write_alias_la_LDFLAGS = $(UNIT_PLUGIN_FLAGS)
%C%_modules_write_bare_la_SOURCES = %D%/modules/write-bare.c %D%/modules/dummy.h
%C%_modules_write_bare_la_LDFLAGS = $(UNIT_PLUGIN_FLAGS)
%C%_modules_write_mute_la_SOURCES = %D%/modules/write-mute.c %D%/modules/dummy.h
%C%_modules_write_mute_la_LDFLAGS = $(UNIT_PLUGIN_FLAGS)
%C%_modules_write_old_la_SOURCES = %D%/modules/write-old.c %D%/modules/dummy.h
%C%_modules_write_old_la_LDFLAGS = $(UNIT_PLUGIN_FLAGS)
%C%_modules_write_short_la_SOURCES = %D%/modules/write-short.c %D%/modules/dummy.h
%C%_modules_write_short_la_LDFLAGS = $(UNIT_PLUGIN_FLAGS)
%C%_modules_write_stray_la_SOURCES = %D%/modules/write-stray.c %D%/modules/dummy.h
%C%_modules_write_stray_la_LDFLAGS = $(UNIT_PLUGIN_FLAGS)
%C%_modules_write_tiny_la_SOURCES = %D%/modules/write-tiny.c %D%/modules/dummy.h
%C%_modules_write_tiny_la_LDFLAGS = $(UNIT_PLUGIN_FLAGS)
%C%_modules_write_whole_la_SOURCES = %D%/modules/write-whole.c %D%/modules/dummy.h
%C%_modules_write_whole_la_LDFLAGS = $(UNIT_PLUGIN_FLAGS)
%C%_modules_format_none_la_SOURCES = %D%/modules/format-none.c
%C%_modules_format_none_la_LDFLAGS = $(UNIT_PLUGIN_FLAGS)
%C%_modules_receive_none_la_SOURCES = %D%/modules/receive-none.c
%C%_modules_receive_none_la_LDFLAGS = $(UNIT_PLUGIN_FLAGS)
