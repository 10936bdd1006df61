/*
 * What a tenant's budget refuses, and that others lose nothing by it. Tenants are given by hand:
 * the processes exist for the table only.
 */
#include "proctab_fixture.h"

#define EVIL "/docker/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define GOOD "/docker/f123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OVER "[over_budget]"
#define MORE 16000u

static uint64_t left[BUDGET_KINDS];

static void take_left(void *ctx, const struct ev_budget *ev)
{
	(void)ctx;
	assert_string_equal(ev->cgroup, EVIL);
	left[ev->kind] = ev->count;
}

/* Everything that was left out, and it was the evil one's. */
static void look_left(void)
{
	memset(left, 0, sizeof(left));
	proctab_left_out(pt, take_left, NULL);
}

/* A process in @cgroup that has begun a program and was sampled. */
static struct proc *program(uint32_t pid, const char *cgroup, const char *path)
{
	struct kmmap m = with_id(kmmap(pid, 0x400000, 0x1000, path), (uint8_t)pid);
	struct proc *p;

	exec_comm(pid, "program");
	p = proctab_find(pt, pid);
	proc_in_tenant(p, cgroup, 0);
	proctab_mmap(pt, &m);
	proctab_sampled(pt, pid, pid, now());
	return p;
}

static const char *path_at(const struct proc *p, uint64_t addr)
{
	const struct map_entry *e = mapset_find(p->maps, addr);

	return e ? intern_str(pt->files.paths, e->path) : "";
}

/* The path of mapping @i: nearly 4 KiB, and new. */
static void map_path(uint32_t pid, uint32_t i, uint64_t start)
{
	char path[4000];
	struct kmmap m;

	memset(path, 'x', sizeof(path));
	path[0] = '/';
	snprintf(path + sizeof(path) - 12, 12, "%u", i);
	m = with_id(kmmap(pid, start, 0x1000, path), 1);
	m.time = now();
	proctab_mmap(pt, &m);
}

static void test_paths(void **state)
{
	struct proc *evil = program(GONE, EVIL, "/evil"), *good = program(GONE + 1, GOOD, "/good");
	struct kmmap m;

	(void)state;
	evil->tenant->paths.left = INT64_MAX;	/* the rate is another matter */
	/* All of them stay mapped, so that nothing can be forgotten. */
	for (uint32_t i = 0; i < 4000; i++)
		map_path(GONE, i, 0x10000000 + i * 0x1000ull);
	proctab_let_go(pt, now());
	look_left();
	/* 5 MiB hold 1,300 of them. */
	assert_in_range(left[BUDGET_PATHS], 4000 - 1320, 4000 - 1270);
	assert_true(intern_bytes(pt->files.paths) < 6 << 20);
	assert_string_equal(path_at(evil, 0x10000000 + 3999 * 0x1000ull), OVER);
	/* What covers one that is known is not taken for it. */
	map_path(GONE, 5000, 0x10000000);
	assert_string_equal(path_at(evil, 0x10000000), OVER);
	/* A path that is known needs nothing. */
	m = with_id(kmmap(GONE, 0x30000000, 0x1000, "/good"), 2);
	proctab_mmap(pt, &m);
	assert_string_equal(path_at(evil, 0x30000000), "/good");
	/* Another tenant does not notice. */
	m = with_id(kmmap(GONE + 1, 0x30000000, 0x1000, "/good/library"), 3);
	proctab_mmap(pt, &m);
	assert_string_equal(path_at(good, 0x30000000), "/good/library");
}

/* New paths in place of each other: those that are gone do not count. */
static void test_paths_gone(void **state)
{
	struct tenant *t = program(GONE, EVIL, "/evil")->tenant;

	(void)state;
	t->paths.left = INT64_MAX;
	for (uint32_t i = 0; i < 6000; i++) {
		map_path(GONE, i, 0x10000000);
		if (i % 500 == 0)
			proctab_let_go(pt, now());
	}
	look_left();
	assert_int_equal(left[BUDGET_PATHS], 0);
	/* So many in so short a time are too many, though. */
	t->paths.left = 0;
	for (uint32_t i = 6000; i < 7000; i++)
		map_path(GONE, i, 0x10000000);
	look_left();
	assert_in_range(left[BUDGET_PATHS], 700, 1000);	/* 1 MiB holds 258 */
	assert_true(intern_bytes(pt->files.paths) < 6 << 20);
}

static void test_binaries(void **state)
{
	struct proc *evil = program(GONE, EVIL, "/evil"), *good;
	struct kmmap m;

	(void)state;
	for (uint32_t i = 0; i < MORE; i++) {
		m = with_id(kmmap(GONE, 0x10000000 + i * 0x1000ull, 0x1000, "/evil"), 0);
		memcpy(m.build_id, &i, sizeof(i));
		proctab_mmap(pt, &m);
	}
	look_left();
	/* 14,336, and the program's own. */
	assert_int_equal(left[BUDGET_FILES], MORE - 14335);
	assert_string_equal(path_at(evil, 0x10000000 + (MORE - 1) * 0x1000ull), OVER);
	good = program(GONE + 1, GOOD, "/good");
	assert_string_equal(path_at(good, 0x400000), "/good");
	assert_non_null(mapset_find(good->maps, 0x400000)->dso);
	/* They are forgotten with the process that mapped them. */
	exit_of(GONE, GONE, now());
	proctab_let_go(pt, now() + 6000000000);
	assert_in_range(pt->files.dsos.n, 1, 3);
}

/* The process with most mappings loses them, another one of that tenant does not. */
/* @n mappings of memory, upwards. */
static void map_anon(uint32_t pid, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct kmmap m = kmmap(pid, 0x10000000 + i * 0x2000ull, 0x1000, "//anon");

		proctab_mmap(pt, &m);
	}
}

static void test_mappings(void **state)
{
	struct proc *evil = program(GONE, EVIL, "/evil"), *small = program(GONE + 1, EVIL, "/small");
	struct proc *more = program(GONE + 2, EVIL, "/more");

	(void)state;
	map_anon(GONE + 2, 15000);
	map_anon(GONE, 100000);
	look_left();
	assert_true(left[BUDGET_MAPS] >= 80000);
	assert_true(evil->overfull);
	assert_false(more->overfull);
	assert_int_equal(evil->maps->n, 0);
	assert_int_equal(small->maps->n, 2);	/* with [vsyscall] */
	/* Nothing is masked by mappings that are not known. */
	assert_false(evil->known);
	assert_null(proc_maskset(evil, GONE, 0x400000, 0, 0));
	/* Its next program has a new budget. */
	program(GONE, EVIL, "/evil");
	assert_int_equal(evil->maps->n, 2);
	assert_false(evil->overfull);
}

/* No process has too many, but all together have. */
static void test_mappings_of_all(void **state)
{
	struct proc *small = program(GONE, EVIL, "/small"), *good = program(GONE + 1, GOOD, "/good");
	uint32_t held = 0, over = 0;

	(void)state;
	for (uint32_t i = 0; i < 15; i++) {
		struct proc *p = program(GONE + 2 + i, EVIL, "/evil");

		map_anon(GONE + 2 + i, 15000);
		assert_false(p->overfull && p->maps->n);
	}
	for (uint32_t i = 0; i < 15; i++) {
		over += proctab_find(pt, GONE + 2 + i)->overfull;
		held += proctab_find(pt, GONE + 2 + i)->maps->n;
	}
	look_left();
	assert_in_range(over, 1, 4);
	assert_in_range(held, 150000, 196608);	/* its own and the pool */
	assert_true(left[BUDGET_MAPS] >= 15000);
	assert_false(small->overfull);
	assert_false(good->overfull);
	assert_int_equal(good->maps->n, 2);
}

/* In the recording: what cannot be written is not taken for what was. */
static void test_written(void **state)
{
	uint32_t names = 0, over = 0, last = 0;
	char name[16];

	(void)state;
	program(GONE, EVIL, "/evil");
	program(GONE + 1, GOOD, "/good");
	/* All of it is used up, but for what each image has. */
	proctab_find(pt, GONE)->tenant->bytes.left = -(1 << 30);
	for (uint32_t i = 0; i < 100; i++)
		map_path(GONE, i, 0x400000);
	for (uint32_t i = 0; i < 300000; i++) {
		snprintf(name, sizeof(name), "%x", i);
		proctab_comm(pt, &(struct ev_comm){ .time = now(), .pid = GONE, .tid = GONE + 9, .comm = name });
	}
	/* A sample does not pay for another introduction, but for the name. */
	proctab_sampled(pt, GONE, GONE + 9, now());
	proctab_comm(pt, &(struct ev_comm){ .time = now(), .pid = GONE + 1, .tid = GONE + 1, .comm = "still" });
	proc_write_budgets(pt);
	look_left();
	assert_true(left[BUDGET_SAMPLES] >= 1);
	read_back();
	assert_true(got.nmmap < 10);
	for (uint32_t i = 0; i < got.nmmap; i++) {
		if (got.mmap[i].ev.pid != GONE)
			continue;
		last = i;
		over += !strcmp(got.mmap[i].path, OVER);
	}
	assert_int_equal(over, 1);
	assert_string_equal(got.mmap[last].path, OVER);
	assert_int_equal(got.mmap[last].ev.start, 0x1000);
	assert_int_equal(got.mmap[last].ev.dso, 0);
	/* Its own ev_proc comes first, and replaces the mappings before. */
	assert_true(got.proc[got.mmap[last].nproc - 1].maps_known);
	assert_int_equal(got.proc[got.mmap[last].nproc - 1].pid, GONE);
	for (uint32_t i = 0; i < got.ntcomm; i++)
		names += got.tcomm[i].tid == GONE + 9 && !strcmp(got.tcomm_text[i], "493df");
	assert_int_equal(names, 1);	/* 300,000 - 1: the last of them */
	assert_string_equal(got.tcomm_text[got.ntcomm - 1], "still");
}

/* Processes that have just ended stay for a while, however many of another tenant end. */
static void test_ended(void **state)
{
	const uint64_t time = now();

	(void)state;
	program(GONE, EVIL, "/evil");
	program(GONE + 1, GOOD, "/good");
	exit_of(GONE + 1, GONE + 1, time);
	for (uint32_t i = 2; i < 10000; i++) {
		fork_of(GONE + i, GONE);
		exit_of(GONE + i, GONE + i, time);
	}
	assert_non_null(proctab_find(pt, GONE + 1));
	assert_null(proctab_find(pt, GONE + 2));
	assert_non_null(proctab_find(pt, GONE + 9999));
	assert_in_range(pt->ndead, 4097, 4098);
	proctab_let_go(pt, time + 6000000000);
	assert_int_equal(pt->ndead, 0);
	assert_null(proctab_find(pt, GONE + 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = { T(test_paths), T(test_paths_gone), T(test_binaries), T(test_mappings),
					     T(test_mappings_of_all), T(test_written), T(test_ended) };

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
