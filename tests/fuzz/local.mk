if FUZZERS

# One fuzzer for each format, from one source that includes the plugin's.
FUZZ_FLAGS = -g -O1 -fsanitize=fuzzer,address,undefined \
	-fno-sanitize-recover=all

noinst_PROGRAMS += tests/fuzz/fuzz_raw tests/fuzz/fuzz_udpmon \
	tests/fuzz/fuzz_vdif tests/fuzz/fuzz_mark5b
tests_fuzz_fuzz_raw_SOURCES = %D%/fuzz_format.c
tests_fuzz_fuzz_raw_CPPFLAGS = $(AM_CPPFLAGS) \
	-DFUZZ_FORMAT='"../../plugins/format/raw.c"'
tests_fuzz_fuzz_raw_CFLAGS = $(AM_CFLAGS) $(FUZZ_FLAGS)
tests_fuzz_fuzz_udpmon_SOURCES = %D%/fuzz_format.c
tests_fuzz_fuzz_udpmon_CPPFLAGS = $(AM_CPPFLAGS) \
	-DFUZZ_FORMAT='"../../plugins/format/udpmon.c"'
tests_fuzz_fuzz_udpmon_CFLAGS = $(AM_CFLAGS) $(FUZZ_FLAGS)
tests_fuzz_fuzz_vdif_SOURCES = %D%/fuzz_format.c
tests_fuzz_fuzz_vdif_CPPFLAGS = $(AM_CPPFLAGS) \
	-DFUZZ_FORMAT='"../../plugins/format/vdif.c"'
tests_fuzz_fuzz_vdif_CFLAGS = $(AM_CFLAGS) $(FUZZ_FLAGS)
tests_fuzz_fuzz_mark5b_SOURCES = %D%/fuzz_format.c
tests_fuzz_fuzz_mark5b_CPPFLAGS = $(AM_CPPFLAGS) \
	-DFUZZ_FORMAT='"../../plugins/format/mark5b.c"'
tests_fuzz_fuzz_mark5b_CFLAGS = $(AM_CFLAGS) $(FUZZ_FLAGS)

endif
