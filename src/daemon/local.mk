sbin_PROGRAMS += spated
spated_SOURCES = \
	%D%/admission.c %D%/admission_json.c %D%/admission.h \
	%D%/chores.c %D%/chores.h \
	%D%/crew.c %D%/crew.h \
	%D%/fds.c %D%/fds.h \
	%D%/fleet.c %D%/fleet_order.c %D%/fleet_space.c %D%/fleet_watch.c %D%/fleet.h \
	%D%/daemon.c %D%/daemon.h \
	%D%/forecast.c %D%/forecast_sum.c %D%/forecast_why.c \
	%D%/forecast.h %D%/forecast_priv.h %D%/forecast_why.h \
	%D%/keeper.c %D%/keeper.h \
	%D%/kernel.c %D%/kernel.h \
	%D%/main.c \
	%D%/node.c %D%/node.h \
	%D%/options.c %D%/options.h \
	%D%/notify.h \
	%D%/order.c %D%/order.h \
	%D%/probe.c %D%/probe.h \
	%D%/reception.c %D%/reception.h \
	%D%/reload.c \
	%D%/report.c %D%/report_disk.c %D%/report_from.c %D%/report.h \
	%D%/scan.c %D%/scan.h %D%/scan_read.c %D%/scan_read.h \
	%D%/schedule.c %D%/schedule_edit.c %D%/schedule_folder.c %D%/schedule_merge.c \
	%D%/schedule_state.c %D%/schedule_step.c %D%/schedule_vet.c \
	%D%/schedule.h %D%/schedule_priv.h \
	%D%/schedule_host.c %D%/schedule_host.h \
	%D%/scout.c %D%/scout.h \
	%D%/server.c %D%/server.h \
	%D%/service.c %D%/service.h \
	%D%/session.c %D%/session_open.c %D%/session_resume.c %D%/session.h \
	%D%/setup.c %D%/setup_print.c %D%/setup_reload.c %D%/setup.h \
	%D%/stream.c %D%/stream.h \
	%D%/supply.c %D%/supply_feed.c %D%/supply_look.c %D%/supply.h \
	%D%/stream_layout.c %D%/stream_plan.c %D%/stream_print.c \
	%D%/verbs.c %D%/verbs_at.c %D%/verbs_chores.c %D%/verbs_disks.c %D%/verbs_list.c %D%/verbs_probe.c \
	%D%/verbs_schedule.c %D%/verbs.h
spated_LDADD = $(FLOW_LIBS)
if HAVE_SYSTEMD
spated_SOURCES += %D%/notify.c
spated_LDADD += $(SYSTEMD_LIBS)
else
spated_SOURCES += %D%/notify_none.c
endif
EXTRA_DIST += %D%/notify.c %D%/notify_none.c
