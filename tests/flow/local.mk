# Flow: a real daemon, real sockets, real files.  They are plain bash.
SH_LOG_COMPILER = bash

# `make check` runs FLOWS: one test for each promise.  `make check-long` runs
# all of them, and `make check FLOWS=tests/flow/x.sh` the units and one of them.
# The slowest begin first, so that none is left alone at the end.
FLOWS = $(FLOW_SHORT)

FLOW_SHORT = \
	%D%/resume.sh \
	%D%/resume_read.sh \
	%D%/send_tcp.sh \
	%D%/send_udp.sh \
	%D%/send_s3.sh \
	%D%/break_disk_hang.sh \
	%D%/fuse_live.sh \
	%D%/record_formats.sh \
	%D%/copy.sh \
	%D%/ls.sh \
	%D%/disks_remote.sh \
	%D%/layouts.sh \
	%D%/record_spead.sh \
	%D%/record_cube.sh \
	%D%/ports.sh \
	%D%/split.sh \
	%D%/losses.sh \
	%D%/losses_sender.sh \
	%D%/no_alarm.sh \
	%D%/health.sh \
	%D%/link_down.sh \
	%D%/stress.sh \
	%D%/journal.sh \
	%D%/log_json.sh \
	%D%/clock.sh \
	%D%/step_clock.sh \
	%D%/watch.sh \
	%D%/rehearse.sh \
	%D%/overrun_cause.sh \
	%D%/memory.sh \
	%D%/verify.sh \
	%D%/probe.sh \
	%D%/old_recordings.sh \
	%D%/real_vdif.sh \
	%D%/quality.sh \
	%D%/quality_live.sh \
	%D%/read_rows.sh \
	%D%/foreign_read.sh \
	%D%/disks_come.sh \
	%D%/break_packets.sh \
	%D%/break_kill.sh \
	%D%/break_power.sh \
	%D%/break_disk_errors.sh \
	%D%/tcp_frames.sh \
	%D%/map.sh \
	%D%/send_live_bytes.sh \
	%D%/fuse.sh \
	%D%/fuse_hang.sh \
	%D%/schedule_cli.sh \
	%D%/array.sh \
	%D%/schedule_data.sh \
	%D%/schedule_restart.sh \
	%D%/vsi_session.sh \
	%D%/web.sh \
	%D%/web_broken.sh \
	%D%/rm.sh \
	%D%/links.sh \
	%D%/notify.sh \
	%D%/reload.sh \
	%D%/conf_refused.sh \
	%D%/conf_example.sh

FLOW_LONG = \
	%D%/disks_mixed.sh \
	%D%/copy_break.sh \
	%D%/schedule_folder.sh \
	%D%/service.sh \
	%D%/record_ways.sh \
	%D%/copy_kinds.sh \
	%D%/schedule_feeds.sh \
	%D%/real_record_spead.sh \
	%D%/break_conf.sh \
	%D%/gen_heaps.sh \
	%D%/info_agrees.sh \
	%D%/check.sh \
	%D%/layouts_back.sh \
	%D%/layouts_crash.sh \
	%D%/layouts_full.sh \
	%D%/plan.sh \
	%D%/hold.sh \
	%D%/parity.sh \
	%D%/parity_disks.sh \
	%D%/parity_power.sh \
	%D%/scrub.sh \
	%D%/fanout_nics.sh \
	%D%/receivers.sh \
	%D%/fanout_rings.sh \
	%D%/real_spead.sh \
	%D%/real_mark5b.sh \
	%D%/real_record_sdp.sh \
	%D%/copy_full.sh \
	%D%/copy_foreign.sh \
	%D%/copy_stall.sh \
	%D%/copy_ucx.sh \
	%D%/send_copy.sh \
	%D%/record_at.sh \
	%D%/schedule_hostile.sh \
	%D%/schedule_room.sh \
	%D%/schedule_stall.sh \
	%D%/ls_many.sh \
	%D%/unit.sh \
	%D%/signals.sh \
	%D%/notify_stuck.sh \
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
	%D%/break_disk_all.sh \
	%D%/break_disk_rest.sh \
	%D%/break_disk_room.sh \
	%D%/break_mounts.sh \
	%D%/disks_hang.sh \
	%D%/disks_often.sh \
	%D%/disks_test.sh \
	%D%/disks_twin.sh \
	%D%/resume_disks.sh \
	%D%/resume_schedule.sh \
	%D%/break_index.sh \
	%D%/break_fs_full.sh \
	%D%/break_fs_stall.sh \
	%D%/break_fs_umount.sh \
	%D%/tcp_plain.sh \
	%D%/tcp_break.sh \
	%D%/read_cubes.sh \
	%D%/read_ports.sh \
	%D%/foreign_recover.sh \
	%D%/foreign_damage.sh \
	%D%/plugin_example.sh \
	%D%/tune.sh \
	%D%/import_real.sh \
	%D%/import_add.sh \
	%D%/vsi_streams.sh \
	%D%/vsi_hostile.sh \
	%D%/vsi_m5copy.sh \
	%D%/vsi_restart.sh \
	%D%/web_page.sh \
	%D%/map_kinds.sh \
	%D%/send.sh \
	%D%/send_live.sh \
	%D%/send_live_kinds.sh \
	%D%/send_rate.sh \
	%D%/send_parts.sh \
	%D%/send_tcp_break.sh \
	%D%/send_tcp_net.sh \
	%D%/ucx.sh \
	%D%/send_schedule.sh \
	%D%/send_relay.sh \
	%D%/send_copy_live.sh \
	%D%/send_udp_ports.sh \
	%D%/real_send_udp.sh \
	%D%/real_send_spead.sh \
	%D%/fuse_citizen.sh \
	%D%/fuse_readonly.sh \
	%D%/fuse_soak.sh \
	%D%/fuse_views.sh \
	%D%/fuse_many.sh \
	%D%/fuse_tools.sh \
	%D%/fuse_baseband.sh \
	%D%/fuse_foreign.sh \
	%D%/fuse_faults.sh \
	%D%/fuse_remove.sh

# With a Ceph of this machine, which takes some minutes of both processors.
FLOW_CEPH = \
	%D%/rados.sh \
	%D%/s3_radosgw.sh

# Where bytes of others are read, besides those of FLOW_SHORT: with the address
# sanitizer.
FLOW_FOREIGN = \
	%D%/break_conf.sh \
	%D%/break_control.sh \
	%D%/break_index.sh \
	%D%/break_names.sh \
	%D%/break_spead.sh \
	%D%/foreign_recover.sh \
	%D%/foreign_damage.sh \
	%D%/fuse_faults.sh \
	%D%/fuse_foreign.sh \
	%D%/import_real.sh \
	%D%/layouts_crash.sh \
	%D%/real_record_spead.sh \
	%D%/schedule_hostile.sh \
	%D%/send_tcp_break.sh \
	%D%/tcp_break.sh \
	%D%/vsi_hostile.sh

# What takes long because it waits for a clock, or computes much: not with the
# address sanitizer.
FLOW_TIMED = \
	%D%/clock.sh \
	%D%/link_down.sh \
	%D%/losses_sender.sh \
	%D%/no_alarm.sh \
	%D%/overrun_cause.sh \
	%D%/quality.sh \
	%D%/rehearse.sh \
	%D%/step_clock.sh

# Where most threads meet: with the thread sanitizer.
FLOW_THREADS = \
	%D%/ports.sh \
	%D%/fanout_rings.sh \
	%D%/disks_come.sh \
	%D%/disks_remote.sh \
	%D%/break_disk_hang.sh \
	%D%/resume.sh \
	%D%/map.sh \
	%D%/send_live_bytes.sh \
	%D%/copy.sh \
	%D%/fuse_live.sh \
	%D%/reload.sh

TESTS += $(FLOWS)
EXTRA_DIST += $(FLOW_SHORT) $(FLOW_LONG) $(FLOW_CEPH)

check-long:
	$(MAKE) $(AM_MAKEFLAGS) check FLOWS='$(FLOW_SHORT) $(FLOW_LONG) $(FLOW_CEPH)'
.PHONY: check-long

# What tests share; tests/contract has the server of etransfer, too.
EXTRA_DIST += %D%/functions.sh %D%/functions_ceph.sh %D%/functions_copy.sh %D%/functions_disks.sh \
	%D%/functions_fuse.sh %D%/functions_map.sh %D%/functions_schedule.sh \
	%D%/functions_send.sh %D%/functions_udp.sh %D%/break.sh \
	%D%/foreign.sh %D%/spead.sh %D%/tcp.sh %D%/vsi.sh \
	%D%/service_main.sh %D%/service_root.sh
EXTRA_DIST += tests/data %D%/break_control.py %D%/break_send.py \
	%D%/break_spead.py %D%/check_cube.py %D%/check_mark5b.py %D%/check_spead.py \
	%D%/check_quality.py %D%/check_vdif.py %D%/cube_is_true.py %D%/etd_server.py %D%/expect.py \
	%D%/fanout_nics.py %D%/foreign_make.py %D%/fuse_ideal.py \
	%D%/fuse_readonly.py %D%/fuse_reads.py %D%/items.py %D%/layout_mark6.py \
	%D%/lie.py %D%/live_read.py %D%/made.py %D%/map_client.py %D%/notify.py \
	%D%/power.py %D%/read_cubes.py %D%/read_rows.py %D%/real_formats.py \
	%D%/real_send_spead.py %D%/real_spead.py %D%/s3.py %D%/schedule_stall.py \
	%D%/send_fickle.py %D%/send_sink.py %D%/spead_send.py %D%/tcp_proxy.py \
	%D%/udp_ear.py %D%/verify.py %D%/vsi_fs.py %D%/vsi_hostile.py \
	%D%/vsi_m5copy.py %D%/web.py %D%/web_page.py %D%/alerts.yml
CLEANFILES += %D%/web_page.png

# Programs that flow tests run besides the daemon and the command: a copy as
# `spate send` makes it, a disk that hangs or has errors as it is told, one
# recording under many names, and heaps made of datagrams.
FLOW_HELPERS = %D%/copy_send %D%/hang_disk %D%/many %D%/rewrap
check_PROGRAMS += $(FLOW_HELPERS)
tests_flow_copy_send_SOURCES = %D%/copy_send.c
tests_flow_copy_send_LDADD = $(FLOW_LIBS)
tests_flow_hang_disk_SOURCES = %D%/hang_disk.c tests/lib/hang_fs.c
tests_flow_hang_disk_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests
tests_flow_many_SOURCES = %D%/many.c
tests_flow_rewrap_SOURCES = %D%/rewrap.c
tests_flow_rewrap_LDADD = $(BASE_LIBS)

# A clock that is set, and syncs that hang, loaded before spated.  -rpath makes
# libtool build them.
check_LTLIBRARIES += %D%/set_clock.la
tests_flow_set_clock_la_SOURCES = %D%/set_clock.c
tests_flow_set_clock_la_LDFLAGS = $(PLUGIN_FLAGS) -rpath /nonexistent
check_LTLIBRARIES += %D%/hang_sync.la
tests_flow_hang_sync_la_SOURCES = %D%/hang_sync.c
tests_flow_hang_sync_la_LDFLAGS = $(PLUGIN_FLAGS) -rpath /nonexistent
