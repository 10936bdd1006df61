/* perf.data (perf_file.h). */
#include "output/perf_file.h"

#include <assert.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "output/perf_tracing.h"

/* Records of perf itself, next to the kernel's. */
#define FINISHED_ROUND 68
#define BUILD_ID_SIZE_KNOWN (1 << 15)	/* PERF_RECORD_MISC_BUILD_ID_SIZE */

/*
 * Bytes of records between two rounds. perf holds the records of two rounds in memory to sort them.
 */
#define ROUND_BYTES (1u << 20)

#define SAMPLE_TYPE (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD)
#define EVENT_ID(index) ((index) + 1u)
#define TEXT_ALIGN 64	/* NAME_ALIGN */

struct section {
	uint64_t off, size;	/* bytes in the file */
};

struct file_header {
	char magic[8];
	uint64_t size, attr_size;
	struct section attrs, data, event_types;
	uint64_t features[4];
};
static_assert(sizeof(struct file_header) == 104, "on-disk size");

/* Readers reject a larger attr than they know; this is the smallest with a clock. */
#define ATTR_SIZE PERF_ATTR_SIZE_VER5

struct file_attr {
	uint8_t attr[ATTR_SIZE];
	struct section ids;
};
static_assert(sizeof(struct file_attr) == 128, "on-disk size");

enum { FEATURE_TRACING_DATA = 1, FEATURE_BUILD_ID = 2, FEATURE_NRCPUS = 7, FEATURE_TOTAL_MEM = 10, FEATURE_EVENT_DESC = 12,
       FEATURE_SAMPLE_TIME = 21, FEATURE_CLOCK_DATA = 29, FEATURES };

struct perf_file {
	FILE *to;
	const struct perf_file_event *evs;	/* borrowed */
	uint32_t nevs;
	bool monotonic;
	struct perf_event_attr *attrs;		/* owned; one for each event */
	size_t *least;				/* owned; by event: bytes of its fields, 0 without a payload */
	struct strbuf rec;			/* the current record */
	int err;				/* of the first failed write: negative errno */
	uint64_t bytes;				/* number of bytes written to @to */
	uint64_t round;				/* @bytes at the last round */
	uint64_t first, last;			/* times of samples, ns; 0 = none */
	struct strbuf features[FEATURES];	/* empty: not present */
};

static void put(struct perf_file *pf, const void *data, size_t len)
{
	if (fwrite(data, 1, len, pf->to) != len && !pf->err)
		pf->err = -errno;
	pf->bytes += len;
}

/* With several events, each record begins or ends with the id of its event (PERF_SAMPLE_IDENTIFIER). */
static bool has_ids(const struct perf_file *pf)
{
	return pf->nevs > 1;
}

/* The first event stands for the side-band records, too. */
static struct perf_event_attr make_attr(const struct perf_file *pf, const struct perf_file_event *ev, bool first)
{
	const uint64_t more = (ev->fields ? PERF_SAMPLE_RAW : 0) | (ev->no_chain ? 0 : PERF_SAMPLE_CALLCHAIN);
	struct perf_event_attr a = {
		.type = ev->type, .size = ATTR_SIZE, .config = ev->config, .config1 = ev->config1, .config2 = ev->config2,
		.sample_type = SAMPLE_TYPE | more | (has_ids(pf) ? PERF_SAMPLE_IDENTIFIER : 0),
		.exclude_user = ev->exclude_user, .exclude_kernel = ev->exclude_kernel,
		.mmap = first, .mmap2 = first, .comm = first, .comm_exec = first, .task = first, .ksymbol = first, .build_id = first,
		.sample_id_all = 1, .exclude_guest = 1, .use_clockid = pf->monotonic,
	};

	a.sample_max_stack = ev->max_stack;
	a.freq = ev->freq;
	a.sample_period = ev->period;
	a.clockid = pf->monotonic ? CLOCK_MONOTONIC : 0;
	return a;
}

struct perf_file *perf_file_new(FILE *to, const struct perf_file_event *evs, uint32_t n, bool monotonic)
{
	struct perf_file *pf = xcalloc(1, sizeof(*pf));
	const struct file_header none = { .size = 0 };

	pf->to = to;
	pf->evs = evs;
	pf->nevs = n;
	pf->monotonic = monotonic;
	pf->attrs = xcalloc(n, sizeof(*pf->attrs));
	pf->least = xcalloc(n, sizeof(*pf->least));
	put(pf, &none, sizeof(none));
	for (uint32_t i = 0; i < n; i++) {
		const uint64_t id = EVENT_ID(i);

		put(pf, &id, sizeof(id));
	}
	for (uint32_t i = 0; i < n; i++) {
		struct file_attr fa = { .ids = { sizeof(none) + i * sizeof(uint64_t), sizeof(uint64_t) } };

		pf->least[i] = evs[i].fields ? perf_tracing_record(evs[i].fields) : 0;
		pf->attrs[i] = make_attr(pf, &evs[i], !i);
		memcpy(fa.attr, &pf->attrs[i], sizeof(fa.attr));
		put(pf, &fa, sizeof(fa));
	}
	return pf;
}

void perf_file_free(struct perf_file *pf)
{
	if (!pf)
		return;
	strbuf_fini(&pf->rec);
	free(pf->attrs);
	free(pf->least);
	for (int f = 0; f < FEATURES; f++)
		strbuf_fini(&pf->features[f]);
	free(pf);
}

/* ---- records ---- */

/* record_end() fills in the size. */
static struct strbuf *record_begin(struct perf_file *pf, uint32_t type, uint16_t misc)
{
	strbuf_reset(&pf->rec);
	strbuf_add_u32(&pf->rec, type);
	strbuf_add_u16(&pf->rec, misc);
	strbuf_add_u16(&pf->rec, 0);
	return &pf->rec;
}

static void record_write(struct perf_file *pf)
{
	const struct perf_event_header round = { FINISHED_ROUND, 0, sizeof(round) };
	const uint16_t size = (uint16_t)pf->rec.len;

	memcpy(pf->rec.s + offsetof(struct perf_event_header, size), &size, sizeof(size));
	put(pf, pf->rec.s, pf->rec.len);
	if (pf->bytes - pf->round < ROUND_BYTES)
		return;
	put(pf, &round, sizeof(round));
	pf->round = pf->bytes;
}

static void record_end(struct perf_file *pf, const struct perf_file_id *id)
{
	struct strbuf *r = &pf->rec;

	strbuf_add_u32(r, id->pid);
	strbuf_add_u32(r, id->tid);
	strbuf_add_u64(r, id->time);
	strbuf_add_u32(r, id->cpu);
	strbuf_add_u32(r, 0);
	if (has_ids(pf))
		strbuf_add_u64(r, EVENT_ID(0));
	record_write(pf);
}

/* Appends @text with its NUL, padded to a multiple of @align bytes. */
static void add_text(struct strbuf *to, const char *text, size_t align)
{
	static const char zeros[TEXT_ALIGN];
	size_t len = strnlen(text, PERF_FILE_TEXT);

	strbuf_add(to, text, len);
	strbuf_add(to, zeros, align_up(len + 1, align) - len);
}

void perf_file_comm(struct perf_file *pf, const struct perf_file_id *id, bool exec, const char *comm)
{
	struct strbuf *r = record_begin(pf, PERF_RECORD_COMM, exec ? PERF_RECORD_MISC_COMM_EXEC : 0);

	strbuf_add_u32(r, id->pid);
	strbuf_add_u32(r, id->tid);
	add_text(r, comm, 8);
	record_end(pf, id);
}

static void task(struct perf_file *pf, uint32_t type, uint16_t misc, const struct perf_file_id *id, uint32_t ppid, uint32_t ptid)
{
	struct strbuf *r = record_begin(pf, type, misc);

	strbuf_add_u32(r, id->pid);
	strbuf_add_u32(r, ppid);
	strbuf_add_u32(r, id->tid);
	strbuf_add_u32(r, ptid);
	strbuf_add_u64(r, id->time);
	record_end(pf, id);
}

void perf_file_fork(struct perf_file *pf, const struct perf_file_id *id, uint32_t ppid, uint32_t ptid, bool known)
{
	task(pf, PERF_RECORD_FORK, known ? PERF_RECORD_MISC_FORK_EXEC : 0, id, ppid, ptid);
}

void perf_file_exit(struct perf_file *pf, const struct perf_file_id *id, uint32_t ppid, uint32_t ptid)
{
	task(pf, PERF_RECORD_EXIT, 0, id, ppid, ptid);
}

void perf_file_mmap(struct perf_file *pf, const struct perf_file_id *id, const struct ev_mmap *ev, const struct ev_dso *dso,
		    const char *name)
{
	const bool known = dso && dso->build_id_len;
	struct strbuf *r = record_begin(pf, PERF_RECORD_MMAP2,
					PERF_RECORD_MISC_USER | (known ? PERF_RECORD_MISC_MMAP_BUILD_ID : 0));

	strbuf_add_u32(r, ev->pid);
	strbuf_add_u32(r, ev->tid);
	strbuf_add_u64(r, ev->start);
	strbuf_add_u64(r, ev->len);
	strbuf_add_u64(r, ev->pgoff);
	if (known) {
		strbuf_add_u32(r, dso->build_id_len);
		strbuf_add(r, dso->build_id, sizeof(dso->build_id));
	} else {
		strbuf_add_u32(r, dso ? dso->dev_major : 0);
		strbuf_add_u32(r, dso ? dso->dev_minor : 0);
		strbuf_add_u64(r, dso ? dso->ino : 0);
		strbuf_add_u64(r, dso ? dso->ino_gen : 0);
	}
	strbuf_add_u32(r, ev->prot);
	strbuf_add_u32(r, ev->flags);
	add_text(r, name, 8);
	record_end(pf, id);
}

void perf_file_kernel(struct perf_file *pf, uint64_t start, uint64_t len, uint64_t pgoff, const char *name)
{
	const struct perf_file_id nobody = { .pid = UINT32_MAX };
	struct strbuf *r = record_begin(pf, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL);

	strbuf_add_u32(r, nobody.pid);
	strbuf_add_u32(r, nobody.tid);
	strbuf_add_u64(r, start);
	strbuf_add_u64(r, len);
	strbuf_add_u64(r, pgoff);
	add_text(r, name, 8);
	record_end(pf, &nobody);
}

void perf_file_ksymbol(struct perf_file *pf, const struct perf_file_id *id, const struct ev_ksymbol *ev)
{
	struct strbuf *r = record_begin(pf, PERF_RECORD_KSYMBOL, 0);

	strbuf_add_u64(r, ev->addr);
	strbuf_add_u32(r, ev->len);
	strbuf_add_u16(r, PERF_RECORD_KSYMBOL_TYPE_BPF);
	strbuf_add_u16(r, ev->gone ? PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER : 0);
	add_text(r, ev->name, 8);
	record_end(pf, id);
}

void perf_file_lost(struct perf_file *pf, const struct perf_file_id *id, uint64_t lost)
{
	struct strbuf *r = record_begin(pf, PERF_RECORD_LOST, 0);

	strbuf_add_u64(r, EVENT_ID(0));
	strbuf_add_u64(r, lost);
	record_end(pf, id);
}

size_t perf_file_frames(size_t payload_len)
{
	return PERF_FILE_FRAMES - (payload_len > PERF_FILE_PAYLOAD ? 0 : payload_len / sizeof(uint64_t));
}

/* The size, then the bytes, so that both together end at a multiple of 8. */
static void add_payload(struct strbuf *r, const struct perf_file_sample *s, size_t least)
{
	const size_t len = s->payload_len > PERF_FILE_PAYLOAD ? 0 : s->payload_len;
	const size_t size = align_up(MAX(len, least) + sizeof(uint32_t), sizeof(uint64_t)) - sizeof(uint32_t);

	strbuf_add_u32(r, (uint32_t)size);
	strbuf_add(r, s->payload, len);
	for (size_t i = len; i < size; i++)
		strbuf_addc(r, '\0');
}

static void add_chain(struct strbuf *r, const struct perf_file_sample *s)
{
	const bool kernel = s->nkernel, user = s->nuser;

	strbuf_add_u64(r, s->nkernel + kernel + s->nuser + user);
	if (kernel)
		strbuf_add_u64(r, PERF_CONTEXT_KERNEL);
	strbuf_add(r, s->kernel, s->nkernel * sizeof(*s->kernel));
	if (user)
		strbuf_add_u64(r, PERF_CONTEXT_USER);
	strbuf_add(r, s->user, s->nuser * sizeof(*s->user));
}

void perf_file_sample(struct perf_file *pf, const struct perf_file_sample *s)
{
	const bool kernel = s->nkernel, user = s->nuser;
	struct strbuf *r = record_begin(pf, PERF_RECORD_SAMPLE, kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER);

	if (has_ids(pf))
		strbuf_add_u64(r, EVENT_ID(s->event));
	strbuf_add_u64(r, kernel ? s->kernel[0] : user ? s->user[0] : 0);
	strbuf_add_u32(r, s->id.pid);
	strbuf_add_u32(r, s->id.tid);
	strbuf_add_u64(r, s->id.time);
	strbuf_add_u32(r, s->id.cpu);
	strbuf_add_u32(r, 0);
	strbuf_add_u64(r, s->period);
	if (!pf->evs[s->event].no_chain)
		add_chain(r, s);
	if (pf->least[s->event])
		add_payload(r, s, pf->least[s->event]);
	record_write(pf);
	if (!pf->first)
		pf->first = s->id.time;
	pf->last = MAX(pf->last, s->id.time);
}

/* ---- features ---- */

static void add_counted_text(struct strbuf *to, const char *text)
{
	strbuf_add_u32(to, (uint32_t)align_up(strnlen(text, PERF_FILE_TEXT) + 1, TEXT_ALIGN));
	add_text(to, text, TEXT_ALIGN);
}

void perf_file_text(struct perf_file *pf, enum perf_file_text what, const char *text)
{
	struct strbuf *f = &pf->features[what];

	if (!text)
		return;
	/* a list with one element */
	if (what == PERF_FILE_CMDLINE)
		strbuf_add_u32(f, 1);
	add_counted_text(f, text);
}

void perf_file_cpus(struct perf_file *pf, uint32_t n)
{
	strbuf_add_u32(&pf->features[FEATURE_NRCPUS], n);
	strbuf_add_u32(&pf->features[FEATURE_NRCPUS], n);
}

void perf_file_memory(struct perf_file *pf, uint64_t kb)
{
	strbuf_add_u64(&pf->features[FEATURE_TOTAL_MEM], kb);
}

void perf_file_build_id(struct perf_file *pf, const char *name, bool kernel, const uint8_t *id, size_t len)
{
	struct strbuf *f = &pf->features[FEATURE_BUILD_ID];
	uint8_t padded[BUILD_ID_MAX + 4] = { 0 };
	size_t at = f->len;
	uint16_t size;

	memcpy(padded, id, len);
	padded[BUILD_ID_MAX] = (uint8_t)len;
	strbuf_add_u32(f, 0);
	strbuf_add_u16(f, (uint16_t)((kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER) | BUILD_ID_SIZE_KNOWN));
	strbuf_add_u16(f, 0);
	strbuf_add_u32(f, UINT32_MAX);		/* the host, not a guest */
	strbuf_add(f, padded, sizeof(padded));
	add_text(f, name, TEXT_ALIGN);
	size = (uint16_t)(f->len - at);
	memcpy(f->s + at + offsetof(struct perf_event_header, size), &size, sizeof(size));
}

void perf_file_clock(struct perf_file *pf, uint64_t wall_ns, uint64_t ns)
{
	struct strbuf *f = &pf->features[FEATURE_CLOCK_DATA];

	if (!pf->monotonic)
		return;
	strbuf_add_u32(f, 1);					/* version */
	strbuf_add_u32(f, CLOCK_MONOTONIC);
	strbuf_add_u64(f, wall_ns);
	strbuf_add_u64(f, ns);
}

static void describe_events(struct perf_file *pf)
{
	struct strbuf *f = &pf->features[FEATURE_EVENT_DESC];

	strbuf_add_u32(f, pf->nevs);
	strbuf_add_u32(f, ATTR_SIZE);
	for (uint32_t i = 0; i < pf->nevs; i++) {
		strbuf_add(f, &pf->attrs[i], ATTR_SIZE);
		strbuf_add_u32(f, 1);
		add_counted_text(f, pf->evs[i].name);
		strbuf_add_u64(f, EVENT_ID(i));
	}
}

static void describe_tracepoints(struct perf_file *pf)
{
	struct perf_tracepoint *tps = xcalloc(pf->nevs, sizeof(*tps));
	size_t n = 0;

	for (uint32_t i = 0; i < pf->nevs; i++)
		if (pf->evs[i].fields)
			tps[n++] = (struct perf_tracepoint){ pf->evs[i].name, pf->evs[i].config, pf->evs[i].fields };
	if (n)
		perf_tracing_data(tps, n, &pf->features[FEATURE_TRACING_DATA]);
	free(tps);
}

int perf_file_finish(struct perf_file *pf)
{
	const uint64_t attrs = sizeof(struct file_header) + pf->nevs * sizeof(uint64_t);
	const uint64_t data = attrs + pf->nevs * sizeof(struct file_attr);
	struct file_header h = {
		.magic = { 'P', 'E', 'R', 'F', 'I', 'L', 'E', '2' },
		.size = sizeof(h), .attr_size = sizeof(struct file_attr),
		.attrs = { attrs, pf->nevs * sizeof(struct file_attr) }, .data = { data, pf->bytes - data },
	};
	uint64_t off = pf->bytes;

	describe_events(pf);
	describe_tracepoints(pf);
	if (pf->first) {
		strbuf_add_u64(&pf->features[FEATURE_SAMPLE_TIME], pf->first);
		strbuf_add_u64(&pf->features[FEATURE_SAMPLE_TIME], pf->last);
	}
	for (int f = 0; f < FEATURES; f++) {
		if (!pf->features[f].len)
			continue;
		h.features[0] |= UINT64_C(1) << f;
		off += sizeof(struct section);
	}
	for (int f = 0; f < FEATURES; f++) {
		const struct section s = { off, pf->features[f].len };

		if (!s.size)
			continue;
		put(pf, &s, sizeof(s));
		off += s.size;
	}
	for (int f = 0; f < FEATURES; f++)
		if (pf->features[f].len)
			put(pf, pf->features[f].s, pf->features[f].len);
	if (!pf->err && fseeko(pf->to, 0, SEEK_SET))
		pf->err = -errno;
	put(pf, &h, sizeof(h));
	if (fflush(pf->to) && !pf->err)
		pf->err = -errno;
	return pf->err;
}
