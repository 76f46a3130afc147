noinst_LIBRARIES += libdaemon.a
libdaemon_a_SOURCES = \
	%D%/loop/closer.c %D%/loop/closer.h \
	%D%/loop/fds.c %D%/loop/fds.h \
	%D%/loop/server.c %D%/loop/server.h \
	%D%/conf/node.c %D%/conf/node.h \
	%D%/conf/setup.c %D%/conf/setup.h \
	%D%/conf/setup_print.c \
	%D%/conf/setup_reload.c \
	%D%/conf/setup_send.c %D%/conf/setup_send.h \
	%D%/conf/stream.c %D%/conf/stream.h \
	%D%/conf/stream_plan.c \
	%D%/conf/stream_vary.c %D%/conf/stream_vary.h \
	%D%/disks/catalogue_thread.c %D%/disks/catalogue_thread.h \
	%D%/disks/disk_set.c %D%/disks/disk_set.h \
	%D%/disks/disk_watch.c %D%/disks/disk_watch.h \
	%D%/disks/housekeeping.c %D%/disks/housekeeping.h \
	%D%/disks/name_lookup.c %D%/disks/name_lookup.h \
	%D%/health/clock_watch.c %D%/health/clock_watch.h \
	%D%/health/health.c %D%/health/health.h \
	%D%/health/kernel.c %D%/health/kernel.h \
	%D%/health/loss_strip.c %D%/health/loss_strip.h \
	%D%/health/no_buffer_cause.c %D%/health/no_buffer_cause.h \
	%D%/health/overrun_cause.c %D%/health/overrun_cause.h \
	%D%/sessions/live_tap.c %D%/sessions/live_tap.h \
	%D%/sessions/order.c %D%/sessions/order.h \
	%D%/sessions/probe.c %D%/sessions/probe.h \
	%D%/sessions/receivers.c %D%/sessions/receivers.h \
	%D%/sessions/recorder.h \
	%D%/sessions/recording_input.c %D%/sessions/recording_input.h \
	%D%/sessions/report.c %D%/sessions/report.h \
	%D%/sessions/session.c %D%/sessions/session.h \
	%D%/sessions/signal_thread.c %D%/sessions/signal_thread.h \
	%D%/sessions/stream_input.c %D%/sessions/stream_input.h \
	%D%/transfers/inbox.c %D%/transfers/inbox.h \
	%D%/transfers/relay.c %D%/transfers/relay.h \
	%D%/transfers/transfer.c %D%/transfers/transfer.h \
	%D%/transfers/transfer_check.c \
	%D%/transfers/transfer_order.c \
	%D%/transfers/transfer_run.c \
	%D%/schedule/admission.c %D%/schedule/admission.h \
	%D%/schedule/forecast.c %D%/schedule/forecast.h \
	%D%/schedule/forecast_priv.h \
	%D%/schedule/forecast_sum.c \
	%D%/schedule/scan.c %D%/schedule/scan.h \
	%D%/schedule/schedule.c %D%/schedule/schedule.h \
	%D%/schedule/schedule_folder.c \
	%D%/schedule/schedule_host.c %D%/schedule/schedule_host.h \
	%D%/schedule/schedule_priv.h \
	%D%/schedule/schedule_state.c \
	%D%/schedule/schedule_step.c \
	%D%/schedule/state_file.c %D%/schedule/state_file.h \
	%D%/requests/daemon.h \
	%D%/requests/notify.h \
	%D%/requests/reload.c \
	%D%/requests/service.c %D%/requests/service.h \
	%D%/requests/verbs.c %D%/requests/verbs.h \
	%D%/requests/verbs_disks.c \
	%D%/requests/verbs_schedule.c \
	%D%/requests/verbs_send.c \
	%D%/main/daemon.c %D%/main/daemon.h
sbin_PROGRAMS += spated
spated_SOURCES = %D%/main/main.c
spated_LDADD = libdaemon.a $(SIGNAL_LIBS) $(FLOW_LIBS)
if HAVE_SYSTEMD
libdaemon_a_SOURCES += %D%/requests/notify.c
spated_LDADD += $(SYSTEMD_LIBS)
else
libdaemon_a_SOURCES += %D%/requests/notify_none.c
endif
EXTRA_DIST += %D%/requests/notify.c %D%/requests/notify_none.c
