/* Side-band events of a recording: each comes back as it was written, in the same order. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "event.h"
#include "recording.h"
#include "recording/event_codec.h"
#include "recording/event_table.h"
#include "recgen.h"
#include "recording/rec_reader.h"
#include "recording/rec_writer.h"

/* ---- side-band ---- */

struct log {
	char text[8192];
	size_t len;
};

__attribute__((format(printf, 2, 3)))
static int say(void *ctx, const char *fmt, ...)
{
	struct log *l = ctx;
	va_list ap;

	va_start(ap, fmt);
	l->len += (size_t)vsnprintf(l->text + l->len, sizeof(l->text) - l->len, fmt, ap);
	va_end(ap);
	assert_true(l->len < sizeof(l->text));
	return 0;
}

static int say_dso(void *ctx, const struct ev_dso *e)
{
	return say(ctx, "dso %u %02x%02x/%u %u:%u %lu %lu %lu %ld %lu %s%s\n", e->id,
		   e->build_id[0], e->build_id[19], e->build_id_len, e->dev_major, e->dev_minor,
		   (long)e->ino, (long)e->ino_gen, (long)e->size, (long)e->mtime_ns,
		   (long)e->mnt_ns, e->path, e->deleted ? " gone" : "");
}

static int say_proc(void *ctx, const struct ev_proc *e)
{
	say(ctx, "proc %lu #%u %u<%u %lu ns", (long)e->time, e->serial, e->pid, e->ppid,
	    (long)e->start_ticks);
	for (uint32_t i = 0; i < e->nspid_n; i++)
		say(ctx, " %u", e->nspid[i]);
	return say(ctx, " %lu %lu %lu '%s' '%s' '%s' '%s' %d %d\n", (long)e->mnt_ns,
		   (long)e->pid_ns, (long)e->user_ns, e->comm, e->exe, e->root, e->cgroup,
		   e->maps_known, e->inherited);
}

static int say_mmap(void *ctx, const struct ev_mmap *e)
{
	return say(ctx, "mmap %lu %u/%u %lx+%lx @%lx %x %x %u %s\n", (long)e->time, e->pid, e->tid,
		   (long)e->start, (long)e->len, (long)e->pgoff, e->prot, e->flags, e->dso,
		   e->path);
}

static int say_comm(void *ctx, const struct ev_comm *e)
{
	return say(ctx, "comm %lu %u/%u %s%s\n", (long)e->time, e->pid, e->tid, e->comm,
		   e->exec ? " exec" : "");
}

static int say_fork(void *ctx, const struct ev_task *e)
{
	return say(ctx, "fork %lu %u/%u < %u/%u\n", (long)e->time, e->pid, e->tid, e->ppid,
		   e->ptid);
}

static int say_exit(void *ctx, const struct ev_task *e)
{
	return say(ctx, "exit %lu %u/%u < %u/%u\n", (long)e->time, e->pid, e->tid, e->ppid,
		   e->ptid);
}

static int say_cgroup(void *ctx, const struct ev_cgroup *e)
{
	return say(ctx, "cgroup %lu %s\n", (long)e->id, e->path);
}

static int say_ksymbol(void *ctx, const struct ev_ksymbol *e)
{
	return say(ctx, "ksymbol %lu %lx+%x %s%s\n", (long)e->time, (long)e->addr, e->len, e->name,
		   e->gone ? " gone" : "");
}

static int say_pressure(void *ctx, const struct ev_pressure *e)
{
	return say(ctx, "pressure %lu %u %u\n", (long)e->time, e->level, e->cause);
}

static int say_absence(void *ctx, const struct ev_absence *e)
{
	return say(ctx, "absence %lu %u %u %s\n", (long)e->time, e->kind, e->cpu, e->cgroup);
}

static int say_container(void *ctx, const struct ev_container *e)
{
	return say(ctx, "container %lu %lu %s %s %s %s %s %s/%s %s %d%d%d %lu/%lu %lu %lu/%lu %lu\n",
		   (long)e->time, (long)e->node, e->cgroup, e->runtime, e->id, e->name, e->image, e->pod_ns,
		   e->pod, e->pod_uid, e->have_usage, e->have_throttling, e->gone, (long)e->quota_us,
		   (long)e->period_us, (long)e->usage_us, (long)e->nr_throttled, (long)e->nr_periods,
		   (long)e->throttled_us);
}

static int say_budget(void *ctx, const struct ev_budget *e)
{
	return say(ctx, "budget %lu %u %lu %s %d %u\n", (long)e->time, e->kind, (long)e->count, e->cgroup, e->by_user, e->uid);
}

static int say_schedstat(void *ctx, const struct ev_schedstat *e)
{
	return say(ctx, "schedstat %lu %u/%u %lu %lu %lu\n", (long)e->time, e->pid, e->tid, (long)e->run_ns, (long)e->wait_ns,
		   (long)e->slices);
}

static int say_wakeup(void *ctx, const struct ev_wakeup *e)
{
	return say(ctx, "wakeup %lu %u/%u %u\n", (long)e->time, e->pid, e->tid, e->cpu);
}

static int say_toggle(void *ctx, const struct ev_toggle *e)
{
	return say(ctx, "toggle %lu %d\n", (long)e->time, e->on);
}

static int say_event(void *ctx, const struct ev_event *e)
{
	return say(ctx, "event %lu %u %u <%u %u %lx %lx %lx %lu/%lu '%s' '%s' '%s' '%s' '%s' %u/%u/%u\n", (long)e->time, e->index, e->role,
		   e->leader, e->type, (long)e->config, (long)e->config1, (long)e->config2, (long)e->freq, (long)e->period,
		   e->name, e->modifier, e->unit, e->filter, e->fields, e->callgraph, e->dump_size, e->max_stack);
}

static int say_sample(void *ctx, const struct ev_sample *e)
{
	return say(ctx, "sample %lu %u/%u\n", (long)e->time, e->pid, e->tid);
}

static int say_switch(void *ctx, const struct ev_switch *e)
{
	return say(ctx, "%s %lu %u\n", e->out ? "out" : "in", (long)e->time, e->tid);
}

static int say_length(void *ctx, const struct ev_event *e)
{
	((struct log *)ctx)->len = strlen(e->fields);
	return 0;
}

static const struct event_ops say_all = {
	.dso = say_dso, .proc = say_proc, .mmap = say_mmap, .comm = say_comm, .fork = say_fork,
	.exit = say_exit, .cgroup = say_cgroup, .ksymbol = say_ksymbol, .pressure = say_pressure,
	.absence = say_absence, .container = say_container, .budget = say_budget,
	.event = say_event, .schedstat = say_schedstat, .wakeup = say_wakeup, .sample = say_sample,
	.cpu_switch = say_switch, .toggle = say_toggle,
};

/* Each event as text: as it is handed to the writer, and again as the reader returns it. */
static void test_order_of_events(void **state)
{
	static const uint64_t chain[] = { (uint64_t)-128, 0xffffffff81234567ull };
	struct ev_dso dso = {
		.id = 1, .build_id = { 0xab, [19] = 0xcd }, .build_id_len = 20, .dev_major = 254,
		.dev_minor = UINT32_MAX, .ino = UINT64_MAX, .ino_gen = 7, .size = 1ull << 40,
		.mtime_ns = -5, .mnt_ns = 4026531841, .path = "/usr/lib/x.so", .deleted = true,
	};
	struct ev_dso none = { .id = UINT32_MAX, .path = "" };
	struct ev_proc proc = {
		.time = 50,
		.serial = 3,
		.pid = 20908,
		.ppid = 1,
		.start_ticks = 123456789,
		.nspid = { 20908, 2, 1 },
		.nspid_n = 3,
		.mnt_ns = 1,
		.pid_ns = 2,
		.user_ns = 3,
		.comm = "a b\tc",
		.exe = "/bin/x",
		.root = "/",
		.cgroup = "/docker/1",
		.maps_known = true,
	};
	struct ev_proc bare = { .time = UINT64_MAX,
				.serial = 4,
				.pid = 1,
				.inherited = true,
				.comm = "",
				.exe = "",
				.root = "",
				.cgroup = "" };
	struct ev_mmap map = {
		.time = 49, .pid = 20908, .tid = 20909, .start = 0x7f5c8e200000, .len = 0x28000,
		.pgoff = 0x28000, .prot = 5, .flags = 2, .dso = 1, .path = "/usr/lib/x.so",
	};
	struct ev_comm comm = {
		.time = 60, .pid = 20908, .tid = 20908, .exec = true, .comm = "new"
	};
	struct ev_task task = { .time = 61, .pid = 5, .tid = 6, .ppid = 7, .ptid = 8 };
	struct ev_cgroup cg = { .id = 1ull << 63, .path = "/docker/1" };
	struct ev_ksymbol ks = { .time = 62,
				 .addr = 0xffffffffc0000000ull,
				 .len = 256,
				 .gone = true,
				 .name = "bpf_prog_1" };
	struct ev_pressure press = { .time = 69,
				     .level = PRESSURE_CUT,
				     .cause = PRESSURE_RINGS };
	struct ev_absence cpu = {
		.time = 68, .kind = ABSENCE_CPU, .cpu = UINT32_MAX, .cgroup = ""
	};
	struct ev_absence gone = { .time = 68, .kind = ABSENCE_CGROUP, .cgroup = "/a b" };
	struct ev_container ctr = {
		.time = 67, .node = UINT64_MAX, .cgroup = "/kubepods/pod1/f0", .runtime = "containerd", .id = "f0",
		.name = "web", .image = "nginx:1.27", .pod = "web-0", .pod_ns = "shop", .pod_uid = "1-2",
		.have_usage = true, .have_throttling = true, .quota_us = 50000, .period_us = 100000,
		.usage_us = 1ull << 50, .nr_periods = 507, .nr_throttled = 74, .throttled_us = 3800000,
	};
	struct ev_budget over = {
		.time = 69, .kind = BUDGET_MAPS, .count = UINT64_MAX, .cgroup = "/evil", .by_user = true, .uid = UINT32_MAX,
	};
	struct ev_schedstat times = {
		.time = 70, .pid = UINT32_MAX, .tid = 7, .run_ns = UINT64_MAX, .wait_ns = 1ull << 50, .slices = 1ull << 33,
	};
	struct ev_wakeup woken = { .time = 71, .pid = 7, .tid = UINT32_MAX, .cpu = UINT32_MAX };
	struct ev_toggle off = { .time = 72 }, on = { .time = UINT64_MAX, .on = true };
	struct ev_container slice = {
		.time = 66, .cgroup = "/a.slice", .runtime = "", .id = "", .name = "", .image = "", .pod = "",
		.pod_ns = "", .pod_uid = "", .gone = true,
	};
	struct sample_in s = {
		.time = 70, .pid = 20908, .tid = 20909, .chain = chain, .nchain = 2,
	};
	struct ev_sample es = { .time = 70, .pid = 20908, .tid = 20909 };
	struct log *in = calloc(1, sizeof(*in)), *out = calloc(1, sizeof(*out));
	struct rec_writer *w;
	struct rec_reader *r;
	char path[32];
	int fd = gen_memfd(path), err;

	(void)state;
	w = rec_writer_new(fd, &err);
	assert_non_null(w);
	for (int i = 0; i < 3; i++) {
#define BOTH(kind, ev) (rec_writer_##kind(w, &(ev)), say_##kind(in, &(ev)))
#define SAMPLE() (rec_writer_sample(w, &s), say_sample(in, &es))
		BOTH(dso, dso);
		SAMPLE();
		SAMPLE();
		BOTH(proc, proc);
		BOTH(mmap, map);
		SAMPLE();
		BOTH(comm, comm);
		BOTH(fork, task);
		BOTH(exit, task);
		BOTH(dso, none);
		BOTH(proc, bare);
		SAMPLE();
		BOTH(cgroup, cg);
		BOTH(ksymbol, ks);
		BOTH(pressure, press);
		BOTH(absence, cpu);
		BOTH(absence, gone);
		BOTH(container, ctr);
		BOTH(container, slice);
		BOTH(budget, over);
		BOTH(schedstat, times);
		BOTH(wakeup, woken);
		BOTH(toggle, off);
		BOTH(toggle, on);
		if (i == 1) {	/* across a block's end, too */
			rec_writer_tick(w, 1);
			rec_writer_tick(w, 1000000000);
		}
#undef BOTH
#undef SAMPLE
	}
	assert_int_equal(rec_writer_finish(w), 0);
	rec_writer_free(w);
	r = rec_reader_open(path);
	assert_non_null(r);
	assert_int_equal(rec_reader_events(r, &say_all, out), 0);
	assert_string_equal(out->text, in->text);
	assert_int_equal(rec_reader_damage(r)->bad_blocks, 0);
	rec_reader_close(r);
	close(fd);
	free(in);
	free(out);
}

/* ---- events that samples are of ---- */

static const struct ev_event table[] = {
	{ .time = 5, .name = "cpu-clock", .unit = "ns", .freq = 999, .modifier = "u", .filter = "", .fields = "", .type = 1 },
	{
		.time = UINT64_MAX, .index = 1, .role = ROLE_MEMBER, .type = UINT32_MAX, .config = UINT64_MAX, .config1 = 1ull << 63,
		.config2 = 7, .period = UINT64_MAX, .name = "sched:sched_switch", .modifier = "", .unit = "",
		.filter = "prev_state==2 && comm!=\"x\"", .fields = "field:int a;\nfield:long b;\n",
		.callgraph = CALLGRAPH_DWARF, .dump_size = 65528, .max_stack = UINT32_MAX,
	},
};

static void end_block(struct rec_writer *w)
{
	rec_writer_tick(w, 1);
	rec_writer_tick(w, 1000000000);
}

/*
 * Events are there when a part begins, so before the first sample of each, and once more when they
 * change.
 */
static void test_events(void **state)
{
	static const uint64_t chain[] = { (uint64_t)-128, 0xffffffff81234567ull };
	struct log *in = calloc(1, sizeof(*in)), *out = calloc(1, sizeof(*out));
	struct ev_event now[] = { table[0], table[1] }, bad = table[0];
	struct sample_in s = { .time = 70, .chain = chain, .nchain = 2 };
	struct ev_sample es = { .time = 70 };
	struct rec_writer *w;
	struct rec_reader *r;
	char path[32];
	int fd = gen_memfd(path), err;

	(void)state;
	w = rec_writer_new_events(fd, &err);
	assert_non_null(w);
	rec_writer_patient(w);
	bad.index = 1;
	assert_int_equal(rec_writer_event(w, &bad), -EINVAL);
	assert_int_equal(rec_writer_sample(w, &s), -EINVAL);
	assert_int_equal(rec_writer_event(w, &now[0]), 0);
	s.event = 1;
	assert_int_equal(rec_writer_sample(w, &s), -EINVAL);
	assert_int_equal(rec_writer_event(w, &now[1]), 0);
	say_event(in, &now[0]);
	say_event(in, &now[1]);
	s.payload_len = PAYLOAD_MAX + 1;
	assert_int_equal(rec_writer_sample(w, &s), -EINVAL);
	s.payload_len = 0;
	/* The 65th block is the next KEY block. */
	for (uint32_t i = 0; i < 65; i++) {
		if (i == 3) {
			now[1].period = 5;
			assert_int_equal(rec_writer_event(w, &now[1]), 0);
			say_event(in, &now[1]);
		}
		/* That is known. */
		assert_int_equal(rec_writer_event(w, &now[0]), 0);
		if (i == 64) {
			say_event(in, &now[0]);
			say_event(in, &now[1]);
		}
		s.event = i % 2;
		assert_int_equal(rec_writer_sample(w, &s), 0);
		say_sample(in, &es);
		end_block(w);
	}
	assert_int_equal(rec_writer_finish(w), 0);
	rec_writer_free(w);
	r = rec_reader_open(path);
	assert_non_null(r);
	assert_int_equal(rec_reader_version(r), 3);
	assert_int_equal(rec_reader_events(r, &say_all, out), 0);
	assert_string_equal(out->text, in->text);
	assert_int_equal(rec_reader_damage(r)->bad_blocks, 0);
	rec_reader_close(r);
	close(fd);
	free(in);
	free(out);
}

/*
 * A block has its switches together. They come back in the order of time among samples and
 * wake-ups. Events that are dated later, as when a container was looked at, do not draw them before
 * the sample of their wait.
 */
static void test_order_of_switches(void **state)
{
	static const uint64_t chain[] = { (uint64_t)-128, 0xffffffff81234567ull };
	const struct ev_container ctr = {
		.time = 900, .node = 1, .cgroup = "/a", .runtime = "", .id = "", .name = "", .image = "", .pod = "",
		.pod_ns = "", .pod_uid = "",
	};
	struct ev_event waits = { .time = 800, .role = ROLE_WAITS, .period = 1, .name = "off-cpu", .modifier = "", .unit = "ns",
				  .filter = "", .fields = "" };
	const struct ev_task task = { .time = 95, .pid = 5, .tid = 6, .ppid = 5, .ptid = 5 };
	const struct ev_wakeup wakeup = { .time = 120, .pid = 5, .tid = 6 };
	struct sample_in s = { .time = 100, .pid = 5, .tid = 6, .chain = chain, .nchain = 2 };
	struct log *out = calloc(1, sizeof(*out));
	struct rec_reader *r;
	struct rec_writer *w;
	char path[32];
	int fd = gen_memfd(path), err;

	(void)state;
	w = rec_writer_new_events(fd, &err);
	assert_non_null(w);
	assert_int_equal(rec_writer_event(w, &waits), 0);
	assert_int_equal(rec_writer_container(w, &ctr), 0);
	assert_int_equal(rec_writer_switch(w, &(struct ev_switch){ .time = 90, .pid = 5, .tid = 6 }), 0);
	assert_int_equal(rec_writer_switch(w, &(struct ev_switch){ .time = 110, .pid = 5, .tid = 6, .out = true }), 0);
	assert_int_equal(rec_writer_switch(w, &(struct ev_switch){ .time = 130, .pid = 5, .tid = 6 }), 0);
	assert_int_equal(rec_writer_fork(w, &task), 0);
	assert_int_equal(rec_writer_sample(w, &s), 0);
	assert_int_equal(rec_writer_wakeup(w, &wakeup), 0);
	assert_int_equal(rec_writer_finish(w), 0);
	rec_writer_free(w);
	r = rec_reader_open(path);
	assert_non_null(r);
	assert_int_equal(rec_reader_events(r, &say_all, out), 0);
	assert_non_null(strstr(out->text, "in 90 6\nsample 100 5/6\nout 110 6\nwakeup 120 5/6 0\nin 130 6\n"));
	rec_reader_close(r);
	close(fd);
	free(out);
}

/* A recording of one plain event is of version 2, as if there were no other. */
static void test_one_plain_event(void **state)
{
	static const uint64_t chain[] = { (uint64_t)-128, 0xffffffff81234567ull };
	struct sample_in s = { .time = 70, .chain = chain, .nchain = 2 };
	struct rec_writer *w;
	struct rec_reader *r;
	char path[32];
	uint32_t version;
	int fd = gen_memfd(path), err;

	(void)state;
	w = rec_writer_new(fd, &err);
	assert_int_equal(rec_writer_event(w, &table[0]), -EINVAL);
	assert_int_equal(rec_writer_sample(w, &s), 0);
	s.payload_len = 1;
	s.payload = (const uint8_t *)"x";
	assert_int_equal(rec_writer_sample(w, &s), -EINVAL);
	s.payload_len = 0;
	s.event = 1;
	assert_int_equal(rec_writer_sample(w, &s), -EINVAL);
	assert_int_equal(rec_writer_finish(w), 0);
	rec_writer_free(w);
	assert_int_equal(pread(fd, &version, 4, 8), 4);
	assert_int_equal(version, 2);
	r = rec_reader_open(path);
	assert_int_equal(rec_reader_version(r), 2);
	rec_reader_close(r);
	close(fd);
}

/* Lists of fields that are too long lose their last lines. */
static void test_long_fields(void **state)
{
	struct ev_event ev = table[0];
	struct log *out = calloc(1, sizeof(*out));
	struct strbuf sb = STRBUF_INIT, fields = STRBUF_INIT;
	struct event_enc e = { 0 };
	struct cursor c;
	uint64_t time = 0;
	size_t lines = 0;
	int ret;

	(void)state;
	while (fields.len < REC_FIELDS_MAX) {
		lines += fields.len + 100 < REC_FIELDS_MAX;
		strbuf_addf(&fields, "%99s\n", "field");
	}
	ev.fields = fields.s;
	event_enc_begin(&e);
	event_enc_event(&e, &sb, &ev);
	cursor_init(&c, sb.s, sb.len);
	assert_int_equal(event_dec_next(&c, &time, &(struct event_ops){ .event = say_length }, out, &ret), 0);
	assert_int_equal(out->len, 100 * lines);
	event_enc_fini(&e);
	strbuf_fini(&sb);
	strbuf_fini(&fields);
	free(out);
}

/* All texts together are limited: they are in each part. */
static void test_event_table(void **state)
{
	struct event_table t = { 0 };
	struct ev_event ev = { 0 };
	char *text = malloc(EVENT_TABLE_BYTES / 4 + 1);
	uint32_t n = 0;

	(void)state;
	memset(text, 'x', EVENT_TABLE_BYTES / 4);
	text[EVENT_TABLE_BYTES / 4] = '\0';
	ev.fields = text;
	while (event_table_put(&t, &ev) == 1)
		ev.index = ++n;
	assert_int_equal(n, 3);
	assert_int_equal(event_table_put(&t, &ev), -E2BIG);
	/* In place of a long one there is room. */
	ev.index = 1;
	ev.period = 1;
	assert_int_equal(event_table_put(&t, &ev), 1);
	assert_int_equal(event_table_put(&t, &ev), 0);
	ev.fields = "";
	assert_int_equal(event_table_put(&t, &ev), 1);
	assert_string_equal(t.ev[1].fields, "");
	assert_string_equal(t.ev[1].name, "");
	for (ev.index = n; ev.index < SAMPLED_EVENTS_MAX; ev.index++)
		assert_int_equal(event_table_put(&t, &ev), 1);
	assert_int_equal(event_table_put(&t, &ev), -EINVAL);
	assert_int_equal(t.n, SAMPLED_EVENTS_MAX);
	event_table_fini(&t);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order_of_events),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_order_of_switches),
		cmocka_unit_test(test_one_plain_event),
		cmocka_unit_test(test_long_fields),
		cmocka_unit_test(test_event_table),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
