/* Containers of a recording: their names, counters across restarts and files, and nesting. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "recording/ctr_table.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID2 "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

static struct ev_container event(const char *cgroup, uint64_t node, const char *runtime, const char *id,
				 const char *name)
{
	return (struct ev_container){
		.cgroup = cgroup, .node = node, .runtime = runtime, .id = id, .name = name, .image = "", .pod = "",
		.pod_ns = "", .pod_uid = "",
	};
}

static void expect_label(const struct ctr_table *t, const char *path, const char *want)
{
	const struct ctr *c = ctr_table_of(t, path);

	assert_non_null(c);
	assert_string_equal(c->label, want);
}

static void test_names(void **state)
{
	struct ctr_table *t = ctr_table_new();
	struct ev_container ev;
	struct strbuf sb = STRBUF_INIT;

	(void)state;
	ev = event("/docker/" ID, 5, "docker", ID, "web");
	ctr_table_add(t, &ev);
	ev = event("/docker/" ID2, 6, "docker", ID2, ID2);
	ctr_table_add(t, &ev);
	ev = event("/run/job-7", 7, "runc", "job-7", "");
	ctr_table_add(t, &ev);
	ev = event("/kubepods/pod1/" ID2, 8, "containerd", ID2, "nginx");
	ev.pod = "web-0";
	ev.pod_ns = "shop";
	ctr_table_add(t, &ev);
	ev = event("/system.slice/ssh.service", 9, "", "", "");
	ctr_table_add(t, &ev);
	expect_label(t, "/docker/" ID, "web");
	expect_label(t, "/docker/" ID "/init.scope/x", "web");
	expect_label(t, "/docker/" ID2, "fedcba987654");
	expect_label(t, "/run/job-7", "job-7");
	expect_label(t, "/kubepods/pod1/" ID2, "shop/web-0/nginx");
	/* A cgroup that is no container stands only for itself. */
	expect_label(t, "/system.slice/ssh.service", "");
	assert_null(ctr_table_of(t, "/system.slice/ssh.service/sub"));
	assert_null(ctr_table_of(t, "/docker/" ID "0"));
	assert_null(ctr_table_of(t, "/docker"));
	assert_null(ctr_table_of(t, "/"));
	assert_null(ctr_table_of(t, ""));
	ctr_name_text(ctr_table_of(t, "/docker/" ID), &sb);
	strbuf_addc(&sb, '\n');
	ctr_name_text(ctr_table_of(t, "/system.slice/ssh.service"), &sb);
	assert_string_equal(sb.s, "container web (docker)\ncgroup '/system.slice/ssh.service'");
	strbuf_fini(&sb);
	ctr_table_free(t);
}

/* A container in a container, and a chosen cgroup above one. */
static void test_innermost(void **state)
{
	struct ctr_table *t = ctr_table_new();
	struct ev_container ev;

	(void)state;
	ev = event("/lab", 2, "", "", "");
	ctr_table_add(t, &ev);
	ev = event("/lab/docker/" ID, 3, "docker", ID, "kind");
	ctr_table_add(t, &ev);
	ev = event("/lab/docker/" ID "/kubelet/" ID2, 4, "", ID2, "inner");
	ctr_table_add(t, &ev);
	ev = event("/lab/docker/" ID "/kubelet", 5, "", "", "");
	ctr_table_add(t, &ev);
	expect_label(t, "/lab/docker/" ID "/kubelet/" ID2 "/a", "inner");
	expect_label(t, "/lab/docker/" ID "/kubelet", "kind");
	expect_label(t, "/lab/docker/" ID, "kind");
	expect_label(t, "/lab", "");
	ctr_table_free(t);
}

/* "/anything" with @usage_us, of the container @id; "" = not known. */
static void add_anything(struct ctr_table *t, uint64_t node, const char *id, uint64_t usage_us)
{
	struct ev_container ev = event("/anything", node, id[0] ? "runc" : "", id, id);

	ev.have_usage = true;
	ev.usage_us = usage_us;
	ctr_table_add(t, &ev);
}

static void expect_rows(struct ctr_table *t, size_t rows, size_t at, uint64_t usage_us)
{
	size_t n;
	const struct ctr *c = ctr_table_all(t, &n);

	assert_int_equal(n, rows);
	assert_int_equal(c[at].usage_us, usage_us);
}

/*
 * A cgroup whose container the recorder learns later. Version 0.1.0 restarted the counters from
 * zero when it learned the name.
 */
static void test_named_later(void **state)
{
	(void)state;
	for (int from_zero = 0; from_zero < 2; from_zero++) {
		struct ctr_table *t = ctr_table_new();

		add_anything(t, 7, "", 0);
		add_anything(t, 7, "", 100);
		if (from_zero)
			add_anything(t, 7, "box", 0);
		add_anything(t, 7, "box", 150);
		expect_label(t, "/anything", "box");
		expect_rows(t, 1, 0, 150);
		ctr_table_free(t);
	}
}

/* The container's cgroup is, or may be, another one at the same path: its number is not known. */
static void test_named_another(void **state)
{
	(void)state;
	for (uint64_t node = 0; node < 2; node++) {
		struct ctr_table *t = ctr_table_new();

		add_anything(t, 2 * node, "", 100);
		add_anything(t, node, "new", 100);
		expect_rows(t, 2, 0, 0);
		ctr_table_free(t);
	}
}

/* Lives of a plain cgroup add up, whether their numbers are known or not. */
static void test_lives(void **state)
{
	(void)state;
	for (uint64_t node = 0; node < 2; node++) {
		struct ctr_table *t = ctr_table_new();

		add_anything(t, node, "", 0);
		add_anything(t, node, "", 100);
		add_anything(t, 2 * node, "", 0);
		add_anything(t, 2 * node, "", 50);
		expect_rows(t, 1, 0, 150);
		ctr_table_free(t);
	}
}

static void test_same_names(void **state)
{
	struct ctr_table *t = ctr_table_new();
	struct ev_container ev;

	(void)state;
	ev = event("/docker/" ID, 1, "docker", ID, "web");
	ctr_table_add(t, &ev);
	/* At the same time, from another runtime. */
	ev = event("/libpod-" ID2, 2, "podman", ID2, "web");
	ctr_table_add(t, &ev);
	expect_label(t, "/docker/" ID, "web");
	expect_label(t, "/libpod-" ID2, "web:fedcba987654");
	/* Recreated: another ID, the same name; both lives are one. */
	ev = event("/docker/" ID2, 3, "docker", ID2, "web");
	ctr_table_add(t, &ev);
	expect_label(t, "/docker/" ID2, "web");
	/* From another runtime, after the earlier ones have ended. */
	ev.gone = true;
	ctr_table_add(t, &ev);
	ev = event("/libpod-" ID, 4, "podman", ID, "web");
	ctr_table_add(t, &ev);
	expect_label(t, "/libpod-" ID, "web");
	/* A label once given stays. */
	expect_label(t, "/libpod-" ID2, "web:fedcba987654");
	ctr_table_free(t);
}

static void read_cpu(struct ev_container *ev, uint64_t usage, uint64_t periods, uint64_t throttled, uint64_t us)
{
	ev->have_usage = ev->have_throttling = true;
	ev->usage_us = usage;
	ev->nr_periods = periods;
	ev->nr_throttled = throttled;
	ev->throttled_us = us;
}

static void expect_cpu(const struct ctr_table *t, uint64_t usage, uint64_t periods, uint64_t throttled, uint64_t us)
{
	const struct ctr *c = ctr_table_of(t, "/a");

	assert_int_equal(c->usage_us, usage);
	assert_int_equal(c->nr_periods, periods);
	assert_int_equal(c->nr_throttled, throttled);
	assert_int_equal(c->throttled_us, us);
}

static void expect_limit(const struct ctr_table *t, const char *want)
{
	struct strbuf sb = STRBUF_INIT;

	ctr_limit_text(ctr_table_of(t, "/a"), &sb);
	assert_string_equal(sb.s, want);
	strbuf_fini(&sb);
}

static void test_counters(void **state)
{
	struct ctr_table *t = ctr_table_new();
	struct ev_container ev = event("/a", 10, "docker", ID, "web");
	struct strbuf sb = STRBUF_INIT;

	(void)state;
	/* Not readable at first, then with some start value. */
	ctr_table_add(t, &ev);
	assert_false(ctr_table_of(t, "/a")->have_usage);
	read_cpu(&ev, 1000000, 400, 26, 5000000);
	ctr_table_add(t, &ev);
	expect_cpu(t, 0, 0, 0, 0);
	ctr_throttle_line(ctr_table_of(t, "/a"), &sb);
	assert_int_equal(sb.len, 0);
	/* In two segments: the usage between them counts as well. */
	read_cpu(&ev, 1500000, 500, 36, 5500000);
	ctr_table_add(t, &ev);
	read_cpu(&ev, 1600000, 510, 37, 5600000);
	ctr_table_add(t, &ev);
	ev.gone = true;
	ctr_table_add(t, &ev);
	expect_cpu(t, 600000, 110, 11, 600000);
	assert_true(ctr_table_of(t, "/a")->gone);
	/* Restarted within the recording: a new cgroup, whose counters begin at 0. */
	ev.gone = false;
	ev.node = 11;
	ev.quota_us = 50000;
	ev.period_us = 100000;
	read_cpu(&ev, 0, 0, 0, 0);
	ctr_table_add(t, &ev);
	expect_cpu(t, 600000, 110, 11, 600000);
	read_cpu(&ev, 7, 397, 63, 3200000);
	ctr_table_add(t, &ev);
	expect_cpu(t, 600007, 507, 74, 3800000);
	assert_false(ctr_table_of(t, "/a")->gone);
	ctr_throttle_line(ctr_table_of(t, "/a"), &sb);
	assert_string_equal(sb.s, "container web (docker): throttled in 74 of 507 periods, 3.8 s, limit 0.50 CPUs");
	/* The limit was changed, and removed. */
	ev.quota_us = 25000;
	ctr_table_add(t, &ev);
	expect_limit(t, "limit 0.50 CPUs, then 0.25");
	ev.quota_us = 0;
	ctr_table_add(t, &ev);
	ctr_table_add(t, &ev);
	expect_limit(t, "limit 0.25 CPUs, then none");
	/* The same share of a longer period. */
	ev.quota_us = 50000;
	ev.period_us = 200000;
	ctr_table_add(t, &ev);
	expect_limit(t, "limit 0.25 CPUs");
	/* Damage: counters that decrease must not give absurd totals. */
	read_cpu(&ev, 3, 2, 1, 0);
	ctr_table_add(t, &ev);
	expect_cpu(t, 600007, 507, 74, 3800000);
	strbuf_fini(&sb);
	ctr_table_free(t);
}

static void add_cpu(struct ctr_table *t, const char *path, const char *id, uint64_t throttled, uint64_t us)
{
	struct ev_container ev = event(path, 10, *id ? "docker" : "", id, id);

	read_cpu(&ev, 0, 500, throttled, us);
	ctr_table_add(t, &ev);
}

/* What was throttled within the recording, or lies in it: not next to it, above it, or before it. */
static void test_throttled(void **state)
{
	struct ctr_table *t = ctr_table_new();

	(void)state;
	add_cpu(t, "/pod", "", 7, 1000);
	add_cpu(t, "/pod/web", "web", 0, 0);
	add_cpu(t, "/free", "free", 9, 1000);
	add_cpu(t, "/again", "one", 0, 0);
	assert_false(ctr_table_throttled(t, "/pod"));
	add_cpu(t, "/pod", "", 8, 1100);
	add_cpu(t, "/pod/web", "web", 0, 0);
	add_cpu(t, "/free", "free", 9, 1000);
	/* Another container has the path later on. */
	add_cpu(t, "/again", "one", 1, 10);
	add_cpu(t, "/again", "two", 0, 0);
	assert_true(ctr_table_throttled(t, "/pod"));
	assert_true(ctr_table_throttled(t, "/pod/web"));
	assert_true(ctr_table_throttled(t, "/pod/web/inner"));
	assert_true(ctr_table_throttled(t, "/again"));
	assert_false(ctr_table_throttled(t, "/free"));
	assert_false(ctr_table_throttled(t, "/podium"));
	assert_false(ctr_table_throttled(t, "/never/seen"));
	assert_false(ctr_table_throttled(t, "/"));
	assert_false(ctr_table_throttled(t, ""));
	ctr_table_free(t);
}

/* The path later belongs to another container, as with runc and a fixed path. */
static void test_path_again(void **state)
{
	struct ctr_table *t = ctr_table_new();
	struct ev_container ev = event("/a", 10, "runc", "one", "");
	const struct ctr *all;
	size_t n;

	(void)state;
	read_cpu(&ev, 10, 0, 0, 0);
	ctr_table_add(t, &ev);
	read_cpu(&ev, 30, 0, 0, 0);
	ctr_table_add(t, &ev);
	ev = event("/a", 11, "runc", "two", "");
	read_cpu(&ev, 100, 0, 0, 0);
	ctr_table_add(t, &ev);
	expect_label(t, "/a", "two");
	all = ctr_table_all(t, &n);
	assert_int_equal(n, 2);
	assert_string_equal(all[0].label, "one");
	assert_int_equal(all[0].usage_us, 20);
	assert_int_equal(all[1].usage_us, 0);
	ctr_table_free(t);
}

static void test_clean_text(void **state)
{
	struct ctr_table *t = ctr_table_new();
	struct ev_container ev = event("/a", 10, "x\033[2J", "i", "w\nb\177\302\233c");
	struct strbuf sb = STRBUF_INIT;

	(void)state;
	ctr_table_add(t, &ev);
	ctr_name_text(ctr_table_of(t, "/a"), &sb);
	assert_string_equal(sb.s, "container w\\u{a}b\\u{7f}\\u{9b}c (x\\u{1b}[2J)");
	strbuf_fini(&sb);
	ctr_table_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_innermost),
		cmocka_unit_test(test_named_later),
		cmocka_unit_test(test_named_another),
		cmocka_unit_test(test_lives),
		cmocka_unit_test(test_same_names),
		cmocka_unit_test(test_counters),
		cmocka_unit_test(test_throttled),
		cmocka_unit_test(test_path_again),
		cmocka_unit_test(test_clean_text),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
