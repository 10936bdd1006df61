/*
 * Rivals (proc_rivals.c) among all processes of the host, recorded or not, and the lines of a map
 * that can be told apart.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "host/clock.h"
#include "host/nsopen.h"
#include "host/procfs.h"
#include "procs/proc.h"

/* A look at all processes, some 10 us each, takes at most one part in this many of the time. */
#define SEEK_SHARE 20

struct rival {
	uint32_t pid, nspid;
	uint64_t pid_ns;
	bool looked;		/* whether it has a /tmp; it is needed for few */
	dev_t tmp_dev;		/* of its /tmp; 0 = not available */
	ino_t tmp_ino;
};

/* All processes, and what decides whether two of them write to one map. */
struct rivals {
	struct rival *v;	/* owned */
	size_t n, cap;
	uint64_t until;		/* ns: no other look before that */
};

/* ---- all processes ---- */

static bool look_at(struct rival *r, uint32_t pid, int procfd)
{
	char *status = proc_facts_text(procfd, "status"), link[64] = "";
	uint32_t nspid[8];
	size_t n = status ? procfs_status_nstgid(status, nspid, 8) : 0;
	bool ok = n && readlinkat(procfd, "ns/pid", link, sizeof(link) - 1) > 0;

	free(status);
	if (ok)
		*r = (struct rival){ .pid = pid, .nspid = nspid[n - 1], .pid_ns = procfs_ns_inode(link) };
	return ok;
}

static void look_tmp(struct rival *r)
{
	int procfd = nsopen_process(r->pid), root = procfd < 0 ? -1 : nsopen_process_root(procfd);
	struct stat st;
	int tmp = root < 0 ? -1 : nsopen_dir(root, "/tmp", &st);

	r->looked = true;
	if (tmp >= 0) {
		r->tmp_dev = st.st_dev;
		r->tmp_ino = st.st_ino;
		nsopen_close(tmp);
	}
	if (root >= 0)
		nsopen_close(root);
	if (procfd >= 0)
		close(procfd);
}

/* Does the process behind @r write to the file that @f's map is? */
static bool is_rival(struct rival *r, const struct proc_facts *f)
{
	if (r->nspid != rival_number(f) || r->pid == f->pid || r->pid_ns == f->pid_ns)
		return false;
	if (!r->looked)
		look_tmp(r);
	return r->tmp_dev == f->rootpin->tmp_dev && r->tmp_ino == f->rootpin->tmp_ino;
}

static void look(struct rivals *rs)
{
	const uint64_t begun = clock_mono_ns();
	DIR *dir = opendir(nsopen_proc());
	struct dirent *de;

	rs->n = 0;
	while (dir && (de = readdir(dir))) {
		const uint32_t pid = (uint32_t)strtoul(de->d_name, NULL, 10);
		int procfd = pid ? nsopen_process(pid) : -1;

		if (procfd < 0)
			continue;
		XGROW(rs->v, rs->n, rs->cap);
		rs->n += look_at(&rs->v[rs->n], pid, procfd);
		close(procfd);
	}
	if (dir)
		closedir(dir);
	rs->until = begun + SEEK_SHARE * (clock_mono_ns() - begun);
}

/* Learns what it runs and maps, while it lives. If it has the map, all rivals learn of it. */
static void learn(struct proctab *pt, uint32_t pid)
{
	const bool had = proctab_find(pt, pid);
	struct proc *p = proctab_know(pt, pid);

	if (!had)
		p->aside = true;
	if (!p->facts)
		proc_acquire(p, 0);
	else if (p->facts->map.fd < 0)
		perfmap_pin(p);
}

void rivals_seek(struct proctab *pt, const struct proc_facts *f)
{
	struct rivals *rs;

	if (!pt->jit.rivals)
		pt->jit.rivals = xcalloc(1, sizeof(*pt->jit.rivals));
	rs = pt->jit.rivals;
	if (pt->detached || pt->cap.evicting || pt->jit.seeking || !rival_number(f) || !f->rootpin || f->rootpin->tmp.fd < 0)
		return;
	if (clock_mono_ns() >= rs->until)
		look(rs);
	pt->jit.seeking = true;
	for (size_t i = 0; i < rs->n; i++)
		if (is_rival(&rs->v[i], f))
			learn(pt, rs->v[i].pid);
	pt->jit.seeking = false;
}

void rivals_seek_met(struct proctab *pt)
{
	for (size_t i = 0; i < pt->jit.nmet; i++) {
		rivals_seek(pt, pt->jit.met[i]);
		proc_facts_put(&pt->files.pins, pt->jit.met[i]);
	}
	pt->jit.nmet = 0;
}

void rivals_fini(struct proctab *pt)
{
	for (size_t i = 0; i < pt->jit.nmet; i++)
		proc_facts_put(&pt->files.pins, pt->jit.met[i]);
	free(pt->jit.met);
	if (pt->jit.rivals)
		free(pt->jit.rivals->v);
	free(pt->jit.rivals);
	pt->jit.rivals = NULL;
}

/* ---- their code ---- */

size_t rivals_leave(struct proctab *pt, const struct proc_facts *f, uint64_t *addrs, size_t n)
{
	uint32_t met = 0;
	uint64_t pid, val;

	for (size_t it = 0; u64map_next(&pt->procs, &it, &pid, &val);) {
		struct proc *q = (struct proc *)(uintptr_t)val;
		size_t kept = 0;

		if (!rival_is(f, q->facts) || rival_ended_before(q, f))
			continue;
		/*
		 * Nobody reported its later mappings, so read them now. Where it had code before,
		 * lines cannot be told apart either.
		 */
		if (q->aside && !q->dead && (pt->cap.evicting || !proc_add_present(q, 0)))
			continue;
		met++;
		for (size_t i = 0; i < n && q->known; i++) {
			const struct map_entry *e = mapset_find(q->maps, addrs[i]);

			if (!e || e->kind != MAPPING_JIT)
				addrs[kept++] = addrs[i];
		}
		n = kept;
	}
	return met < f->rivals ? 0 : n;
}
