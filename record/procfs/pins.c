/* A bounded list of held fds in the order of their last use. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "host/nsopen.h"
#include "procfs/pins.h"

#define BUDGET_MIN 16
/* More would not be wrong, but each keeps a file object in the kernel. */
#define BUDGET_MAX 8192

/*
 * The number of open descriptors: they are assigned from the lowest on. Listing /proc/self/fd would
 * make the kernel set up an inode for each, thousands if many threads or cgroups are recorded.
 */
static size_t count_open(void)
{
	int next = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

	if (next < 0)
		return 0;
	close(next);
	return (size_t)next;
}

void pins_init(struct pins *ps, void (*on_evict)(void *ctx, struct pin *p), void *ctx)
{
	struct rlimit rl;
	size_t half = 512, used = count_open();

	if (!getrlimit(RLIMIT_NOFILE, &rl) && rl.rlim_cur != RLIM_INFINITY)
		half = (size_t)rl.rlim_cur / 2;
	*ps = (struct pins){ .on_evict = on_evict, .ctx = ctx };
	ps->budget = half > used ? half - used : 0;
	ps->budget = MAX(ps->budget, (size_t)BUDGET_MIN);
	ps->budget = MIN(ps->budget, (size_t)BUDGET_MAX);
	ps->lru.prev = ps->lru.next = &ps->lru;
}

void pin_init(struct pin *p, enum pin_kind kind, void *obj)
{
	*p = (struct pin){ .fd = -1, .kind = kind, .obj = obj };
}

static void unlink_pin(struct pin *p)
{
	p->prev->next = p->next;
	p->next->prev = p->prev;
	p->prev = p->next = NULL;
}

static void link_newest(struct pins *ps, struct pin *p)
{
	p->next = ps->lru.next;
	p->prev = &ps->lru;
	p->next->prev = p;
	ps->lru.next = p;
}

void pins_drop(struct pins *ps, struct pin *p)
{
	if (p->fd < 0)
		return;
	unlink_pin(p);
	nsopen_close(p->fd);
	p->fd = -1;
	ps->n--;
	ps->nowners -= !--ps->held[p->owner];
}

static size_t held_by(const struct pins *ps, uint32_t owner)
{
	return owner < ps->nheld ? ps->held[owner] : 0;
}

/* What to close for a new pin of @owner. */
static struct pin *victim(const struct pins *ps, uint32_t owner)
{
	struct pin *p = ps->lru.prev;

	if (held_by(ps, owner) * MAX(ps->nowners, (size_t)1) < ps->budget) {
		for (uint32_t i = 0; i < ps->nheld; i++)
			if (ps->held[i] > held_by(ps, owner))
				owner = i;
	}
	while (p != &ps->lru && p->owner != owner)
		p = p->prev;
	return p != &ps->lru ? p : ps->lru.prev;
}

static void count_held(struct pins *ps, uint32_t owner)
{
	if (owner >= ps->nheld) {
		const size_t n = 2 * (size_t)owner + 8;

		ps->held = xrealloc(ps->held, n * sizeof(*ps->held));
		memset(ps->held + ps->nheld, 0, (n - ps->nheld) * sizeof(*ps->held));
		ps->nheld = n;
	}
	ps->nowners += !ps->held[owner]++;
}

void pins_hold(struct pins *ps, struct pin *p, int fd)
{
	while (ps->n >= ps->budget) {
		struct pin *oldest = victim(ps, p->owner);

		ps->on_evict(ps->ctx, oldest);
		pins_drop(ps, oldest);
		ps->evicted++;
	}
	p->fd = fd;
	link_newest(ps, p);
	ps->n++;
	count_held(ps, p->owner);
}

void pins_touch(struct pins *ps, struct pin *p)
{
	if (p->fd < 0)
		return;
	unlink_pin(p);
	link_newest(ps, p);
}

void pins_fini(struct pins *ps)
{
	while (ps->n)
		pins_drop(ps, ps->lru.prev);
	free(ps->held);
	ps->held = NULL;
	ps->nheld = 0;
}

struct rootpin *rootpin_get(struct rootpin *r)
{
	if (r)
		r->refs++;
	return r;
}

void rootpin_put(struct pins *ps, struct rootpin *r)
{
	struct rootpin **at;

	if (!r || --r->refs)
		return;
	pins_drop(ps, &r->root);
	pins_drop(ps, &r->tmp);
	for (at = &ps->roots; *at != r; at = &(*at)->next)
		;
	*at = r->next;
	free(r);
}

struct rootpin *rootpin_find(struct pins *ps, uint64_t mnt_ns)
{
	struct rootpin *r;

	for (r = ps->roots; r; r = r->next) {
		if (r->mnt_ns == mnt_ns && mnt_ns && r->root.fd >= 0)
			return rootpin_get(r);
	}
	return NULL;
}

static struct nsopen_place place_of(int fd)
{
	struct nsopen_place p;

	return nsopen_place(fd, &p) ? p : (struct nsopen_place){ 0, 0 };
}

static bool same_place(const struct nsopen_place *a, const struct nsopen_place *b)
{
	return a->mount && a->mount == b->mount && a->ino == b->ino;
}

/* Opens /tmp below @r and holds it, unless it is held already. */
static void hold_tmp(struct pins *ps, struct rootpin *r)
{
	struct stat st;
	int fd = nsopen_dir(r->root.fd, "/tmp", &st);

	if (fd < 0)
		return;
	if (r->tmp.fd >= 0 && r->tmp_dev == st.st_dev && r->tmp_ino == st.st_ino) {
		close(fd);
		return;
	}
	pins_drop(ps, &r->tmp);
	r->tmp_dev = st.st_dev;
	r->tmp_ino = st.st_ino;
	r->tmp_place = place_of(fd);
	pins_hold(ps, &r->tmp, fd);
}

/* Only a held root proves that its numbers have not been reused. @st: NULL if @place is known. */
static struct rootpin *held_root(struct pins *ps, uint64_t mnt_ns, const struct nsopen_place *place, const struct stat *st)
{
	struct rootpin *r;

	for (r = ps->roots; r; r = r->next) {
		if (r->root.fd >= 0 && r->mnt_ns == mnt_ns &&
		    (st ? r->dev == st->st_dev && r->ino == st->st_ino : same_place(&r->place, place)))
			return r;
	}
	return NULL;
}

struct rootpin *rootpin_hold(struct pins *ps, int fd, uint64_t mnt_ns)
{
	struct nsopen_place place;
	struct rootpin *r;
	struct stat st;

	if (fd < 0)
		return NULL;
	place = place_of(fd);
	r = held_root(ps, mnt_ns, &place, NULL);
	if (!r && nsopen_stat(fd, &st)) {
		nsopen_close(fd);
		return NULL;
	}
	if (!r)
		r = held_root(ps, mnt_ns, &place, &st);
	if (r) {
		close(fd);
		pins_touch(ps, &r->root);
		pins_touch(ps, &r->tmp);
		return rootpin_get(r);
	}
	r = xcalloc(1, sizeof(*r));
	r->refs = 1;
	r->mnt_ns = mnt_ns;
	r->dev = st.st_dev;
	r->ino = st.st_ino;
	r->place = place;
	pin_init(&r->root, PIN_ROOT, r);
	pin_init(&r->tmp, PIN_TMP, r);
	r->next = ps->roots;
	ps->roots = r;
	pins_hold(ps, &r->root, fd);
	hold_tmp(ps, r);
	return r;
}

bool rootpin_same_tmp(const struct rootpin *a, const struct rootpin *b)
{
	return a && b && a->tmp.fd >= 0 && b->tmp.fd >= 0 && a->tmp_dev == b->tmp_dev &&
	       a->tmp_ino == b->tmp_ino;
}

/* Is its /tmp the one held, as far as the kernel remembers? */
static bool is_tmp(const struct rootpin *r)
{
	int fd = r->tmp.fd >= 0 ? nsopen_dir_cached(r->root.fd, "/tmp") : -1;
	struct nsopen_place p;
	bool yes;

	if (fd < 0)
		return false;
	p = place_of(fd);
	yes = same_place(&p, &r->tmp_place);
	/* What is held already is not unmounted by this. */
	if (yes)
		close(fd);
	else
		nsopen_close(fd);
	return yes;
}

void rootpin_look(struct pins *ps, struct rootpin *r, int procfd)
{
	char link[64];

	if (r && r->root.fd >= 0 && !is_tmp(r) && readlinkat(procfd, "ns/mnt", link, sizeof(link)) >= 0)
		hold_tmp(ps, r);
}
