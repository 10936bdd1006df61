/* The process table: takes side-band, returns the process of a sample and what to mask it with. */
#include "procs/proctab.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "capture/jitlook.h"
#include "elf/elf_file.h"
#include "host/clock.h"
#include "host/nsopen.h"
#include "procs/proc.h"

/*
 * A process stays for a while after its leader's exit. Samples of its other threads may still come,
 * and the rings are drained one after the other.
 */
#define DEAD_NS 5000000000ull
#define DEAD_MAX 4096	/* of one tenant */

/* Bytes. The largest of all binaries that were tried, node, has 21 MiB of tables. */
#define FILE_ROOM (64u << 20)

struct proctab *proctab_new(struct rec_writer *w)
{
	struct proctab *pt = xcalloc(1, sizeof(*pt));

	/* Binaries are a tenant's, and are read one at a time. */
	elf_files_room(FILE_ROOM);
	pt->w = w;
	pt->segment = 1;
	pt->files.paths = intern_new();
	pins_init(&pt->files.pins, capture_before_evict, pt);
	tenants_init(&pt->tenants);
	dsotab_init(&pt->files.dsos, pt->files.paths, &pt->files.pins, &pt->tenants);
	threads_init(&pt->threads);
	pt->dead.dead_prev = pt->dead.dead_next = &pt->dead;
	return pt;
}

void proctab_nested(struct proctab *pt)
{
	pt->nested = true;
}

void proctab_own_child(struct proctab *pt, uint32_t pid)
{
	int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	proctab_know(pt, pid)->own = true;
	if (!stat("/proc/self/ns/mnt", &st))
		pt->files.own = rootpin_hold(&pt->files.pins, fd, st.st_ino);
	else if (fd >= 0)
		close(fd);
}

void proctab_look_ahead(struct proctab *pt, bool (*exec_since)(void *ctx, uint32_t pid, uint64_t time),
			bool (*lost_since)(void *ctx, uint64_t time), void *ctx)
{
	pt->side.exec_since = exec_since;
	pt->side.lost_since = lost_since;
	pt->side.exec_ctx = ctx;
}

void proctab_detach(struct proctab *pt, int64_t until_ns, bool same_kernel)
{
	if (!pt->detached)
		pt->files.host = rootpin_hold(&pt->files.pins, nsopen_host_root(), 0);
	pt->detached = true;
	dsotab_detach(&pt->files.dsos, until_ns, same_kernel);
	if (!same_kernel)
		addrset_clear(&pt->cap.kernel);
}

void proctab_recorded_vdso(struct proctab *pt, const uint8_t *id, size_t len)
{
	dsotab_recorded_vdso(&pt->files.dsos, id, len);
}

void proctab_host_maps(struct proctab *pt, uint64_t begun, int64_t wall_ns, int64_t late_ns)
{
	pt->jit.host_maps = true;
	pt->jit.host_begun = begun;
	pt->jit.host_begun_wall = wall_ns;
	pt->jit.host_late = late_ns;
}

/* This is the last chance for the names of its JIT code. */
static void last_capture(struct proc *p)
{
	if (!capture_jit(p))
		tenant_left_out(p->tenant, BUDGET_ADDRS, p->jit.n);
}

/* The image is over. */
static void end_image(struct proc *p)
{
	struct proctab *pt = p->pt;

	last_capture(p);
	tenants_give(&pt->tenants, p->tenant, HOLD_ADDRS, p->jit.n);
	addrset_clear(&p->jit);
	u64map_clear(&p->returns);
	p->jit_captured = false;
	proc_facts_put(&pt->files.pins, p->facts);
	proc_facts_put(&pt->files.pins, p->late);
	proc_facts_put(&pt->files.pins, p->anc);
	p->facts = p->late = p->anc = NULL;
}

void proctab_free(struct proctab *pt)
{
	uint64_t pid, val;
	size_t it;

	if (!pt)
		return;
	for (it = 0; u64map_next(&pt->procs, &it, &pid, &val); it = 0)
		proc_free((struct proc *)(uintptr_t)val);
	u64map_fini(&pt->procs);
	letgo_free(pt);
	jitlook_free(pt->jit.look);
	copies_free(pt);
	rivals_fini(pt);
	rootpin_put(&pt->files.pins, pt->files.own);
	rootpin_put(&pt->files.pins, pt->files.host);
	threads_fini(&pt->threads);
	dsotab_fini(&pt->files.dsos);
	pins_fini(&pt->files.pins);
	addrset_fini(&pt->cap.kernel);
	intern_free(pt->files.paths);
	tenants_fini(&pt->tenants);
	free(pt);
}

int proctab_read(struct proctab *pt, uint32_t pid, uint64_t time)
{
	bool had = proctab_find(pt, pid);
	struct proc *p = proctab_know(pt, pid);
	int ret;

	proc_on_behalf(p);
	ret = proc_acquire(p, time);

	rivals_seek_met(pt);
	if (!ret)
		proc_pin_all(p);
	else if (!had)
		proc_free(p);
	return ret;
}

/* ---- side-band ---- */

static void learn_exe(struct proc *p, const struct kmmap *m, enum mapping_kind kind)
{
	struct proctab *pt = p->pt;

	if (!p->exe_wait || kind != MAPPING_FILE)
		return;
	/* Not "//toolong" or "//enomem", which the kernel writes for a path that it could not build. */
	if (p->exe_wait == pt->side.lost + 1 && strncmp(m->path, "//", 2) != 0)
		p->exe = proc_path(p, m->path, strlen(m->path));
	p->exe_wait = 0;
	/*
	 * It was sampled during the exec itself. And /proc, if it was read before the end, had no
	 * program any more, or hides it.
	 */
	if (p->exe && !(p->facts && p->facts->exe[0]) && proc_written(p))
		proc_write_again(p, m->time);
}

void proctab_lost(struct proctab *pt)
{
	pt->side.lost++;
}

void proctab_mmap(struct proctab *pt, const struct kmmap *m)
{
	static const char deleted[] = " (deleted)";
	struct map_entry e = {
		.start = m->start, .end = m->start + m->len, .pgoff = m->pgoff,
		.prot = m->prot, .flags = m->flags,
	};
	size_t len = strlen(m->path);
	struct proc *p;

	/* Data mappings are not recorded (attr.mmap_data), so they prove nothing. */
	if (!(m->prot & PROT_EXEC) || !m->len || e.end <= e.start)
		return;
	if (m->path[0] == '/' && len > strlen(deleted) &&
	    !strcmp(m->path + len - strlen(deleted), deleted)) {
		len -= strlen(deleted);
		e.deleted = true;
	}
	p = proctab_know(pt, m->pid);
	e.path = proc_path(p, m->path, len);
	e.kind = (uint8_t)mapping_kind(intern_str(pt->files.paths, e.path));
	if (!m->has_build_id) {
		e.dev_major = m->dev_major;
		e.dev_minor = m->dev_minor;
		e.ino = m->ino;
		e.ino_gen = m->ino_gen;
	}
	proc_add_map(p, &e, m->build_id, m->has_build_id ? m->build_id_len : 0, m->time);
	learn_exe(p, m, mapping_kind(intern_str(pt->files.paths, e.path)));
}

static void set_comm(char to[COMM_LEN], const char *comm)
{
	size_t len = strnlen(comm, COMM_LEN - 1);

	memcpy(to, comm, len);
	to[len] = '\0';
}

/* The process begins another program: from here on each of its mappings is recorded. */
static void begin_image(struct proc *p)
{
	proc_revive(p);
	end_image(p);
	mapset_put(p->maps);
	p->maps = mapset_new();
	p->known = true;
	proc_hold_maps(p);
	p->kthread = p->inherited = p->read_late = p->headless = false;
	p->exe = 0;
	p->exe_wait = p->pt->side.lost + 1;
	p->moved_looks = p->copy_looks = 0;
	p->serial = 0;
	p->sampled = p->muted = p->stale = p->overfull = false;
	p->wrote = p->named = p->spent_ns = 0;
	p->refresh_time = 0;
	p->lost_seen = p->pt->side.lost;
	threads_drop(&p->pt->threads, p->pid);
}

void proctab_comm(struct proctab *pt, const struct ev_comm *ev)
{
	struct proc *p = proctab_know(pt, ev->pid);
	const bool introduced = proc_written(p), present = proc_present(p);
	const uint64_t cost = proc_event_cost(ev->comm);
	struct thread *t;

	if (ev->exec) {
		p->over_time = ev->time;
		if (p->facts) {
			p->facts->over_time = ev->time;
			p->facts->over_exec = true;
		}
		begin_image(p);
		p->over_time = 0;
		p->exec_time = ev->time;
	}
	if (ev->tid == ev->pid)
		set_comm(p->comm, ev->comm);
	t = threads_touch(&pt->threads, ev->pid, ev->tid);
	set_comm(t->comm, ev->comm);
	t->comm_time = ev->time;
	if (ev->exec ? present : introduced && proc_may_write(p, cost, ev->time)) {
		t->introduced = ev->exec ? 0 : pt->segment;
		t->renamed = false;
		rec_writer_comm(pt->w, ev);
		proc_wrote(p, cost);
	} else if (present) {
		/* The next sample of the thread needs it, and nobody before. */
		t->introduced = 0;
		t->renamed = ev->tid == ev->pid;
	}
}

/* A fork or an exit: when it is not written, nothing about samples is lost. */
static bool write_task(struct proc *p, const struct ev_task *ev, int (*write)(struct rec_writer *w, const struct ev_task *ev))
{
	const uint64_t cost = proc_event_cost("");

	if (!proc_written(p) || !proc_may_write(p, cost, ev->time))
		return false;
	write(p->pt->w, ev);
	proc_wrote(p, cost);
	return true;
}

static bool fork_thread(struct proctab *pt, const struct ev_task *ev)
{
	const struct thread *by = threads_find(&pt->threads, ev->ptid), *has = threads_find(&pt->threads, ev->tid);
	struct proc *p = proctab_find(pt, ev->pid);
	char comm[COMM_LEN] = "";
	struct thread *t;

	/*
	 * As below, the record may be late: the thread was named since, or another program began.
	 */
	if (!p || p->exec_time > ev->time || (has && has->pid == ev->pid && has->comm_time > ev->time))
		return false;
	/* A new thread has the comm of the one that made it. */
	if (by && by->pid == ev->pid)
		memcpy(comm, by->comm, sizeof(comm));
	else if (ev->ptid == ev->pid)
		memcpy(comm, p->comm, sizeof(comm));
	threads_drop(&pt->threads, ev->tid);
	t = threads_touch(&pt->threads, ev->pid, ev->tid);
	memcpy(t->comm, comm, sizeof(comm));
	return write_task(p, ev, rec_writer_fork);
}

bool proctab_fork(struct proctab *pt, const struct ev_task *ev)
{
	const struct thread *by = threads_find(&pt->threads, ev->ptid);
	struct proc *parent, *p;

	if (ev->pid == ev->ppid)
		return fork_thread(pt, ev);
	p = proctab_find(pt, ev->pid);
	/*
	 * Its exec was reported before its fork. Records of another CPU come late if that CPU stood
	 * still: a virtual machine did not run it, or an interrupt was in the way.
	 */
	if (p && p->exec_time > ev->time) {
		p->fork_time = ev->time;
		p->ppid = p->ppid ? p->ppid : ev->ppid;
		return false;
	}
	if (p) {	/* an older process with that pid */
		last_capture(p);
		proc_free(p);
	}
	threads_drop(&pt->threads, ev->tid);
	/* Its parent is outside our pid namespace (setns(2)), so it inherits nothing. */
	if (!ev->ppid) {
		proctab_know(pt, ev->pid)->fork_time = ev->time;
		return false;
	}
	parent = proctab_find(pt, ev->ppid);
	p = proctab_add(pt, ev->pid);
	p->ppid = ev->ppid;
	p->own = parent && parent->own;
	p->fork_time = ev->time;
	/* Also if the parent is unknown: the first sample shows whether its map serves. */
	p->inherited = true;
	/* The parent may run another program by now. */
	if (!parent || parent->exec_time > ev->time) {
		proctab_know(pt, ev->ppid);
		return false;
	}
	proc_tenant_of_parent(p, parent);
	mapset_put(p->maps);
	p->maps = mapset_get(parent->maps);
	p->known = parent->known;
	p->overfull = parent->overfull;
	p->kthread = parent->kthread && parent->pid;
	p->mnt_ns = parent->mnt_ns;
	p->pid_ns = parent->pid_ns;
	p->user_ns = parent->user_ns;
	p->cgroup = parent->cgroup;
	p->exe = parent->exe;
	p->anc = proc_facts_get(parent->facts ? parent->facts : parent->anc);
	memcpy(p->comm, by && by->pid == ev->ppid && by->comm[0] ? by->comm : parent->comm,
	       sizeof(p->comm));
	return write_task(parent, ev, rec_writer_fork);
}

/*
 * Records were lost since @p was last certain. If one of them was of an exec, what is known of @p
 * is another program's, and stays wrong for as long as it runs. Reads what it runs; when that began
 * is not known.
 */
static void make_up_exec(struct proctab *pt, struct proc *p, uint64_t time)
{
	struct ev_comm ev = { .time = time, .pid = p->pid, .tid = p->pid, .exec = true };
	char comm[COMM_LEN];

	if (!proc_lost_exec(p, time, comm))
		return;
	ev.comm = comm;
	proctab_comm(pt, &ev);
	p->known = false;
	p->read_late = true;
	p->exe_wait = 0;
}

/* Frees processes that ended long enough before @time, ns. */
static void bury_dead(struct proctab *pt, uint64_t time)
{
	struct proc *p;

	while ((p = pt->dead.dead_next) != &pt->dead && p->dead_time + DEAD_NS < time) {
		last_capture(p);
		proc_free(p);
	}
}

/* If the tenant of @p, which is dead, has too many like it, frees the oldest of them. */
static void bury_oldest(struct proc *p)
{
	const struct tenant *t = proc_dead_account(p);
	struct proc *q = p->pt->dead.dead_next;

	if (t->dead <= DEAD_MAX)
		return;
	while (proc_dead_account(q) != t)
		q = q->dead_next;
	last_capture(q);
	proc_free(q);
}

/* Does @p have threads other than the first one? They run its program, and may write to its files. */
static bool has_threads(struct proc *p)
{
	const uint64_t time = clock_mono_ns();
	int procfd, other;

	procfd = nsopen_process(p->pid);
	if (procfd < 0)
		return false;
	other = nsopen_other_thread(procfd);
	if (other >= 0) {
		close(other);
		if (proc_facts_same_image(procfd, p->facts->start_ticks, p->facts->image))
			p->facts->seen = MAX(p->facts->seen, time);
	}
	close(procfd);
	return other >= 0;
}

/*
 * The next process with the pid of @p in its namespace writes to a perf map of the same name. But
 * processes that @p has forked may write to its own, and need it for code compiled before their fork.
 */
static void end_files(struct proc *p, uint64_t time)
{
	struct proc_facts *f = p->facts;

	if (!f || f->over_time)
		return;
	if (f->refs > 1 + f->listed)
		f->outlived = true;
	else if ((p->jit.n || f->listed) && has_threads(p))
		f->first_exit = time;
	else if (p->jit.n || f->listed)
		f->over_time = time;
}

bool proctab_exit(struct proctab *pt, const struct ev_task *ev)
{
	struct proc *p = proctab_find(pt, ev->pid);
	bool written;

	bury_dead(pt, ev->time);
	threads_exit(&pt->threads, ev->tid, ev->time);
	if (!p)
		return false;
	written = write_task(p, ev, rec_writer_exit);
	if ((ev->tid != ev->pid && !p->headless) || p->dead)
		return written;
	if (!p->headless && p->exe_wait == pt->side.lost + 1 && !pt->side.barred++)
		memcpy(pt->side.barred_comm, p->comm, sizeof(p->comm));
	p->headless = true;
	/* Also with other threads alive, until one of them is sampled. */
	proc_die(p, ev->time);
	end_files(p, ev->time);
	/* Now, while the files it wrote last are still there. */
	capture_jit(p);
	bury_oldest(p);
	return written;
}

uint64_t proctab_barred(const struct proctab *pt, const char **comm)
{
	*comm = pt->side.barred_comm;
	return pt->side.barred;
}

void proctab_namespaces(struct proctab *pt, uint32_t pid, uint64_t mnt_ns, uint64_t pid_ns,
			uint64_t user_ns)
{
	struct proc *p = proctab_know(pt, pid);

	p->mnt_ns = mnt_ns ? mnt_ns : p->mnt_ns;
	p->pid_ns = pid_ns ? pid_ns : p->pid_ns;
	p->user_ns = user_ns ? user_ns : p->user_ns;
}

void proctab_let_go(struct proctab *pt, uint64_t time)
{
	/* An ended process may hold a root directory there. */
	bury_dead(pt, time);
	letgo_step(pt);
	proc_forget_now(pt);
}

/* ---- samples ---- */

/* Does it run now, or one of its threads? */
static bool runs(const struct proc *p)
{
	int procfd = nsopen_process(p->pid);
	bool yes = procfd >= 0 && proc_facts_running(procfd);

	if (procfd >= 0)
		close(procfd);
	return yes;
}

/*
 * A sample of a process that has ended. Its threads may outlive the first one, or its pid belongs
 * to a process of which no fork was reported. But a thread is also sampled after its EXIT, which is
 * written before the end of do_exit() (perf_event_exit_task() in kernel/events/core.c): a process
 * revived by that would never end.
 */
static void sampled_dead(struct proc *p, uint32_t tid, uint64_t time)
{
	if (p->pt->detached ? tid != p->pid : runs(p))
		proc_revive(p);
	else
		proc_die(p, MAX(time, p->dead_time));
}

struct proc *proctab_sampled(struct proctab *pt, uint32_t pid, uint32_t tid, uint64_t time)
{
	struct proc *p = proctab_know(pt, pid);
	struct thread *t;

	proc_on_behalf(p);
	if (p->dead)
		sampled_dead(p, tid, time);
	p->last_time = time;
	p->sampled = true;
	if (p->lost_seen != pt->side.lost)
		make_up_exec(pt, p, time);
	tenant_sampled(p->tenant);
	if (!proc_present(p)) {
		proc_introduce(p, time);
		rivals_seek_met(pt);
	} else if (p->muted || p->stale) {
		proc_introduce_again(p, time);
	} else if (p->jit.n && p->facts && p->facts->map.fd < 0) {
		perfmap_pin_late(p);
		rivals_seek_met(pt);
	}
	if (p->facts && p->facts->jit_late)
		jitdump_pin_late(p);
	if (p->facts)
		p->facts->seen = time;
	if (p->muted)
		tenant_left_out(p->tenant, BUDGET_SAMPLES, 1);
	t = threads_touch(&pt->threads, pid, tid);
	if (t->introduced != pt->segment)
		proc_introduce_thread(p, t, time);
	return p;
}

void proctab_waited(struct proctab *pt, uint32_t pid, uint32_t tid, uint64_t time)
{
	const bool had = proctab_find(pt, pid);
	struct proc *p = proctab_know(pt, pid);
	struct thread *t;

	proc_on_behalf(p);
	if (!proc_present(p) && !proc_introduce_idle(p, time)) {
		if (!had)
			proc_free(p);
		return;
	}
	t = threads_touch(&pt->threads, pid, tid);
	if (t->introduced != pt->segment)
		proc_introduce_thread(p, t, time);
}

const char *proctab_cgroup(const struct proctab *pt, uint32_t pid)
{
	const struct proc *p = proctab_find(pt, pid);
	const struct proc_facts *f = p ? proc_who(p) : NULL;

	f = f || !p ? f : p->anc;
	return f ? f->cgroup : "";
}

void proctab_in_cgroup(struct proc *p, uint64_t id)
{
	/* Its children are then asked where they are, too. */
	if (p->cgroup && p->cgroup != id)
		p->tenant_sure = false;
	p->cgroup = id;
}

uint64_t proctab_cgroup_id(const struct proctab *pt, uint32_t pid)
{
	const struct proc *p = proctab_find(pt, pid);

	return p ? p->cgroup : 0;
}

uint32_t proctab_turn(struct proctab *pt, uint32_t pid, uint32_t tid)
{
	return threads_touch(&pt->threads, pid, tid)->turn++;
}

/*
 * Is @addr code of @p, as far as known? If not, its mappings are read again: a record may have been
 * lost.
 */
static bool has_code(struct proc *p, uint64_t addr)
{
	if (p->kthread)
		return false;
	if (p->known && mapset_find(p->maps, addr))
		return true;
	proc_refresh_maps(p, p->last_time);
	rivals_seek_met(p->pt);
	return p->known && mapset_find(p->maps, addr);
}

const struct maskset *proc_maskset(struct proc *p, uint32_t tid, uint64_t ip, uint64_t sp,
				   uint64_t size)
{
	struct proctab *pt = p->pt;
	struct maskset *ms = &pt->ms;
	struct thread *t;

	if (!has_code(p, ip))
		return NULL;
	*ms = (struct maskset){
		.exec = p->maps->ranges, .nexec = p->maps->n, .version = p->maps->gen,
		.stacks = pt->other_stacks,
	};
	/* A stack pointer used as an ordinary register does not show where the stack is. */
	if (sp % 8)
		return ms;
	t = threads_touch(&pt->threads, p->pid, tid);
	ms->nstacks = thread_learn_stack(t, sp, size, pt->other_stacks);
	ms->top = size ? t->stacks[0].end : 0;
	return ms;
}

bool proc_is_code(struct proc *p, uint64_t addr, bool leaf)
{
	if (leaf)
		return has_code(p, addr);
	return addr && (mapset_find(p->maps, addr) || mapset_find(p->maps, addr - 1));
}

bool proc_is_known(const struct proc *p)
{
	return p->known && !p->kthread;
}

void proc_maskset_hold(const struct proc *p, const struct maskset *ms, struct maskset_held *h)
{
	h->ms = *ms;
	memcpy(h->stacks, ms->stacks, ms->nstacks * sizeof(*h->stacks));
	h->ms.stacks = h->stacks;
	h->maps = mapset_get(p->maps);
}

void maskset_release(struct maskset_held *h)
{
	if (h->maps)
		mapset_put(h->maps);
	h->maps = NULL;
}
