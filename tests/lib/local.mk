# What tests share.
check_LIBRARIES =
if HAVE_CHECK
check_LIBRARIES += tests/lib/libsuite.a
tests_lib_libsuite_a_SOURCES = %D%/suite.c
tests_lib_libsuite_a_CPPFLAGS = $(UNIT_CPPFLAGS)
endif
EXTRA_DIST += $(patsubst $(top_srcdir)/%,%,$(wildcard $(top_srcdir)/%D%/*.[ch]))
