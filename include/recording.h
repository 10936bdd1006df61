/*
 * The recording on disk, as described in nsprof.data(5): constants and fixed structs shared by
 * writer and reader. All numbers are little endian. A change here changes the format.
 */
#ifndef NSPROF_RECORDING_H
#define NSPROF_RECORDING_H

#include <assert.h>
#include <stdint.h>

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "structs go out as they lie in memory");

#define REC_MAGIC "NSPROF\r\n"		/* "\r\n" reveals a transfer in text mode */
#define REC_MAGIC_LEN 8
#define REC_TRAILER_MAGIC "NSPROFX\n"
#define REC_VERSION 3			/* the newest; readers know both */
#define REC_VERSION_PLAIN 2		/* of a recording of one plain event: no ev_event */
#define REC_ARCH_X86_64 62		/* EM_X86_64 */

struct rec_file_header {
	uint8_t magic[REC_MAGIC_LEN];	/* REC_MAGIC */
	uint32_t version;		/* REC_VERSION or REC_VERSION_PLAIN */
	uint32_t header_size;		/* 64: offset of the first block */
	uint32_t arch;			/* REC_ARCH_* of the recorded host */
	uint32_t flags;			/* 0 */
	uint64_t start_wall_ns;		/* CLOCK_REALTIME when the recording began */
	uint64_t start_mono_ns;		/* CLOCK_MONOTONIC at the same moment */
	uint8_t pad[24];		/* 0 */
};
static_assert(sizeof(struct rec_file_header) == 64, "on-disk size");

#define REC_HEADER_MIN sizeof(struct rec_file_header)
#define REC_HEADER_MAX 4096u

#define REC_BLOCK_MAGIC 0x0a424e9eu	/* bytes 9e 'N' 'B' '\n': never in text */

enum rec_block_type {
	REC_INFO = 1,
	REC_STREAM = 2,
	REC_CAPTURE = 3,
	REC_LEDGER = 4,
	REC_END = 5,
	REC_TALLY = 6,
	REC_COUNTS = 7,
};

enum rec_block_flag {
	REC_F_ZSTD = 1,		/* payload is one zstd frame; STREAM has its own method instead */
	REC_F_KEY = 2,		/* STREAM: the state of the sample coding is reset */
	REC_F_CONT = 4,		/* CAPTURE: continues the previous CAPTURE block */
	REC_F_SLICE = 8,	/* CAPTURE: a sliced ELF file, see slice_codec.h */
};

struct rec_block_header {
	uint32_t magic;		/* REC_BLOCK_MAGIC */
	uint16_t type;		/* enum rec_block_type; others are skipped */
	uint16_t flags;		/* enum rec_block_flag */
	uint32_t stored_len;	/* bytes of payload after this header */
	uint32_t raw_len;	/* bytes after decompression; STREAM: see REC_SYMBOL */
	uint32_t seq;		/* 0, 1, 2 ... over all blocks: a gap shows a missing block */
	uint32_t samples;	/* STREAM: samples in it, else 0 */
	uint32_t events;	/* STREAM: side-band events in it, else 0 */
	uint32_t crc;		/* CRC-32C of this header with crc = 0, then of the payload */
};
static_assert(sizeof(struct rec_block_header) == 32, "on-disk size");

/* The reader checks lengths against these caps before it trusts them; the writer keeps them. */
#define REC_BLOCK_MAX (16u << 20)	/* stored_len and raw_len of any block */
#define REC_CAPTURE_MAX (256u << 20)	/* one capture, all its blocks together */
#define REC_CAPTURE_CHUNK (8u << 20)	/* this writer's maximum for one CAPTURE block */

struct rec_capture_header {	/* begins the payload of a CAPTURE block without REC_F_CONT */
	uint32_t kind;		/* enum capture_kind */
	uint32_t id;
	uint64_t size;		/* bytes of the whole capture, over all its blocks */
};
static_assert(sizeof(struct rec_capture_header) == 16, "on-disk size");

struct rec_ledger {		/* payload of a LEDGER block; later versions may append */
	uint64_t kept, lost_kernel, lost_sideband, dropped;
	uint64_t throttled, unordered, maps_unknown, copy_full;
	uint64_t flags;		/* enum rec_ledger_flag */
	uint64_t cut, own, throttled_ns, throttled_samples;
	uint64_t count, periods;
	uint64_t pool_waits, pool_peak;
	uint64_t pressure_n[5], pressure_ns[5];
	uint64_t cpus_away, cgroups_gone;
	uint64_t withheld;
	uint64_t unread;
	/* Each pair is there only if it or one behind it has a number that is not 0. */
	uint64_t switches, lost_switches;
	uint64_t wakeups, lost_wakeups;
};
#define REC_LEDGER_PLAIN offsetof(struct rec_ledger, switches)
#define REC_LEDGER_SWITCHES offsetof(struct rec_ledger, wakeups)
static_assert(sizeof(struct rec_ledger) == 280 && REC_LEDGER_PLAIN == 248 && REC_LEDGER_SWITCHES == 264, "on-disk size");

enum rec_ledger_flag {
	REC_L_FORMAT_LOST = 1,	/* ev_ledger.have_format_lost */
	REC_L_COUNT = 2,	/* ev_ledger.have_count */
	REC_L_EXACT = 4,	/* ev_ledger.exact */
};

/* TALLY and COUNTS are tables (common/recording/rec_table.c); later versions may append columns. */
#define REC_TALLY_COLS 10u	/* struct ev_tally, in its order */
#define REC_COUNTS_COLS 12u	/* struct ev_counts, in its order */
#define REC_COUNTS_EVENTS 9u	/* with the event: if there are several */
#define REC_COUNTS_PLAIN 8u
#define REC_TABLE_ROWS 65536u	/* per block; the writer's limit */

struct rec_index_entry {	/* payload of END: one for each block before it, or none */
	uint64_t off;		/* file offset of the block header */
	uint32_t samples;
	uint16_t type, flags;
};
static_assert(sizeof(struct rec_index_entry) == 16, "on-disk size");

struct rec_trailer {		/* the last bytes of a complete file, after the END block */
	uint64_t end_off;	/* file offset of the END block */
	uint8_t magic[8];	/* REC_TRAILER_MAGIC */
};
static_assert(sizeof(struct rec_trailer) == 16, "on-disk size");

/* ---- STREAM blocks ---- */

enum rec_col {
	/* These depend on no other block. */
	REC_COL_ORDER,		/* run lengths: samples, events, samples, ... */
	REC_COL_EVENTS,		/* side-band events, see common/recording/event_codec.c */
	REC_COL_SWITCHES,	/* version 3; in memory: struct ev_switch */
	/* Depends on all STREAM blocks since the last KEY block. */
	REC_COL_SAMPLES,	/* in memory: the symbols of common/samples/nibble_codec.h */
	REC_COL_NR,
};

#define REC_SYMBOL 4u		/* bytes per symbol in raw_len and in memory */
/*
 * This writer's maximum for one block. With the most symbols that a switch can have, they leave
 * enough of REC_BLOCK_MAX for all else.
 */
#define REC_SWITCHES_MAX 60000u

enum rec_stream_method {	/* bits */
	REC_STREAM_ZSTD = 1,	/* ORDER and EVENTS are one zstd frame */
	REC_STREAM_PLAIN = 2,	/* symbols are not coded but stored two to a byte */
	REC_STREAM_SWITCHES = 4,	/* version 3: there are switches */
	REC_STREAM_MARKS = 8,	/* version 3: samples say whether switches have a mark of them */
};

enum rec_sample_flag {
	REC_S_REGS = 1 << 0,		/* ev_sample.has_regs */
	REC_S_STACK = 1 << 1,		/* a stack of at least one word */
	REC_S_COPY_FULL = 1 << 2,
	REC_S_UNMASKED = 1 << 3,
	REC_S_IP_TAIL = 1 << 4,		/* the last chain entry is the ip register and is omitted */
	REC_S_PERIOD = 1 << 5,		/* differs from the last one on this CPU */
	REC_S_CGROUP = 1 << 6,		/* differs from the thread's last one */
	REC_S_EVICT = 1 << 7,		/* some shadows are forgotten first */
	REC_S_BASE = 1 << 8,		/* stack does not begin at sp rounded up to 8 */
	REC_S_CUT = 1 << 9,		/* ev_sample.cut */
	REC_S_KNOWN = (1 << 10) - 1,	/* in version 2 */
	REC_S_PAYLOAD = 1 << 10,	/* version 3; ev_sample.payload */
	/* Predicted to be the same in the thread's next sample. */
	REC_S_STABLE = REC_S_PAYLOAD | REC_S_REGS | REC_S_STACK | REC_S_COPY_FULL | REC_S_UNMASKED |
		       REC_S_IP_TAIL | REC_S_CUT,
};

/* Limits on the state of the sample coding. A reader may reject what exceeds them. */
#define REC_CPU_SLOTS 1024u		/* predictors: cpu modulo this */
/* Version 3: predictors of a CPU's event: cpu + event * REC_CLOCK_STEP modulo the first. */
#define REC_CLOCK_SLOTS 4096u
#define REC_CLOCK_STEP 389u
#define REC_EVENT_SLOTS 8u		/* predictors of a thread's event: event modulo this */
#define REC_PLACES 8u			/* places where a thread was sampled that are remembered */
#define REC_CODE_MAX (1u << 20)		/* entries of the code dictionary */
#define REC_CHAIN_MAX (1u << 20)	/* nodes of the chain tree */
#define REC_CHAIN_LEN 1024u		/* entries of one chain */
#define REC_FIELDS_MAX 16384u		/* bytes of ev_event.fields, its NUL included */
#define REC_THREAD_MAX (1u << 18)	/* threads between two KEY blocks */
#define REC_SHADOW_PAGES_MAX 16384u	/* live shadow pages of 512 words, all threads together */

#endif
