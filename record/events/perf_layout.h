/*
 * How the records in our rings are laid out. Every event is opened with the same id fields, so that
 * one parser serves all rings and the time of a record is found without knowing its event.
 * Source: the comment at PERF_RECORD_SAMPLE in include/uapi/linux/perf_event.h.
 */
#ifndef NSPROF_RECORD_PERF_LAYOUT_H
#define NSPROF_RECORD_PERF_LAYOUT_H

#include <linux/perf_event.h>

/*
 * Fields of every event. CALLCHAIN comes empty where no call graph is wanted. PERIOD is asked for with a frequency
 * only: of a software event with a fixed period the kernel takes it as the wish for a sample of each single event
 * (perf_swevent_event() in kernel/events/core.c).
 */
#define LAYOUT_SAMPLE_TYPE                                                                         \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |            \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_CALLCHAIN)

/* Byte offset of the time in a sample: header, identifier, ip, pid and tid stand before it. */
#define LAYOUT_SAMPLE_TIME 32

/* What sample_id_all appends to the others: {pid, tid} {time} {cpu, reserved} {identifier}. */
#define LAYOUT_ID_SIZE 32
#define LAYOUT_ID_TIME 24	/* bytes from the end of the record to its time */
#define LAYOUT_ID_CPU 16	/* and to its CPU */

/* Byte offset of the name in a PERF_RECORD_KSYMBOL: header, address, length, type and flags stand before it. */
#define LAYOUT_KSYMBOL_NAME 24

/* header.size is 16 bits wide. */
#define LAYOUT_RECORD_MAX 65536

#endif
