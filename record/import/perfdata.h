/*
 * Reads what perf record writes: the file (PERFILE2) and the pipe format, of either byte order. Sources:
 * tools/perf/Documentation/perf.data-file-format.txt, tools/perf/util/header.c, tools/lib/perf/include/perf/event.h, the
 * comment at enum perf_event_type in include/uapi/linux/perf_event.h. Nothing in it is believed: every
 * length is checked against what is there.
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

/* perf's own record types, behind the kernel's (enum perf_user_event_type). */
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

/* One event that was recorded (struct perf_event_attr). */
struct perfdata_attr {
	uint32_t type;
	uint64_t config;
	uint64_t period;	/* or Hz, with PERFDATA_FREQ in flags */
	uint64_t sample_type, read_format, flags, branch_type;
	uint64_t regs_user, regs_intr;	/* masks, PERF_REG_* of the recorded machine */
	uint32_t stack_user;	/* bytes asked for */
	char *name;		/* owned; "" = not told */
	uint64_t samples;	/* met so far */
	uint64_t lost;		/* records that the kernel had no room for, by its count at the end; told so far */
	bool taken;		/* whoever reads takes its samples */
};

/* perf's own event for side-band. */
#define PERFDATA_IS_DUMMY(a) ((a)->type == PERF_TYPE_SOFTWARE && (a)->config == PERF_COUNT_SW_DUMMY)

/* Bits of perf_event_attr. */
#define PERFDATA_INHERIT (1ull << 1)
#define PERFDATA_EXCLUDES (7ull << 4)	/* exclude_user, exclude_kernel, exclude_hv */
#define PERFDATA_FREQ (1ull << 10)
#define PERFDATA_SAMPLE_ID_ALL (1ull << 18)
#define PERFDATA_BUILD_IDS (1ull << 34)
#define PERFDATA_DEFER_CALLCHAIN (1ull << 38)

/* What headers before Linux 6.19 lack: enum perf_event_type in include/uapi/linux/perf_event.h. */
#define PERFDATA_CALLCHAIN_DEFERRED 22

struct perfdata_build_id {	/* of a path, which may be more than one file */
	char *path;		/* owned */
	uint8_t id[BUILD_ID_MAX];
	uint8_t len;
};

/* A record that cannot be used. */
struct perfdata_spot {
	bool known;		/* false: there is none, or nothing of it was read */
	uint32_t type;
	uint16_t size;		/* bytes, as its header says */
	uint64_t at;		/* offset in the file or pipe; PERFDATA_NOWHERE: of compressed ones, of those that had to wait in memory, of parts */
};

struct perfdata_deferred;

#define PERFDATA_NOWHERE UINT64_MAX

/* "data.0" and so on, of "perf record --threads": nothing but records, each file those of some CPUs. */
struct perfdata_part {
	const uint8_t *map;	/* owned */
	size_t size;
};

/* Two rounds of the rings of 256 CPUs, 1 MiB each. */
#define PERFDATA_HOLD ((size_t)512 << 20)

struct perfdata {
	int fd;			/* borrowed */
	bool swap;		/* the other byte order */
	bool piped;		/* pipe format, whatever it comes from */
	bool cut;		/* it ends before it should: all whole records before that are delivered */
	const uint8_t *map;	/* of a regular file, all of it; NULL else */
	size_t size;		/* bytes of @map */
	uint64_t data, data_end;	/* file offsets of the records */
	struct perfdata_part *parts;	/* owned; of a directory: its other files */
	size_t nparts;
	unsigned int lacking;	/* files that should lie before the last one of these, and do not: their samples are not there */
	uint64_t bytes;		/* of all files; 0: a pipe */
	int64_t written_ns;	/* wall clock, when the file was changed last; 0: a pipe */
	bool told;		/* of a pipe that was saved: attrs and features are known by an earlier pass */
	struct perfdata_attr *attrs;	/* owned */
	size_t nattrs;
	struct u64map ids;	/* of events, one for each CPU or thread -> index in @attrs */
	char **core_pmus;	/* owned, with their names: the PMUs of a hybrid machine's kinds of CPUs; none: not told */
	size_t ncore_pmus;
	struct perfdata_deferred *deferred;	/* owned; NULL: no record of one was met */
	struct perfdata_build_id *build_ids;	/* owned */
	size_t nbuild_ids, build_ids_cap;
	char *hostname, *osrelease, *arch, *version, *cmdline;	/* owned; NULL = not told */
	uint32_t ncpus;		/* available; 0 = not told */
	uint64_t memory_kb;	/* in KiB; 0 = not told */
	bool have_clock;	/* CLOCK_DATA: times and wall clock belong together */
	uint64_t clock_wall_ns, clock_ns;
	struct perfdata_spot end;	/* which ended it: of an impossible size, or not all of it is there */
	size_t hold;		/* bytes of records that wait for their turn, at most; PERFDATA_HOLD when opened */
	uint64_t late;		/* records delivered behind younger ones */
	uint64_t bad;		/* records whose inner lengths do not fit: left out */
	struct perfdata_spot first_bad;
	uint64_t text;		/* bytes of text among or behind the records of a pipe: what a program has printed into it */
};

/*
 * Begins to read @fd (borrowed, at its beginning; or a directory, of "perf record --threads"). NULL after a message naming @name: not perf.data, of a kind that cannot
 * be read, or damaged before the first record.
 */
struct perfdata *perfdata_open(int fd, const char *name);
void perfdata_free(struct perfdata *pd);	/* accepts NULL */

/* For perfdata.c: the parts in @dirfd. 0 or negative errno. */
int perfdata_open_parts(struct perfdata *pd, int dirfd);
void perfdata_close_parts(struct perfdata *pd);

/* For perfdata_stream.c: what the pipe format has among its records. Others than these are ignored. */
void perfdata_meta(struct perfdata *pd, uint32_t type, const uint8_t *rec, size_t size);

/* The event with that id; the only one whatever the id is; NULL = unknown. */
struct perfdata_attr *perfdata_find(struct perfdata *pd, uint64_t id);

/* A record, in the file's byte order. */
struct perfdata_record {
	uint32_t type;
	uint16_t misc;
	uint32_t cpu;			/* 0 when not told */
	uint64_t time;			/* as in the file, ns; 0 when not told */
	struct perfdata_attr *attr;	/* the event; NULL = unknown, or not told */
	const uint8_t *body;		/* behind the header, the sample_id left out */
	size_t len;			/* bytes of it */
	struct perfdata_spot spot;
};

/* Notes that the inner lengths of @r do not fit. */
void perfdata_bad(struct perfdata *pd, const struct perfdata_record *r);
/* "MMAP2 (10)", for messages: the kernel's or perf's name of a record type, "record (70)" of others. Owned. */
char *perfdata_type_text(uint32_t type);

/*
 * Calls @fn for each record of the kernel's, in the order of time as far as perf's rounds tell it and @pd->hold bytes reach: beyond that
 * the oldest go on, and what comes after them and is older still is counted as late. A return of other than 0 ends it. 0, that, or negative errno after a message. @ordered: false, as they come. Once for a pipe, as
 * often as wanted for a file.
 */
int perfdata_each(struct perfdata *pd, bool ordered, int (*fn)(void *ctx, const struct perfdata_record *r), void *ctx);

struct raw_sample;
/*
 * What a sample says, unmasked, into @raw, whose pointers lead into the record, or into @room of PERFDATA_ROOM
 * bytes. -EINVAL when its inner lengths do not fit.
 */
#define PERFDATA_ROOM (128u << 10)
int perfdata_sample(const struct perfdata *pd, const struct perfdata_record *r, struct raw_sample *raw, uint64_t *room);

/* What PERF_SAMPLE_READ says: an event's counter when the sample was taken. */
struct perfdata_read {
	uint64_t value, id;
};
#define PERFDATA_READS 64u	/* events of a group that are looked at */
/*
 * The counters in a sample, of its event or of its whole group, into @out (room for PERFDATA_READS). How many; 0: it has none, they
 * have no ids, or its lengths do not fit.
 */
size_t perfdata_reads(const struct perfdata *pd, const struct perfdata_record *r, struct perfdata_read *out);

/* Does the chain of @r, a sample, end with PERF_CONTEXT_USER_DEFERRED and a *@cookie? */
bool perfdata_cookie(const struct perfdata *pd, const struct perfdata_record *r, uint64_t *cookie);
/* For perfdata_stream.c: remembers a PERF_RECORD_CALLCHAIN_DEFERRED, the user's part of chains of samples before it. */
void perfdata_deferred_note(struct perfdata *pd, const struct perfdata_record *r);
/* Is @r a sample whose record of that kind has not been met yet? */
bool perfdata_deferred_waits(const struct perfdata *pd, const struct perfdata_record *r);
/* The user's part of a stack by its cookie, leaf first; *@n entries. NULL: not met. Borrowed until the next note. */
const uint64_t *perfdata_deferred_find(const struct perfdata *pd, uint64_t cookie, size_t *n);
void perfdata_deferred_free(struct perfdata_deferred *d);	/* accepts NULL */

#endif
