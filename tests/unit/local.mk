# One program per source file, linked with what it tests; Check's own macros.
UNIT_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS) -I$(top_srcdir)/tests
UNIT_BASE = $(BASE_LIBS) $(CHECK_LIBS)
UNIT_CLI = $(CLI_LIBS) $(CHECK_LIBS)
UNIT_STORE = $(STORE_LIBS) $(CHECK_LIBS)
UNIT_FLOW = $(FLOW_LIBS) $(CHECK_LIBS)

if HAVE_CHECK

check_PROGRAMS += tests/unit/test_units
TESTS += tests/unit/test_units
tests_unit_test_units_SOURCES = %D%/test_units.c %D%/suite.h
tests_unit_test_units_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_units_LDADD = $(UNIT_BASE)

check_PROGRAMS += tests/unit/test_text
TESTS += tests/unit/test_text
tests_unit_test_text_SOURCES = %D%/test_text.c %D%/suite.h
tests_unit_test_text_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_text_LDADD = $(UNIT_BASE)

check_PROGRAMS += tests/unit/test_fault
TESTS += tests/unit/test_fault
tests_unit_test_fault_SOURCES = %D%/test_fault.c %D%/suite.h
tests_unit_test_fault_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_fault_LDADD = $(UNIT_BASE)

check_PROGRAMS += tests/unit/test_ease
TESTS += tests/unit/test_ease
tests_unit_test_ease_SOURCES = %D%/test_ease.c %D%/suite.h
tests_unit_test_ease_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_ease_LDADD = $(UNIT_BASE)

check_PROGRAMS += tests/unit/test_log
TESTS += tests/unit/test_log
tests_unit_test_log_SOURCES = %D%/test_log.c %D%/suite.h
tests_unit_test_log_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_log_LDADD = $(UNIT_BASE)

check_PROGRAMS += tests/unit/test_shape
TESTS += tests/unit/test_shape
tests_unit_test_shape_SOURCES = %D%/test_shape.c %D%/suite.h
tests_unit_test_shape_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_shape_LDADD = $(UNIT_BASE)

check_PROGRAMS += tests/unit/test_conf
TESTS += tests/unit/test_conf
tests_unit_test_conf_SOURCES = %D%/test_conf.c %D%/suite.h
tests_unit_test_conf_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_conf_LDADD = $(UNIT_BASE)

check_PROGRAMS += tests/unit/test_conf_fill
TESTS += tests/unit/test_conf_fill
tests_unit_test_conf_fill_SOURCES = %D%/test_conf_fill.c %D%/suite.h
tests_unit_test_conf_fill_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_conf_fill_LDADD = $(UNIT_BASE)

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

check_PROGRAMS += tests/unit/test_module
TESTS += tests/unit/test_module
tests_unit_test_module_SOURCES = %D%/test_module.c %D%/suite.h
tests_unit_test_module_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_module_LDADD = $(UNIT_BASE)

check_PROGRAMS += tests/unit/test_control
TESTS += tests/unit/test_control
tests_unit_test_control_SOURCES = %D%/test_control.c %D%/suite.h
tests_unit_test_control_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_control_LDADD = $(UNIT_BASE)

# Formats: the test includes the plugin's source.
check_PROGRAMS += tests/unit/test_raw
TESTS += tests/unit/test_raw
tests_unit_test_raw_SOURCES = %D%/test_raw.c %D%/suite.h
tests_unit_test_raw_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_raw_LDADD = $(CHECK_LIBS)

check_PROGRAMS += tests/unit/test_udpmon
TESTS += tests/unit/test_udpmon
tests_unit_test_udpmon_SOURCES = %D%/test_udpmon.c %D%/suite.h
tests_unit_test_udpmon_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_udpmon_LDADD = $(CHECK_LIBS)

check_PROGRAMS += tests/unit/test_vdif
TESTS += tests/unit/test_vdif
tests_unit_test_vdif_SOURCES = %D%/test_vdif.c %D%/suite.h
tests_unit_test_vdif_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_vdif_LDADD = $(CHECK_LIBS)

check_PROGRAMS += tests/unit/test_mark5b
TESTS += tests/unit/test_mark5b
tests_unit_test_mark5b_SOURCES = %D%/test_mark5b.c %D%/suite.h
tests_unit_test_mark5b_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_mark5b_LDADD = $(CHECK_LIBS)

check_PROGRAMS += tests/unit/test_spead
TESTS += tests/unit/test_spead
tests_unit_test_spead_SOURCES = %D%/test_spead.c %D%/suite.h
tests_unit_test_spead_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_spead_LDADD = $(CHECK_LIBS)

check_PROGRAMS += tests/unit/test_spead_packet
TESTS += tests/unit/test_spead_packet
tests_unit_test_spead_packet_SOURCES = %D%/test_spead_packet.c %D%/suite.h
tests_unit_test_spead_packet_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_spead_packet_LDADD = $(CHECK_LIBS)

check_PROGRAMS += tests/unit/test_geometry
TESTS += tests/unit/test_geometry
tests_unit_test_geometry_SOURCES = %D%/test_geometry.c %D%/suite.h
tests_unit_test_geometry_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_geometry_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_layout
TESTS += tests/unit/test_layout
tests_unit_test_layout_SOURCES = %D%/test_layout.c %D%/suite.h
tests_unit_test_layout_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_layout_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_index
TESTS += tests/unit/test_index
tests_unit_test_index_SOURCES = %D%/test_index.c %D%/suite.h
tests_unit_test_index_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_index_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_sums
TESTS += tests/unit/test_sums
tests_unit_test_sums_SOURCES = %D%/test_sums.c %D%/suite.h %D%/dice.h \
	%D%/scratch.h
tests_unit_test_sums_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_sums_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_crc32c
TESTS += tests/unit/test_crc32c
tests_unit_test_crc32c_SOURCES = %D%/test_crc32c.c %D%/suite.h %D%/dice.h
tests_unit_test_crc32c_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_crc32c_LDADD = $(UNIT_BASE)

check_PROGRAMS += tests/unit/test_disk
TESTS += tests/unit/test_disk
tests_unit_test_disk_SOURCES = %D%/test_disk.c %D%/suite.h %D%/scratch.h
tests_unit_test_disk_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_disk_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_layout_map
TESTS += tests/unit/test_layout_map
tests_unit_test_layout_map_SOURCES = %D%/test_layout_map.c %D%/suite.h %D%/scratch.h
tests_unit_test_layout_map_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_layout_map_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_folder_data
TESTS += tests/unit/test_folder_data
tests_unit_test_folder_data_SOURCES = %D%/test_folder_data.c %D%/suite.h %D%/scratch.h
tests_unit_test_folder_data_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_folder_data_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_folder
TESTS += tests/unit/test_folder
tests_unit_test_folder_SOURCES = %D%/test_folder.c %D%/suite.h %D%/scratch.h
tests_unit_test_folder_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_folder_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_map
TESTS += tests/unit/test_map
tests_unit_test_map_SOURCES = %D%/test_map.c %D%/suite.h %D%/fake_format.h %D%/tapped.h
tests_unit_test_map_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_map_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_memfile
TESTS += tests/unit/test_memfile
tests_unit_test_memfile_SOURCES = %D%/test_memfile.c %D%/suite.h
tests_unit_test_memfile_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_memfile_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_meta
TESTS += tests/unit/test_meta
tests_unit_test_meta_SOURCES = %D%/test_meta.c %D%/suite.h
tests_unit_test_meta_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_meta_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_fill
TESTS += tests/unit/test_fill
tests_unit_test_fill_SOURCES = %D%/test_fill.c %D%/suite.h \
	%D%/fake_format.h %D%/fake_stream.h
tests_unit_test_fill_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_fill_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_fill_learn
TESTS += tests/unit/test_fill_learn
tests_unit_test_fill_learn_SOURCES = %D%/test_fill_learn.c %D%/suite.h \
	%D%/fake_format.h %D%/fake_stream.h
tests_unit_test_fill_learn_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_fill_learn_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_suggest
TESTS += tests/unit/test_suggest
tests_unit_test_suggest_SOURCES = %D%/test_suggest.c %D%/suite.h
tests_unit_test_suggest_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_suggest_LDADD = $(UNIT_CLI)

check_PROGRAMS += tests/unit/test_args
TESTS += tests/unit/test_args
tests_unit_test_args_SOURCES = %D%/test_args.c %D%/suite.h
tests_unit_test_args_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_args_LDADD = $(UNIT_CLI)

check_PROGRAMS += tests/unit/test_where
TESTS += tests/unit/test_where
tests_unit_test_where_SOURCES = %D%/test_where.c %D%/suite.h
tests_unit_test_where_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_where_LDADD = $(UNIT_STORE)

if HAVE_FUSE
check_PROGRAMS += tests/unit/test_spatefs_options
TESTS += tests/unit/test_spatefs_options
tests_unit_test_spatefs_options_SOURCES = %D%/test_spatefs_options.c \
	%D%/suite.h fuse/tree/options.c
tests_unit_test_spatefs_options_CPPFLAGS = $(UNIT_CPPFLAGS) $(SPATEFS_CPPFLAGS)
tests_unit_test_spatefs_options_LDADD = $(STORE_LIBS) $(FUSE_LIBS) $(UNIT_BASE)
endif

check_PROGRAMS += tests/unit/test_table
TESTS += tests/unit/test_table
tests_unit_test_table_SOURCES = %D%/test_table.c %D%/suite.h
tests_unit_test_table_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_table_LDADD = $(UNIT_CLI)

check_PROGRAMS += tests/unit/test_progress
TESTS += tests/unit/test_progress
tests_unit_test_progress_SOURCES = %D%/test_progress.c %D%/suite.h
tests_unit_test_progress_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_progress_LDADD = $(UNIT_CLI)

check_PROGRAMS += tests/unit/test_sends
TESTS += tests/unit/test_sends
tests_unit_test_sends_SOURCES = %D%/test_sends.c %D%/suite.h
tests_unit_test_sends_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_sends_LDADD = $(UNIT_CLI)

check_PROGRAMS += tests/unit/test_transfer_order
TESTS += tests/unit/test_transfer_order
tests_unit_test_transfer_order_SOURCES = %D%/test_transfer_order.c \
	%D%/suite.h src/daemon/transfers/transfer_order.c \
	src/daemon/conf/setup_send.c
tests_unit_test_transfer_order_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_transfer_order_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_transfer
TESTS += tests/unit/test_transfer
tests_unit_test_transfer_SOURCES = %D%/test_transfer.c %D%/suite.h \
	src/daemon/transfers/transfer.c
tests_unit_test_transfer_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_transfer_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_live
TESTS += tests/unit/test_live
tests_unit_test_live_SOURCES = %D%/test_live.c %D%/suite.h
tests_unit_test_live_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_live_LDADD = $(UNIT_CLI)

check_PROGRAMS += tests/unit/test_receivers
TESTS += tests/unit/test_receivers
tests_unit_test_receivers_SOURCES = %D%/test_receivers.c %D%/suite.h
tests_unit_test_receivers_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_receivers_LDADD = $(CHECK_LIBS)

check_PROGRAMS += tests/unit/test_clock
TESTS += tests/unit/test_clock
tests_unit_test_clock_SOURCES = %D%/test_clock.c %D%/suite.h
tests_unit_test_clock_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_clock_LDADD = $(UNIT_BASE)

check_PROGRAMS += tests/unit/test_fds
TESTS += tests/unit/test_fds
tests_unit_test_fds_SOURCES = %D%/test_fds.c %D%/suite.h
tests_unit_test_fds_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_fds_LDADD = $(CHECK_LIBS)

# The schedule is a part of the daemon that needs none of the others.
SCHEDULE_SOURCES = \
	src/daemon/schedule/scan.c \
	src/daemon/schedule/schedule.c \
	src/daemon/schedule/schedule_folder.c \
	src/daemon/schedule/schedule_state.c src/daemon/schedule/schedule_step.c \
 src/daemon/schedule/state_file.c

check_PROGRAMS += tests/unit/test_schedule
TESTS += tests/unit/test_schedule
tests_unit_test_schedule_SOURCES = %D%/test_schedule.c %D%/made_schedule.h \
	%D%/suite.h %D%/scratch.h $(SCHEDULE_SOURCES)
tests_unit_test_schedule_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_schedule_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_schedule_folder
TESTS += tests/unit/test_schedule_folder
tests_unit_test_schedule_folder_SOURCES = %D%/test_schedule_folder.c \
	%D%/made_schedule.h %D%/suite.h %D%/scratch.h $(SCHEDULE_SOURCES)
tests_unit_test_schedule_folder_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_schedule_folder_LDFLAGS = -Wl,--wrap=strcmp
tests_unit_test_schedule_folder_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_schedule_restart
TESTS += tests/unit/test_schedule_restart
tests_unit_test_schedule_restart_SOURCES = %D%/test_schedule_restart.c \
	%D%/made_schedule.h %D%/suite.h %D%/scratch.h $(SCHEDULE_SOURCES)
tests_unit_test_schedule_restart_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_schedule_restart_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_schedule_twice
TESTS += tests/unit/test_schedule_twice
tests_unit_test_schedule_twice_SOURCES = %D%/test_schedule_twice.c \
	%D%/made_schedule.h %D%/suite.h %D%/scratch.h $(SCHEDULE_SOURCES)
tests_unit_test_schedule_twice_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_schedule_twice_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_state_file
TESTS += tests/unit/test_state_file
tests_unit_test_state_file_SOURCES = %D%/test_state_file.c %D%/suite.h %D%/scratch.h
tests_unit_test_state_file_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_state_file_LDADD = $(UNIT_BASE)

check_PROGRAMS += tests/unit/test_name_lookup
TESTS += tests/unit/test_name_lookup
tests_unit_test_name_lookup_SOURCES = %D%/test_name_lookup.c %D%/suite.h
tests_unit_test_name_lookup_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_name_lookup_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_scan_read
TESTS += tests/unit/test_scan_read
tests_unit_test_scan_read_SOURCES = %D%/test_scan_read.c %D%/suite.h \
	src/daemon/schedule/scan.c
tests_unit_test_scan_read_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_scan_read_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_node
TESTS += tests/unit/test_node
tests_unit_test_node_SOURCES = %D%/test_node.c %D%/suite.h %D%/scratch.h
tests_unit_test_node_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_node_LDADD = $(CHECK_LIBS)

check_PROGRAMS += tests/unit/test_kernel
TESTS += tests/unit/test_kernel
tests_unit_test_kernel_SOURCES = %D%/test_kernel.c %D%/suite.h %D%/scratch.h
tests_unit_test_kernel_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_kernel_LDADD = $(UNIT_BASE)

check_PROGRAMS += tests/unit/test_cut
TESTS += tests/unit/test_cut
tests_unit_test_cut_SOURCES = %D%/test_cut.c %D%/cut_bench.h \
	%D%/suite.h %D%/dice.h %D%/fake_format.h %D%/fake_stream.h
tests_unit_test_cut_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_cut_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_cut_choice
TESTS += tests/unit/test_cut_choice
tests_unit_test_cut_choice_SOURCES = %D%/test_cut_choice.c %D%/cut_bench.h \
	%D%/suite.h %D%/dice.h %D%/fake_format.h %D%/fake_stream.h
tests_unit_test_cut_choice_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_cut_choice_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_cut_plain
TESTS += tests/unit/test_cut_plain
tests_unit_test_cut_plain_SOURCES = %D%/test_cut_plain.c %D%/cut_bench.h \
	%D%/suite.h %D%/dice.h %D%/fake_format.h %D%/fake_stream.h
tests_unit_test_cut_plain_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_cut_plain_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_sender
TESTS += tests/unit/test_sender
tests_unit_test_sender_SOURCES = %D%/test_sender.c %D%/sender_bench.h \
	%D%/suite.h %D%/fake_format.h %D%/fake_stream.h
tests_unit_test_sender_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_sender_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_sender_peer
TESTS += tests/unit/test_sender_peer
tests_unit_test_sender_peer_SOURCES = %D%/test_sender_peer.c %D%/sender_bench.h \
	%D%/suite.h %D%/fake_format.h %D%/fake_stream.h
tests_unit_test_sender_peer_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_sender_peer_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_pacer
TESTS += tests/unit/test_pacer
tests_unit_test_pacer_SOURCES = %D%/test_pacer.c %D%/suite.h %D%/dice.h
tests_unit_test_pacer_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_pacer_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_sample
TESTS += tests/unit/test_sample
tests_unit_test_sample_SOURCES = %D%/test_sample.c %D%/suite.h %D%/fake_format.h
tests_unit_test_sample_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_sample_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_gen_frames
TESTS += tests/unit/test_gen_frames
tests_unit_test_gen_frames_SOURCES = %D%/test_gen_frames.c %D%/suite.h
tests_unit_test_gen_frames_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_gen_frames_LDADD = $(UNIT_CLI)

check_PROGRAMS += tests/unit/test_gen_heaps
TESTS += tests/unit/test_gen_heaps
tests_unit_test_gen_heaps_SOURCES = %D%/test_gen_heaps.c %D%/suite.h
tests_unit_test_gen_heaps_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_gen_heaps_LDADD = $(UNIT_CLI)

check_PROGRAMS += tests/unit/test_gen_socket
TESTS += tests/unit/test_gen_socket
tests_unit_test_gen_socket_SOURCES = %D%/test_gen_socket.c %D%/suite.h
tests_unit_test_gen_socket_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_gen_socket_LDADD = $(UNIT_CLI)

check_PROGRAMS += tests/unit/test_gen_plan
TESTS += tests/unit/test_gen_plan
tests_unit_test_gen_plan_SOURCES = %D%/test_gen_plan.c %D%/suite.h
tests_unit_test_gen_plan_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_gen_plan_LDADD = $(UNIT_CLI)

check_PROGRAMS += tests/unit/test_show
TESTS += tests/unit/test_show
tests_unit_test_show_SOURCES = %D%/test_show.c %D%/suite.h
tests_unit_test_show_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_show_LDADD = $(UNIT_CLI)

check_PROGRAMS += tests/unit/test_gen_sender
TESTS += tests/unit/test_gen_sender
tests_unit_test_gen_sender_SOURCES = %D%/test_gen_sender.c %D%/suite.h
tests_unit_test_gen_sender_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_gen_sender_LDADD = $(UNIT_CLI)

check_PROGRAMS += tests/unit/test_recording
TESTS += tests/unit/test_recording
tests_unit_test_recording_SOURCES = %D%/test_recording.c %D%/suite.h \
	%D%/made.h %D%/made_read.h %D%/scratch.h
tests_unit_test_recording_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_recording_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_recording_merge
TESTS += tests/unit/test_recording_merge
tests_unit_test_recording_merge_SOURCES = %D%/test_recording_merge.c %D%/suite.h \
	%D%/made.h %D%/made_read.h %D%/scratch.h
tests_unit_test_recording_merge_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_recording_merge_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_resume
TESTS += tests/unit/test_resume
tests_unit_test_resume_SOURCES = %D%/test_resume.c %D%/suite.h \
	%D%/made.h %D%/made_read.h %D%/scratch.h
tests_unit_test_resume_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_resume_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_recording_meta
TESTS += tests/unit/test_recording_meta
tests_unit_test_recording_meta_SOURCES = %D%/test_recording_meta.c %D%/suite.h \
	%D%/made.h %D%/made_read.h %D%/scratch.h
tests_unit_test_recording_meta_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_recording_meta_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_recording_place
TESTS += tests/unit/test_recording_place
tests_unit_test_recording_place_SOURCES = %D%/test_recording_place.c %D%/suite.h \
	%D%/made.h %D%/made_row.h %D%/made_read.h %D%/scratch.h
tests_unit_test_recording_place_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_recording_place_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_recording_read
TESTS += tests/unit/test_recording_read
tests_unit_test_recording_read_SOURCES = %D%/test_recording_read.c %D%/suite.h \
	%D%/made.h %D%/made_read.h %D%/scratch.h
tests_unit_test_recording_read_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_recording_read_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_reader
TESTS += tests/unit/test_reader
tests_unit_test_reader_SOURCES = %D%/test_reader.c %D%/suite.h \
	%D%/dice.h %D%/made.h %D%/made_read.h %D%/scratch.h
tests_unit_test_reader_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_reader_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_reader_hang
TESTS += tests/unit/test_reader_hang
tests_unit_test_reader_hang_SOURCES = %D%/test_reader_hang.c %D%/hang_fs.h \
	%D%/suite.h %D%/made.h %D%/made_read.h %D%/scratch.h
tests_unit_test_reader_hang_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_reader_hang_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_opened
TESTS += tests/unit/test_opened
tests_unit_test_opened_SOURCES = %D%/test_opened.c %D%/suite.h \
	%D%/made_opened.h %D%/made.h %D%/scratch.h
tests_unit_test_opened_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_opened_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_reading
TESTS += tests/unit/test_reading
tests_unit_test_reading_SOURCES = %D%/test_reading.c %D%/suite.h \
	%D%/dice.h %D%/made_opened.h %D%/made.h %D%/scratch.h
tests_unit_test_reading_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_reading_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_reading_hang
TESTS += tests/unit/test_reading_hang
tests_unit_test_reading_hang_SOURCES = %D%/test_reading_hang.c %D%/suite.h \
	%D%/hang_fs.h %D%/made_opened.h %D%/made.h %D%/scratch.h
tests_unit_test_reading_hang_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_reading_hang_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_trail
TESTS += tests/unit/test_trail
tests_unit_test_trail_SOURCES = %D%/test_trail.c %D%/dice.h %D%/suite.h
tests_unit_test_trail_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_trail_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_source_disk
TESTS += tests/unit/test_source_disk
tests_unit_test_source_disk_SOURCES = %D%/test_source_disk.c %D%/suite.h \
	%D%/made.h %D%/made_read.h %D%/scratch.h
tests_unit_test_source_disk_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_source_disk_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_source_disk_big
TESTS += tests/unit/test_source_disk_big
tests_unit_test_source_disk_big_SOURCES = %D%/test_source_disk_big.c \
	%D%/hang_fs.h %D%/suite.h %D%/scratch.h
tests_unit_test_source_disk_big_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_source_disk_big_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_fuse_live
TESTS += tests/unit/test_fuse_live
tests_unit_test_fuse_live_SOURCES = %D%/test_fuse_live.c %D%/suite.h \
	%D%/fake_spated.h %D%/made.h %D%/made_read.h %D%/scratch.h
tests_unit_test_fuse_live_CPPFLAGS = $(UNIT_CPPFLAGS) -I$(top_srcdir)
tests_unit_test_fuse_live_LDADD = $(FUSE_TREE_LIBS) $(CHECK_LIBS)

check_PROGRAMS += tests/unit/test_remember
TESTS += tests/unit/test_remember
tests_unit_test_remember_SOURCES = %D%/test_remember.c %D%/suite.h \
	%D%/made.h %D%/made_read.h %D%/scratch.h
tests_unit_test_remember_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_remember_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_recording_info
TESTS += tests/unit/test_recording_info
tests_unit_test_recording_info_SOURCES = %D%/test_recording_info.c %D%/suite.h \
	%D%/made.h %D%/made_read.h %D%/scratch.h
tests_unit_test_recording_info_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_recording_info_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_recording_list
TESTS += tests/unit/test_recording_list
tests_unit_test_recording_list_SOURCES = %D%/test_recording_list.c %D%/suite.h \
	%D%/made.h %D%/made_read.h %D%/scratch.h
tests_unit_test_recording_list_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_recording_list_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_entry
TESTS += tests/unit/test_entry
tests_unit_test_entry_SOURCES = %D%/test_entry.c %D%/suite.h \
	%D%/made.h %D%/made_list.h %D%/scratch.h
tests_unit_test_entry_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_entry_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_catalogue
TESTS += tests/unit/test_catalogue
tests_unit_test_catalogue_SOURCES = %D%/test_catalogue.c %D%/suite.h \
	%D%/made.h %D%/made_list.h %D%/scratch.h
tests_unit_test_catalogue_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_catalogue_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_tree
TESTS += tests/unit/test_tree
tests_unit_test_tree_SOURCES = %D%/test_tree.c %D%/suite.h %D%/made.h \
	%D%/made_list.h %D%/scratch.h %D%/tree_bench.h
tests_unit_test_tree_CPPFLAGS = $(UNIT_CPPFLAGS) -I$(top_srcdir)
tests_unit_test_tree_LDADD = $(FUSE_TREE_LIBS) $(CHECK_LIBS)

check_PROGRAMS += tests/unit/test_tree_data
TESTS += tests/unit/test_tree_data
tests_unit_test_tree_data_SOURCES = %D%/test_tree_data.c %D%/suite.h %D%/made.h \
	%D%/made_list.h %D%/scratch.h %D%/tree_bench.h
tests_unit_test_tree_data_CPPFLAGS = $(UNIT_CPPFLAGS) -I$(top_srcdir)
tests_unit_test_tree_data_LDADD = $(FUSE_TREE_LIBS) $(CHECK_LIBS)

check_PROGRAMS += tests/unit/test_tree_names
TESTS += tests/unit/test_tree_names
tests_unit_test_tree_names_SOURCES = %D%/test_tree_names.c %D%/suite.h
tests_unit_test_tree_names_CPPFLAGS = $(UNIT_CPPFLAGS) -I$(top_srcdir)
tests_unit_test_tree_names_LDADD = $(FUSE_TREE_LIBS) $(CHECK_LIBS)

check_PROGRAMS += tests/unit/test_removal
TESTS += tests/unit/test_removal
tests_unit_test_removal_SOURCES = %D%/test_removal.c %D%/suite.h \
	%D%/made.h %D%/made_list.h %D%/scratch.h
tests_unit_test_removal_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_removal_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_verify
TESTS += tests/unit/test_verify
tests_unit_test_verify_SOURCES = %D%/test_verify.c %D%/suite.h \
	%D%/made.h %D%/made_row.h %D%/scratch.h
tests_unit_test_verify_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_verify_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_quick_check
TESTS += tests/unit/test_quick_check
tests_unit_test_quick_check_SOURCES = %D%/test_quick_check.c %D%/suite.h \
	%D%/made.h %D%/made_row.h %D%/scratch.h
tests_unit_test_quick_check_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_quick_check_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_loss
TESTS += tests/unit/test_loss
tests_unit_test_loss_SOURCES = %D%/test_loss.c %D%/suite.h \
	%D%/made.h %D%/made_read.h %D%/scratch.h
tests_unit_test_loss_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_loss_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_view
TESTS += tests/unit/test_view
tests_unit_test_view_SOURCES = %D%/test_view.c %D%/suite.h \
	%D%/view_read.h %D%/made_row.h %D%/made_view.h %D%/made.h %D%/dice.h %D%/scratch.h
tests_unit_test_view_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_view_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_view_time
TESTS += tests/unit/test_view_time
tests_unit_test_view_time_SOURCES = %D%/test_view_time.c %D%/suite.h \
	%D%/view_read.h %D%/made_view.h %D%/made.h %D%/dice.h %D%/scratch.h
tests_unit_test_view_time_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_view_time_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_view_thread
TESTS += tests/unit/test_view_thread
tests_unit_test_view_thread_SOURCES = %D%/test_view_thread.c %D%/suite.h \
	%D%/view_read.h %D%/made_view.h %D%/made.h %D%/dice.h %D%/scratch.h
tests_unit_test_view_thread_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_view_thread_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_view_live
TESTS += tests/unit/test_view_live
tests_unit_test_view_live_SOURCES = %D%/test_view_live.c %D%/suite.h \
	%D%/view_read.h %D%/made_view.h %D%/made.h %D%/dice.h %D%/scratch.h
tests_unit_test_view_live_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_view_live_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_view_foreign
TESTS += tests/unit/test_view_foreign
tests_unit_test_view_foreign_SOURCES = %D%/test_view_foreign.c %D%/suite.h \
	%D%/view_read.h %D%/made_view.h %D%/made.h %D%/dice.h %D%/scratch.h
tests_unit_test_view_foreign_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_view_foreign_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_view_storm
TESTS += tests/unit/test_view_storm
tests_unit_test_view_storm_SOURCES = %D%/test_view_storm.c %D%/suite.h \
	%D%/view_read.h %D%/made_view.h %D%/made.h %D%/dice.h %D%/scratch.h
tests_unit_test_view_storm_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_view_storm_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_verify_sums
TESTS += tests/unit/test_verify_sums
tests_unit_test_verify_sums_SOURCES = %D%/test_verify_sums.c %D%/suite.h \
	%D%/made.h %D%/made_row.h %D%/scratch.h
tests_unit_test_verify_sums_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_verify_sums_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_cube
TESTS += tests/unit/test_cube
tests_unit_test_cube_SOURCES = %D%/test_cube.c %D%/suite.h \
	%D%/made.h %D%/made_read.h %D%/scratch.h
tests_unit_test_cube_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_cube_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_sg
TESTS += tests/unit/test_sg
tests_unit_test_sg_SOURCES = %D%/test_sg.c %D%/suite.h
tests_unit_test_sg_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_sg_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_recover_twins
TESTS += tests/unit/test_recover_twins
tests_unit_test_recover_twins_SOURCES = %D%/test_recover_twins.c %D%/suite.h \
	%D%/made.h %D%/made_recover.h %D%/scratch.h
tests_unit_test_recover_twins_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_recover_twins_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_recover_sums
TESTS += tests/unit/test_recover_sums
tests_unit_test_recover_sums_SOURCES = %D%/test_recover_sums.c %D%/suite.h \
	%D%/made.h %D%/made_recover.h %D%/scratch.h
tests_unit_test_recover_sums_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_recover_sums_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_foreign_form
TESTS += tests/unit/test_foreign_form
tests_unit_test_foreign_form_SOURCES = %D%/test_foreign_form.c %D%/suite.h \
	%D%/scratch.h
tests_unit_test_foreign_form_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_foreign_form_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_recover_heaps
TESTS += tests/unit/test_recover_heaps
tests_unit_test_recover_heaps_SOURCES = %D%/test_recover_heaps.c %D%/suite.h \
	%D%/made.h %D%/made_recover.h %D%/made_row.h %D%/scratch.h
tests_unit_test_recover_heaps_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_recover_heaps_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_row
TESTS += tests/unit/test_row
tests_unit_test_row_SOURCES = %D%/test_row.c %D%/suite.h %D%/scratch.h
tests_unit_test_row_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_row_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_recover
TESTS += tests/unit/test_recover
tests_unit_test_recover_SOURCES = %D%/test_recover.c %D%/suite.h \
	%D%/made.h %D%/made_recover.h %D%/scratch.h
tests_unit_test_recover_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_recover_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_recover_find
TESTS += tests/unit/test_recover_find
tests_unit_test_recover_find_SOURCES = %D%/test_recover_find.c %D%/suite.h \
	%D%/made.h %D%/made_recover.h %D%/scratch.h
tests_unit_test_recover_find_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_recover_find_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_recover_chunk
TESTS += tests/unit/test_recover_chunk
tests_unit_test_recover_chunk_SOURCES = %D%/test_recover_chunk.c %D%/suite.h \
	%D%/made.h %D%/made_recover.h %D%/scratch.h
tests_unit_test_recover_chunk_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_recover_chunk_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_relocate
TESTS += tests/unit/test_relocate
tests_unit_test_relocate_SOURCES = %D%/test_relocate.c %D%/suite.h %D%/dice.h
tests_unit_test_relocate_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_relocate_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_candidate
TESTS += tests/unit/test_candidate
tests_unit_test_candidate_SOURCES = %D%/test_candidate.c %D%/suite.h
tests_unit_test_candidate_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_candidate_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_learn
TESTS += tests/unit/test_learn
tests_unit_test_learn_SOURCES = %D%/test_learn.c %D%/suite.h
tests_unit_test_learn_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_learn_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_secret
TESTS += tests/unit/test_secret
tests_unit_test_secret_SOURCES = %D%/test_secret.c %D%/suite.h
tests_unit_test_secret_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_secret_LDADD = $(UNIT_BASE)

check_PROGRAMS += tests/unit/test_handshake
TESTS += tests/unit/test_handshake
tests_unit_test_handshake_SOURCES = %D%/test_handshake.c %D%/suite.h
tests_unit_test_handshake_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_handshake_LDADD = $(UNIT_BASE)

check_PROGRAMS += tests/unit/test_copy_blocks
TESTS += tests/unit/test_copy_blocks
tests_unit_test_copy_blocks_SOURCES = %D%/test_copy_blocks.c %D%/suite.h
tests_unit_test_copy_blocks_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_copy_blocks_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_wire_copy
TESTS += tests/unit/test_wire_copy
tests_unit_test_wire_copy_SOURCES = %D%/test_wire_copy.c %D%/suite.h
tests_unit_test_wire_copy_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_wire_copy_LDADD = $(UNIT_BASE)

check_PROGRAMS += tests/unit/test_told
TESTS += tests/unit/test_told
tests_unit_test_told_SOURCES = %D%/test_told.c %D%/suite.h
tests_unit_test_told_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_told_LDADD = $(UNIT_BASE)

check_PROGRAMS += tests/unit/test_given
TESTS += tests/unit/test_given
tests_unit_test_given_SOURCES = %D%/test_given.c %D%/suite.h
tests_unit_test_given_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_given_LDADD = $(UNIT_BASE)

check_PROGRAMS += tests/unit/test_wire
TESTS += tests/unit/test_wire
tests_unit_test_wire_SOURCES = %D%/test_wire.c %D%/suite.h
tests_unit_test_wire_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_wire_LDADD = $(UNIT_BASE)

check_PROGRAMS += tests/unit/test_address
TESTS += tests/unit/test_address
tests_unit_test_address_SOURCES = %D%/test_address.c %D%/suite.h
tests_unit_test_address_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_address_LDADD = $(CHECK_LIBS)

check_PROGRAMS += tests/unit/test_url
TESTS += tests/unit/test_url
tests_unit_test_url_SOURCES = %D%/test_url.c %D%/suite.h
tests_unit_test_url_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_url_LDADD = $(CHECK_LIBS)

# The plugin's own parts, with another answer to a question of one of them.
check_PROGRAMS += tests/unit/test_udp_timed
TESTS += tests/unit/test_udp_timed
tests_unit_test_udp_timed_SOURCES = %D%/test_udp_timed.c %D%/suite.h \
	plugins/send/udp/udp.c \
	plugins/send/udp/udp_go.c plugins/send/udp/udp_ports.c \
	plugins/send/udp/udp_train.c
tests_unit_test_udp_timed_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_udp_timed_LDADD = libnet.a $(CHECK_LIBS)

check_PROGRAMS += tests/unit/test_allow
TESTS += tests/unit/test_allow
tests_unit_test_allow_SOURCES = %D%/test_allow.c %D%/suite.h
tests_unit_test_allow_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_allow_LDADD = $(CHECK_LIBS)

check_PROGRAMS += tests/unit/test_place
TESTS += tests/unit/test_place
tests_unit_test_place_SOURCES = %D%/test_place.c %D%/suite.h \
	%D%/place_bench.h %D%/place_script.h
tests_unit_test_place_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_place_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_place_arrival
TESTS += tests/unit/test_place_arrival
tests_unit_test_place_arrival_SOURCES = %D%/test_place_arrival.c %D%/suite.h \
	%D%/place_bench.h
tests_unit_test_place_arrival_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_place_arrival_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_place_held
TESTS += tests/unit/test_place_held
tests_unit_test_place_held_SOURCES = %D%/test_place_held.c %D%/suite.h \
	%D%/place_bench.h %D%/dice.h
tests_unit_test_place_held_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_place_held_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_place_room
TESTS += tests/unit/test_place_room
tests_unit_test_place_room_SOURCES = %D%/test_place_room.c %D%/suite.h \
	%D%/place_bench.h %D%/dice.h
tests_unit_test_place_room_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_place_room_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_place_stride
TESTS += tests/unit/test_place_stride
tests_unit_test_place_stride_SOURCES = %D%/test_place_stride.c %D%/suite.h \
	%D%/place_bench.h %D%/dice.h
tests_unit_test_place_stride_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_place_stride_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_split
TESTS += tests/unit/test_split
tests_unit_test_split_SOURCES = %D%/test_split.c %D%/suite.h %D%/dice.h
tests_unit_test_split_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_split_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_place_storm
TESTS += tests/unit/test_place_storm
tests_unit_test_place_storm_SOURCES = %D%/test_place_storm.c %D%/suite.h \
	%D%/place_bench.h %D%/dice.h
tests_unit_test_place_storm_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_place_storm_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_heaps
TESTS += tests/unit/test_heaps
tests_unit_test_heaps_SOURCES = %D%/test_heaps.c %D%/suite.h \
	%D%/heap_bench.h %D%/heap_check.h %D%/heap_sent.h
tests_unit_test_heaps_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_heaps_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_datagram
TESTS += tests/unit/test_datagram
tests_unit_test_datagram_SOURCES = %D%/test_datagram.c %D%/suite.h
tests_unit_test_datagram_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_datagram_LDADD = $(CHECK_LIBS)

check_PROGRAMS += tests/unit/test_ring
TESTS += tests/unit/test_ring
tests_unit_test_ring_SOURCES = %D%/test_ring.c %D%/suite.h
tests_unit_test_ring_CPPFLAGS = $(UNIT_CPPFLAGS) -I$(top_srcdir)/plugins/receive
tests_unit_test_ring_LDADD = $(CHECK_LIBS)

check_PROGRAMS += tests/unit/test_heaps_hostile
TESTS += tests/unit/test_heaps_hostile
tests_unit_test_heaps_hostile_SOURCES = %D%/test_heaps_hostile.c %D%/suite.h \
	%D%/heap_bench.h %D%/heap_check.h %D%/heap_sent.h
tests_unit_test_heaps_hostile_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_heaps_hostile_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_shared
TESTS += tests/unit/test_shared
tests_unit_test_shared_SOURCES = %D%/test_shared.c %D%/suite.h \
	%D%/shared_bench.h %D%/dice.h
tests_unit_test_shared_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_shared_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_shared_storm
TESTS += tests/unit/test_shared_storm
tests_unit_test_shared_storm_SOURCES = %D%/test_shared_storm.c %D%/suite.h \
	%D%/shared_bench.h %D%/dice.h
tests_unit_test_shared_storm_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_shared_storm_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_cubes
TESTS += tests/unit/test_cubes
tests_unit_test_cubes_SOURCES = %D%/test_cubes.c %D%/suite.h \
	%D%/cube_bench.h %D%/heap_bench.h %D%/heap_check.h %D%/heap_sent.h %D%/dice.h
tests_unit_test_cubes_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_cubes_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_cut_heaps
TESTS += tests/unit/test_cut_heaps
tests_unit_test_cut_heaps_SOURCES = %D%/test_cut_heaps.c %D%/suite.h
tests_unit_test_cut_heaps_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_cut_heaps_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_heaps_run
TESTS += tests/unit/test_heaps_run
tests_unit_test_heaps_run_SOURCES = %D%/test_heaps_run.c %D%/suite.h \
	%D%/heap_bench.h %D%/heap_check.h %D%/heap_sent.h
tests_unit_test_heaps_run_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_heaps_run_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_heaps_room
TESTS += tests/unit/test_heaps_room
tests_unit_test_heaps_room_SOURCES = %D%/test_heaps_room.c %D%/suite.h \
	%D%/heap_bench.h %D%/heap_check.h %D%/heap_sent.h
tests_unit_test_heaps_room_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_heaps_room_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_cubes_run
TESTS += tests/unit/test_cubes_run
tests_unit_test_cubes_run_SOURCES = %D%/test_cubes_run.c %D%/suite.h \
	%D%/cube_bench.h %D%/dice.h %D%/heap_bench.h %D%/heap_check.h %D%/heap_sent.h
tests_unit_test_cubes_run_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_cubes_run_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_heaps_storm
TESTS += tests/unit/test_heaps_storm
tests_unit_test_heaps_storm_SOURCES = %D%/test_heaps_storm.c %D%/suite.h \
	%D%/heap_bench.h %D%/heap_check.h %D%/heap_sent.h %D%/dice.h
tests_unit_test_heaps_storm_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_heaps_storm_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_ranges
TESTS += tests/unit/test_ranges
tests_unit_test_ranges_SOURCES = %D%/test_ranges.c %D%/suite.h %D%/dice.h
tests_unit_test_ranges_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_ranges_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_steps
TESTS += tests/unit/test_steps
tests_unit_test_steps_SOURCES = %D%/test_steps.c %D%/suite.h %D%/dice.h
tests_unit_test_steps_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_steps_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_leaf
TESTS += tests/unit/test_leaf
tests_unit_test_leaf_SOURCES = %D%/test_leaf.c %D%/suite.h \
	%D%/disk_bench.h %D%/fake_write.h %D%/dice.h %D%/scratch.h
tests_unit_test_leaf_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_leaf_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_flight
TESTS += tests/unit/test_flight
tests_unit_test_flight_SOURCES = %D%/test_flight.c %D%/suite.h \
	%D%/fake_write.h %D%/dice.h
tests_unit_test_flight_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_flight_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_chunk
TESTS += tests/unit/test_chunk
tests_unit_test_chunk_SOURCES = %D%/test_chunk.c %D%/suite.h \
	%D%/disk_bench.h %D%/fake_write.h %D%/dice.h %D%/scratch.h
tests_unit_test_chunk_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_chunk_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_pool
TESTS += tests/unit/test_pool
tests_unit_test_pool_SOURCES = %D%/test_pool.c %D%/suite.h
tests_unit_test_pool_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_pool_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_stock
TESTS += tests/unit/test_stock
tests_unit_test_stock_SOURCES = %D%/test_stock.c %D%/suite.h %D%/dice.h
tests_unit_test_stock_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_stock_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_aim
TESTS += tests/unit/test_aim
tests_unit_test_aim_SOURCES = %D%/test_aim.c %D%/suite.h
tests_unit_test_aim_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_aim_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_parking
TESTS += tests/unit/test_parking
tests_unit_test_parking_SOURCES = %D%/test_parking.c %D%/suite.h
tests_unit_test_parking_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_parking_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_output
TESTS += tests/unit/test_output
tests_unit_test_output_SOURCES = %D%/test_output.c %D%/suite.h %D%/fake_format.h
tests_unit_test_output_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_output_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_settled
TESTS += tests/unit/test_settled
tests_unit_test_settled_SOURCES = %D%/test_settled.c %D%/suite.h %D%/dice.h
tests_unit_test_settled_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_settled_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_tap
TESTS += tests/unit/test_tap
tests_unit_test_tap_SOURCES = %D%/test_tap.c %D%/suite.h %D%/fake_format.h %D%/tapped.h
tests_unit_test_tap_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_tap_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_source_live
TESTS += tests/unit/test_source_live
tests_unit_test_source_live_SOURCES = %D%/test_source_live.c %D%/suite.h %D%/fake_format.h %D%/tapped.h
tests_unit_test_source_live_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_source_live_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_source_relay
TESTS += tests/unit/test_source_relay
tests_unit_test_source_relay_SOURCES = %D%/test_source_relay.c %D%/suite.h %D%/fake_format.h %D%/tapped.h
tests_unit_test_source_relay_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_source_relay_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_live_peers
TESTS += tests/unit/test_live_peers
tests_unit_test_live_peers_SOURCES = %D%/test_live_peers.c %D%/suite.h \
	%D%/dice.h %D%/fake_write.h %D%/scratch.h
tests_unit_test_live_peers_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_live_peers_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_quanta
TESTS += tests/unit/test_quanta
tests_unit_test_quanta_SOURCES = %D%/test_quanta.c %D%/suite.h %D%/dice.h
tests_unit_test_quanta_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_quanta_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_choice
TESTS += tests/unit/test_choice
tests_unit_test_choice_SOURCES = %D%/test_choice.c %D%/suite.h
tests_unit_test_choice_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_choice_LDADD = $(CHECK_LIBS)

check_PROGRAMS += tests/unit/test_pace
TESTS += tests/unit/test_pace
tests_unit_test_pace_SOURCES = %D%/test_pace.c %D%/suite.h
tests_unit_test_pace_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_pace_LDADD = $(CHECK_LIBS)

check_PROGRAMS += tests/unit/test_disk_try
TESTS += tests/unit/test_disk_try
tests_unit_test_disk_try_SOURCES = %D%/test_disk_try.c %D%/suite.h \
	%D%/fake_write.h %D%/dice.h %D%/scratch.h
tests_unit_test_disk_try_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_disk_try_LDADD = $(UNIT_CLI)

check_PROGRAMS += tests/unit/test_disks_test
TESTS += tests/unit/test_disks_test
tests_unit_test_disks_test_SOURCES = %D%/test_disks_test.c %D%/suite.h
tests_unit_test_disks_test_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_disks_test_LDADD = $(UNIT_CLI)

check_PROGRAMS += tests/unit/test_disk_watch
TESTS += tests/unit/test_disk_watch
tests_unit_test_disk_watch_SOURCES = %D%/test_disk_watch.c %D%/suite.h %D%/scratch.h
tests_unit_test_disk_watch_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_disk_watch_LDADD = $(UNIT_STORE)

check_PROGRAMS += tests/unit/test_queue
TESTS += tests/unit/test_queue
tests_unit_test_queue_SOURCES = %D%/test_queue.c %D%/suite.h
tests_unit_test_queue_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_queue_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_writer_drop
TESTS += tests/unit/test_writer_drop
tests_unit_test_writer_drop_SOURCES = %D%/test_writer_drop.c %D%/suite.h \
	%D%/disk_bench.h %D%/fake_write.h %D%/dice.h %D%/scratch.h
tests_unit_test_writer_drop_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_writer_drop_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_output_resume
TESTS += tests/unit/test_output_resume
tests_unit_test_output_resume_SOURCES = %D%/test_output_resume.c %D%/suite.h \
	%D%/made.h %D%/scratch.h
tests_unit_test_output_resume_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_output_resume_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_writer_rank
TESTS += tests/unit/test_writer_rank
tests_unit_test_writer_rank_SOURCES = %D%/test_writer_rank.c %D%/suite.h
tests_unit_test_writer_rank_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_writer_rank_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_writer
TESTS += tests/unit/test_writer
tests_unit_test_writer_SOURCES = %D%/test_writer.c %D%/suite.h \
	%D%/disk_bench.h %D%/fake_write.h %D%/dice.h %D%/scratch.h
tests_unit_test_writer_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_writer_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_arrival
TESTS += tests/unit/test_arrival
tests_unit_test_arrival_SOURCES = %D%/test_arrival.c %D%/suite.h
tests_unit_test_arrival_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_arrival_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_backlog
TESTS += tests/unit/test_backlog
tests_unit_test_backlog_SOURCES = %D%/test_backlog.c %D%/suite.h
tests_unit_test_backlog_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_backlog_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_gate
TESTS += tests/unit/test_gate
tests_unit_test_gate_SOURCES = %D%/test_gate.c %D%/suite.h
tests_unit_test_gate_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_gate_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_feed
TESTS += tests/unit/test_feed
tests_unit_test_feed_SOURCES = %D%/test_feed.c %D%/suite.h %D%/dice.h \
	%D%/feed_bench.h
tests_unit_test_feed_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_feed_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_intake
TESTS += tests/unit/test_intake
tests_unit_test_intake_SOURCES = %D%/test_intake.c %D%/suite.h
tests_unit_test_intake_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_intake_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_receiver
TESTS += tests/unit/test_receiver
tests_unit_test_receiver_SOURCES = %D%/test_receiver.c %D%/suite.h \
	%D%/receiver_bench.h
tests_unit_test_receiver_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_receiver_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_receiver_many
TESTS += tests/unit/test_receiver_many
tests_unit_test_receiver_many_SOURCES = %D%/test_receiver_many.c %D%/suite.h \
	%D%/receiver_bench.h
tests_unit_test_receiver_many_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_receiver_many_LDADD = $(UNIT_FLOW)

check_PROGRAMS += tests/unit/test_forecast
TESTS += tests/unit/test_forecast
tests_unit_test_forecast_SOURCES = %D%/test_forecast.c %D%/suite.h %D%/dice.h \
	src/daemon/schedule/forecast_sum.c
tests_unit_test_forecast_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_forecast_LDADD = $(UNIT_BASE)

check_PROGRAMS += tests/unit/test_import_time
TESTS += tests/unit/test_import_time
tests_unit_test_import_time_SOURCES = %D%/test_import_time.c %D%/suite.h
tests_unit_test_import_time_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_import_time_LDADD = $(UNIT_CLI)

check_PROGRAMS += tests/unit/test_import_scans
TESTS += tests/unit/test_import_scans
tests_unit_test_import_scans_SOURCES = %D%/test_import_scans.c %D%/suite.h \
	%D%/import_bench.h src/cli/schedule/import_noxml.c
tests_unit_test_import_scans_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_import_scans_LDADD = $(UNIT_CLI)

check_PROGRAMS += tests/unit/test_import_snp
TESTS += tests/unit/test_import_snp
tests_unit_test_import_snp_SOURCES = %D%/test_import_snp.c %D%/suite.h \
	%D%/import_bench.h src/cli/schedule/import_noxml.c
tests_unit_test_import_snp_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_import_snp_LDADD = $(UNIT_CLI)

check_PROGRAMS += tests/unit/test_import_vex
TESTS += tests/unit/test_import_vex
tests_unit_test_import_vex_SOURCES = %D%/test_import_vex.c %D%/suite.h \
	%D%/import_bench.h src/cli/schedule/import_noxml.c
tests_unit_test_import_vex_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_import_vex_LDADD = $(UNIT_CLI)

if HAVE_EXPAT
check_PROGRAMS += tests/unit/test_import_xml
TESTS += tests/unit/test_import_xml
tests_unit_test_import_xml_SOURCES = %D%/test_import_xml.c %D%/suite.h \
	%D%/import_bench.h
tests_unit_test_import_xml_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_import_xml_LDADD = $(UNIT_CLI)
endif

check_PROGRAMS += tests/unit/test_schedule_show
TESTS += tests/unit/test_schedule_show
tests_unit_test_schedule_show_SOURCES = %D%/test_schedule_show.c %D%/suite.h
tests_unit_test_schedule_show_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_schedule_show_LDADD = $(UNIT_CLI)

check_PROGRAMS += tests/unit/test_vsi_line
TESTS += tests/unit/test_vsi_line
tests_unit_test_vsi_line_SOURCES = %D%/test_vsi_line.c %D%/suite.h
tests_unit_test_vsi_line_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_vsi_line_LDADD = $(CHECK_LIBS)

check_PROGRAMS += tests/unit/test_vsi_mode
TESTS += tests/unit/test_vsi_mode
tests_unit_test_vsi_mode_SOURCES = %D%/test_vsi_mode.c %D%/suite.h
tests_unit_test_vsi_mode_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_vsi_mode_LDADD = libnet.a $(CHECK_LIBS)

check_PROGRAMS += tests/unit/test_vsi
TESTS += tests/unit/test_vsi
tests_unit_test_vsi_SOURCES = %D%/test_vsi.c %D%/suite.h %D%/vsi_bench.h
tests_unit_test_vsi_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_vsi_LDADD = $(UNIT_BASE)

check_PROGRAMS += tests/unit/test_vsi_settings
TESTS += tests/unit/test_vsi_settings
tests_unit_test_vsi_settings_SOURCES = %D%/test_vsi_settings.c %D%/suite.h \
	%D%/vsi_bench.h
tests_unit_test_vsi_settings_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_vsi_settings_LDADD = $(UNIT_BASE)

check_PROGRAMS += tests/unit/test_vsi_server
TESTS += tests/unit/test_vsi_server
tests_unit_test_vsi_server_SOURCES = %D%/test_vsi_server.c %D%/suite.h
tests_unit_test_vsi_server_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_vsi_server_LDADD = $(UNIT_BASE)

check_PROGRAMS += tests/unit/test_server
TESTS += tests/unit/test_server
tests_unit_test_server_SOURCES = %D%/test_server.c %D%/suite.h %D%/scratch.h
tests_unit_test_server_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_server_LDADD = $(UNIT_BASE)

endif

check_PROGRAMS += tests/unit/test_worker
TESTS += tests/unit/test_worker
tests_unit_test_worker_SOURCES = %D%/test_worker.c %D%/suite.h
tests_unit_test_worker_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_worker_LDADD = $(UNIT_BASE)
