# Packets as spate gen sends them, behind a shape; a configuration, values.
EXTRA_DIST += %D%/seeds

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

# Packets of SPEAD, as spead2 and spate gen send them.
noinst_PROGRAMS += tests/fuzz/fuzz_spead
tests_fuzz_fuzz_spead_SOURCES = %D%/fuzz_spead.c
tests_fuzz_fuzz_spead_CFLAGS = $(AM_CFLAGS) $(FUZZ_FLAGS)

# Addresses and networks of sockets.
noinst_PROGRAMS += tests/fuzz/fuzz_address
tests_fuzz_fuzz_address_SOURCES = %D%/fuzz_address.c
tests_fuzz_fuzz_address_CFLAGS = $(AM_CFLAGS) $(FUZZ_FLAGS)

# Blocks of heaps, cut in datagrams.
noinst_PROGRAMS += tests/fuzz/fuzz_cut_heaps
tests_fuzz_fuzz_cut_heaps_SOURCES = %D%/fuzz_cut_heaps.c \
	src/flow/send/cut_heaps.c
tests_fuzz_fuzz_cut_heaps_CFLAGS = $(AM_CFLAGS) $(FUZZ_FLAGS)

# URLs to send to.
noinst_PROGRAMS += tests/fuzz/fuzz_url
tests_fuzz_fuzz_url_SOURCES = %D%/fuzz_url.c src/net/endpoint.c
tests_fuzz_fuzz_url_CFLAGS = $(AM_CFLAGS) $(FUZZ_FLAGS)

# Packets as they lie in a ring.
noinst_PROGRAMS += tests/fuzz/fuzz_datagram
tests_fuzz_fuzz_datagram_SOURCES = %D%/fuzz_datagram.c
tests_fuzz_fuzz_datagram_CFLAGS = $(AM_CFLAGS) $(FUZZ_FLAGS)

# Scatter/gather files, and the bytes of other programs' recordings.
noinst_PROGRAMS += tests/fuzz/fuzz_sg tests/fuzz/fuzz_foreign
tests_fuzz_fuzz_sg_SOURCES = %D%/fuzz_sg.c
tests_fuzz_fuzz_sg_CFLAGS = $(AM_CFLAGS) $(FUZZ_FLAGS)
tests_fuzz_fuzz_foreign_SOURCES = %D%/fuzz_foreign.c \
	src/base/fault.c src/base/text.c src/store/disk/disk.c src/store/disk/layout.c src/store/disk/sg.c %D%/no_remote.c
tests_fuzz_fuzz_foreign_CFLAGS = $(AM_CFLAGS) $(FUZZ_FLAGS)
tests_fuzz_fuzz_foreign_LDADD = $(JANSSON_LIBS)

# Wire frames: with what reads them, and a world of its own around.
noinst_PROGRAMS += tests/fuzz/fuzz_wire
tests_fuzz_fuzz_wire_SOURCES = %D%/fuzz_wire.c \
	src/wire/frame.c src/wire/handshake.c src/wire/refuse.c
tests_fuzz_fuzz_wire_LDADD = $(JANSSON_LIBS)
tests_fuzz_fuzz_wire_CFLAGS = $(AM_CFLAGS) $(FUZZ_FLAGS)

# Frames of copies: with the list of blocks that they are held against.
noinst_PROGRAMS += tests/fuzz/fuzz_copy
tests_fuzz_fuzz_copy_SOURCES = %D%/fuzz_copy.c \
	src/base/fault.c src/base/text.c src/flow/copy/copy_blocks.c \
	src/store/disk/disk.c src/store/disk/file.c src/store/disk/layout.c \
	src/store/disk/sg.c %D%/no_remote.c src/store/record/index.c \
	src/wire/copy.c src/wire/frame.c
tests_fuzz_fuzz_copy_CFLAGS = $(AM_CFLAGS) $(FUZZ_FLAGS)
tests_fuzz_fuzz_copy_LDADD = $(JANSSON_LIBS)

# Either end of a handshake.
noinst_PROGRAMS += tests/fuzz/fuzz_handshake
tests_fuzz_fuzz_handshake_SOURCES = %D%/fuzz_handshake.c \
	src/wire/frame.c src/wire/handshake.c src/wire/refuse.c
tests_fuzz_fuzz_handshake_LDADD = $(JANSSON_LIBS)
tests_fuzz_fuzz_handshake_CFLAGS = $(AM_CFLAGS) $(FUZZ_FLAGS)

# Checksums of blocks, as they lie beside an index.
noinst_PROGRAMS += tests/fuzz/fuzz_sums
tests_fuzz_fuzz_sums_SOURCES = %D%/fuzz_sums.c src/base/fault.c \
	src/base/text.c src/store/disk/disk.c src/store/disk/layout.c \
	src/store/disk/sg.c %D%/no_remote.c
tests_fuzz_fuzz_sums_CFLAGS = $(AM_CFLAGS) $(FUZZ_FLAGS)
tests_fuzz_fuzz_sums_LDADD = $(ISAL_LIBS) $(JANSSON_LIBS)

# Lists of parity, and tails of parity blocks.
noinst_PROGRAMS += tests/fuzz/fuzz_parity
tests_fuzz_fuzz_parity_SOURCES = %D%/fuzz_parity.c src/base/crc32c.c \
	src/base/fault.c src/base/text.c src/store/disk/disk.c \
	src/store/disk/file.c src/store/disk/layout.c src/store/disk/sg.c %D%/no_remote.c \
	src/store/record/index.c
tests_fuzz_fuzz_parity_CFLAGS = $(AM_CFLAGS) $(FUZZ_FLAGS)
tests_fuzz_fuzz_parity_LDADD = $(JANSSON_LIBS) $(ISAL_LIBS)

# Leftovers of a crash on a disk.
noinst_PROGRAMS += tests/fuzz/fuzz_leftovers
tests_fuzz_fuzz_leftovers_SOURCES = %D%/fuzz_leftovers.c \
	src/base/clock.c src/base/crc32c.c src/base/fault.c src/base/shape.c \
	src/base/text.c src/base/units.c src/store/disk/disk.c \
	src/store/disk/file.c src/store/disk/layout.c src/store/disk/sg.c %D%/no_remote.c \
	src/store/record/index.c src/store/record/meta.c \
	src/store/record/notes.c
tests_fuzz_fuzz_leftovers_CFLAGS = $(AM_CFLAGS) $(FUZZ_FLAGS)
tests_fuzz_fuzz_leftovers_LDADD = $(JANSSON_LIBS) $(ISAL_LIBS)

# The configuration and units: with their sources, so that they are watched.
noinst_PROGRAMS += tests/fuzz/fuzz_conf
tests_fuzz_fuzz_conf_SOURCES = %D%/fuzz_conf.c \
	src/base/conf.c src/base/fault.c src/base/text.c src/base/shape.c src/base/units.c
tests_fuzz_fuzz_conf_CFLAGS = $(AM_CFLAGS) $(FUZZ_FLAGS)
tests_fuzz_fuzz_conf_LDADD = $(LIBCONFIG_LIBS) $(JANSSON_LIBS)

# Files of the schedule.
noinst_PROGRAMS += tests/fuzz/fuzz_scan
tests_fuzz_fuzz_scan_SOURCES = %D%/fuzz_scan.c \
	src/base/conf.c src/base/fault.c src/base/text.c src/base/shape.c src/base/units.c \
	src/base/keys.c src/control/answer.c \
	src/daemon/schedule/scan.c src/store/disk/disk.c src/store/disk/layout.c src/store/disk/sg.c %D%/no_remote.c
tests_fuzz_fuzz_scan_CFLAGS = $(AM_CFLAGS) $(FUZZ_FLAGS)
tests_fuzz_fuzz_scan_LDADD = $(LIBCONFIG_LIBS) $(JANSSON_LIBS)

# Schedules of other programs: with what reads them.
FUZZ_IMPORT_SOURCES = %D%/fuzz_import.c \
	src/base/conf.c src/base/fault.c src/base/text.c src/base/shape.c src/base/units.c \
	src/cli/schedule/import_scans.c \
	src/cli/schedule/import_snp.c src/cli/schedule/import_time.c \
	src/cli/schedule/import_vex.c src/cli/show/args.c src/base/clock.c \
	src/store/disk/disk.c src/store/disk/layout.c src/store/disk/sg.c %D%/no_remote.c
noinst_PROGRAMS += tests/fuzz/fuzz_snp tests/fuzz/fuzz_vex
tests_fuzz_fuzz_snp_SOURCES = $(FUZZ_IMPORT_SOURCES) src/cli/schedule/import_noxml.c
tests_fuzz_fuzz_snp_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_IMPORT=import_snp
tests_fuzz_fuzz_snp_CFLAGS = $(AM_CFLAGS) $(FUZZ_FLAGS)
tests_fuzz_fuzz_snp_LDADD = $(LIBCONFIG_LIBS) $(JANSSON_LIBS)
tests_fuzz_fuzz_vex_SOURCES = $(FUZZ_IMPORT_SOURCES) src/cli/schedule/import_noxml.c
tests_fuzz_fuzz_vex_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_IMPORT=import_vex
tests_fuzz_fuzz_vex_CFLAGS = $(AM_CFLAGS) $(FUZZ_FLAGS)
tests_fuzz_fuzz_vex_LDADD = $(LIBCONFIG_LIBS) $(JANSSON_LIBS)
if HAVE_EXPAT
noinst_PROGRAMS += tests/fuzz/fuzz_xml
tests_fuzz_fuzz_xml_SOURCES = $(FUZZ_IMPORT_SOURCES) src/cli/schedule/import_xml.c
tests_fuzz_fuzz_xml_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_IMPORT=import_xml
tests_fuzz_fuzz_xml_CFLAGS = $(AM_CFLAGS) $(FUZZ_FLAGS)
tests_fuzz_fuzz_xml_LDADD = $(LIBCONFIG_LIBS) $(JANSSON_LIBS) $(EXPAT_LIBS)
endif

# Commands of VSI-S: with what acts on them, and a recorder that is made up.
noinst_PROGRAMS += tests/fuzz/fuzz_vsi
tests_fuzz_fuzz_vsi_SOURCES = %D%/fuzz_vsi.c src/base/fault.c src/base/text.c \
	src/store/disk/disk.c src/store/disk/layout.c src/store/disk/sg.c %D%/no_remote.c
tests_fuzz_fuzz_vsi_CFLAGS = $(AM_CFLAGS) $(FUZZ_FLAGS)
tests_fuzz_fuzz_vsi_LDADD = $(JANSSON_LIBS)

# Options of a mount, and the time behind a file's name.
if HAVE_FUSE
noinst_PROGRAMS += tests/fuzz/fuzz_mount
tests_fuzz_fuzz_mount_SOURCES = %D%/fuzz_mount.c \
	src/base/clock.c src/base/conf.c src/base/crc32c.c src/base/fault.c \
	src/base/log.c src/base/secret.c src/base/shape.c \
	src/base/text.c src/base/units.c src/control/control.c \
	src/store/disk/configured.c src/store/disk/disk.c %D%/no_remote.c
tests_fuzz_fuzz_mount_CPPFLAGS = $(SPATEFS_CPPFLAGS)
tests_fuzz_fuzz_mount_CFLAGS = $(AM_CFLAGS) $(FUZZ_FLAGS)
tests_fuzz_fuzz_mount_LDADD = $(FUSE_LIBS) $(LIBCONFIG_LIBS) $(JANSSON_LIBS) \
	$(ISAL_LIBS) $(LIBCRYPTO_LIBS)
endif

endif
