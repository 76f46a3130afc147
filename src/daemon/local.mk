sbin_PROGRAMS += spated
spated_SOURCES = \
	%D%/admission.c %D%/admission_json.c %D%/admission.h \
	%D%/chores.c %D%/chores.h \
	%D%/crew.c %D%/crew.h \
	%D%/fds.c %D%/fds.h \
	%D%/fleet.c %D%/fleet_order.c %D%/fleet_space.c %D%/fleet_watch.c %D%/fleet.h \
	%D%/daemon.c %D%/daemon_run.c %D%/daemon.h \
	%D%/forecast.c %D%/forecast_sum.c %D%/forecast_why.c \
	%D%/forecast.h %D%/forecast_priv.h %D%/forecast_why.h \
	%D%/inbox.c %D%/inbox_greet.c %D%/inbox_show.c %D%/inbox_step.c %D%/inbox.h %D%/inbox_priv.h \
	%D%/keeper.c %D%/keeper.h \
	%D%/kernel.c %D%/kernel.h \
	%D%/listener.c %D%/listener.h \
	%D%/main.c \
	%D%/mapping.c %D%/mapping.h \
	%D%/node.c %D%/node.h \
	%D%/options.c %D%/options.h \
	%D%/notify.h \
	%D%/order.c %D%/order.h %D%/order_name.c %D%/order_name.h \
	%D%/probe.c %D%/probe.h \
	%D%/relay.c %D%/relay.h \
	%D%/reception.c %D%/reception.h \
	%D%/reload.c \
	%D%/report.c %D%/report_disk.c %D%/report_from.c %D%/report.h \
	%D%/scan.c %D%/scan.h %D%/scan_read.c %D%/scan_read.h \
	%D%/schedule.c %D%/schedule_edit.c %D%/schedule_folder.c %D%/schedule_merge.c \
	%D%/schedule_state.c %D%/schedule_step.c %D%/schedule_vet.c \
	%D%/schedule.h %D%/schedule_priv.h \
	%D%/schedule_host.c %D%/schedule_host.h \
	%D%/scout.c %D%/scout.h \
	%D%/scribe.c %D%/scribe.h \
	%D%/seek.c %D%/seek.h \
	%D%/server.c %D%/server_out.c %D%/server_out.h \
	%D%/server_socket.c %D%/server.h %D%/server_socket.h \
	%D%/service.c %D%/service.h \
	%D%/session.c %D%/session_open.c %D%/session_resume.c %D%/session.h \
	%D%/setup.c %D%/setup_disks.c %D%/setup_print.c %D%/setup_reload.c \
	%D%/setup_send.c %D%/setup_send.h \
	%D%/setup_inbox.c %D%/setup_vsi.c %D%/setup.h \
	%D%/stream.c %D%/stream.h \
	%D%/transfer.c %D%/transfer_about.c %D%/transfer_check.c %D%/transfer_copy.c %D%/transfer_file.c %D%/transfer_json.c %D%/transfer_order.c \
	%D%/transfer_run.c %D%/transfer_scan.c %D%/transfer_wait.c %D%/transfer.h %D%/transfer_order.h \
	%D%/supply.c %D%/supply_feed.c %D%/supply_look.c %D%/supply.h \
	%D%/stream_layout.c %D%/stream_plan.c %D%/stream_print.c \
	%D%/stream_vary.c %D%/stream_vary.h \
	%D%/verbs.c %D%/verbs_at.c %D%/verbs_chores.c %D%/verbs_disks.c %D%/verbs_list.c %D%/verbs_map.c %D%/verbs_probe.c \
	%D%/verbs_schedule.c %D%/verbs_send.c %D%/verbs.h \
	%D%/vsi.c %D%/vsi_about.c %D%/vsi_copy.c %D%/vsi_kept.c %D%/vsi_net.c %D%/vsi_record.c %D%/vsi_scan.c %D%/vsi.h \
	%D%/vsi_allow.c %D%/vsi_allow.h \
	%D%/vsi_client.c %D%/vsi_client.h \
	%D%/vsi_daemon.c %D%/vsi_daemon.h \
	%D%/vsi_file.c %D%/vsi_file.h \
	%D%/vsi_facts.c %D%/vsi_facts.h \
	%D%/vsi_label.c %D%/vsi_label.h \
	%D%/vsi_line.c %D%/vsi_line.h \
	%D%/vsi_mode.c %D%/vsi_mode.h \
	%D%/vsi_server.c %D%/vsi_server.h \
	%D%/vsi_streams.c %D%/vsi_streams.h
spated_LDADD = $(FLOW_LIBS)
if HAVE_SYSTEMD
spated_SOURCES += %D%/notify.c
spated_LDADD += $(SYSTEMD_LIBS)
else
spated_SOURCES += %D%/notify_none.c
endif
EXTRA_DIST += %D%/notify.c %D%/notify_none.c
