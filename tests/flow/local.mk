# Flow: a real daemon, real sockets, real files.  They are plain bash.
TEST_EXTENSIONS = .sh
SH_LOG_COMPILER = bash
EXTRA_DIST += %D%/functions.sh %D%/functions_disks.sh %D%/spead.sh \
	%D%/functions_schedule.sh

# A strict reader of Mark6 files.
EXTRA_DIST += %D%/layout_mark6.py %D%/verify.py

# Also for tests/contract.
EXTRA_DIST += %D%/etd_server.py

# What baseband, a reader that is not ours, sees in exported recordings.
EXTRA_DIST += %D%/real_formats.py %D%/check_vdif.py %D%/check_mark5b.py \
	%D%/expect.py

FLOW_TESTS = \
	%D%/record_raw.sh \
	%D%/record_ways.sh \
	%D%/record_cube.sh \
	%D%/record_spead.sh \
	%D%/record_vdif.sh \
	%D%/record_edv2.sh \
	%D%/record_mark5b.sh \
	%D%/record_udpmon.sh \
	%D%/gen_heaps.sh \
	%D%/ports.sh \
	%D%/split.sh \
	%D%/info_agrees.sh \
	%D%/old_recordings.sh \
	%D%/check.sh \
	%D%/memory.sh \
	%D%/layouts.sh \
	%D%/layouts_back.sh \
	%D%/layouts_crash.sh \
	%D%/layouts_full.sh \
	%D%/losses.sh \
	%D%/verify.sh \
	%D%/plan.sh \
	%D%/probe.sh \
	%D%/fanout_nics.sh \
	%D%/receivers.sh \
	%D%/fanout_rings.sh \
	%D%/real_spead.sh \
	%D%/real_vdif.sh \
	%D%/real_mark5b.sh
# What spead2, which is not ours either, sends and reads.
EXTRA_DIST += %D%/real_spead.py %D%/check_cube.py %D%/check_spead.py \
	%D%/spead_send.py
FLOW_TESTS += %D%/real_record_spead.sh %D%/real_record_sdp.sh
check_PROGRAMS += tests/flow/rewrap
tests_flow_rewrap_SOURCES = %D%/rewrap.c
tests_flow_rewrap_LDADD = $(BASE_LIBS)
check_PROGRAMS += tests/flow/many
tests_flow_many_SOURCES = %D%/many.c
# A disk that hangs, or has errors, as it is told.
check_PROGRAMS += tests/flow/hang_disk
tests_flow_hang_disk_SOURCES = %D%/hang_disk.c
tests_flow_hang_disk_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests
# A copy as `spate send` makes it, without its daemon.
check_PROGRAMS += tests/flow/copy_send
tests_flow_copy_send_SOURCES = %D%/copy_send.c
tests_flow_copy_send_LDADD = $(FLOW_LIBS)
EXTRA_DIST += %D%/functions_copy.sh
FLOW_TESTS += %D%/copy.sh %D%/copy_break.sh %D%/copy_full.sh %D%/copy_kinds.sh \
	%D%/copy_stall.sh \
	%D%/send_copy.sh
FLOW_TESTS += \
	%D%/record_at.sh \
	%D%/schedule_cli.sh \
	%D%/schedule_data.sh \
	%D%/schedule_feeds.sh \
	%D%/schedule_folder.sh \
	%D%/schedule_hostile.sh \
	%D%/schedule_restart.sh \
	%D%/schedule_room.sh \
	%D%/schedule_stall.sh
EXTRA_DIST += %D%/schedule_stall.py
FLOW_TESTS += \
	%D%/ls.sh \
	%D%/rm.sh \
	%D%/links.sh \
	%D%/ls_many.sh
# The senders of one stream over two interfaces.
EXTRA_DIST += %D%/fanout_nics.py
# As a service.
EXTRA_DIST += %D%/notify.py %D%/service_main.sh %D%/service_root.sh
FLOW_TESTS += \
	%D%/service.sh \
	%D%/unit.sh \
	%D%/signals.sh \
	%D%/notify.sh \
	%D%/notify_stuck.sh \
	%D%/reload.sh
# What must not break it.
EXTRA_DIST += %D%/break.sh %D%/break_send.py %D%/break_control.py \
	%D%/break_spead.py %D%/lie.py %D%/power.py
FLOW_TESTS += \
	%D%/break_conf.sh \
	%D%/break_packets.sh \
	%D%/break_sequence.sh \
	%D%/break_spead.sh \
	%D%/break_flood.sh \
	%D%/break_flood_line.sh \
	%D%/break_pause.sh \
	%D%/break_names.sh \
	%D%/break_control.sh \
	%D%/break_stop.sh \
	%D%/break_silent.sh \
	%D%/break_disks.sh \
	%D%/break_disk_errors.sh \
	%D%/break_disk_all.sh \
	%D%/break_disk_hang.sh \
	%D%/break_disk_rest.sh \
	%D%/break_disk_room.sh \
	%D%/break_mounts.sh \
	%D%/disks_come.sh \
	%D%/disks_mixed.sh \
	%D%/disks_often.sh \
	%D%/disks_test.sh \
	%D%/disks_twin.sh \
	%D%/break_kill.sh \
	%D%/resume.sh \
	%D%/resume_disks.sh \
	%D%/resume_schedule.sh \
	%D%/break_power.sh \
	%D%/break_index.sh \
	%D%/break_fs_full.sh \
	%D%/break_fs_stall.sh \
	%D%/break_fs_umount.sh
# TCP.
EXTRA_DIST += %D%/tcp.sh %D%/tcp_proxy.py
FLOW_TESTS += \
	%D%/tcp_plain.sh \
	%D%/tcp_frames.sh \
	%D%/tcp_break.sh
# Recordings of many substreams, of heaps and of cubes, read back.
EXTRA_DIST += %D%/made.py %D%/read_cubes.py %D%/read_rows.py \
	%D%/cube_is_true.py %D%/items.py
FLOW_TESTS += %D%/read_cubes.sh %D%/read_rows.sh %D%/read_ports.sh
# What other programs record.
EXTRA_DIST += %D%/foreign.sh %D%/foreign_make.py
FLOW_TESTS += %D%/foreign_read.sh %D%/foreign_recover.sh \
	%D%/foreign_damage.sh
# The documents, held against the program.
FLOW_TESTS += %D%/conf_example.sh %D%/plugin_example.sh
# Settings of the machine.
FLOW_TESTS += %D%/tune.sh
# What is wrong with a configuration is said before the first packet.
FLOW_TESTS += %D%/conf_refused.sh
# Schedules of other programs.
EXTRA_DIST += tests/data
FLOW_TESTS += %D%/import_real.sh %D%/import_add.sh
# Orders of a Field System.
EXTRA_DIST += %D%/vsi.sh %D%/vsi_fs.py %D%/vsi_hostile.py %D%/vsi_m5copy.py
FLOW_TESTS += %D%/vsi_session.sh %D%/vsi_streams.sh %D%/vsi_hostile.sh %D%/vsi_m5copy.sh
# What is sent, orders to it, and what becomes of a recording meanwhile.
EXTRA_DIST += %D%/functions_map.sh %D%/map_client.py
FLOW_TESTS += %D%/map.sh %D%/map_kinds.sh
EXTRA_DIST += %D%/functions_send.sh %D%/send_sink.py %D%/send_fickle.py
FLOW_TESTS += %D%/send.sh %D%/send_live.sh \
	%D%/send_live_bytes.sh %D%/send_live_kinds.sh \
	%D%/send_rate.sh \
	%D%/send_parts.sh %D%/send_tcp.sh %D%/send_tcp_break.sh %D%/send_tcp_net.sh \
	%D%/ucx.sh \
	%D%/send_schedule.sh %D%/send_relay.sh \
	%D%/send_copy_live.sh
TESTS += $(FLOW_TESTS)
# Datagrams that are sent again, to ears of ours and of others.
EXTRA_DIST += %D%/functions_udp.sh %D%/udp_ear.py %D%/real_send_spead.py
FLOW_TESTS += %D%/send_udp.sh %D%/send_udp_ports.sh %D%/real_send_udp.sh \
	%D%/real_send_spead.sh
# Every recording as one file.
EXTRA_DIST += %D%/functions_fuse.sh %D%/fuse_readonly.py
FLOW_TESTS += %D%/fuse.sh %D%/fuse_citizen.sh %D%/fuse_readonly.sh \
	%D%/fuse_hang.sh
# What is being recorded.
EXTRA_DIST += %D%/live_read.py
FLOW_TESTS += %D%/fuse_live.sh %D%/fuse_soak.sh
# Views, many readers and recordings, and the tools that people use.
EXTRA_DIST += %D%/fuse_ideal.py %D%/fuse_reads.py
FLOW_TESTS += %D%/fuse_views.sh %D%/fuse_many.sh %D%/fuse_tools.sh \
	%D%/fuse_baseband.sh %D%/fuse_foreign.sh \
	%D%/fuse_faults.sh %D%/fuse_remove.sh

EXTRA_DIST += $(FLOW_TESTS)
