# What tests share.
check_LIBRARIES =
if HAVE_CHECK
check_LIBRARIES += tests/lib/libsuite.a
tests_lib_libsuite_a_SOURCES = %D%/disk_bench.c %D%/fake_spated.c \
	%D%/fake_write.c %D%/hang_fs.c %D%/made.c %D%/made_list.c \
	%D%/made_parity.c %D%/made_row.c %D%/made_schedule.c %D%/made_view.c \
	%D%/noise.c %D%/stamps.c %D%/suite.c %D%/threads.c
tests_lib_libsuite_a_CPPFLAGS = $(UNIT_CPPFLAGS)
endif
EXTRA_DIST += $(patsubst $(top_srcdir)/%,%,$(wildcard $(top_srcdir)/%D%/*.[ch]))
