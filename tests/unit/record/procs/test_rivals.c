/*
 * Processes with the same PID in containers that share /tmp, and thus one perf map: whose lines
 * count. The /proc data about them is made up here. Whether one still exists is checked with the
 * kernel, by an unused PID and by our own.
 */
#include <fcntl.h>

#include "host/nsopen.h"
#include "proctab_fixture.h"

#define SECOND 1000000000ull
/*
 * The time between two events, of which the first was 1.5 s ago: every machine has been up longer.
 */
#define STEP (SECOND / 10)
#define CODE 0x7f0000001000ull	/* where both have JIT code */
#define FREE 0x7f0000009000ull	/* where only the later one has code */

/* The unit of the facts, as in /proc/PID/stat: since boot, including suspend. */
static uint64_t ticks_of(uint64_t time)
{
	struct timespec b;

	clock_gettime(CLOCK_BOOTTIME, &b);
	time += (uint64_t)b.tv_sec * SECOND + (uint64_t)b.tv_nsec - now();
	return time / (SECOND / (uint64_t)sysconf(_SC_CLK_TCK));
}

static void has_code(struct proc *p, uint64_t addr)
{
	const struct map_entry e = { .start = addr, .end = addr + 0x1000, .kind = MAPPING_JIT };

	assert_int_equal(mapset_add(&p->maps, &e), 1);
	p->known = true;
}

/* PID 1 of container @ns, started at @began, with a map in this test's /tmp. */
static struct proc *number_one(uint32_t pid, uint64_t ns, uint64_t began)
{
	struct proc *p = proctab_know(pt, pid);
	struct proc_facts *f = calloc(1, sizeof(*f));

	f->refs = 1;
	f->exe = strdup("");
	f->root = strdup("");
	f->cgroup = strdup("");
	f->pid = pid;
	f->nspid[0] = pid;
	f->nspid[1] = 1;
	f->nspid_n = 2;
	f->pid_ns = ns;
	f->start_ticks = ticks_of(began);
	f->rootpin = rootpin_hold(&pt->files.pins, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), 1);
	pin_init(&f->map, PIN_MAP, f);
	for (size_t i = 0; i < JITDUMPS_MAX; i++)
		pin_init(&f->jitdump[i], PIN_MAP, f);
	pins_hold(&pt->files.pins, &f->map, open("/dev/null", O_RDONLY | O_CLOEXEC));
	assert_true(f->rootpin && f->rootpin->tmp.fd >= 0);
	p->facts = f;
	has_code(p, CODE);
	return p;
}

/* For how many of both addresses @p's lines in the map count. */
static size_t left(const struct proc *p)
{
	uint64_t addrs[] = { CODE, FREE };

	return rivals_leave(pt, p->facts, addrs, 2);
}

/*
 * An earlier process @pid, last sampled @sampled, with code at the same address as one that started
 * at @began.
 */
static struct proc *life_before(uint32_t pid, uint64_t began, uint64_t sampled)
{
	struct proc *p;

	/* No other processes of this machine are involved. */
	pt->detached = true;
	p = number_one(pid, 100, began - 5 * STEP);
	p->last_time = sampled;
	return p;
}

/* The later process, which finds its map now. */
static struct proc *life_after(uint64_t began)
{
	struct proc *p = number_one(GONE + 1, 200, began);

	has_code(p, FREE);
	rivals_met(pt, p->facts);
	return p;
}

static void test_ended_before(void **state)
{
	const uint64_t t = now() - 10 * STEP;
	struct proc *before = life_before(GONE, t, t - 2 * STEP), *after;

	(void)state;
	exit_of(GONE, GONE, t - STEP);
	after = life_after(t);
	assert_int_equal(after->facts->rivals, 0);
	assert_int_equal(left(after), 2);
	/* But the later one overwrites the code of the earlier one. */
	assert_int_equal(before->facts->rivals, 1);
	assert_int_equal(left(before), 0);
}

static void test_lived_beside(void **state)
{
	const uint64_t t = now() - 10 * STEP;
	struct proc *after;

	(void)state;
	life_before(GONE, t, t - STEP);
	after = life_after(t);
	assert_int_equal(after->facts->rivals, 1);
	assert_int_equal(left(after), 1);
	/* Ending later changes nothing. */
	exit_of(GONE, GONE, t + STEP);
	assert_int_equal(left(after), 1);
}

/* The other threads stay when the first one ends, and their code is sampled. */
static void test_threads_outlived_the_end(void **state)
{
	const uint64_t t = now() - 10 * STEP;
	struct proc *after;

	(void)state;
	life_before(GONE, t, t + STEP);
	exit_of(GONE, GONE, t - 2 * STEP);
	after = life_after(t);
	assert_int_equal(after->facts->rivals, 1);
	assert_int_equal(left(after), 1);
}

/* A sample after its EXIT makes it count as living, but it does not exist. */
static void test_sampled_after_its_end(void **state)
{
	const uint64_t t = now() - 10 * STEP;
	struct proc *before = life_before(GONE, t, t - STEP), *after;

	(void)state;
	before->dead_time = t - 2 * STEP;
	after = life_after(t);
	assert_int_equal(after->facts->rivals, 0);
	assert_int_equal(left(after), 2);
}

/* The same, for a process that exists, and for a PID that has been reused. */
static void test_is_there_still(void **state)
{
	const uint64_t t = now() - 10 * STEP;
	const uint32_t pid = (uint32_t)getpid();
	struct proc *before = life_before(pid, t, t - STEP), *after;
	int self = nsopen_process(pid);
	struct proc_facts *mine = proc_facts_read(self, pid);

	(void)state;
	before->dead_time = t - 2 * STEP;
	before->facts->start_ticks = mine->start_ticks;
	after = life_after(t);
	assert_int_equal(after->facts->rivals, 1);
	assert_int_equal(left(after), 1);
	before->facts->start_ticks--;
	after->facts->rivals = 0;
	assert_int_equal(left(after), 2);
	proc_facts_put(&pt->files.pins, mine);
	close(self);
}

/* One that was seen and is forgotten may have had code anywhere. */
static void test_rival_is_forgotten(void **state)
{
	const uint64_t t = now() - 10 * STEP;
	struct proc *after;

	(void)state;
	life_before(GONE, t, t - STEP);
	after = life_after(t);
	assert_int_equal(left(after), 1);
	/* A process that ended long ago is dropped at the next exit. */
	exit_of(GONE, GONE, t + STEP);
	exit_of(GONE + 2, GONE + 2, t + 3600 * SECOND);
	assert_int_equal(left(after), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_ended_before),
		T(test_lived_beside),
		T(test_threads_outlived_the_end),
		T(test_sampled_after_its_end),
		T(test_is_there_still),
		T(test_rival_is_forgotten),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
