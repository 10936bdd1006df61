/*
 * recode IN OUT [TIMES [plain|blocks|events]]: decodes every event and sample of a recording and encodes
 * them again, in the version of the format that it has; samples TIMES times, as if the recorded time had come again, side-band once; without
 * compression, or each time in a block of its own; or as a recording of several events, which are
 * made up with their payloads and switches. Prints on one line how many there were and a
 * digest of their whole content, and then the bytes per sample of the STREAM blocks and of the
 * written file. It also checks what a sample declares unchanged: every word from changed_end on is
 * compared with the thread's previous sample, and from known_end on with the last word seen at its
 * address. The digest and the check cover the first time.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "recording.h"
#include "recording/rec_reader.h"
#include "recording/rec_writer.h"

struct page {
	bool seen[512];
	uint64_t w[512];
};

struct last {			/* a thread's last copy */
	uint64_t lo, hi;
	uint64_t w[STACK_WORDS_MAX];
	struct u64map known;	/* address >> 12 -> struct page *: the last word seen at each address */
};

struct recode {
	struct rec_writer *w;
	struct u64map threads;	/* pid << 32 | tid -> struct last * */
	struct stack_words words;
	uint64_t digest, events, samples;
	bool blocks;		/* each time in a block of its own */
	bool made_up;		/* as several events */
	uint64_t first, last;	/* ns, of the samples */
	uint64_t shift;		/* ns, added to times */
	uint64_t now[STACK_WORDS_MAX];
};

/* Block boundaries are the same each time only if the writer can always accept a sample. */
static struct rec_writer *writer(struct recode *rc)
{
	while (rec_writer_fill(rc->w) > 50)
		usleep(100);
	return rc->w;
}

static void digest(struct recode *rc, const void *data, size_t len)
{
	rc->digest = hash_combine(rc->digest, hash_bytes(data, len));
}

static void digest_str(struct recode *rc, const char *s)
{
	digest(rc, s, strlen(s) + 1);
}

/* One side-band event: its fixed part without pointers and padding, then its texts. */
static void digest_event(struct recode *rc, const uint64_t *v, size_t n, const char *const *text)
{
	rc->events++;
	digest(rc, v, n * sizeof(*v));
	for (; *text; text++)
		digest_str(rc, *text);
}

static int on_dso(void *ctx, const struct ev_dso *e)
{
	struct recode *rc = ctx;

	digest(rc, e->build_id, e->build_id_len);
	digest_event(rc, (uint64_t[]){ e->id, e->dev_major, e->dev_minor, e->ino, e->ino_gen, e->size,
		     (uint64_t)e->mtime_ns, e->mnt_ns, e->deleted }, 9,
		     (const char *[]){ e->path, NULL });
	return rec_writer_dso(writer(rc), e);
}

static int on_proc(void *ctx, const struct ev_proc *e)
{
	struct recode *rc = ctx;

	digest(rc, e->nspid, e->nspid_n * sizeof(*e->nspid));
	digest_event(rc, (uint64_t[]){ e->time, e->serial, e->pid, e->ppid, e->start_ticks, e->mnt_ns,
		     e->pid_ns, e->user_ns, e->maps_known, e->inherited }, 10,
		     (const char *[]){ e->comm, e->exe, e->root, e->cgroup, NULL });
	return rec_writer_proc(writer(rc), e);
}

static int on_mmap(void *ctx, const struct ev_mmap *e)
{
	digest_event(ctx, (uint64_t[]){ e->time, e->pid, e->tid, e->start, e->len, e->pgoff, e->prot,
		     e->flags, e->dso }, 9, (const char *[]){ e->path, NULL });
	return rec_writer_mmap(writer(ctx), e);
}

static int on_comm(void *ctx, const struct ev_comm *e)
{
	digest_event(ctx, (uint64_t[]){ e->time, e->pid, e->tid, e->exec }, 4,
		     (const char *[]){ e->comm, NULL });
	return rec_writer_comm(writer(ctx), e);
}

static int on_fork(void *ctx, const struct ev_task *e)
{
	digest_event(ctx, (uint64_t[]){ 1, e->time, e->pid, e->tid, e->ppid, e->ptid }, 6,
		     (const char *[]){ NULL });
	return rec_writer_fork(writer(ctx), e);
}

static int on_exit_event(void *ctx, const struct ev_task *e)
{
	digest_event(ctx, (uint64_t[]){ 2, e->time, e->pid, e->tid, e->ppid, e->ptid }, 6,
		     (const char *[]){ NULL });
	return rec_writer_exit(writer(ctx), e);
}

static int on_cgroup(void *ctx, const struct ev_cgroup *e)
{
	digest_event(ctx, (uint64_t[]){ e->id }, 1, (const char *[]){ e->path, NULL });
	return rec_writer_cgroup(writer(ctx), e);
}

static int on_pressure(void *ctx, const struct ev_pressure *e)
{
	digest_event(ctx, (uint64_t[]){ e->time, e->level, e->cause }, 3, (const char *[]){ NULL });
	return rec_writer_pressure(writer(ctx), e);
}

static int on_absence(void *ctx, const struct ev_absence *e)
{
	digest_event(ctx, (uint64_t[]){ e->time, e->kind, e->cpu }, 3,
		     (const char *[]){ e->cgroup, NULL });
	return rec_writer_absence(writer(ctx), e);
}

static int on_budget(void *ctx, const struct ev_budget *e)
{
	digest_event(ctx, (uint64_t[]){ e->time, e->kind, e->count, e->by_user, e->uid }, 5,
		     (const char *[]){ e->cgroup, NULL });
	return rec_writer_budget(writer(ctx), e);
}

static int on_event(void *ctx, const struct ev_event *e)
{
	digest_event(ctx, (uint64_t[]){
		e->time, e->index, e->role, e->leader, e->type, e->config, e->config1, e->config2, e->freq, e->period,
	}, 10, (const char *[]){ e->name, e->modifier, e->unit, e->filter, e->fields, NULL });
	return rec_writer_event(writer(ctx), e);
}

static int on_schedstat(void *ctx, const struct ev_schedstat *e)
{
	digest_event(ctx, (uint64_t[]){ e->time, e->pid, e->tid, e->run_ns, e->wait_ns, e->slices }, 6, (const char *[]){ NULL });
	return rec_writer_schedstat(writer(ctx), e);
}

static int on_wakeup(void *ctx, const struct ev_wakeup *e)
{
	digest_event(ctx, (uint64_t[]){ e->time, e->pid, e->tid, e->cpu }, 4, (const char *[]){ NULL });
	return rec_writer_wakeup(writer(ctx), e);
}

static int on_toggle(void *ctx, const struct ev_toggle *e)
{
	digest_event(ctx, (uint64_t[]){ e->time, e->on }, 2, (const char *[]){ NULL });
	return rec_writer_toggle(writer(ctx), e);
}

static int on_switch(void *ctx, const struct ev_switch *e)
{
	digest_event(ctx, (uint64_t[]){ e->time, e->pid, e->tid, e->cpu, e->out, e->preempted }, 6, (const char *[]){ NULL });
	return rec_writer_switch(writer(ctx), e);
}

static int on_container(void *ctx, const struct ev_container *e)
{
	digest_event(ctx, (uint64_t[]){
		e->time, e->node, e->have_usage, e->have_throttling, e->gone, e->quota_us, e->period_us,
		e->usage_us, e->nr_periods, e->nr_throttled, e->throttled_us,
	}, 11, (const char *[]){ e->cgroup, e->runtime, e->id, e->name, e->image, e->pod, e->pod_ns,
				 e->pod_uid, NULL });
	return rec_writer_container(writer(ctx), e);
}

static int on_ksymbol(void *ctx, const struct ev_ksymbol *e)
{
	digest_event(ctx, (uint64_t[]){ e->time, e->addr, e->len, e->gone }, 4,
		     (const char *[]){ e->name, NULL });
	return rec_writer_ksymbol(writer(ctx), e);
}

/* The recorder's flag for it: words outside the copy are code unless all are kept. */
static uint8_t class_of(const struct ev_sample *ev, uint64_t val)
{
	if (val - ev->stack.lo <= ev->stack.hi - ev->stack.lo)
		return WORD_STACK;
	return ev->unmasked ? WORD_RAW : WORD_CODE;
}

static void forget_words(struct last *last)
{
	uint64_t no, page;

	for (size_t it = 0; u64map_next(&last->known, &it, &no, &page);)
		free((struct page *)(uintptr_t)page);
	u64map_clear(&last->known);
}

/*
 * Whether the word at @addr differs from the known one; from then on it is the known one. An
 * address never seen has no known word.
 */
static bool note_word(struct last *last, uint64_t addr, uint64_t val)
{
	uint64_t *slot = u64map_put(&last->known, addr >> 12, NULL);
	size_t i = addr / 8 % 512;
	struct page *p;
	bool other;

	if (!*slot)
		*slot = (uintptr_t)xcalloc(1, sizeof(*p));
	p = (struct page *)(uintptr_t)*slot;
	other = p->seen[i] && p->w[i] != val;
	p->seen[i] = true;
	p->w[i] = val;
	return other;
}

/* Puts the sample's words into rc->words. */
static void take_stack(struct recode *rc, const struct ev_sample *ev)
{
	uint64_t lo = ev->stack.lo, hi = ev->stack.hi, next;
	struct stack_words *sw = &rc->words;

	sw->base = lo;
	sw->nwords = (uint32_t)((hi - lo) / 8);
	sw->nkept = 0;
	for (uint64_t addr = lo; addr < hi; addr = next) {
		const uint64_t *page = stack_view_page(&ev->stack, addr);

		next = MIN(align_down(addr, 4096) + 4096, hi);
		for (; page && addr < next; addr += 8) {
			uint64_t val = page[addr / 8 % 512];

			if (!val)
				continue;
			sw->idx[sw->nkept] = (uint16_t)((addr - lo) / 8);
			sw->cls[sw->nkept] = class_of(ev, val);
			sw->val[sw->nkept++] = val;
		}
	}
}

/*
 * Puts the same words, one by one, into rc->now, and checks them against the thread's previous
 * copy.
 */
static int check_stack(struct recode *rc, const struct ev_sample *ev)
{
	uint64_t *slot = u64map_put(&rc->threads, (uint64_t)ev->pid << 32 | ev->tid, NULL);
	uint64_t lo = ev->stack.lo, hi = ev->stack.hi;
	struct last *last;

	if (!*slot)
		*slot = (uintptr_t)xcalloc(1, sizeof(*last));
	last = (struct last *)(uintptr_t)*slot;
	for (uint64_t a = lo; a < hi; a += 8)
		if (stack_view_read(&ev->stack, a, &rc->now[(a - lo) / 8]))
			return -1;
	for (uint64_t a = ev->changed_end; a < hi; a += 8)
		if (a < last->lo || a >= last->hi ||
		    last->w[(a - last->lo) / 8] != rc->now[(a - lo) / 8]) {
			fprintf(stderr, "recode: sample %" PRIu64 ": the word at %#" PRIx64
				" changed, at or above changed_end\n", rc->samples, a);
			return -1;
		}
	if (ev->known_end == UINT64_MAX)
		forget_words(last);
	for (uint64_t a = lo; a < hi; a += 8)
		if (note_word(last, a, rc->now[(a - lo) / 8]) && a >= ev->known_end) {
			fprintf(stderr, "recode: sample %" PRIu64 ": the word at %#" PRIx64
				" is not the last known, at or above known_end\n", rc->samples, a);
			return -1;
		}
	last->lo = lo;
	last->hi = hi;
	memcpy(last->w, rc->now, hi - lo);
	return 0;
}

#define MADE_EVENTS 20u

/* As many as use all ways to code an event. Every other one has payloads. */
static int put_events(struct rec_writer *w)
{
	int err = 0;

	for (uint32_t i = 0; i < MADE_EVENTS && !err; i++) {
		struct ev_event ev = {
			.index = i, .leader = i & ~1u, .role = i % 3, .type = 2, .config = i, .period = i + 1, .name = "made",
			.fields = i % 2 ? "\tfield:u64 a;\toffset:0;\tsize:8;\tsigned:0;\n" : "",
		};

		err = rec_writer_event(w, &ev);
	}
	return err;
}

/* The payload is made of the registers, which repeat themselves as a tracepoint's fields do. */
static int put_made(struct recode *rc, struct sample_in *in)
{
	struct ev_switch sw = { .time = in->time - 900, .pid = in->pid, .tid = in->tid, .cpu = in->cpu };
	uint64_t dice = rc->samples * 0x9e3779b97f4a7c15ull >> 40;
	int err;

	in->event = (uint32_t)(dice % 7 ? dice % 3 : dice % MADE_EVENTS);
	if (in->event % 2) {
		in->payload = (const uint8_t *)in->regs;
		in->payload_len = dice % 5 ? 4 * in->event : 1 + (uint32_t)(dice % sizeof(in->regs));
	}
	err = dice % 8 ? rec_writer_switch(writer(rc), &sw) : 0;
	if (!err)
		err = rec_writer_sample(writer(rc), in);
	if (!err && !(dice % 4))
		err = rec_writer_wakeup(writer(rc), &(struct ev_wakeup){ sw.time + 901, sw.pid, sw.tid + 1, sw.cpu });
	if (!err && !(dice % 9))
		err = rec_writer_schedstat(writer(rc), &(struct ev_schedstat){ sw.time + 902, sw.pid, sw.tid, dice, dice / 2, 3 });
	if (!err && !(dice % 13))
		err = rec_writer_toggle(writer(rc), &(struct ev_toggle){ sw.time + 903, dice & 1 });
	sw.time += 1500;
	sw.out = true;
	sw.preempted = dice % 3;
	return err ? err : rec_writer_switch(writer(rc), &sw);
}

static int on_sample(void *ctx, const struct ev_sample *ev)
{
	struct recode *rc = ctx;
	struct sample_in in = {
		.time = ev->time + rc->shift, .pid = ev->pid, .tid = ev->tid, .cpu = ev->cpu, .period = ev->period,
		.cgroup = ev->cgroup, .chain = ev->chain, .nchain = ev->nchain, .has_regs = ev->has_regs,
		.copy_full = ev->copy_full, .unmasked = ev->unmasked, .cut = ev->cut,
		.event = ev->event, .payload = ev->payload, .payload_len = ev->payload_len,
	};
	uint64_t head[] = { in.time, ev->pid, ev->tid, ev->cpu, ev->period, ev->cgroup, ev->has_regs,
			    ev->copy_full, ev->unmasked, ev->cut, ev->stack.lo, ev->stack.hi, ev->event, ev->payload_len };

	take_stack(rc, ev);
	if (!rc->shift && check_stack(rc, ev))
		return -1;
	memcpy(in.regs, ev->regs, sizeof(in.regs));
	if (rc->words.nwords)
		in.stack = &rc->words;
	if (!rc->samples++)
		rc->first = ev->time;
	rc->last = MAX(rc->last, ev->time);
	if (rc->made_up)
		return put_made(rc, &in);
	if (rc->shift)
		return rec_writer_sample(writer(rc), &in);
	digest(rc, head, sizeof(head));
	digest(rc, ev->chain, ev->nchain * sizeof(*ev->chain));
	digest(rc, ev->payload, ev->payload_len);
	digest(rc, ev->regs, sizeof(ev->regs));
	digest(rc, rc->now, 8 * (size_t)rc->words.nwords);
	return rec_writer_sample(writer(rc), &in);
}

static int on_capture(void *ctx, const struct capture *cap)
{
	struct recode *rc = ctx;

	digest(rc, cap->data, cap->size);
	return rec_writer_capture(writer(rc), cap);
}

/* Bytes of STREAM blocks in the whole file @fd. */
static uint64_t stream_bytes(int fd)
{
	struct rec_block_header h;
	uint64_t off = REC_HEADER_MIN, sum = 0;

	while (pread(fd, &h, sizeof(h), (off_t)off) == sizeof(h) && h.magic == REC_BLOCK_MAGIC) {
		if (h.type == REC_STREAM)
			sum += sizeof(h) + h.stored_len;
		off += sizeof(h) + h.stored_len;
	}
	return sum;
}

/* As if half a second had passed since its first sample. */
static void end_block(struct rec_writer *w)
{
	rec_writer_tick(w, 1);
	rec_writer_tick(w, 1000000000);
}

static int recode(struct recode *rc, struct rec_reader *r, unsigned long times)
{
	static const struct event_ops samples = { .sample = on_sample };
	static const struct event_ops ops = {
		.dso = on_dso, .proc = on_proc, .mmap = on_mmap, .comm = on_comm, .fork = on_fork,
		.exit = on_exit_event, .cgroup = on_cgroup, .ksymbol = on_ksymbol,
		.pressure = on_pressure, .absence = on_absence, .container = on_container,
		.budget = on_budget, .event = on_event, .cpu_switch = on_switch, .schedstat = on_schedstat,
		.wakeup = on_wakeup, .toggle = on_toggle,
		.sample = on_sample,
	};
	struct ev_ledger ledger;
	const char *key, *val;
	size_t it = 0;
	int err;

	while (rec_reader_info_next(r, &it, &key, &val))
		if (strcmp(key, "start_wall_ns"))	/* from the file header */
			rec_writer_info(rc->w, key, val);
	err = rc->made_up ? put_events(rc->w) : 0;
	if (!err)
		err = rec_reader_events(r, &ops, rc);
	while (!err && --times) {
		if (rc->blocks)
			end_block(writer(rc));
		rc->shift += rc->last - rc->first + 1000000;
		err = rec_reader_events(r, &samples, rc);
	}
	if (!err && (rec_reader_damage(r)->bad_blocks || rec_reader_damage(r)->cut)) {
		fprintf(stderr, "recode: the recording is damaged\n");
		err = -1;
	}
	if (!err)
		err = rec_reader_captures(r, on_capture, rc);
	if (!err && rec_reader_ledger(r, &ledger))
		err = rec_writer_ledger(rc->w, &ledger);
	return err ? err : rec_writer_finish(rc->w);
}

int main(int argc, char **argv)
{
	struct recode *rc = xcalloc(1, sizeof(*rc));
	struct rec_reader *r;
	unsigned long times = 1;
	const char *how = "";
	uint64_t key, ptr;
	int fd, err;

	log_init("recode");
	if (argc > 3)
		times = strtoul(argv[3], NULL, 10);
	if (argc > 4)
		how = argv[4];
	if (argc < 3 || argc > 5 || !times || (argc == 5 && strcmp(how, "plain") && strcmp(how, "blocks") && strcmp(how, "events"))) {
		fprintf(stderr, "usage: recode IN OUT [TIMES [plain|blocks|events]]\n");
		return 2;
	}
	r = rec_reader_open(argv[1]);
	if (!r)
		return 1;
	fd = open(argv[2], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	rc->made_up = !strcmp(how, "events");
	if (fd >= 0)
		rc->w = rec_reader_version(r) == REC_VERSION_PLAIN && !rc->made_up ? rec_writer_new(fd, &err) : rec_writer_new_events(fd, &err);
	if (!rc->w) {
		perror(argv[2]);
		return 1;
	}
	if (!strcmp(how, "plain"))
		rec_writer_effort(rc->w, PRESSURE_STORED);
	rc->blocks = !strcmp(how, "blocks");
	err = recode(rc, r, times);
	if (!err) {
		double n = rc->samples ? (double)rc->samples : 1;

		printf("samples %" PRIu64 " events %" PRIu64 " digest %016" PRIx64 "\n", rc->samples,
		       rc->events, rc->digest);
		printf("bytes a sample: stream %.2f file %.2f\n", (double)stream_bytes(fd) / n,
		       (double)rec_writer_bytes(rc->w) / n);
	}
	rec_writer_free(rc->w);
	rec_reader_close(r);
	for (size_t it = 0; u64map_next(&rc->threads, &it, &key, &ptr);) {
		struct last *last = (struct last *)(uintptr_t)ptr;

		forget_words(last);
		u64map_fini(&last->known);
		free(last);
	}
	u64map_fini(&rc->threads);
	free(rc);
	return err ? 1 : 0;
}
