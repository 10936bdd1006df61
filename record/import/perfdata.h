/*
 * Reads what perf record writes: the file (PERFILE2) and the pipe format, in either byte order.
 * Sources: tools/perf/Documentation/perf.data-file-format.txt, tools/perf/util/header.c,
 * tools/lib/perf/include/perf/event.h, and the comment at enum perf_event_type in
 * include/uapi/linux/perf_event.h. The input is not trusted: every length is checked against the
 * bytes available.
 */
#ifndef NSPROF_PERFDATA_H
#define NSPROF_PERFDATA_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "event.h"
#include "import/perfdata_cursor.h"

/* perf's own record types, numbered above the kernel's (enum perf_user_event_type). */
enum {
	PERFDATA_HEADER_ATTR = 64,
	PERFDATA_TRACING_DATA = 66,
	PERFDATA_BUILD_ID = 67,
	PERFDATA_FINISHED_ROUND = 68,
	PERFDATA_AUXTRACE = 71,
	PERFDATA_EVENT_UPDATE = 78,
	PERFDATA_HEADER_FEATURE = 80,
	PERFDATA_COMPRESSED = 81,
	PERFDATA_COMPRESSED2 = 83,
};

/* One recorded event (struct perf_event_attr). */
struct perfdata_attr {
	uint32_t type;
	uint64_t config, config1, config2;
	uint64_t period;	/* or Hz, with PERFDATA_FREQ in flags */
	uint64_t sample_type, read_format, flags, branch_type;
	uint64_t regs_user, regs_intr;	/* masks, PERF_REG_* of the recorded machine */
	uint32_t stack_user;	/* bytes requested */
	uint16_t max_stack;	/* frames of a chain; 0: as many as the kernel allowed */
	char *name;		/* owned; "" = unknown */
	uint64_t samples;	/* number so far */
	uint64_t lost;	/* records that the kernel dropped, by its count at the end; known so far */
	/* set by the caller: */
	bool taken;		/* use its samples */
	uint32_t event;		/* of the recording; if taken */
	size_t leader;		/* index of the attr + 1 whose samples have its counter; 0: unknown */
};

/* perf's own side-band event. */
#define PERFDATA_IS_DUMMY(a) ((a)->type == PERF_TYPE_SOFTWARE && (a)->config == PERF_COUNT_SW_DUMMY)

/*
 * The event of "perf record --off-cpu": each period is a time off the CPU, ns. Waits below
 * --off-cpu-thresh are summed up by thread and stack and written at the end, with times from
 * PERFDATA_SUMS on that only sort them last.
 */
bool perfdata_is_offcpu(const struct perfdata_attr *a);
#define PERFDATA_SUMS (~UINT64_C(0) << 32)

/* Bits of perf_event_attr. */
#define PERFDATA_INHERIT (1ull << 1)
#define PERFDATA_EXCLUDES (7ull << 4)	/* exclude_user, exclude_kernel, exclude_hv */
#define PERFDATA_FREQ (1ull << 10)
#define PERFDATA_SAMPLE_ID_ALL (1ull << 18)
#define PERFDATA_CONTEXT_SWITCH (1ull << 26)
#define PERFDATA_BUILD_IDS (1ull << 34)
#define PERFDATA_DEFER_CALLCHAIN (1ull << 38)

/* Missing in headers before Linux 6.19: enum perf_event_type in include/uapi/linux/perf_event.h. */
#define PERFDATA_CALLCHAIN_DEFERRED 22

struct perfdata_build_id {	/* of a path, which may have stood for several files */
	char *path;		/* owned */
	uint8_t id[BUILD_ID_MAX];
	uint8_t len;
};

/* A record that cannot be used. */
struct perfdata_spot {
	bool known;		/* false: there is none, or nothing of it was read */
	uint32_t type;
	uint16_t size;		/* bytes, according to its header */
	/* offset in the file or pipe; PERFDATA_NOWHERE: compressed, queued, or in a part */
	uint64_t at;
};

struct perfdata_deferred;

#define PERFDATA_NOWHERE UINT64_MAX

/*
 * A file "data.0" and so on, written by "perf record --threads": only records, each file those of
 * some CPUs.
 */
struct perfdata_part {
	const uint8_t *map;	/* owned */
	size_t size;
};

/* Two rounds of the rings of 256 CPUs, 1 MiB each. */
#define PERFDATA_HOLD ((size_t)512 << 20)

struct perfdata {
	int fd;			/* borrowed */
	const char *name;	/* for messages; borrowed */
	bool swap;		/* the file has the other byte order */
	bool piped;		/* pipe format, even if it is a file */
	bool cut;	/* the input ends too early; all whole records before that are delivered */
	const uint8_t *map;	/* the whole file; NULL if not a regular file */
	size_t size;		/* bytes of @map */
	uint64_t data, data_end;	/* file offsets of the records */
	struct perfdata_part *parts;	/* owned; the other files of a directory */
	size_t nparts;
	/* missing files before the last one of @parts; their samples are lost */
	unsigned int lacking;
	uint64_t bytes;		/* of all files; 0: a pipe */
	int64_t written_ns;	/* wall clock of the file's last change; 0: a pipe */
	bool told;	/* a saved pipe; an earlier pass has read attrs and features */
	struct perfdata_attr *attrs;	/* owned */
	size_t nattrs;
	struct u64map ids;	/* event id, one for each CPU or thread -> index in @attrs */
	struct u64map formats;	/* config of a tracepoint -> its lines "field:..."; owned texts */
	/* owned, with their names: the PMUs of a hybrid machine's kinds of CPUs; none: unknown */
	char **core_pmus;
	size_t ncore_pmus;
	struct perfdata_deferred *deferred;	/* owned; NULL: no such record so far */
	struct perfdata_build_id *build_ids;	/* owned */
	size_t nbuild_ids, build_ids_cap;
	char *hostname, *osrelease, *arch, *version, *cmdline;	/* owned; NULL = unknown */
	uint32_t ncpus;		/* available; 0 = unknown */
	uint64_t memory_kb;	/* in KiB; 0 = unknown */
	bool have_clock;	/* CLOCK_DATA: the wall clock of a time is known */
	uint64_t clock_wall_ns, clock_ns;
	/* the record that ended reading: of an impossible size, or incomplete */
	struct perfdata_spot end;
	size_t hold;		/* maximum bytes of queued records; PERFDATA_HOLD after opening */
	uint64_t late;		/* records delivered after newer ones */
	uint64_t bad;		/* records with wrong inner lengths: dropped */
	struct perfdata_spot first_bad;
	/* bytes of text between or after the records of a pipe, printed into it by a program */
	uint64_t text;
};

/*
 * Begins to read @fd, which is borrowed and at its beginning, or a directory of "perf record
 * --threads". @name is borrowed as well. NULL after a message with @name: not perf.data, of an unsupported kind, or damaged
 * before the first record.
 */
struct perfdata *perfdata_open(int fd, const char *name);
void perfdata_free(struct perfdata *pd);	/* accepts NULL */

/*
 * File "data.<number>" of such a directory, or "data" for -1: an owned fd, or negative errno. In a
 * parser the program opens it, asked by PERFDATA_PART with that number.
 */
#define PERFDATA_PART (PARSER_OTHER + 310)
int perfdata_part_open(int dirfd, int number);
/* For perfdata.c: opens the parts in @dirfd. 0 or negative errno. */
int perfdata_open_parts(struct perfdata *pd, int dirfd);
void perfdata_close_parts(struct perfdata *pd);

/* For perfdata_stream.c: says that the file became shorter, which ends all reading. -ENOEXEC. */
int perfdata_shrank(const struct perfdata *pd);

/* For perfdata_stream.c: handles perf's own records of the pipe format. Ignores others. */
void perfdata_meta(struct perfdata *pd, uint32_t type, const uint8_t *rec, size_t size);

/* For perfdata.c: reads the formats of tracepoints from a file's TRACING_DATA; frees them. */
void perfdata_tracing(struct perfdata *pd, struct perfdata_cursor *c);
void perfdata_free_formats(struct perfdata *pd);
/* The fields of a tracepoint's records (tp_format_parse()); "" if they are not known. Borrowed. */
const char *perfdata_format(const struct perfdata *pd, const struct perfdata_attr *a);

/* The event with that id; NULL = unknown. If there is only one event, it matches any id. */
struct perfdata_attr *perfdata_find(struct perfdata *pd, uint64_t id);

/* A record, in the file's byte order. */
struct perfdata_record {
	uint32_t type;
	uint16_t misc;
	uint32_t cpu;			/* 0 if unknown */
	uint32_t pid, tid;		/* of records that are not samples: from the sample_id; 0 if unknown */
	uint64_t time;			/* as in the file, ns; 0 if unknown */
	struct perfdata_attr *attr;	/* the event; NULL = unknown */
	const uint8_t *body;		/* after the header, without the sample_id */
	size_t len;			/* bytes of @body */
	struct perfdata_spot spot;
};

/*
 * In perfdata_record.misc of LOST_SAMPLES: these samples were not lost, but left out by perf record
 * --filter, which has a BPF program decide (since perf 6.4; PERF_RECORD_MISC_LOST_SAMPLES_BPF in
 * tools/lib/perf/include/perf/event.h).
 */
#define PERFDATA_MISC_FILTERED (1u << 15)

/* Counts @r as a record with wrong inner lengths. */
void perfdata_bad(struct perfdata *pd, const struct perfdata_record *r);
/*
 * For messages: perf's or the kernel's name of a record type, "MMAP2 (10)", or "record (70)".
 * Owned.
 */
char *perfdata_type_text(uint32_t type);

/*
 * Calls @fn for each kernel record. @ordered: in the order of time, as far as perf's rounds show it
 * and @pd->hold bytes suffice; otherwise as stored. Above that limit the oldest records are
 * delivered early, and still older ones that arrive later count as late. A result of @fn other than
 * 0 ends it. Returns 0, that result, or negative errno after a message. A pipe can be read once, a
 * file any number of times.
 */
int perfdata_each(struct perfdata *pd, bool ordered, int (*fn)(void *ctx, const struct perfdata_record *r), void *ctx);

struct raw_sample;
/*
 * Parses a sample into @raw, unmasked. Pointers in @raw point into the record, or into @room of
 * PERFDATA_ROOM bytes. -EINVAL if its inner lengths do not fit.
 */
#define PERFDATA_ROOM (128u << 10)
int perfdata_sample(const struct perfdata *pd, const struct perfdata_record *r, struct raw_sample *raw, uint64_t *room);

/* From PERF_SAMPLE_READ: an event's counter when the sample was taken. */
struct perfdata_read {
	uint64_t value, id;
};
#define PERFDATA_READS 64u	/* maximum number of events of a group that are read */
/*
 * The counters in a sample, of its event or its whole group, into @out (room for PERFDATA_READS).
 * Returns their number. 0: there are none, they have no ids, or the lengths do not fit.
 */
size_t perfdata_reads(const struct perfdata *pd, const struct perfdata_record *r, struct perfdata_read *out);

/*
 * Does the chain of @r, a sample, end with PERF_CONTEXT_USER_DEFERRED and a cookie? Sets *@cookie.
 */
bool perfdata_cookie(const struct perfdata *pd, const struct perfdata_record *r, uint64_t *cookie);
/*
 * For perfdata_stream.c: stores a PERF_RECORD_CALLCHAIN_DEFERRED, the user part of the chains of
 * earlier samples.
 */
void perfdata_deferred_note(struct perfdata *pd, const struct perfdata_record *r);
/* Is @r a sample, and has its deferred part not arrived yet? */
bool perfdata_deferred_waits(const struct perfdata *pd, const struct perfdata_record *r);
/*
 * The user part of a stack by its cookie, leaf first, *@n entries. NULL: unknown. Borrowed until
 * the next note.
 */
const uint64_t *perfdata_deferred_find(const struct perfdata *pd, uint64_t cookie, size_t *n);
void perfdata_deferred_free(struct perfdata_deferred *d);	/* accepts NULL */

#endif
