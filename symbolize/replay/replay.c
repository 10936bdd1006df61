/* Turns events into process images (replay.h). */
#include "replay/replay.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/log.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "jitdump.h"
#include "modules/jitruntime.h"
#include "modules/jitsource.h"
#include "recording/cpu_times.h"
#include "recording/rec_reader.h"
#include "replay/kernel_names.h"
#include "replay/sample_cgroups.h"
#include "symbols/kallsyms.h"
#include "symbols/perfmap.h"

/*
 * After a process exits, its mappings are kept for this many further exits: the main thread may
 * exit before other threads, whose last samples come later.
 */
#define EXITED_KEPT 256

#define KTHREADD 2u	/* the pid of the kernel thread that starts the others */

/* How many parents are searched for the runtime that made a process's code. */
#define FORKS_MAX 64

struct replay {
	struct modules *mods;
	struct intern *strs;
	struct image **images;	/* owned */
	size_t nimages;
	size_t images_cap;
	struct u64map by_pid;	/* pid -> index of its current image */
	struct u64map thread_comm; /* tid -> pid << 32 | interned id, for own names of threads */
	struct sample_cgroups *cgroups;
	struct u64map perfmaps;	/* ev_proc.serial -> struct perfmap *, owned */
	struct jitsource *jit;
	struct kallsyms *kallsyms;
	struct kernel_names *kernel;	/* owned */

	struct ksym *ksyms;	/* all that ever existed */
	size_t nksyms;
	size_t ksyms_cap;
	uint32_t *active;	/* current ones: indices in ksyms, by address */
	size_t nactive;
	size_t active_cap;

	struct cpu_times *times;	/* borrowed; NULL: nobody asks */

	uint32_t exited[EXITED_KEPT];	/* ring of image indices */
	uint64_t nexited;

	int (*fn)(void *ctx, const struct replay_sample *s);
	void *fn_ctx;
	struct replay_share *share;	/* borrowed; NULL: all samples are read */
	uint32_t part;		/* current part of the recording; 0 if all samples are read */
	uint64_t skipped;	/* samples skipped so far */
};

struct replay *replay_new(struct modules *mods)
{
	struct replay *rp = xcalloc(1, sizeof(*rp));

	rp->mods = mods;
	rp->strs = intern_new();
	rp->jit = jitsource_new();
	rp->kernel = kernel_names_new();
	rp->cgroups = sample_cgroups_new(rp->strs);
	return rp;
}

void replay_free(struct replay *rp)
{
	uint64_t key, val;
	size_t i, it = 0;

	if (!rp)
		return;
	for (i = 0; i < rp->nimages; i++) {
		addrspace_free(rp->images[i]->as);
		u64map_fini(&rp->images[i]->cache);
		free(rp->images[i]);
	}
	while (u64map_next(&rp->perfmaps, &it, &key, &val))
		perfmap_free((struct perfmap *)(uintptr_t)val);
	u64map_fini(&rp->perfmaps);
	jitsource_free(rp->jit);
	u64map_fini(&rp->by_pid);
	u64map_fini(&rp->thread_comm);
	sample_cgroups_free(rp->cgroups);
	kernel_names_free(rp->kernel);
	kallsyms_free(rp->kallsyms);
	intern_free(rp->strs);
	free(rp->images);
	free(rp->ksyms);
	free(rp->active);
	free(rp);
}

static const char *keep(struct replay *rp, const char *s)
{
	return intern_str(rp->strs, intern_add(rp->strs, s ? s : ""));
}

/* ---- images ---- */

struct image *replay_current(const struct replay *rp, uint32_t pid)
{
	uint64_t *slot = u64map_get(&rp->by_pid, pid);

	return slot ? rp->images[*slot] : NULL;
}

static void drop_mappings(struct image *img)
{
	addrspace_free(img->as);
	img->as = addrspace_new();
	u64map_fini(&img->cache);
}

/*
 * Adds @img to the ring of ended processes, where it replaces the oldest one, which loses its
 * mappings.
 */
static void end_image(struct replay *rp, struct image *img)
{
	uint32_t *slot = &rp->exited[rp->nexited % EXITED_KEPT];

	if (img->exited)
		return;
	img->exited = true;
	if (rp->nexited++ >= EXITED_KEPT)
		drop_mappings(rp->images[*slot]);
	*slot = img->index;
}

/*
 * Begins a new image, which is the current one for @pid from now on. Consumes @as; NULL: an empty
 * one.
 */
static struct image *begin_image(struct replay *rp, uint32_t pid, uint64_t time,
				 struct addrspace *as)
{
	struct image *old = replay_current(rp, pid), *img = xcalloc(1, sizeof(*img));

	if (old) {
		old->superseded = true;
		end_image(rp, old);
	}
	img->index = (uint32_t)rp->nimages;
	img->pid = pid;
	img->begun = time;
	img->skipped = rp->skipped;
	img->comm = img->exe = img->cgroup = keep(rp, "");
	img->as = as ? as : addrspace_new();
	XGROW(rp->images, rp->nimages, rp->images_cap);
	rp->images[rp->nimages++] = img;
	*u64map_put(&rp->by_pid, pid, NULL) = img->index;
	return img;
}

static struct image *image_of(struct replay *rp, uint32_t pid, uint64_t time)
{
	struct image *img = replay_current(rp, pid);

	if (!img) {
		img = begin_image(rp, pid, time, NULL);
		if (!pid)
			img->comm = keep(rp, "swapper");
	}
	return img;
}

/* Were samples skipped that may belong to @img? */
static bool may_have_more(const struct replay *rp, const struct image *img)
{
	return rp->skipped != img->skipped;
}

/* ---- events ---- */

static int on_dso(void *ctx, const struct ev_dso *ev)
{
	struct replay *rp = ctx;

	if (modules_add(rp->mods, ev))
		pr_verbose("ignoring binary %u: its definition is invalid, or differs from an earlier one", ev->id);
	return 0;
}

static void take_facts(struct replay *rp, struct image *img, const struct ev_proc *ev)
{
	const struct jitcode *jit = jitsource_find(rp->jit, ev->serial);

	img->serial = ev->serial;
	img->start_ticks = ev->start_ticks;
	img->nspid_n = MIN(ev->nspid_n, (uint32_t)ARRAY_SIZE(img->nspid));
	memcpy(img->nspid, ev->nspid, img->nspid_n * sizeof(*img->nspid));
	img->comm = keep(rp, ev->comm);
	img->exe = keep(rp, ev->exe);
	img->cgroup = keep(rp, ev->cgroup);
	/* kthreadd and its children; in another pid namespace, 2 is a number like others. */
	img->kernel = (ev->pid == KTHREADD || ev->ppid == KTHREADD) && !*ev->exe;
	/*
	 * Without a jitdump of its own: code compiled before a fork is described by the parent's.
	 */
	if (!jit && img->parent)
		jit = img->parent->as->jit;
	if (jit)
		addrspace_set_jit(img->as, jit);
	img->as->returns = jitsource_returns(rp->jit, ev->serial);
	/*
	 * A thread that had this number before may have ended without an event, if its process was
	 * not recorded.
	 */
	u64map_del(&rp->thread_comm, ev->pid);
}

/*
 * The facts of a process may come long after its start, with its first sample. An image that was
 * begun by a fork and has no facts yet continues: it keeps the parent's mappings, unless all of its
 * own follow. In all other cases, a new image begins.
 */
static int on_proc(void *ctx, const struct ev_proc *ev)
{
	struct replay *rp = ctx;
	struct image *old = replay_current(rp, ev->pid), *img, *parent = NULL;
	struct addrspace *as = NULL;

	if (old && ev->serial && old->serial == ev->serial) {
		/* Repeated at the beginning of a segment. */
		if (ev->maps_known)
			drop_mappings(old);
		take_facts(rp, old, ev);
		return 0;
	}
	if (ev->inherited) {
		if (old && !old->serial && !old->exited) {
			parent = old->parent;
			if (!ev->maps_known)
				as = addrspace_clone(old->as);
		} else if (ev->ppid != ev->pid) {
			/* No fork record: the parent may run another program by now. */
			parent = replay_current(rp, ev->ppid);
			if (parent && (!ev->exe[0] || strcmp(parent->exe, ev->exe) != 0))
				parent = NULL;
			if (parent && !ev->maps_known)
				as = addrspace_clone(parent->as);
		}
	}
	img = begin_image(rp, ev->pid, ev->time, as);
	img->parent = parent;
	/* The facts of an image that an exec began come with its first sample. */
	if (old && !old->serial && !ev->inherited)
		img->exec_time = old->exec_time;
	take_facts(rp, img, ev);
	return 0;
}

static int on_mmap(void *ctx, const struct ev_mmap *ev)
{
	struct replay *rp = ctx;
	struct image *img = image_of(rp, ev->pid, ev->time);
	struct mapping m = { .start = ev->start, .pgoff = ev->pgoff };

	if (!ev->len || __builtin_add_overflow(ev->start, ev->len, &m.end))
		return 0;
	m.mod = ev->dso ? modules_get(rp->mods, ev->dso) : NULL;
	m.path = keep(rp, ev->path);
	if (m.mod) {
		/*
		 * The vdso has no file, so the offset means nothing: some kernels store the address
		 * there.
		 */
		if (m.mod->vdso)
			m.pgoff = 0;
		modules_add_user(m.mod, img->pid, img->start_ticks, m.start, m.end, m.pgoff);
	}
	addrspace_add(img->as, &m);
	img->runtimes |= jit_runtime_proof(m.path);
	/* Erlang processes have their stacks next to their heaps. */
	img->as->jit_stacks |= (img->runtimes & JIT_ERLANG) != 0;
	if (!img->as->jit && jitdump_marks(m.path))
		addrspace_set_jit(img->as, jitsource_live(rp->jit, img->pid, img->start_ticks,
							  m.start, m.end));
	return 0;
}

const char *replay_jit_refused(const struct replay *rp, const struct image *img)
{
	return jitsource_refused(rp->jit, img->pid, img->start_ticks);
}

static void name_thread(struct replay *rp, uint32_t pid, uint32_t tid, const char *comm)
{
	*u64map_put(&rp->thread_comm, tid, NULL) = (uint64_t)pid << 32 | intern_add(rp->strs, comm);
}

/*
 * An exec ends the image, its mappings and the names of its other threads. The recorder may have
 * written the facts of the new image just before, with the same time; then this event only brings
 * the name.
 */
static int on_comm(void *ctx, const struct ev_comm *ev)
{
	struct replay *rp = ctx;
	struct image *img = image_of(rp, ev->pid, ev->time);
	const char *comm = keep(rp, ev->comm);

	if (ev->exec && !img->used && !img->parent && ev->time <= img->begun && may_have_more(rp, img))
		rp->share->unsure = true;
	if (ev->exec && (img->used || img->parent || ev->time > img->begun)) {
		struct image *old = img;

		img = begin_image(rp, ev->pid, ev->time, NULL);
		img->exec_time = ev->time;
		img->start_ticks = old->start_ticks;
		img->nspid_n = old->nspid_n;
		memcpy(img->nspid, old->nspid, sizeof(img->nspid));
		img->cgroup = old->cgroup;
	}
	if (ev->tid == ev->pid) {
		img->comm = comm;
		u64map_del(&rp->thread_comm, ev->tid);
	} else {
		name_thread(rp, ev->pid, ev->tid, comm);
	}
	return 0;
}

static const char *thread_comm(const struct replay *rp, const struct image *img, uint32_t tid)
{
	uint64_t *slot = u64map_get(&rp->thread_comm, tid);

	return slot && *slot >> 32 == img->pid ? intern_str(rp->strs, (uint32_t)*slot) : img->comm;
}

static int on_task_fork(void *ctx, const struct ev_task *ev)
{
	struct replay *rp = ctx;
	struct image *parent = image_of(rp, ev->ppid, ev->time), *img;
	const char *comm = thread_comm(rp, parent, ev->ptid);

	if (rp->times)
		cpu_times_fork(rp->times, ev);
	if (ev->pid == ev->ppid) {	/* a thread */
		if (comm != parent->comm)
			name_thread(rp, ev->pid, ev->tid, comm);
		else
			u64map_del(&rp->thread_comm, ev->tid);
		return 0;
	}
	img = begin_image(rp, ev->pid, ev->time, addrspace_clone(parent->as));
	img->comm = comm;
	img->cgroup = parent->cgroup;
	img->parent = parent;
	u64map_del(&rp->thread_comm, ev->tid);
	return 0;
}

static int on_task_exit(void *ctx, const struct ev_task *ev)
{
	struct replay *rp = ctx;
	struct image *img = replay_current(rp, ev->pid);

	if (rp->times)
		cpu_times_exit(rp->times, ev);
	/*
	 * Nothing is dropped for other threads: a thread is still sampled after its exit event,
	 * while it frees its memory.
	 */
	if (ev->tid == ev->pid && img)
		end_image(rp, img);
	return 0;
}

static int on_cgroup(void *ctx, const struct ev_cgroup *ev)
{
	struct replay *rp = ctx;

	sample_cgroups_path(rp->cgroups, ev->id, ev->path);
	return 0;
}

static int on_container(void *ctx, const struct ev_container *ev)
{
	struct replay *rp = ctx;

	sample_cgroups_container(rp->cgroups, ev);
	/* The last ones are written when sampling is over. */
	if (rp->times)
		cpu_times_until(rp->times, ev->time);
	return 0;
}

static int on_switch(void *ctx, const struct ev_switch *ev)
{
	struct replay *rp = ctx;

	if (rp->times)
		cpu_times_switch(rp->times, ev);
	return 0;
}

static int on_wakeup(void *ctx, const struct ev_wakeup *ev)
{
	struct replay *rp = ctx;

	if (rp->times)
		cpu_times_wakeup(rp->times, ev);
	return 0;
}

static int on_schedstat(void *ctx, const struct ev_schedstat *ev)
{
	struct replay *rp = ctx;

	if (rp->times)
		cpu_times_schedstat(rp->times, ev);
	return 0;
}

static int on_toggle(void *ctx, const struct ev_toggle *ev)
{
	struct replay *rp = ctx;

	if (rp->times)
		cpu_times_toggle(rp->times, ev);
	return 0;
}

/* Position in rp->active of the first symbol that starts above @addr. */
static size_t active_above(const struct replay *rp, uint64_t addr)
{
	return BISECT(rp->nactive, i, rp->ksyms[rp->active[i]].start <= addr);
}

static int on_ksymbol(void *ctx, const struct ev_ksymbol *ev)
{
	struct replay *rp = ctx;
	size_t at = active_above(rp, ev->addr);
	struct ksym *ks;

	/* A symbol at the same address is gone in either case. */
	if (at && rp->ksyms[rp->active[at - 1]].start == ev->addr) {
		at--;
		rp->nactive--;
		memmove(&rp->active[at], &rp->active[at + 1],
			(rp->nactive - at) * sizeof(*rp->active));
	}
	if (ev->gone || !ev->len)
		return 0;
	XGROW(rp->ksyms, rp->nksyms, rp->ksyms_cap);
	ks = &rp->ksyms[rp->nksyms];
	ks->start = ev->addr;
	if (__builtin_add_overflow(ev->addr, ev->len, &ks->end))
		ks->end = UINT64_MAX;
	ks->name = keep(rp, ev->name);
	XGROW(rp->active, rp->nactive, rp->active_cap);
	memmove(&rp->active[at + 1], &rp->active[at], (rp->nactive - at) * sizeof(*rp->active));
	rp->active[at] = (uint32_t)rp->nksyms++;
	rp->nactive++;
	return 0;
}

/* It had registers, but no stack, and the ip is in no mapping. */
static bool has_unmapped_ip(const struct ev_sample *ev)
{
	return ev->nchain >= 2 && ev->chain[ev->nchain - 2] == (uint64_t)PERF_CONTEXT_USER &&
	       ev->chain[ev->nchain - 1] == CHAIN_UNMAPPED;
}

/* Has it anything of user space? Without a call graph, a sample of the kernel has one kernel address. */
static bool has_user(const struct ev_sample *ev)
{
	for (uint32_t i = 0; i < ev->nchain; i++)
		if (ev->chain[i] == (uint64_t)PERF_CONTEXT_USER || ev->chain[i] == CHAIN_WITHHELD)
			return true;
	return ev->has_regs;
}

/*
 * From the moment the new image has its name until it runs, the kernel maps it. The saved registers
 * are still those of the old image at the entry of execve(2): looked up in the new mappings, their
 * ip could be in any function. The old stack is gone, so its copy is empty.
 */
static bool in_exec(const struct replay *rp, struct image *img, const struct ev_sample *ev)
{
	if (!img->entered && !img->parent && ev->stack.lo == ev->stack.hi && ev->nchain &&
	    ev->chain[0] == (uint64_t)PERF_CONTEXT_KERNEL && (ev->has_regs || has_unmapped_ip(ev)))
		return true;
	if (img->entered || !has_user(ev))
		return false;
	img->entered_part = rp->part;
	img->entered = true;
	return false;
}

static int on_sample(void *ctx, const struct ev_sample *ev)
{
	struct replay *rp = ctx;
	bool known = replay_current(rp, ev->pid);
	struct image *img = image_of(rp, ev->pid, ev->time);
	bool starting = in_exec(rp, img, ev);
	struct replay_sample s = {
		.ev = ev,
		.in_exec = starting,
		.maybe_entered = starting && may_have_more(rp, img),
		.part = rp->part,
		.img = img,
		.comm = thread_comm(rp, img, ev->tid),
	};

	s.cgroup = sample_cgroups_of(rp->cgroups, ev->cgroup, img->cgroup, &s.container);
	/* The other shares do not know an image that no event began. */
	if (rp->share && !known)
		rp->share->unsure = true;
	img->used = true;
	addrspace_advance(img->as, ev->time);
	return rp->fn(rp->fn_ctx, &s);
}

void replay_time(struct replay *rp, struct cpu_times *times)
{
	rp->times = times;
}

bool replay_thread(const struct replay *rp, const struct ev_sample *ev, struct replay_sample *s)
{
	struct image *img = replay_current(rp, ev->pid);

	if (!img)
		return false;
	*s = (struct replay_sample){ .ev = ev, .part = rp->part, .img = img, .comm = thread_comm(rp, img, ev->tid) };
	s->cgroup = sample_cgroups_of(rp->cgroups, ev->cgroup, img->cgroup, &s->container);
	return true;
}

static bool on_part(void *ctx, uint32_t part)
{
	struct replay *rp = ctx;

	rp->part = part;
	return rp->share->wants(rp->fn_ctx, part);
}

static void on_block(void *ctx)
{
	struct replay *rp = ctx;

	rp->share->block(rp->fn_ctx);
}

static void on_skipped(void *ctx, uint64_t samples)
{
	struct replay *rp = ctx;

	rp->skipped += samples;
}

static int on_capture(void *ctx, const struct capture *cap)
{
	struct replay *rp = ctx;
	struct perfmap *map;
	uint64_t *slot;

	switch (cap->kind) {
	case CAPTURE_ELF:
		if (cap->packed)
			modules_add_slice(rp->mods, cap);
		else
			modules_add_capture(rp->mods, cap->id, cap->data, cap->size);
		break;
	case CAPTURE_PERF_MAP:
		slot = u64map_put(&rp->perfmaps, cap->id, NULL);
		map = perfmap_new(cap->data, cap->size);
		/* Lines of an earlier capture stay valid if the map was refused later. */
		if (*slot && perfmap_refused(map)) {
			perfmap_free(map);
			break;
		}
		perfmap_free((struct perfmap *)(uintptr_t)*slot);
		*slot = (uintptr_t)map;
		break;
	case CAPTURE_JITDUMP:
		jitsource_add(rp->jit, cap->id, cap->data, cap->size);
		break;
	case CAPTURE_JIT_RETURNS:
		jitsource_add_returns(rp->jit, cap->id, cap->data, cap->size);
		break;
	case CAPTURE_CODE:
		break;
	case CAPTURE_KALLSYMS:
		kallsyms_free(rp->kallsyms);
		rp->kallsyms = kallsyms_new(cap->data, cap->size);
		break;
	}
	return 0;
}

int replay_begin(struct replay *rp, struct rec_reader *r,
		 int (*fn)(void *ctx, const struct replay_sample *s), void *ctx, struct event_ops *ops)
{
	*ops = (struct event_ops){
		.dso = on_dso,
		.proc = on_proc,
		.mmap = on_mmap,
		.comm = on_comm,
		.fork = on_task_fork,
		.exit = on_task_exit,
		.cgroup = on_cgroup,
		.container = on_container,
		.ksymbol = on_ksymbol,
		.cpu_switch = on_switch,
		.wakeup = on_wakeup,
		.schedstat = on_schedstat,
		.toggle = on_toggle,
		.sample = on_sample,
	};
	rp->fn = fn;
	rp->fn_ctx = ctx;
	return rec_reader_captures_packed(r, on_capture, rp);
}

int replay_run_share(struct replay *rp, struct rec_reader *r, struct replay_share *share,
		     int (*fn)(void *ctx, const struct replay_sample *s), void *ctx)
{
	struct event_ops ops;
	int err = replay_begin(rp, r, fn, ctx, &ops);

	if (err)
		return err;
	if (share) {
		ops.wants = on_part;
		ops.skipped = on_skipped;
		ops.block = share->block ? on_block : NULL;
	}
	rp->share = share;
	return rec_reader_events(r, &ops, rp);
}

int replay_run(struct replay *rp, struct rec_reader *r,
	       int (*fn)(void *ctx, const struct replay_sample *s), void *ctx)
{
	return replay_run_share(rp, r, NULL, fn, ctx);
}

int32_t replay_find_ksym(const struct replay *rp, uint64_t addr)
{
	size_t at = active_above(rp, addr);

	if (!at || addr >= rp->ksyms[rp->active[at - 1]].end)
		return -1;
	return (int32_t)rp->active[at - 1];
}

const struct ksym *replay_ksym(const struct replay *rp, uint32_t index)
{
	return &rp->ksyms[index];
}

struct image *replay_image(const struct replay *rp, uint32_t index)
{
	return rp->images[index];
}

unsigned int image_runtimes(const struct image *img)
{
	unsigned int all = 0;

	for (int level = 0; img && level < FORKS_MAX; level++, img = img->parent)
		all |= img->runtimes | jit_runtime_proof(img->exe);
	return all;
}

size_t replay_images(const struct replay *rp)
{
	return rp->nimages;
}

const struct perfmap *replay_perfmap(const struct replay *rp, uint32_t serial)
{
	uint64_t *slot = serial ? u64map_get(&rp->perfmaps, serial) : NULL;

	return slot ? (const struct perfmap *)(uintptr_t)*slot : NULL;
}

struct sample_cgroups *replay_cgroups(const struct replay *rp)
{
	return rp->cgroups;
}

const struct kallsyms *replay_kallsyms(const struct replay *rp)
{
	return rp->kallsyms;
}

const struct kallsyms *replay_kernel(const struct replay *rp, const char *path)
{
	return kernel_names_get(rp->kernel, rp->kallsyms, path);
}
