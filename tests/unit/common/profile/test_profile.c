/* Profiles: building them, writing them as text and reading them back, and damaged text. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/escape.h"
#include "base/intern.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "profile/profile.h"
#include "random.h"

static uint32_t below(uint64_t *rnd, uint32_t n)
{
	return (uint32_t)(random_next(rnd) >> 20) % n;
}

/* Any bytes but NUL, and more often those that the text escapes. */
static uint32_t random_text(struct profile *p, uint64_t *rnd)
{
	char text[12];
	uint32_t n = below(rnd, sizeof(text)), id;
	struct strbuf sb = STRBUF_INIT;

	for (uint32_t i = 0; i < n; i++)
		text[i] = below(rnd, 3) ? (char)(1 + below(rnd, 255)) : "\t\n\\;"[below(rnd, 4)];
	text[n] = '\0';
	escape_name(&sb, text);
	id = profile_string(p, sb.s);
	strbuf_fini(&sb);
	return id;
}

static struct profile *random_profile(uint64_t *rnd)
{
	struct profile *p = profile_new();
	uint32_t nframes = 2 + below(rnd, 20), nnodes = 1 + below(rnd, 60), nthreads = 1 + below(rnd, 5);

	const bool with_fields = !below(rnd, 3);

	p->block_ns = below(rnd, 2) ? 0 : 10000000;
	for (uint32_t i = below(rnd, 4); i--;)
		profile_set_meta(p, below(rnd, 2) ? "note" : "filter", profile_text(p, random_text(p, rnd)));
	for (uint32_t i = below(rnd, 2) ? 0 : 2 + below(rnd, 3); i--;) {
		const uint64_t unknown = below(rnd, 2) ? PROFILE_UNKNOWN : 0;
		const struct profile_event ev = {
			.name = random_text(p, rnd), .modifier = random_text(p, rnd), .unit = random_text(p, rnd),
			.frequency = random_next(rnd) >> below(rnd, 64), .fixed_period = random_next(rnd) >> below(rnd, 64),
			.by_period = below(rnd, 2), .truncated = below(rnd, 9), .incomplete = 9 + below(rnd, 9),
			.kept = below(rnd, 9) | unknown, .lost = below(rnd, 9), .cut = below(rnd, 9), .dropped = below(rnd, 9) | unknown,
			.withheld = below(rnd, 9), .throttled_times = below(rnd, 9) | unknown, .throttled_samples = below(rnd, 9),
		};

		profile_event(p, &ev);
	}
	for (uint32_t i = 1; i < nthreads; i++) {
		const struct profile_thread t = {
			.container = random_text(p, rnd), .cgroup = random_text(p, rnd), .comm = random_text(p, rnd),
			.process = random_text(p, rnd), .pid = (int32_t)below(rnd, 9) - 1,
			.fields = with_fields ? random_text(p, rnd) : 0, .tid = (int32_t)below(rnd, 9) - 2, .nspid = (int32_t)below(rnd, 9) - 1, .helper = below(rnd, 2),
		};

		profile_thread(p, &t);
	}
	for (uint32_t i = 1; i < nframes; i++) {
		const struct profile_frame f = {
			.name = random_text(p, rnd), .dso = random_text(p, rnd), .srcline = random_text(p, rnd),
			.source = random_text(p, rnd), .kind = (uint8_t)below(rnd, PROFILE_KINDS),
			.joined = below(rnd, 2),
		};

		profile_frame(p, &f);
	}
	for (uint32_t i = 1; i < nnodes; i++)
		profile_child(p, below(rnd, p->nnodes), 1 + below(rnd, p->nframes - 1));
	for (uint32_t i = below(rnd, 100); i--;) {
		const struct profile_count c = {
			.thread = below(rnd, p->nthreads), .block = p->block_ns ? below(rnd, 50) : 0,
			.node = below(rnd, p->nnodes), .event = p->nevents ? below(rnd, p->nevents) : 0, .samples = random_next(rnd) >> below(rnd, 64),
			.period = random_next(rnd) >> below(rnd, 64),
		};

		profile_count(p, &c);
	}
	profile_finish(p);
	return p;
}

/* *@text is owned. Returns its length. */
static size_t text_of(const struct profile *p, char **text)
{
	size_t len = 0;
	FILE *to = open_memstream(text, &len);

	assert_int_equal(profile_write(to, p), 0);
	fclose(to);
	return len;
}

static struct strbuf said;	/* the messages of the last call */

static int read_text(const char *text, size_t len, struct profile **p)
{
	/* fmemopen(3) rejects an empty buffer. */
	FILE *in = len ? fmemopen((void *)text, len, "r") : fopen("/dev/null", "r");
	int err;

	strbuf_reset(&said);
	log_divert(&said);
	err = profile_read(in, "test", p);
	log_divert(NULL);
	fclose(in);
	return err;
}

static void same_text(const struct profile *a, uint32_t x, const struct profile *b, uint32_t y)
{
	assert_string_equal(profile_text(a, x), profile_text(b, y));
}

static void same_profile(const struct profile *a, const struct profile *b)
{
	assert_int_equal(a->nframes, b->nframes);
	assert_int_equal(a->nnodes, b->nnodes);
	assert_int_equal(a->nthreads, b->nthreads);
	assert_int_equal(a->nmeta, b->nmeta);
	assert_int_equal(a->ncounts, b->ncounts);
	assert_int_equal(a->nevents, b->nevents);
	for (uint32_t i = 0; i < a->nevents; i++) {
		const struct profile_event *x = &a->events[i], *y = &b->events[i];

		same_text(a, x->name, b, y->name);
		same_text(a, x->modifier, b, y->modifier);
		same_text(a, x->unit, b, y->unit);
		assert_int_equal(x->frequency, y->frequency);
		assert_int_equal(x->fixed_period, y->fixed_period);
		assert_int_equal(x->by_period, y->by_period);
		assert_int_equal(x->truncated, y->truncated);
		assert_int_equal(x->incomplete, y->incomplete);
		assert_int_equal(x->kept, y->kept);
		assert_int_equal(x->lost, y->lost);
		assert_int_equal(x->cut, y->cut);
		assert_int_equal(x->dropped, y->dropped);
		assert_int_equal(x->withheld, y->withheld);
		assert_int_equal(x->throttled_times, y->throttled_times);
		assert_int_equal(x->throttled_samples, y->throttled_samples);
		assert_int_equal(x->samples, y->samples);
		assert_int_equal(x->period, y->period);
	}
	assert_int_equal(a->block_ns, b->block_ns);
	assert_int_equal(a->nblocks, b->nblocks);
	assert_int_equal(a->samples, b->samples);
	assert_int_equal(a->period, b->period);
	for (uint32_t i = 0; i < a->nmeta; i++) {
		same_text(a, a->meta[i].key, b, b->meta[i].key);
		same_text(a, a->meta[i].value, b, b->meta[i].value);
	}
	for (uint32_t i = 0; i < a->nframes; i++) {
		const struct profile_frame *x = &a->frames[i], *y = &b->frames[i];

		same_text(a, x->name, b, y->name);
		same_text(a, x->dso, b, y->dso);
		same_text(a, x->srcline, b, y->srcline);
		same_text(a, x->source, b, y->source);
		assert_int_equal(x->kind, y->kind);
		assert_int_equal(x->joined, y->joined);
	}
	for (uint32_t i = 0; i < a->nthreads; i++) {
		const struct profile_thread *x = &a->threads[i], *y = &b->threads[i];

		same_text(a, x->container, b, y->container);
		same_text(a, x->cgroup, b, y->cgroup);
		same_text(a, x->comm, b, y->comm);
		same_text(a, x->process, b, y->process);
		same_text(a, x->fields, b, y->fields);
		assert_int_equal(x->pid, y->pid);
		assert_int_equal(x->tid, y->tid);
		assert_int_equal(x->nspid, y->nspid);
		assert_int_equal(x->helper, y->helper);
	}
	for (uint32_t i = 0; i < a->nnodes; i++) {
		assert_int_equal(a->nodes[i].parent, b->nodes[i].parent);
		assert_int_equal(a->nodes[i].frame, b->nodes[i].frame);
	}
	for (size_t i = 0; i < a->ncounts; i++) {
		const struct profile_count *x = &a->counts[i], *y = &b->counts[i];

		assert_int_equal(x->thread, y->thread);
		assert_int_equal(x->block, y->block);
		assert_int_equal(x->node, y->node);
		assert_int_equal(x->event, y->event);
		assert_int_equal(x->samples, y->samples);
		assert_int_equal(x->period, y->period);
	}
}

/* What profile.h promises for every profile. */
static void valid_profile(const struct profile *p)
{
	uint32_t strings = intern_count(p->strings);

	for (uint32_t i = 0; i < p->nmeta; i++)
		assert_true(p->meta[i].key < strings && p->meta[i].value < strings);
	for (uint32_t i = 1; i < p->nframes; i++) {
		const struct profile_frame *f = &p->frames[i];

		assert_true(f->name < strings && f->dso < strings && f->srcline < strings && f->source < strings);
		assert_true(f->kind < PROFILE_KINDS);
	}
	for (uint32_t i = 1; i < p->nthreads; i++) {
		const struct profile_thread *t = &p->threads[i];

		assert_true(t->container < strings && t->cgroup < strings && t->comm < strings && t->process < strings);
		assert_true(t->pid >= -1 && t->tid >= PROFILE_TID_MERGED && t->nspid >= -1);
	}
	assert_true(p->nnodes && !p->nodes[0].parent);
	for (uint32_t i = 1; i < p->nnodes; i++)
		assert_true(p->nodes[i].parent < i && p->nodes[i].frame && p->nodes[i].frame < p->nframes);
	assert_true(p->nblocks <= PROFILE_BLOCKS_MAX);
	for (size_t i = 0; i < p->ncounts; i++) {
		const struct profile_count *c = &p->counts[i];

		assert_true(c->thread < p->nthreads && c->node < p->nnodes && c->event < (p->nevents ? p->nevents : 1));
		assert_true(p->block_ns ? c->block < p->nblocks : !c->block);
	}
}

static void round_trips(void **state)
{
	uint64_t rnd = 1;

	(void)state;
	for (int i = 0; i < 300; i++) {
		struct profile *p = random_profile(&rnd), *back;
		char *text, *twice;
		size_t len = text_of(p, &text), again;

		assert_int_equal(read_text(text, len, &back), 0);
		assert_false(back->cut);
		same_profile(p, back);
		valid_profile(back);
		again = text_of(back, &twice);
		assert_int_equal(again, len);
		assert_memory_equal(text, twice, len);
		free(text);
		free(twice);
		profile_free(p);
		profile_free(back);
	}
}

/* A prefix of the text is a profile of its complete lines, or none without the first line. */
static void a_cut_text_keeps_what_precedes(void **state)
{
	uint64_t rnd = 2;
	struct profile *p = random_profile(&rnd), *part;
	char *text;
	size_t len = text_of(p, &text), header;

	(void)state;
	header = (size_t)(strchr(text, '\n') - text) + 1;
	for (size_t n = 0; n < len; n++) {
		char *line = text, *end;
		uint32_t nodes = 1, counts = 0;

		if (n < header) {
			assert_int_equal(read_text(text, n, &part), -EINVAL);
			continue;
		}
		assert_int_equal(read_text(text, n, &part), 0);
		valid_profile(part);
		assert_true(part->cut);
		for (; (end = memchr(line, '\n', (size_t)(text + n - line))); line = end + 1) {
			nodes += *line == 'N';
			counts += *line == 'C';
		}
		assert_int_equal(part->nnodes, nodes);
		assert_int_equal(part->ncounts, counts);
		profile_free(part);
	}
	free(text);
	profile_free(p);
}

/*
 * Whatever byte is changed, nothing is read out of bounds, and nothing incomplete is accepted as
 * complete.
 */
static void damage_gives_a_valid_part(void **state)
{
	uint64_t rnd = 3;

	(void)state;
	for (int i = 0; i < 30; i++) {
		struct profile *p = random_profile(&rnd), *part;
		char *text;
		size_t len = text_of(p, &text);

		for (size_t at = 0; at < len; at++) {
			char was = text[at];

			text[at] = below(&rnd, 2) ? "0\t\n\\-9NCTFBE"[below(&rnd, 12)] : (char)below(&rnd, 256);
			if (!read_text(text, len, &part)) {
				valid_profile(part);
				assert_int_equal(part->cut, text[at] != was);
				profile_free(part);
			}
			text[at] = was;
		}
		free(text);
		profile_free(p);
	}
}

/*
 * A text of version @version with this after its first line is well-formed up to its line @bad; 0: to
 * the end.
 */
static void reads_version(int version, const char *body, uint64_t bad)
{
	struct strbuf text = STRBUF_INIT;
	struct profile *p;
	char want[64];

	strbuf_addf(&text, "nsprof-profile\t%d\n", version);
	strbuf_adds(&text, body);
	assert_int_equal(read_text(text.s, text.len, &p), 0);
	snprintf(want, sizeof(want), "line %llu does not belong in a profile", (unsigned long long)bad);
	if (bad && (!said.s || !strstr(said.s, want)))
		fail_msg("of \"%s\" it says \"%s\", not \"%s\"", body, said.s ? said.s : "", want);
	if (!bad && said.len)
		fail_msg("of \"%s\" it says \"%s\"", body, said.s);
	assert_int_equal(p->cut, bad != 0);
	profile_free(p);
	strbuf_fini(&text);
}

static void reads(const char *body, uint64_t bad)
{
	reads_version(1, body, bad);
}

static void events_are_checked(void **state)
{
	static const char v[] = "V\tcycles\tu\t\t99\t0\tperiod\t1\t2\n", f[] = "F\tmain\t/bin/a\tu\t0\tsymtab\t\nN\t0\t1\n";
	char b[1024];

	(void)state;
	reads(v, 2);
	reads_version(2, "E\t1\n", 0);
	snprintf(b, sizeof(b), "%s%s%sC\t0\t1\t0\t3\t4\t1\nE\t6\n", v, v, f);
	reads_version(2, b, 0);
	reads(b, 2);
	reads("T\tweb\t/a\tnginx\tnginx\t7\t8\t1\t0\ta=1\n", 2);
	reads_version(2, "T\tweb\t/a\tnginx\tnginx\t7\t8\t1\t0\ta=1\nT\tweb\t/a\tnginx\tnginx\t7\t8\t1\t0\ta=2\nE\t3\n", 0);
	reads_version(2, "T\tweb\t/a\tnginx\tnginx\t7\t8\t1\t0\ta=1\tb\n", 2);
	reads_version(2, "V\tcycles\tu\t\t99\t0\tperiod\t1\n", 2);
	reads_version(2, "V\tcycles\tu\t\t99\t0\tperiods\t1\t2\n", 2);
	reads_version(2, "V\tcycles\tu\t\t-1\t0\tperiod\t1\t2\n", 2);
	reads_version(2, "V\tcycles\tu\t\t1\tx\tperiod\t1\t2\n", 2);
	reads_version(2, "V\tcycles\tu\t\t1\t0\tperiod\t1\t2\t\t\t\t\t\t\t\tfp\t0\nE\t2\n", 0);
	reads_version(2, "V\tcycles\tu\t\t1\t0\tperiod\t1\t2\t\t\t\t\t\t\t\tfp\n", 2);
	reads_version(2, "V\tcycles\tu\t\t1\t0\tperiod\t1\t2\t\t\t\t\t\t\t\tfp\tx\n", 2);
	reads_version(2, "V\tcycles\tu\t\t1\t0\tperiod\t1\t2\t\t\t\t\t\t\t\t\t0\n", 2);
	snprintf(b, sizeof(b), "%s%sC\t0\t1\t0\t3\t4\t1\n", v, f);
	reads_version(2, b, 5);
	snprintf(b, sizeof(b), "%s%sC\t0\t1\t0\t3\t4\n", v, f);
	reads_version(2, b, 5);
	snprintf(b, sizeof(b), "%s%sC\t0\t1\t0\t3\t4\t0\n%s", v, f, v);
	reads_version(2, b, 6);
	snprintf(b, sizeof(b), "%sC\t0\t1\t0\t3\t4\t0\n", f);
	reads_version(2, b, 4);
}

static void every_field_is_checked(void **state)
{
	struct profile *p;
	static const char f[] = "F\tmain\t/bin/a\tu\t0\tsymtab\t\n";
	char *b;

	(void)state;
	reads("E\t1\n", 0);
	reads("E\t2\n", 2);
	reads("E\t1\t\t\n", 2);
	reads("E\t1\nE\t1\n", 3);
	reads("E\t1\nM\ta\tb\n", 3);
	reads("X\t1\n", 2);
	reads("\n", 2);
	reads("M\ta\n", 2);
	reads("M\ta\tb\tc\n", 2);
	reads("M\ta\t\\x\n", 2);
	reads("M\ta\tb\\\n", 2);
	reads("B\t10\t5\nE\t2\n", 0);
	reads("B\t10\t1000001\n", 2);
	reads("B\t0\t5\n", 2);
	reads("B\t18446744073709551616\t5\n", 2);
	reads("B\t10\t5\nB\t10\t5\n", 3);
	reads("T\tweb\t/a\tnginx\tnginx\t7\t8\t1\t0\nE\t2\n", 0);
	reads("T\tweb\t/a\tnginx\tnginx\t7\t-2\t1\t0\nE\t2\n", 0);
	reads("T\tweb\t/a\tnginx\tnginx\t-2\t8\t1\t0\n", 2);
	reads("T\tweb\t/a\tnginx\tnginx\t2147483648\t8\t1\t0\n", 2);
	reads("T\tweb\t/a\tnginx\tnginx\t7\t8\t-0\t0\n", 2);
	reads("T\tweb\t/a\tnginx\tnginx\t7\t8\t1\t2\n", 2);
	reads("T\ta\tb\tc\td\t7\t8\t1\t0\nT\ta\tb\tc\td\t7\t8\t1\t0\n", 3);
	reads("F\tmain\t/bin/a\tz\t0\t\t\n", 2);
	reads("F\tmain\t/bin/a\tuu\t0\t\t\n", 2);
	reads("F\tmain\t/bin/a\t\t0\t\t\n", 2);
	reads("F\tmain\t/bin/a\tu\t\t\t\n", 2);
	b = malloc(4096);
	snprintf(b, 4096, "%sN\t0\t1\nC\t0\t1\t0\t3\t4\nE\t4\n", f);
	reads(b, 0);
	snprintf(b, 4096, "%sN\t1\t1\n", f);
	reads(b, 3);
	snprintf(b, 4096, "%sN\t0\t0\n", f);
	reads(b, 3);
	snprintf(b, 4096, "%sN\t0\t2\n", f);
	reads(b, 3);
	snprintf(b, 4096, "%sN\t0\t1\nN\t0\t1\n", f);
	reads(b, 4);
	snprintf(b, 4096, "%sN\t0\t1\nC\t1\t1\t0\t3\t4\n", f);
	reads(b, 4);
	snprintf(b, 4096, "%sN\t0\t1\nC\t0\t2\t0\t3\t4\n", f);
	reads(b, 4);
	snprintf(b, 4096, "%sN\t0\t1\nC\t0\t1\t1\t3\t4\n", f);
	reads(b, 4);
	snprintf(b, 4096, "B\t10\t2\n%sN\t0\t1\nC\t0\t1\t2\t3\t4\n", f);
	reads(b, 5);
	snprintf(b, 4096, "%sN\t0\t1\nC\t0\t1\t0\t18446744073709551616\t4\n", f);
	reads(b, 4);
	free(b);
	assert_int_equal(read_text("nsprof-profile\t3\n", 17, &p), -EINVAL);
	assert_int_equal(read_text("a;b 1\n", 6, &p), -EINVAL);
}

static void sums_stop_and_equal_counts_meet(void **state)
{
	struct profile *p = profile_new();
	struct profile_frame f = { .name = profile_string(p, "f") };
	uint32_t node = profile_child(p, 0, profile_frame(p, &f));
	const struct profile_count big = { .node = node, .samples = UINT64_MAX - 1, .period = 7 };
	const struct profile_count nothing = { .node = 0 };

	(void)state;
	profile_count(p, &big);
	profile_count(p, &nothing);
	profile_count(p, &big);
	profile_finish(p);
	assert_int_equal(p->ncounts, 1);
	assert_int_equal(p->counts[0].samples, UINT64_MAX);
	assert_int_equal(p->counts[0].period, 14);
	assert_int_equal(p->samples, UINT64_MAX);
	assert_int_equal(p->period, 14);
	profile_free(p);
}

/* The stack of a count as text. */
static void describe(const struct profile *p, const struct profile_count *c, struct strbuf *out)
{
	const struct profile_thread *t = &p->threads[c->thread];

	strbuf_addf(out, "%s|%s|%s|%s|%s|%d|%d|%d|%d|%u", profile_text(p, t->fields), profile_text(p, t->container), profile_text(p, t->cgroup),
		    profile_text(p, t->comm), profile_text(p, t->process), t->pid, t->tid, t->nspid, t->helper, c->block);
	for (uint32_t n = c->node; n; n = p->nodes[n].parent) {
		const struct profile_frame *f = &p->frames[p->nodes[n].frame];

		strbuf_addf(out, ";%s|%s|%s|%s|%d|%d", profile_text(p, f->name), profile_text(p, f->dso),
			    profile_text(p, f->srcline), profile_text(p, f->source), f->kind, f->joined);
	}
	strbuf_addf(out, " %u: %llu %llu\n", c->event, (unsigned long long)c->samples, (unsigned long long)c->period);
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All counts of @p in an order independent of ids. Owned. */
static char *described(const struct profile *p)
{
	char **lines = calloc(p->ncounts + 1, sizeof(*lines));
	struct strbuf all = STRBUF_INIT;

	for (size_t i = 0; i < p->ncounts; i++) {
		struct strbuf sb = STRBUF_INIT;

		describe(p, &p->counts[i], &sb);
		lines[i] = sb.s;
	}
	qsort(lines, p->ncounts, sizeof(*lines), compare_lines);
	strbuf_adds(&all, "");
	for (size_t i = 0; i < p->ncounts; i++) {
		strbuf_adds(&all, lines[i]);
		free(lines[i]);
	}
	free(lines);
	return all.s;
}

/* The counts of @p in another order, and thus with other ids. */
static struct profile *shuffled(const struct profile *p, uint64_t *rnd)
{
	struct profile *to = profile_new();
	size_t *order = calloc(p->ncounts + 1, sizeof(*order));

	for (size_t i = 0; i < p->ncounts; i++) {
		size_t k = below(rnd, (uint32_t)i + 1);

		order[i] = order[k];
		order[k] = i;
	}
	for (uint32_t i = 0; i < p->nmeta; i++)
		profile_set_meta(to, profile_text(p, p->meta[i].key), profile_text(p, p->meta[i].value));
	profile_same_events(to, p);
	to->block_ns = p->block_ns;
	to->nblocks = p->nblocks;
	for (size_t i = 0; i < p->ncounts; i++) {
		struct profile_count c = p->counts[order[i]];
		struct profile_thread t = p->threads[c.thread];
		uint32_t path[64], n = 0, node = 0;

		t.container = profile_string(to, profile_text(p, t.container));
		t.cgroup = profile_string(to, profile_text(p, t.cgroup));
		t.comm = profile_string(to, profile_text(p, t.comm));
		t.process = profile_string(to, profile_text(p, t.process));
		t.fields = profile_string(to, profile_text(p, t.fields));
		c.thread = profile_thread(to, &t);
		for (uint32_t k = c.node; k; k = p->nodes[k].parent)
			path[n++] = p->nodes[k].frame;
		while (n) {
			struct profile_frame f = p->frames[path[--n]];

			f.name = profile_string(to, profile_text(p, f.name));
			f.dso = profile_string(to, profile_text(p, f.dso));
			f.srcline = profile_string(to, profile_text(p, f.srcline));
			f.source = profile_string(to, profile_text(p, f.source));
			node = profile_child(to, node, profile_frame(to, &f));
		}
		c.node = node;
		profile_count(to, &c);
	}
	free(order);
	profile_finish(to);
	return to;
}

/* The child @frame of @parent, found by looking at all nodes; 0: there is none. */
static uint32_t child_among_all(const struct profile *p, uint32_t parent, uint32_t frame)
{
	for (uint32_t i = 1; i < p->nnodes; i++)
		if (p->nodes[i].parent == parent && p->nodes[i].frame == frame)
			return i;
	return 0;
}

static void chains_and_children_meet(void **state)
{
	uint64_t rnd = 5;

	(void)state;
	for (int i = 0; i < 100; i++) {
		struct profile *p = profile_new();

		for (uint32_t k = 0; k < 200; k++) {
			uint32_t parent = below(&rnd, p->nnodes), n = 1 + below(&rnd, 4), before = p->nnodes;
			uint32_t frames[4], known;

			for (uint32_t f = 0; f < n; f++)
				frames[f] = 1 + below(&rnd, 20);
			known = child_among_all(p, parent, frames[0]);
			if (known || below(&rnd, 2)) {
				assert_int_equal(profile_child(p, parent, frames[0]), known ? known : before);
				assert_int_equal(p->nnodes, before + !known);
				continue;
			}
			assert_int_equal(profile_chain(p, parent, frames, n), before);
			assert_int_equal(p->nnodes, before + n);
			for (uint32_t f = 0; f < n; f++) {
				assert_int_equal(p->nodes[before + f].parent, f ? before + f - 1 : parent);
				assert_int_equal(p->nodes[before + f].frame, frames[f]);
			}
		}
		profile_free(p);
	}
}

/* The part that is left of a profile, and a view, hold the counts of the event, and its facts. */
static void an_event_alone(void **state)
{
	uint64_t rnd = 6;

	(void)state;
	for (int i = 0; i < 100; i++) {
		struct profile *p = random_profile(&rnd), *want = profile_new(), *sorted;
		const uint32_t at = p->nevents ? below(&rnd, p->nevents) : 0;
		const struct profile_event ev = p->nevents ? p->events[at] : (struct profile_event){ 0 };
		const struct profile view = profile_view_event(p, at);
		struct strbuf name = STRBUF_INIT;
		char *a, *b, hz[24];
		size_t n = 0;

		for (size_t k = 0; k < p->ncounts; k++) {
			if (p->counts[k].event != at)
				continue;
			assert_memory_equal(&view.counts[n++], &p->counts[k], sizeof(*p->counts));
		}
		assert_int_equal(view.ncounts, n);
		profile_free(want);
		want = shuffled(p, &rnd);
		if (p->nevents) {
			size_t kept = 0;

			for (size_t k = 0; k < want->ncounts; k++)
				if (want->counts[k].event == at) {
					want->counts[kept] = want->counts[k];
					want->counts[kept++].event = 0;
				}
			want->ncounts = kept;
		}
		sorted = profile_sorted(want);
		a = described(sorted);
		profile_event_text(p, at, &name);
		snprintf(hz, sizeof(hz), "%llu", (unsigned long long)ev.frequency);
		p = profile_only(p, at);
		valid_profile(p);
		b = described(p);
		assert_string_equal(a, b);
		assert_int_equal(p->nevents, 0);
		if (want->nevents && *profile_text(want, want->events[at].name)) {
			struct strbuf alone = STRBUF_INIT;

			profile_event_text(p, 0, &alone);
			assert_string_equal(alone.s, name.s);
			assert_int_equal(profile_by_period(p), ev.by_period);
			if (ev.frequency)
				assert_string_equal(profile_meta(p, "frequency"), hz);
			strbuf_fini(&alone);
		}
		free(a);
		free(b);
		strbuf_fini(&name);
		profile_free(sorted);
		profile_free(want);
		profile_free(p);
	}
}

static void sorting_forgets_the_order_of_building(void **state)
{
	uint64_t rnd = 4;

	(void)state;
	for (int i = 0; i < 200; i++) {
		struct profile *p = random_profile(&rnd), *q = shuffled(p, &rnd);
		struct profile *sp = profile_sorted(p), *sq = profile_sorted(q);
		char *built = described(p), *kept = described(sp), *a, *b;
		size_t na, nb;

		assert_string_equal(built, kept);
		valid_profile(sp);
		na = text_of(sp, &a);
		nb = text_of(sq, &b);
		assert_int_equal(na, nb);
		assert_memory_equal(a, b, na);
		free(a);
		free(b);
		free(built);
		free(kept);
		profile_free(p);
		profile_free(q);
		profile_free(sp);
		profile_free(sq);
	}
}

/*
 * Adding many paths at once gives the same nodes as adding them one by one, some of which already
 * existed. The prefix that a path shares with the previous one may be stated, in full or in part,
 * or not.
 */
static void paths_are_children_of_children(void **state)
{
	enum { PATHS = 700, DEPTH = 9 };
	static struct profile_path paths[PATHS];
	static uint32_t ids[PATHS * DEPTH], nodes[PATHS * DEPTH];
	uint64_t rnd = 6;

	(void)state;
	for (int round = 0; round < 60; round++) {
		struct profile *at_once = profile_new(), *one_by_one = profile_new();
		uint32_t nframes = round % 3 ? 3 : 40;

		for (int part = 0; part < 4; part++) {
			size_t npaths = below(&rnd, round % 2 ? PATHS : 20), n = 0;

			for (size_t i = 0; i < npaths; i++) {
				struct profile_path *path = &paths[i];
				uint32_t same = i ? below(&rnd, paths[i - 1].n + 1) : 0, node = 0;

				path->n = MAX(same, 1) + below(&rnd, DEPTH + 1 - MAX(same, 1));
				path->same = same && below(&rnd, 4) ? same - below(&rnd, 2) : 0;
				for (uint32_t k = 0; k < path->n; k++, n++) {
					ids[n] = k < same ? ids[n - paths[i - 1].n] : 1 + below(&rnd, nframes);
					node = nodes[n] = profile_child(one_by_one, node, ids[n]);
				}
			}
			profile_paths(at_once, ids, paths, npaths);
			assert_memory_equal(ids, nodes, n * sizeof(*ids));
			assert_int_equal(at_once->nnodes, one_by_one->nnodes);
		}
		assert_memory_equal(at_once->nodes, one_by_one->nodes, at_once->nnodes * sizeof(*at_once->nodes));
		profile_free(at_once);
		profile_free(one_by_one);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trips),
		cmocka_unit_test(a_cut_text_keeps_what_precedes),
		cmocka_unit_test(damage_gives_a_valid_part),
		cmocka_unit_test(every_field_is_checked),
		cmocka_unit_test(events_are_checked),
		cmocka_unit_test(an_event_alone),
		cmocka_unit_test(sums_stop_and_equal_counts_meet),
		cmocka_unit_test(sorting_forgets_the_order_of_building),
		cmocka_unit_test(chains_and_children_meet),
		cmocka_unit_test(paths_are_children_of_children),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
