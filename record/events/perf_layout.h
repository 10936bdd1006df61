/*
 * The layout of the records in our rings. All events are opened with the same id fields. So one
 * parser serves all rings, and the time of a record is found without knowing its event. Source: the
 * comment at PERF_RECORD_SAMPLE in include/uapi/linux/perf_event.h.
 */
#ifndef NSPROF_RECORD_PERF_LAYOUT_H
#define NSPROF_RECORD_PERF_LAYOUT_H

#include <linux/perf_event.h>

/*
 * Fields of every event. CALLCHAIN is empty without call graphs. PERIOD is requested only with a
 * frequency: for a software event with a fixed period, the kernel would then sample every single
 * event (perf_swevent_event() in kernel/events/core.c).
 */
#define LAYOUT_SAMPLE_TYPE                                                                         \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |            \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_CALLCHAIN)

/* Byte offset of the time in a sample; header, identifier, ip, pid and tid precede it. */
#define LAYOUT_SAMPLE_TIME 32
#define LAYOUT_SAMPLE_CPU 40	/* and of the CPU, after the time */
#define LAYOUT_SAMPLE_MIN 48	/* bytes up to there */

/* What sample_id_all appends to other records: {pid, tid} {time} {cpu, reserved} {identifier}. */
#define LAYOUT_ID_SIZE 32
#define LAYOUT_ID_TIME 24	/* bytes from the end of the record to its time */
#define LAYOUT_ID_CPU 16	/* and to its CPU */

/*
 * Byte offset of the name in a PERF_RECORD_KSYMBOL; header, address, length, type and flags precede
 * it.
 */
#define LAYOUT_KSYMBOL_NAME 24

/* header.size is 16 bits wide. */
#define LAYOUT_RECORD_MAX 65536

#endif
