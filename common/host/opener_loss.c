#include "host/opener_loss.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "host/clock.h"

#define MS 1000000ull
#define SECOND 1000000000ull

/* Remembered misses. Further ones only cost time. */
#define MISSES_MAX 4096
/* Objects known to give local files. Beyond that, all are forgotten and learned again. */
#define LOCAL_MAX 65536
/* The first pause is 1 s; each one after a try is four times as long. */
#define FIRST_PAUSE SECOND
#define PAUSES 4
/* At the end, for openers that were killed and need a CPU once more to exit. */
#define DYING_NS (100 * MS)
/* Openers that may wait for one tenant at a time. */
#define HUNG_MAX 8
/* Shorter waits do not count. */
#define SLEEP_MIN 20000
/* At the end of a recording, one object gets this share of the remaining time. */
#define LAST_PART 4

const struct opener_patience opener_hurried = {
	.each_ns = 80 * MS, .least_ns = 10 * MS, .burst_ns = 160 * MS, .tenant_burst_ns = 80 * MS,
	.percent = 15, .tenant_percent = 5,
};

const struct opener_patience opener_flooded = {
	.each_ns = 20 * MS, .least_ns = 5 * MS, .burst_ns = 40 * MS, .tenant_burst_ns = 20 * MS,
	.percent = 10, .tenant_percent = 3,
};

static const struct opener_patience patient = {
	.each_ns = 1000 * MS, .least_ns = 20 * MS, .burst_ns = 3000 * MS, .tenant_burst_ns = 2000 * MS,
	.percent = 20, .tenant_percent = 10,
};

/* Time that may be lost, ns; negative if more was. */
struct bucket {
	int64_t left;
	uint64_t at;		/* ns, when @left was right; 0 = never used */
};

struct miss {
	struct opener_miss m;	/* who, what: owned */
	uint64_t until;		/* ns: not asked again before that */
	int sock;		/* of the opener that hangs; owned; -1 = none */
	struct tenant *of;	/* borrowed */
	bool answered;
};

/* Index of a bucket: of threads that must not be late, or of others. */
enum { HURRIED, PATIENT };

struct tenant {
	struct bucket b[2];
	uint64_t waited;	/* ns, by hurried threads in all */
	bool heavy;		/* has lost more than half of what may be lost at once */
	unsigned int hung;	/* openers */
};

static struct {
	pthread_mutex_t lock;	/* for the members below */
	atomic_bool any;	/* there was a miss; without lock */
	struct u64map misses;	/* key to struct miss *, owned */
	struct u64map local;	/* set of keys that gave local files */
	struct u64map tenants;	/* to struct tenant *, owned */
	struct bucket all[2];
	unsigned int heavy;	/* tenants that are */
	uint64_t more;		/* that found no room */
	bool last;		/* after opener_last_chance() */
	int64_t last_left;	/* ns that may be lost since */
} loss = { .lock = PTHREAD_MUTEX_INITIALIZER };

#define WHO_MAX 256

static _Thread_local struct {
	uint64_t tenant, object;
	uint32_t pid;		/* 0 = unknown */
	dev_t dev;		/* 0 = unknown */
	const char *what;	/* borrowed; NULL = the operation's */
	char who[WHO_MAX];
} subject;
static _Thread_local const struct opener_patience *patience = &patient;

void opener_for(uint64_t tenant, const char *who, uint32_t pid)
{
	const size_t len = strlen(who);

	/* The end of a path says more than its beginning. */
	if (len >= WHO_MAX)
		who += len - WHO_MAX + 1;
	subject.tenant = tenant;
	subject.pid = pid;
	memcpy(subject.who, who, MIN(len + 1, (size_t)WHO_MAX));
}

void opener_about(uint64_t object, const char *what)
{
	subject.object = object;
	subject.dev = 0;
	subject.what = what;
}

void opener_about_dev(dev_t dev, const char *what)
{
	opener_about(hash_combine(major(dev), minor(dev)), what);
	subject.dev = dev;
}

void opener_be(const struct opener_patience *p)
{
	patience = p ? p : &patient;
}

void opener_last_chance(uint64_t ns)
{
	pthread_mutex_lock(&loss.lock);
	loss.last = true;
	loss.last_left = (int64_t)ns;
	pthread_mutex_unlock(&loss.lock);
}

/* ---- what is asked about ---- */

static const char *what_of(const struct fileop *op)
{
	static const char *const names[FILEOP_KINDS] = {
		[FILEOP_MAPPING] = "a mapped file", [FILEOP_MAPPING_AT] = "a mapped file", [FILEOP_MEMORY] = "memory",
		[FILEOP_STAT] = "a file", [FILEOP_COPY] = "a file", [FILEOP_CLOSE] = "a file",
	};

	if (subject.what)
		return subject.what;
	return op->path ? op->path : names[op->kind] ? names[op->kind] : "";
}

/* Files of one folder answer together. So do a file's attributes and its bytes. */
static uint64_t object_of(const struct fileop *op)
{
	const char *slash = op->path ? strrchr(op->path, '/') : NULL;
	size_t len = op->path ? strlen(op->path) : 0;

	if (subject.object)
		return subject.object;
	if (op->kind == FILEOP_FILE || op->kind == FILEOP_FIRST || op->kind == FILEOP_STAT)
		len = slash ? (size_t)(slash - op->path) : 0;
	return hash_bytes(op->path ? op->path : "", len);
}

/* Does it take the lock of a process's mappings, before any file system is asked? */
static bool takes_lock(const struct fileop *op)
{
	return op->kind == FILEOP_MAPPING || op->kind == FILEOP_MAPPING_AT;
}

/* For those: the lock of the process that this thread is about. */
static uint64_t lock_key(void)
{
	return hash_combine(hash_combine(subject.tenant, subject.pid), 1);
}

static uint64_t key_of(const struct fileop *op)
{
	return hash_combine(subject.tenant, object_of(op));
}

/* ---- time ---- */

/* @share: of its time, in 1/10,000. */
static void refill(struct bucket *b, uint64_t burst, unsigned int share, uint64_t now)
{
	if (!b->at)
		b->left = (int64_t)burst;
	else
		b->left = MIN(b->left + (int64_t)((now - b->at) / 10000 * share), (int64_t)burst);
	b->at = now;
}

static struct tenant *of_tenant(void)
{
	uint64_t *slot = u64map_put(&loss.tenants, subject.tenant, NULL);

	if (!*slot)
		*slot = (uintptr_t)xcalloc(1, sizeof(struct tenant));
	return (struct tenant *)(uintptr_t)*slot;
}

static int kind(void)
{
	return patience == &patient ? PATIENT : HURRIED;
}

/* Tenants that lose much share what all together may lose. */
static unsigned int share_of_tenant(const struct tenant *t)
{
	const unsigned int each = 100 * patience->percent / MAX(loss.heavy, 1u);

	return t->heavy ? MIN(100 * patience->tenant_percent, each) : 100 * patience->tenant_percent;
}

/* Updates what @t and all tenants may lose. */
static void refill_for(struct tenant *t, uint64_t now)
{
	const struct opener_patience *p = patience;
	const int k = kind();
	bool heavy;

	refill(&loss.all[k], p->burst_ns, 100 * p->percent, now);
	refill(&t->b[k], p->tenant_burst_ns, share_of_tenant(t), now);
	if (k != HURRIED)
		return;
	heavy = t->b[k].left < (int64_t)p->tenant_burst_ns / 2;
	loss.heavy += heavy - t->heavy;
	t->heavy = heavy;
}

static void lose(struct tenant *t, uint64_t ns, uint64_t now)
{
	refill_for(t, now);
	loss.all[kind()].left -= (int64_t)ns;
	t->b[kind()].left -= (int64_t)ns;
	loss.last_left -= loss.last ? (int64_t)ns : 0;
	t->waited += kind() == HURRIED ? ns : 0;
}

/*
 * A thread that must not be late does not wait at all when this tenant has lost twice what it may lose at
 * once, or when all together have and this one is among those that lost much.
 */
static bool is_over(const struct tenant *t)
{
	const struct opener_patience *p = patience;

	return kind() == HURRIED &&
	       (t->b[HURRIED].left <= -(int64_t)p->tenant_burst_ns ||
		(t->heavy && loss.all[HURRIED].left <= -(int64_t)p->burst_ns));
}

/* 0: not at all. */
static uint64_t allowed(struct tenant *t, uint64_t now)
{
	const struct opener_patience *p = patience;
	int64_t ns;

	refill_for(t, now);
	if (is_over(t))
		return 0;
	ns = MIN((int64_t)p->each_ns, MIN(loss.all[kind()].left, t->b[kind()].left));
	if (loss.last)
		ns = MIN(ns, loss.last_left / LAST_PART);
	return ns < (int64_t)p->least_ns ? p->least_ns : (uint64_t)ns;
}

/* ---- asking ---- */

static struct miss *find(uint64_t key)
{
	const uint64_t *slot = u64map_get(&loss.misses, key);

	return slot ? (struct miss *)(uintptr_t)*slot : NULL;
}

/* Does the opener of @m still wait, even after @ms milliseconds? */
static bool hangs_for(struct miss *m, int ms)
{
	struct pollfd p = { .fd = m->sock, .events = POLLIN };

	if (m->sock < 0)
		return false;
	if (poll(&p, 1, ms) <= 0)
		return true;
	close(m->sock);
	m->sock = -1;
	m->of->hung--;
	return false;
}

static bool hangs(struct miss *m)
{
	return hangs_for(m, 0);
}

/* Does the tenant keep as many openers waiting as it may? Nobody can end these processes. */
static bool has_most(const struct tenant *t)
{
	uint64_t key, val;

	for (size_t it = 0; t->hung >= HUNG_MAX && u64map_next(&loss.misses, &it, &key, &val);) {
		struct miss *m = (struct miss *)(uintptr_t)val;

		if (m->of == t)
			hangs(m);
	}
	return t->hung >= HUNG_MAX;
}

/* Has it not answered, so that it is too early to ask again, or too late? @m may be NULL. */
static bool rests(struct miss *m, uint64_t now)
{
	if (!m)
		return false;
	return hangs(m) || (!m->answered && (loss.last ? loss.last_left <= 0 : now < m->until));
}

static struct miss *add(const struct fileop *op, uint64_t key, const struct hungmount *hm);

/* Its tenant has lost too much for us to ask. What is never read is reported. */
static void leave_out(const struct fileop *op, uint64_t key)
{
	const struct hungmount unknown = { 0 };
	struct miss *m = find(key);

	if (!m && loss.misses.n < MISSES_MAX)
		m = add(op, key, &unknown);
	loss.more += !m;
	if (m)
		m->answered = false;
}

static uint64_t wait_for(const struct fileop *op, uint64_t key, uint64_t now)
{
	struct tenant *t = of_tenant();
	uint64_t ns;

	if (takes_lock(op) && subject.pid && rests(find(lock_key()), now))
		return 0;
	ns = allowed(t, now);
	/* Regardless of what others of its tenant have lost, up to a limit. */
	if (ns && u64map_get(&loss.local, key))
		return patience->each_ns;
	if (rests(find(key), now) || has_most(t))
		return 0;
	if (!ns)
		leave_out(op, key);
	return ns;
}

uint64_t opener_loss_wait(const struct fileop *op, uint64_t *key)
{
	uint64_t ns;

	*key = key_of(op);
	if (!atomic_load_explicit(&loss.any, memory_order_relaxed))
		return patience->each_ns;
	pthread_mutex_lock(&loss.lock);
	ns = wait_for(op, *key, clock_mono_ns());
	pthread_mutex_unlock(&loss.lock);
	return ns;
}

uint64_t opener_loss_most(void)
{
	return patience->each_ns;
}

static void has_answered(uint64_t key)
{
	struct miss *m = find(key);

	if (m)
		m->answered = true;
}

/*
 * For threads that must not be late, late answers cost as much as none. At the end of a recording
 * this holds for all threads, except for what comes from a disk.
 */
static void slept_for(uint64_t slept, bool local)
{
	if (slept < SLEEP_MIN || (kind() != HURRIED && (!loss.last || local)))
		return;
	atomic_store(&loss.any, true);
	lose(of_tenant(), slept, clock_mono_ns());
}

void opener_loss_answered(const struct fileop *op, uint64_t key, bool local, uint64_t slept)
{
	if (!local && slept < SLEEP_MIN && !atomic_load_explicit(&loss.any, memory_order_relaxed))
		return;
	pthread_mutex_lock(&loss.lock);
	slept_for(slept, local);
	if (local && loss.local.n >= LOCAL_MAX)
		u64map_clear(&loss.local);
	if (local)
		u64map_put(&loss.local, key, NULL);
	has_answered(key);
	if (takes_lock(op) && subject.pid)
		has_answered(lock_key());
	pthread_mutex_unlock(&loss.lock);
}

/* Takes @hm. */
static struct miss *add(const struct fileop *op, uint64_t key, const struct hungmount *hm)
{
	struct miss *m = xcalloc(1, sizeof(*m));

	m->m.who = xstrdup(subject.who);
	m->m.what = xstrdup(hm->memory && takes_lock(op) ? "the mappings" : what_of(op));
	m->m.pid = subject.pid;
	m->m.dev = subject.dev;
	m->m.mappings = takes_lock(op) ? hm->memory : op->kind == FILEOP_TEXT && op->path && !strcmp(op->path, "maps");
	m->m.mount = *hm;
	m->of = of_tenant();
	m->sock = -1;
	*u64map_put(&loss.misses, key, NULL) = (uintptr_t)m;
	return m;
}

void opener_loss_lost(const struct fileop *op, uint64_t key, uint64_t ns, pid_t opener, int sock)
{
	const uint64_t now = clock_mono_ns();
	struct hungmount hm;
	struct miss *m;

	hungmount_find(op, opener, subject.pid, subject.dev, &hm);
	pthread_mutex_lock(&loss.lock);
	atomic_store(&loss.any, true);
	/* Its file system may answer. */
	if (hm.memory && takes_lock(op) && subject.pid)
		key = lock_key();
	u64map_del(&loss.local, key);
	lose(of_tenant(), ns, now);
	m = find(key);
	if (!m && loss.misses.n < MISSES_MAX)
		m = add(op, key, &hm);
	else
		hungmount_fini(&hm);
	if (m && m->sock < 0) {
		m->until = now + (FIRST_PAUSE << 2 * MIN(m->m.tries, (uint64_t)PAUSES - 1));
		m->m.tries++;
		m->answered = false;
		m->sock = sock;
		m->of->hung++;
		sock = -1;
	}
	loss.more += !m;
	pthread_mutex_unlock(&loss.lock);
	/* Another thread asked at the same time. */
	if (sock >= 0)
		close(sock);
}

uint64_t opener_misses(void (*fn)(void *ctx, const struct opener_miss *m), void *ctx)
{
	const uint64_t until = clock_mono_ns() + DYING_NS;
	uint64_t key, val, n;
	size_t it = 0;

	pthread_mutex_lock(&loss.lock);
	n = loss.more;
	while (u64map_next(&loss.misses, &it, &key, &val)) {
		struct miss *m = (struct miss *)(uintptr_t)val;
		const uint64_t now = clock_mono_ns();

		if (m->answered)
			continue;
		/*
		 * SIGKILL ends a wait for NFS, and a wait for a FUSE server that has not read the request.
		 * On a busy machine, an opener that waits for nobody needs some time to end.
		 */
		m->m.hangs = m->m.mount.waits || hangs_for(m, now < until ? (int)((until - now) / MS) : 0);
		fn(ctx, &m->m);
	}
	pthread_mutex_unlock(&loss.lock);
	return n;
}

void opener_waited(uint64_t *all, uint64_t *most)
{
	uint64_t key, val;

	*all = *most = 0;
	pthread_mutex_lock(&loss.lock);
	for (size_t it = 0; u64map_next(&loss.tenants, &it, &key, &val);) {
		const struct tenant *t = (const struct tenant *)(uintptr_t)val;

		*all += t->waited;
		*most = MAX(*most, t->waited);
	}
	pthread_mutex_unlock(&loss.lock);
}

void opener_misses_settle(bool (*missing)(void *ctx, const struct opener_miss *m), void *ctx)
{
	uint64_t key, val;

	pthread_mutex_lock(&loss.lock);
	for (size_t it = 0; u64map_next(&loss.misses, &it, &key, &val);) {
		struct miss *m = (struct miss *)(uintptr_t)val;

		if (!m->answered)
			m->answered = !missing(ctx, &m->m);
	}
	pthread_mutex_unlock(&loss.lock);
}

uint64_t opener_unread(void)
{
	uint64_t key, val, n;
	size_t it = 0;

	if (!atomic_load_explicit(&loss.any, memory_order_relaxed))
		return 0;
	pthread_mutex_lock(&loss.lock);
	n = loss.more;
	while (u64map_next(&loss.misses, &it, &key, &val))
		n += !((struct miss *)(uintptr_t)val)->answered;
	pthread_mutex_unlock(&loss.lock);
	return n;
}
