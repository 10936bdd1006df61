#include "sink.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "perf_layout.h"
#include "sink_side.h"
#include "util.h"
#include "xalloc.h"

/* End of user addresses with four-level paging; stacks end there with five levels as well. */
#define USER_END 0x7ffffffff000ull

struct sink *sink_new(const struct record_opts *o, const struct cgroup_fs *fs, struct proctab *pt,
		      struct rec_writer *w, struct ledger *ledger, bool has_cgroup)
{
	struct sink *s = xcalloc(1, sizeof(*s));

	s->opts = o;
	s->fs = fs;
	s->pt = pt;
	s->w = w;
	s->ledger = ledger;
	s->has_cgroup = has_cgroup;
	s->own_pid = (uint32_t)getpid();
	s->seen = seen_new();
	return s;
}

void sink_free(struct sink *s)
{
	if (!s)
		return;
	seen_free(s->seen);
	u64map_fini(&s->cgroups);
	free(s);
}

static void written(struct sink *s, int err)
{
	if (err < 0 && !s->err)
		s->err = err;
}

void sink_cgroup(struct sink *s, uint64_t id, const char *path)
{
	struct ev_cgroup ev = { id, path };
	bool is_new;

	u64map_put(&s->cgroups, id, &is_new);
	if (is_new)
		written(s, rec_writer_cgroup(s->w, &ev));
}

/* Names of cgroups that are older than the recording are looked up when a sample needs them. */
static void cgroup_seen(struct sink *s, uint64_t id)
{
	char path[PATH_MAX];

	if (!id || u64map_get(&s->cgroups, id))
		return;
	if (cgroup_path_by_id(s->fs, id, path, sizeof(path)))
		u64map_put(&s->cgroups, id, NULL);
	else
		sink_cgroup(s, id, path);
}

/* The body of a sample, as far as it has been read. */
struct body {
	const uint8_t *p, *end;
	bool bad;
};

static uint64_t get_u64(struct body *b)
{
	uint64_t v = 0;

	if (b->end - b->p < (ptrdiff_t)sizeof(v)) {
		b->bad = true;
		return 0;
	}
	memcpy(&v, b->p, sizeof(v));
	b->p += sizeof(v);
	return v;
}

static const uint8_t *get_bytes(struct body *b, uint64_t len)
{
	const uint8_t *p = b->p;

	if ((uint64_t)(b->end - b->p) < len) {
		b->bad = true;
		return NULL;
	}
	b->p += len;
	return p;
}

/* What the masker and the address book need to know of the sample besides struct sample_in. */
struct user_part {
	bool has_regs;
	const uint8_t *stack;	/* in the ring; NULL when there is none */
	uint64_t asked, size;	/* bytes: room in the record, really copied */
	struct proc *proc;
	const struct maskset *ms;
};

static void get_regs(struct body *b, struct sample_in *in, struct user_part *u)
{
	uint64_t abi = get_u64(b);

	memset(in->regs, 0, sizeof(in->regs));
	if (abi == PERF_SAMPLE_REGS_ABI_NONE)
		return;
	for (uint64_t mask = UREG_MASK; mask; mask &= mask - 1)
		in->regs[__builtin_ctzll(mask)] = get_u64(b);
	/* 32-bit code cannot be unwound by our rules: its words are 4 bytes wide. */
	u->has_regs = abi == PERF_SAMPLE_REGS_ABI_64;
}

static void get_stack(struct body *b, struct user_part *u)
{
	u->asked = get_u64(b);
	if (!u->asked)
		return;
	u->stack = get_bytes(b, u->asked);
	u->size = get_u64(b);
	/* What lies behind the bytes really copied is left over from older records. */
	if (u->size > u->asked)
		b->bad = true;
}

static bool is_code(const struct maskset *ms, uint64_t addr)
{
	size_t lo = 0, hi = ms->nexec;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (ms->exec[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < ms->nexec && addr >= ms->exec[lo].start;
}

static void saw_user(struct sink *s, struct proc *p, uint32_t pid, uint64_t addr)
{
	if (addr && seen_new_addr(s->seen, pid, addr))
		proc_saw_code(s->pt, p, addr);
}

/* Addresses that the recording may be asked about later, from registers and stack. */
static void note_user(struct sink *s, const struct user_part *u)
{
	const struct sample_in *in = &s->in;

	saw_user(s, u->proc, in->pid, in->regs[UREG_IP]);
	if (!u->ms)
		return;
	for (unsigned int i = 0; i < UREG_MAX; i++)
		if (i != UREG_SP && is_code(u->ms, in->regs[i]))
			saw_user(s, u->proc, in->pid, in->regs[i]);
	for (uint32_t i = 0; i < s->words.nkept; i++) {
		uint8_t cls = s->words.cls[i];

		/* With full stacks nothing has been classed yet. */
		if (cls == WORD_CODE || (cls == WORD_RAW && is_code(u->ms, s->words.val[i])))
			saw_user(s, u->proc, in->pid, s->words.val[i]);
	}
}

static void take_user(struct sink *s, struct user_part *u)
{
	struct sample_in *in = &s->in;
	uint64_t sp = in->regs[UREG_SP], size = u->stack ? u->size : 0;
	bool full = s->opts->full_stacks;

	u->ms = proc_maskset(u->proc, in->tid, in->regs[UREG_IP], sp, size);
	if (!u->ms)
		s->ledger->l.maps_unknown++;
	in->unmasked = full || !u->ms;
	mask_stack(full ? NULL : u->ms, sp, u->stack, size, &s->words);
	if (!in->unmasked)
		mask_regs(u->ms, sp, size, in->regs);
	in->stack = &s->words;
	in->copy_full = size && size == u->asked && sp + size < USER_END;
	if (in->copy_full)
		s->ledger->l.copy_full++;
	note_user(s, u);
}

/* Kernel addresses, and user ones of a frame pointer chain. */
static void note_chain(struct sink *s, struct proc *p)
{
	const struct sample_in *in = &s->in;
	uint64_t context = 0;

	for (uint32_t i = 0; i < in->nchain; i++) {
		uint64_t v = in->chain[i];

		if (v >= PERF_CONTEXT_MAX)
			context = v;
		else if (context == PERF_CONTEXT_USER)
			saw_user(s, p, in->pid, v);
		else if (context == PERF_CONTEXT_KERNEL && seen_new_addr(s->seen, SEEN_KERNEL, v))
			proctab_saw_kernel(s->pt, v);
	}
}

/* No call graph, or nothing left of it: the address that was hit is a chain of one. */
static void chain_of_ip(struct sink *s, uint16_t misc, uint64_t ip)
{
	switch (misc & PERF_RECORD_MISC_CPUMODE_MASK) {
	case PERF_RECORD_MISC_KERNEL:
		s->chain[0] = PERF_CONTEXT_KERNEL;
		break;
	case PERF_RECORD_MISC_HYPERVISOR:
		s->chain[0] = PERF_CONTEXT_HV;
		break;
	case PERF_RECORD_MISC_GUEST_KERNEL:
		s->chain[0] = PERF_CONTEXT_GUEST_KERNEL;
		break;
	case PERF_RECORD_MISC_GUEST_USER:
		s->chain[0] = PERF_CONTEXT_GUEST_USER;
		break;
	default:
		s->chain[0] = PERF_CONTEXT_USER;
	}
	s->chain[1] = ip;
	s->in.chain = s->chain;
	s->in.nchain = 2;
}

static void take_sample(struct sink *s, const struct perf_event_header *h)
{
	const uint8_t *base = (const uint8_t *)h;
	struct body b = { base + sizeof(*h), base + h->size, false };
	struct user_part u = { 0 };
	struct sample_in *in = &s->in;
	uint64_t ip, v, n;

	get_u64(&b);		/* identifier: all events are alike */
	ip = get_u64(&b);
	v = get_u64(&b);
	in->pid = (uint32_t)v;
	in->tid = (uint32_t)(v >> 32);
	if (in->pid == s->own_pid)
		return;
	in->time = get_u64(&b);
	in->cpu = (uint32_t)get_u64(&b);
	in->period = get_u64(&b);
	n = get_u64(&b);
	in->chain = (const void *)get_bytes(&b, MIN(n, LAYOUT_RECORD_MAX) * 8);
	in->nchain = in->chain ? (uint32_t)n : 0;
	if (s->opts->callgraph == CALLGRAPH_DWARF) {
		get_regs(&b, in, &u);
		get_stack(&b, &u);
	}
	in->cgroup = s->has_cgroup ? get_u64(&b) : 0;
	if (b.bad) {
		s->ledger->l.dropped++;
		return;
	}
	in->has_regs = u.has_regs;
	in->stack = NULL;
	in->copy_full = false;
	in->unmasked = false;
	cgroup_seen(s, in->cgroup);
	u.proc = proctab_sampled(s->pt, in->pid, in->tid, in->time);
	if (u.has_regs)
		take_user(s, &u);
	if (!in->nchain)
		chain_of_ip(s, h->misc, ip);
	note_chain(s, u.proc);
	written(s, rec_writer_sample(s->w, in));
	if (!s->err)
		s->ledger->l.kept++;
}

void sink_record(struct sink *s, const struct perf_event_header *h, uint64_t time, bool sideband)
{
	if (s->err)
		return;
	if (h->type == PERF_RECORD_SAMPLE)
		take_sample(s, h);
	else
		sink_side_record(s, h, time, sideband);
}
