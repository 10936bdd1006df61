/*
 * Recordings written here and replayed: process images, thread names, mappings, and the resulting
 * stacks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "cmd/stack_pass.h"
#include "naming/naming.h"
#include "output/to_folded.h"
#include "recording/rec_reader.h"
#include "recording/rec_writer.h"
#include "replay/replay.h"
#include "unwind/unwind.h"

#define PROT_RX (PROT_READ | PROT_EXEC)

/* ---- writing ---- */

struct rec {
	char path[64];
	int fd;
	struct rec_writer *w;
	uint64_t time;
};

static void rec_begin(struct rec *r)
{
	int err = 0;

	strcpy(r->path, "/tmp/nsprof-test-replay.XXXXXX");
	r->fd = mkstemp(r->path);
	assert_true(r->fd >= 0);
	r->w = rec_writer_new(r->fd, &err);
	assert_non_null(r->w);
	rec_writer_info(r->w, "event", "cpu-clock");
	r->time = 1000000;
}

static struct rec_reader *rec_end(struct rec *r)
{
	const struct ev_ledger led = { 0 };
	struct rec_reader *rd;

	assert_int_equal(rec_writer_ledger(r->w, &led), 0);
	assert_int_equal(rec_writer_finish(r->w), 0);
	rec_writer_free(r->w);
	close(r->fd);
	rd = rec_reader_open(r->path);
	unlink(r->path);
	assert_non_null(rd);
	return rd;
}

static void dso(struct rec *r, uint32_t id, const char *path)
{
	const struct ev_dso ev = {
		.id = id, .path = path, .ino = 100 + id, .dev_major = 8, .size = 4096
	};

	assert_int_equal(rec_writer_dso(r->w, &ev), 0);
}

static void proc(struct rec *r, uint32_t serial, uint32_t pid, uint32_t ppid, uint64_t start,
		 const char *comm, bool maps_known, bool inherited)
{
	const struct ev_proc ev = {
		.time = r->time += 1000, .serial = serial, .pid = pid, .ppid = ppid,
		.start_ticks = start, .comm = comm, .exe = "/bin/x", .root = "/",
		.cgroup = "/first", .nspid = { pid, 1 }, .nspid_n = 2,
		.maps_known = maps_known, .inherited = inherited,
	};

	assert_int_equal(rec_writer_proc(r->w, &ev), 0);
}

static void map(struct rec *r, uint32_t pid, uint64_t start, uint64_t len, uint32_t id,
		const char *path)
{
	const struct ev_mmap ev = {
		.time = r->time += 1000, .pid = pid, .tid = pid, .start = start, .len = len,
		.prot = PROT_RX, .flags = MAP_PRIVATE, .dso = id, .path = path,
	};

	assert_int_equal(rec_writer_mmap(r->w, &ev), 0);
}

static void comm(struct rec *r, uint32_t pid, uint32_t tid, const char *name, bool exec)
{
	const struct ev_comm ev = {
		.time = r->time += 1000, .pid = pid, .tid = tid, .exec = exec, .comm = name
	};

	assert_int_equal(rec_writer_comm(r->w, &ev), 0);
}

static struct ev_task task(struct rec *r, uint32_t pid, uint32_t tid, uint32_t ppid, uint32_t ptid)
{
	return (struct ev_task){
		.time = r->time += 1000, .pid = pid, .tid = tid, .ppid = ppid, .ptid = ptid
	};
}

static void forked(struct rec *r, uint32_t pid, uint32_t tid, uint32_t ppid, uint32_t ptid)
{
	const struct ev_task ev = task(r, pid, tid, ppid, ptid);

	assert_int_equal(rec_writer_fork(r->w, &ev), 0);
}

static void exited(struct rec *r, uint32_t pid, uint32_t tid)
{
	const struct ev_task ev = task(r, pid, tid, 1, 1);

	assert_int_equal(rec_writer_exit(r->w, &ev), 0);
}

static void sample_chain(struct rec *r, uint32_t pid, uint32_t tid, uint64_t cgroup,
			 const uint64_t *chain, uint32_t n)
{
	struct sample_in s;

	memset(&s, 0, sizeof(s));
	s.time = r->time += 1000;
	s.pid = pid;
	s.tid = tid;
	s.period = 100;
	s.cgroup = cgroup;
	s.chain = chain;
	s.nchain = n;
	assert_int_equal(rec_writer_sample(r->w, &s), 0);
}

/* In the kernel, with user registers; @nwords: words of the stack that could be copied. */
static void sample_kernel(struct rec *r, uint32_t pid, uint64_t ip, uint32_t nwords)
{
	const uint64_t chain[] = { (uint64_t)PERF_CONTEXT_KERNEL, 0xffffffff81000010 };
	static struct stack_words sw;
	struct sample_in s;

	memset(&s, 0, sizeof(s));
	s.time = r->time += 1000;
	s.pid = s.tid = pid;
	s.period = 100;
	s.chain = chain;
	s.nchain = 2;
	s.has_regs = true;
	s.regs[UREG_IP] = ip;
	s.regs[UREG_SP] = sw.base = 0x7ffe0000;
	sw.nwords = nwords;
	s.stack = &sw;
	assert_int_equal(rec_writer_sample(r->w, &s), 0);
}

static void sample(struct rec *r, uint32_t pid, uint32_t tid, uint64_t ip)
{
	const uint64_t chain[] = { (uint64_t)PERF_CONTEXT_USER, ip };

	sample_chain(r, pid, tid, 0, chain, 2);
}

/* ---- reading ---- */

#define SEEN_MAX 64

struct seen {
	struct {
		uint32_t pid, tid, image, serial, parent;
		uint64_t start_ticks;
		char comm[32], cgroup[64];
		char path[64];	/* of the mapping that contains the user address */
		uint32_t dso;
		int32_t ksym;
	} s[SEEN_MAX];
	size_t n;
	struct replay *rp;
};

static int on_sample(void *ctx, const struct replay_sample *s)
{
	struct seen *seen = ctx;
	uint64_t ip = s->ev->chain[s->ev->nchain - 1];
	const struct mapping *m = addrspace_find(s->img->as, (struct avma){ ip });

	assert_true(seen->n < SEEN_MAX);
	seen->s[seen->n].pid = s->ev->pid;
	seen->s[seen->n].tid = s->ev->tid;
	seen->s[seen->n].image = s->img->index;
	seen->s[seen->n].serial = s->img->serial;
	seen->s[seen->n].parent = s->img->parent ? s->img->parent->serial : 0;
	seen->s[seen->n].start_ticks = s->img->start_ticks;
	seen->s[seen->n].dso = m && m->mod ? m->mod->id : 0;
	seen->s[seen->n].ksym = replay_find_ksym(seen->rp, ip);
	snprintf(seen->s[seen->n].comm, sizeof(seen->s->comm), "%s", s->comm);
	snprintf(seen->s[seen->n].cgroup, sizeof(seen->s->cgroup), "%s", s->cgroup);
	snprintf(seen->s[seen->n].path, sizeof(seen->s->path), "%s", m ? m->path : "");
	seen->n++;
	return 0;
}

struct played {
	struct rec_reader *rd;
	struct modules *mods;
	struct replay *rp;
	struct seen seen;
};

static void play(struct played *p, struct rec *r)
{
	memset(p, 0, sizeof(*p));
	p->rd = rec_end(r);
	p->mods = modules_new();
	p->rp = p->seen.rp = replay_new(p->mods);
	assert_int_equal(replay_run(p->rp, p->rd, on_sample, &p->seen), 0);
}

static void played_fini(struct played *p)
{
	replay_free(p->rp);
	modules_free(p->mods);
	rec_reader_close(p->rd);
}

/* ---- tests ---- */

static void test_mappings_and_names(void **state)
{
	const struct ev_cgroup cg = { .id = 77, .path = "/docker/x" };
	const uint64_t chain[] = { (uint64_t)PERF_CONTEXT_USER, 0x400100 };
	struct played p;
	struct rec r;

	(void)state;
	rec_begin(&r);
	dso(&r, 1, "/bin/app");
	proc(&r, 1, 100, 1, 5000, "app", true, false);
	map(&r, 100, 0x400000, 0x1000, 1, "/bin/app");
	map(&r, 100, 0x500000, 0x1000, 0, "//anon");
	sample(&r, 100, 100, 0x400100);
	sample(&r, 100, 100, 0x500100);
	sample(&r, 100, 100, 0x600100);
	assert_int_equal(rec_writer_cgroup(r.w, &cg), 0);
	sample_chain(&r, 100, 100, 77, chain, 2);
	sample_chain(&r, 100, 100, 78, chain, 2);	/* an unknown id */
	sample(&r, 999, 999, 0x400100);			/* an unknown process */
	play(&p, &r);
	assert_int_equal(p.seen.n, 6);
	assert_int_equal(p.seen.s[0].dso, 1);
	assert_string_equal(p.seen.s[0].path, "/bin/app");
	assert_string_equal(p.seen.s[0].comm, "app");
	assert_string_equal(p.seen.s[0].cgroup, "/first");
	assert_int_equal(p.seen.s[0].start_ticks, 5000);
	assert_int_equal(p.seen.s[1].dso, 0);
	assert_string_equal(p.seen.s[1].path, "//anon");
	assert_string_equal(p.seen.s[2].path, "");
	assert_string_equal(p.seen.s[3].cgroup, "/docker/x");
	assert_string_equal(p.seen.s[4].cgroup, "/first");
	assert_int_equal(p.seen.s[5].serial, 0);
	assert_string_equal(p.seen.s[5].path, "");
	assert_int_not_equal(p.seen.s[5].image, p.seen.s[0].image);
	played_fini(&p);
}

static void test_fork_and_exec(void **state)
{
	struct played p;
	struct rec r;

	(void)state;
	rec_begin(&r);
	dso(&r, 1, "/bin/parent");
	dso(&r, 2, "/bin/child");
	proc(&r, 1, 100, 1, 5000, "parent", true, false);
	map(&r, 100, 0x400000, 0x1000, 1, "/bin/parent");
	sample(&r, 100, 100, 0x400100);
	forked(&r, 200, 200, 100, 100);
	sample(&r, 200, 200, 0x400100);		/* [1] the child runs the parent's code */
	map(&r, 200, 0x700000, 0x1000, 0, "//anon");
	sample(&r, 100, 100, 0x700100);		/* [2] the child's mapping alone */
	sample(&r, 200, 200, 0x700100);		/* [3] */
	comm(&r, 200, 200, "child", true);
	map(&r, 200, 0x800000, 0x1000, 2, "/bin/child");
	sample(&r, 200, 200, 0x400100);		/* [4] exec: the old mappings are gone */
	sample(&r, 200, 200, 0x800100);		/* [5] */
	sample(&r, 100, 100, 0x400100);		/* [6] the parent is unchanged */
	play(&p, &r);
	assert_int_equal(p.seen.n, 7);
	assert_int_equal(p.seen.s[1].dso, 1);
	assert_string_equal(p.seen.s[1].comm, "parent");
	assert_int_equal(p.seen.s[1].parent, 1);
	assert_string_equal(p.seen.s[2].path, "");
	assert_string_equal(p.seen.s[3].path, "//anon");
	assert_string_equal(p.seen.s[4].path, "");
	assert_string_equal(p.seen.s[4].comm, "child");
	assert_int_not_equal(p.seen.s[4].image, p.seen.s[3].image);
	assert_int_equal(p.seen.s[4].parent, 0);
	assert_int_equal(p.seen.s[5].dso, 2);
	assert_int_equal(p.seen.s[6].dso, 1);
	assert_int_equal(p.seen.s[6].image, p.seen.s[0].image);
	played_fini(&p);
}

/* A forked process's facts come with its first sample. */
static void test_facts_of_a_forked_process(void **state)
{
	struct played p;
	struct rec r;

	(void)state;
	rec_begin(&r);
	dso(&r, 1, "/bin/parent");
	proc(&r, 1, 100, 1, 5000, "parent", true, false);
	map(&r, 100, 0x400000, 0x1000, 1, "/bin/parent");
	forked(&r, 200, 200, 100, 100);
	proc(&r, 2, 200, 100, 6000, "kid", false, true);
	sample(&r, 200, 200, 0x400100);		/* [0] keeps what it inherited */
	proc(&r, 3, 300, 100, 6001, "kid3", false, true);
	sample(&r, 300, 300, 0x400100);		/* [1] the same without a fork record */
	forked(&r, 400, 400, 100, 100);
	proc(&r, 4, 400, 100, 6002, "kid4", true, true);
	map(&r, 400, 0x900000, 0x1000, 0, "//anon");
	sample(&r, 400, 400, 0x400100); /* [2] in none of its known mappings */
	sample(&r, 400, 400, 0x900100);		/* [3] */
	play(&p, &r);
	assert_int_equal(p.seen.n, 4);
	assert_int_equal(p.seen.s[0].dso, 1);
	assert_int_equal(p.seen.s[0].serial, 2);
	assert_int_equal(p.seen.s[0].parent, 1);
	assert_string_equal(p.seen.s[0].comm, "kid");
	assert_int_equal(p.seen.s[1].dso, 1);
	assert_int_equal(p.seen.s[1].parent, 1);
	assert_string_equal(p.seen.s[2].path, "");
	assert_int_equal(p.seen.s[2].parent, 1);
	assert_string_equal(p.seen.s[3].path, "//anon");
	played_fini(&p);
}

static void test_pid_used_again(void **state)
{
	struct played p;
	struct rec r;

	(void)state;
	rec_begin(&r);
	dso(&r, 1, "/bin/old");
	dso(&r, 2, "/bin/new");
	proc(&r, 1, 100, 1, 5000, "old", true, false);
	map(&r, 100, 0x400000, 0x1000, 1, "/bin/old");
	sample(&r, 100, 100, 0x400100);
	exited(&r, 100, 100);
	sample(&r, 100, 101, 0x400100);		/* [1] another thread outlives the leader */
	proc(&r, 2, 100, 1, 9000, "new", true, false);
	map(&r, 100, 0x500000, 0x1000, 2, "/bin/new");
	sample(&r, 100, 100, 0x400100);		/* [2] nothing of the old process is left */
	sample(&r, 100, 100, 0x500100);		/* [3] */
	play(&p, &r);
	assert_int_equal(p.seen.n, 4);
	assert_int_equal(p.seen.s[1].dso, 1);
	assert_int_equal(p.seen.s[1].serial, 1);
	assert_string_equal(p.seen.s[2].path, "");
	assert_string_equal(p.seen.s[2].comm, "new");
	assert_int_equal(p.seen.s[2].start_ticks, 9000);
	assert_int_equal(p.seen.s[3].dso, 2);
	assert_int_not_equal(p.seen.s[3].image, p.seen.s[0].image);
	played_fini(&p);
}

static void test_thread_names(void **state)
{
	struct played p;
	struct rec r;

	(void)state;
	rec_begin(&r);
	proc(&r, 1, 100, 1, 5000, "main", true, false);
	comm(&r, 100, 101, "worker", false);
	forked(&r, 100, 102, 100, 101);		/* created by the worker: has its name */
	forked(&r, 100, 103, 100, 100);
	sample(&r, 100, 100, 0x1000);
	sample(&r, 100, 101, 0x1000);
	sample(&r, 100, 102, 0x1000);
	sample(&r, 100, 103, 0x1000);
	comm(&r, 100, 100, "renamed", false);
	sample(&r, 100, 100, 0x1000);		/* [4] */
	sample(&r, 100, 101, 0x1000);		/* [5] */
	exited(&r, 100, 101);
	forked(&r, 200, 101, 100, 100);		/* the TID again, in another process */
	sample(&r, 200, 101, 0x1000);		/* [6] */
	exited(&r, 100, 102);
	sample(&r, 100, 102, 0x1000);		/* [7] it frees its memory */
	exited(&r, 100, 100);
	sample(&r, 100, 102, 0x1000);		/* [8] the last one */
	proc(&r, 3, 300, 1, 9000, "other", true, false);
	sample(&r, 300, 102, 0x1000);		/* [9] the TID again, without a fork record */
	play(&p, &r);
	assert_string_equal(p.seen.s[0].comm, "main");
	assert_string_equal(p.seen.s[1].comm, "worker");
	assert_string_equal(p.seen.s[2].comm, "worker");
	assert_string_equal(p.seen.s[3].comm, "main");
	assert_string_equal(p.seen.s[4].comm, "renamed");
	assert_string_equal(p.seen.s[5].comm, "worker");
	assert_string_equal(p.seen.s[6].comm, "renamed");
	assert_string_equal(p.seen.s[7].comm, "worker");
	assert_string_equal(p.seen.s[8].comm, "worker");
	assert_string_equal(p.seen.s[9].comm, "other");
	assert_int_equal(p.seen.s[0].image, p.seen.s[5].image);
	played_fini(&p);
}

static void ksymbol(struct rec *r, uint64_t addr, uint32_t len, bool gone, const char *name)
{
	const struct ev_ksymbol ev = {
		.time = r->time += 1000, .addr = addr, .len = len, .gone = gone, .name = name
	};

	assert_int_equal(rec_writer_ksymbol(r->w, &ev), 0);
}

/* BPF programs share addresses over time: each sample gets the program of its time. */
static void test_kernel_symbols_come_and_go(void **state)
{
	const uint64_t a = 0xffffffffc0001000;
	const uint64_t in[] = { (uint64_t)PERF_CONTEXT_KERNEL, a + 0x10 };
	const uint64_t behind[] = { (uint64_t)PERF_CONTEXT_KERNEL, a + 0x100 };
	struct played p;
	struct rec r;

	(void)state;
	rec_begin(&r);
	sample_chain(&r, 0, 0, 0, in, 2);
	ksymbol(&r, a, 0x100, false, "bpf_prog_one");
	ksymbol(&r, a - 0x1000, 0x100, false, "bpf_prog_low");
	sample_chain(&r, 0, 0, 0, in, 2);
	sample_chain(&r, 0, 0, 0, behind, 2);
	ksymbol(&r, a, 0x100, true, "bpf_prog_one");
	sample_chain(&r, 0, 0, 0, in, 2);
	ksymbol(&r, a, 0x100, false, "bpf_prog_two");
	sample_chain(&r, 0, 0, 0, in, 2);
	play(&p, &r);
	assert_int_equal(p.seen.n, 5);
	assert_string_equal(p.seen.s[0].comm, "swapper");
	assert_int_equal(p.seen.s[0].ksym, -1);
	assert_true(p.seen.s[1].ksym >= 0);
	assert_string_equal(replay_ksym(p.rp, (uint32_t)p.seen.s[1].ksym)->name, "bpf_prog_one");
	assert_int_equal(p.seen.s[2].ksym, -1);
	assert_int_equal(p.seen.s[3].ksym, -1);
	assert_true(p.seen.s[4].ksym >= 0);
	assert_string_equal(replay_ksym(p.rp, (uint32_t)p.seen.s[4].ksym)->name, "bpf_prog_two");
	played_fini(&p);
}

static char *folded(struct rec *r, enum lead_by by, bool annotate)
{
	const struct collect_opts copts = {
		.lead = { { by }, by != LEAD_NONE, false }, .unwinder = unwinder_find("fp"), .max_stack = 64,
	};
	const struct naming_opts nopts = {
		.inlines = true, .demangle = true, .annotate = annotate,
	};
	struct rec_reader *rd = rec_end(r);
	struct stack_pass pass = { 0 };
	struct naming nm;
	char *out = NULL;
	size_t size;
	FILE *to;

	assert_int_equal(stack_pass_run(&pass, &copts, rd), 0);
	naming_run(&nm, &nopts, pass.rp, &pass.col.locs, pass.col.texts);
	to = open_memstream(&out, &size);
	fold_write(to, &pass.col.tree, &nm, FOLD_SAMPLES);
	fclose(to);
	naming_fini(&nm);
	stack_pass_fini(&pass);
	rec_reader_close(rd);
	return out;
}

static void perf_map(struct rec *r, uint32_t serial, const char *text)
{
	const struct capture cap = { CAPTURE_PERF_MAP, serial, text, strlen(text), 0 };

	assert_int_equal(rec_writer_capture(r->w, &cap), 0);
}

static void container(struct rec *r, uint64_t node, const char *path, const char *name)
{
	const struct ev_container ev = {
		.time = r->time += 1000, .node = node, .cgroup = path, .runtime = name[0] ? "runc" : "", .id = name,
		.name = name, .image = "", .pod = "", .pod_ns = "", .pod_uid = "",
	};

	assert_int_equal(rec_writer_container(r->w, &ev), 0);
}

static void cgroup(struct rec *r, uint64_t id, const char *path)
{
	const struct ev_cgroup ev = { .id = id, .path = path };

	assert_int_equal(rec_writer_cgroup(r->w, &ev), 0);
}

/*
 * Names that come after the first samples: of the sample's own cgroup, and of one that contains it.
 * But not for a cgroup that was gone by then, even if the container has its path.
 */
static void test_containers_named_later(void **state)
{
	static const uint64_t in[] = { 7, 8, 9, 20 };
	struct rec r;
	char *out;

	(void)state;
	rec_begin(&r);
	proc(&r, 1, 100, 1, 5000, "a", true, false);
	cgroup(&r, 7, "/box");
	cgroup(&r, 8, "/pod/inner");
	cgroup(&r, 9, "/again");
	cgroup(&r, 20, "/plain");
	for (size_t i = 0; i < ARRAY_SIZE(in); i++) {
		const uint64_t chain[] = { (uint64_t)PERF_CONTEXT_USER, 0x5000 };

		sample_chain(&r, 100, 100, in[i], chain, 2);
	}
	container(&r, 7, "/box", "");
	container(&r, 7, "/box", "box");
	container(&r, 6, "/pod", "outer");
	cgroup(&r, 10, "/again");
	container(&r, 10, "/again", "second");
	sample_chain(&r, 100, 100, 7, (const uint64_t[]){ (uint64_t)PERF_CONTEXT_USER, 0x5000 }, 2);
	out = folded(&r, LEAD_CONTAINER, false);
	assert_string_equal(out, "/again;[no mapping] 1\n/plain;[no mapping] 1\nbox;[no mapping] 2\nouter;[no mapping] 1\n");
	free(out);
}

/*
 * Two processes with JIT code at one address, a forked child of the first, and an exec: the map of
 * its own image names each stack. 0x5010 as a return address still belongs to the function before
 * it.
 */
static void test_jit_names_by_image(void **state)
{
	static const char kernel[] = "ffffffff81000000 T do_syscall\nffffffff81000100 t inner\n"
				     "ffffffff81000200 T behind\n";
	const struct capture ksyms = { CAPTURE_KALLSYMS, 0, kernel, sizeof(kernel) - 1, 0 };
	const uint64_t chain[] = {
		(uint64_t)PERF_CONTEXT_KERNEL, 0xffffffff81000110, 0xffffffff81000100,
		(uint64_t)PERF_CONTEXT_USER, 0x5020, 0x5010, 0,
	};
	struct rec r;
	char *out;

	(void)state;
	rec_begin(&r);
	proc(&r, 1, 100, 1, 5000, "a", true, false);
	map(&r, 100, 0x5000, 0x1000, 0, "//anon");
	proc(&r, 2, 200, 1, 5001, "b", true, false);
	map(&r, 200, 0x5000, 0x1000, 0, "//anon");
	sample_chain(&r, 100, 100, 0, chain, 7);
	sample_chain(&r, 100, 100, 0, chain, 7);
	sample_chain(&r, 200, 200, 0, chain, 7);
	forked(&r, 300, 300, 100, 100);
	proc(&r, 3, 300, 100, 6000, "c", false, true);
	sample_chain(&r, 300, 300, 0, chain, 7);	/* its parent's map */
	comm(&r, 300, 300, "d", true);
	map(&r, 300, 0x5000, 0x1000, 0, "//anon");
	sample_chain(&r, 300, 300, 0, chain, 7);	/* after the exec it has none */
	sample(&r, 300, 300, 0x77777);
	perf_map(&r, 1, "5000 10 outer_a\n5010 100 leaf;a\n");
	perf_map(&r, 2, "5000 10 outer_b\n5010 100 leaf_b 7\n");
	assert_int_equal(rec_writer_capture(r.w, &ksyms), 0);
	out = folded(&r, LEAD_PROCESS, true);
	assert_string_equal(out,
		"a-100;outer_a_[j];leaf\\u{3b}a_[j];do_syscall_[k];inner_[k] 2\n"
		"b-200;outer_b_[j];leaf_b 7_[j];do_syscall_[k];inner_[k] 1\n"
		"c-300;outer_a_[j];leaf\\u{3b}a_[j];do_syscall_[k];inner_[k] 1\n"
		"d-300;[jit]_[j];[jit]_[j];do_syscall_[k];inner_[k] 1\n"
		"d-300;[no mapping] 1\n");
	free(out);
}

/*
 * A binary that nobody can produce: its frames show that, by name, and never take a host file at
 * that path.
 */
static void test_path_proves_nothing(void **state)
{
	const uint64_t chain[] = { (uint64_t)PERF_CONTEXT_USER, 0x400100, 0x400201 };
	struct rec r;
	char *out;

	(void)state;
	rec_begin(&r);
	dso(&r, 1, "/bin/sh");
	proc(&r, 1, 100, 1, 5000, "sh", true, false);
	map(&r, 100, 0x400000, 0x100000, 1, "/bin/sh");
	sample_chain(&r, 100, 100, 0, chain, 3);
	out = folded(&r, LEAD_NONE, false);
	assert_string_equal(out, "[sh];[sh] 1\n");
	free(out);
}

/*
 * During an exec the registers are the old program's and the mappings the new one's: an address of
 * the old one is no function of the new one, even if the new one has a function there.
 */
static void test_registers_in_exec(void **state)
{
	/* An event without stacks says nothing about user space. */
	const uint64_t leaf[] = { (uint64_t)PERF_CONTEXT_KERNEL, 0xffffffff81000000 };
	struct rec r;
	char *out;

	(void)state;
	rec_begin(&r);
	dso(&r, 1, "/bin/old");
	dso(&r, 2, "/bin/new");
	proc(&r, 1, 100, 1, 5000, "old", true, false);
	map(&r, 100, 0x400000, 0x1000, 1, "/bin/old");
	sample_kernel(&r, 100, 0x400100, 16);
	sample_kernel(&r, 100, 0x400100, 0);	/* its mm is gone, but it still is the old image */
	comm(&r, 100, 100, "new", true);
	map(&r, 100, 0x400000, 0x1000, 2, "/bin/new");
	sample_chain(&r, 100, 100, 0, leaf, 2);
	sample_kernel(&r, 100, 0x400100, 0);
	sample_kernel(&r, 100, 0x400100, 16);	/* it runs */
	sample_kernel(&r, 100, 0x400100, 0);	/* the page of its stack is not in memory */
	/* A process that the recorder first saw during its exec. */
	proc(&r, 2, 200, 1, 6000, "late", true, false);
	map(&r, 200, 0x400000, 0x1000, 2, "/bin/new");
	sample_kernel(&r, 200, 0x400100, 0);
	out = folded(&r, LEAD_COMM, false);
	assert_string_equal(out, "late;[kernel] 1\n"
				 "new;[kernel] 2\n"
				 "new;[new];[kernel] 2\n"
				 "old;[old];[kernel] 2\n");
	free(out);
}

/*
 * A recording in segments: each one defines again what it uses, with ids of the whole run, only a
 * few of which must be present. Facts with the serial of the present image belong to that image.
 */
static void test_said_again(void **state)
{
	const uint64_t chain[] = { (uint64_t)PERF_CONTEXT_USER, 0x5020 };
	struct rec r;
	char *out;

	(void)state;
	rec_begin(&r);
	for (int segment = 0; segment < 2; segment++) {
		dso(&r, 4000000000u, "/bin/x");
		proc(&r, 3000000000u, 100, 1, 5000, segment ? "new" : "old", true, false);
		map(&r, 100, 0x5000, 0x1000, 0, "//anon");
		/* Unmapped in between: the segment's mappings are complete. */
		if (!segment)
			map(&r, 100, 0x400000, 0x1000, 4000000000u, "/bin/x");
		comm(&r, 100, 101, "worker", false);
		sample_chain(&r, 100, 101, 0, chain, 2);
		sample(&r, 100, 100, 0x400100);
	}
	/* The thread ended while its process was not recorded; another thread has its TID now. */
	proc(&r, 3000000007u, 101, 1, 6000, "other", true, false);
	map(&r, 101, 0x5000, 0x1000, 0, "//anon");
	sample_chain(&r, 101, 101, 0, chain, 2);
	/* Facts without mappings, or with incomplete ones: what is known stays. */
	proc(&r, 3000000000u, 100, 1, 5000, "new", false, false);
	sample_chain(&r, 100, 100, 0, chain, 2);
	perf_map(&r, 3000000000u, "5000 100 jitted\n");
	out = folded(&r, LEAD_COMM, false);
	assert_string_equal(out, "new;[no mapping] 1\n"
				 "new;jitted 1\n"
				 "old;[x] 1\n"
				 "other;[jit] 1\n"
				 "worker;jitted 2\n");
	free(out);
}

/* Another binary under an id in use, facts of another process under a serial in use. */
static void test_ids_that_lie(void **state)
{
	const uint64_t chain[] = { (uint64_t)PERF_CONTEXT_USER, 0x5020 };
	struct rec r;
	char *out;

	(void)state;
	rec_begin(&r);
	dso(&r, 5, "/bin/x");
	dso(&r, 5, "/bin/y");
	dso(&r, 0, "/bin/z");
	proc(&r, 1, 100, 1, 5000, "a", true, false);
	map(&r, 100, 0x400000, 0x1000, 5, "/bin/y");
	map(&r, 100, 0x5000, 0x1000, 0, "//anon");
	sample(&r, 100, 100, 0x400100);
	proc(&r, 1, 200, 1, 5000, "b", true, false);
	map(&r, 200, 0x5000, 0x1000, 0, "//anon");
	sample_chain(&r, 200, 200, 0, chain, 2);
	sample_chain(&r, 100, 100, 0, chain, 2);
	perf_map(&r, 1, "5000 100 jitted\n");
	perf_map(&r, 77, "5000 100 nobody's\n");
	out = folded(&r, LEAD_COMM, false);
	assert_string_equal(out, "a;[x] 1\n"
				 "a;jitted 1\n"
				 "b;jitted 1\n");
	free(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mappings_and_names),
		cmocka_unit_test(test_fork_and_exec),
		cmocka_unit_test(test_facts_of_a_forked_process),
		cmocka_unit_test(test_pid_used_again),
		cmocka_unit_test(test_thread_names),
		cmocka_unit_test(test_kernel_symbols_come_and_go),
		cmocka_unit_test(test_containers_named_later),
		cmocka_unit_test(test_jit_names_by_image),
		cmocka_unit_test(test_path_proves_nothing),
		cmocka_unit_test(test_registers_in_exec),
		cmocka_unit_test(test_said_again),
		cmocka_unit_test(test_ids_that_lie),
	};

	log_init("test");
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
