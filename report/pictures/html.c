#include "pictures/html.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/intern.h"
#include "base/strbuf.h"
#include "base/xalloc.h"
#include "grid/markup.h"
#include "pictures/html_tree.h"
#include "profile/lead_frames.h"
#include "profile/profile.h"

/*
 * Separate files, so that editors and linters recognize them. The scripts share one function:
 * page.js runs last.
 */
#define SCRIPT(what) ".incbin \"report/pictures/page_" what ".js\"\n"
__asm__(".section .rodata\n"
	".global page_head, page_head_end, page_css, page_css_end, page_body, page_body_end, page_js, page_js_end\n"
	"page_head:\n.incbin \"report/pictures/page_head.html\"\npage_head_end:\n"
	"page_css:\n.incbin \"report/pictures/page.css\"\npage_css_end:\n"
	"page_body:\n.incbin \"report/pictures/page_body.html\"\npage_body_end:\n"
	"page_js:\n" SCRIPT("data") SCRIPT("draw") SCRIPT("times") SCRIPT("state") SCRIPT("words") SCRIPT("tip") SCRIPT("view")
	SCRIPT("search") SCRIPT("zoom") SCRIPT("table") SCRIPT("pickers") SCRIPT("events") SCRIPT("facts")
	".incbin \"report/pictures/page.js\"\npage_js_end:\n"
	".previous\n");
extern const char page_head[], page_head_end[], page_css[], page_css_end[], page_body[], page_body_end[], page_js[],
	page_js_end[];

static void put(FILE *to, const char *from, const char *end)
{
	fwrite(from, 1, (size_t)(end - from), to);
}

/* A column of numbers as base64 (RFC 4648), which is safe in HTML and JSON. */
static void put_column(FILE *to, const char *key, const struct strbuf *sb)
{
	static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char out[4];

	fprintf(to, "\"%s\":\"", key);
	for (size_t i = 0; i < sb->len; i += 3) {
		size_t left = sb->len - i;
		const unsigned char *s = (const unsigned char *)sb->s + i;
		uint32_t v = (uint32_t)s[0] << 16 | (left > 1 ? (uint32_t)s[1] << 8 : 0) | (left > 2 ? s[2] : 0);

		out[0] = digit[v >> 18];
		out[1] = digit[v >> 12 & 63];
		out[2] = left > 1 ? digit[v >> 6 & 63] : '=';
		out[3] = left > 2 ? digit[v & 63] : '=';
		fwrite(out, 1, sizeof(out), to);
	}
	fputs("\",\n", to);
}

static void put_member(FILE *to, const char *key, const char *value)
{
	fprintf(to, "\"%s\":", key);
	markup_string(to, value);
	fputs(",\n", to);
}

/* Strings of the frames, each once, in the order of appearance. */
static uint32_t string_id(struct intern *in, const struct profile *u, uint32_t id)
{
	const char *s = profile_text(u, id);

	return id ? intern_add(in, s) : 0;
}

static void put_frames(FILE *to, const struct html_tree *t)
{
	struct intern *strings = intern_new();
	struct strbuf sb = STRBUF_INIT;

	for (uint32_t i = 1; i < t->nframes; i++) {
		const struct profile_frame *f = &t->all->frames[t->frames[i]];

		strbuf_add_varint(&sb, string_id(strings, t->all, f->name));
		strbuf_add_varint(&sb, string_id(strings, t->all, f->dso));
		strbuf_add_varint(&sb, string_id(strings, t->all, f->srcline));
		strbuf_add_varint(&sb, string_id(strings, t->all, t->source[t->frames[i]]));
		strbuf_add_varint(&sb, f->kind);
	}
	fprintf(to, "\"nframes\":%u,\n", t->nframes - 1);
	put_column(to, "frames", &sb);
	fputs("\"strings\":[\"\"", to);
	for (uint32_t i = 1; i < intern_count(strings); i++) {
		fputs(",\n", to);
		markup_string(to, intern_str(strings, i));
	}
	fputs("],\n", to);
	strbuf_fini(&sb);
	intern_free(strings);
}

static void put_nodes(FILE *to, const struct html_tree *t)
{
	struct strbuf sb = STRBUF_INIT;
	uint32_t depth = 0;

	for (uint32_t i = 1; i < t->nnodes; i++) {
		strbuf_add_varint(&sb, depth + 1 - t->nodes[i].depth);
		strbuf_add_varint(&sb, t->nodes[i].frame - 1);
		depth = t->nodes[i].depth;
	}
	fprintf(to, "\"nnodes\":%u,\n", t->nnodes);
	put_column(to, "nodes", &sb);
	strbuf_fini(&sb);
}

static void put_verdict(FILE *to, const struct html_verdict *v)
{
	if (!v->tested) {
		fputs(",null", to);
		return;
	}
	fprintf(to, ",[%.6g,%.6g,", v->low, v->high);
	if (isnan(v->p))
		fputs("null", to);
	else
		fprintf(to, "%.6g", v->p);
	fputs(v->significant ? ",true]" : ",false]", to);
}

/* -1: the root, which is not a frame. */
static void put_change(FILE *to, int64_t frame, const struct html_change *c, const char **sep)
{
	fprintf(to, "%s[%" PRId64, *sep, frame);
	put_verdict(to, &c->self);
	put_verdict(to, &c->total);
	fputs("]", to);
	*sep = ",\n";
}

static void put_changes(FILE *to, const struct html_tree *t, const struct html_opts *o)
{
	struct intern *names = intern_new();
	struct u64map at = U64MAP_INIT;
	const char *sep = "";

	fputs("\"changes\":[", to);
	for (size_t i = 0; i < o->nchanges; i++) {
		if (!*o->changes[i].function)
			put_change(to, -1, &o->changes[i], &sep);
		*u64map_put(&at, (uint64_t)intern_add(names, o->changes[i].function) << 1 | o->changes[i].kernel, NULL) = i + 1;
	}
	for (uint32_t i = 1; o->nchanges && i < t->nframes; i++) {
		const struct profile_frame *f = &t->all->frames[t->frames[i]];
		uint64_t name = intern_add(names, profile_text(t->all, f->name));
		uint64_t *which = u64map_get(&at, name << 1 | (o->kernel_apart && f->kind == PROFILE_KERNEL));

		if (which && name)
			put_change(to, (int64_t)i - 1, &o->changes[*which - 1], &sep);
	}
	fputs("],\n", to);
	u64map_fini(&at);
	intern_free(names);
}

static void put_threads(FILE *to, const struct profile *p)
{
	fputs("\"threads\":[", to);
	for (uint32_t i = 0; i < p->nthreads; i++) {
		const struct profile_thread *t = &p->threads[i];

		fputs(i ? ",\n{" : "{", to);
		if (t->container)
			put_member(to, "container", profile_text(p, t->container));
		if (t->cgroup)
			put_member(to, "cgroup", profile_text(p, t->cgroup));
		if (t->comm)
			put_member(to, "comm", profile_text(p, t->comm));
		if (t->process)
			put_member(to, "process", profile_text(p, t->process));
		if (t->fields)
			put_member(to, "fields", profile_text(p, t->fields));
		fprintf(to, "\"pid\":%d,\"tid\":%d,\"nspid\":%d,\"helper\":%s}", t->pid, t->tid, t->nspid,
			t->helper ? "true" : "false");
	}
	fputs("],\n", to);
}

static int by_thread_block_node(const void *pa, const void *pb)
{
	const struct profile_count *a = pa, *b = pb;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->block != b->block)
		return a->block < b->block ? -1 : 1;
	return a->node < b->node ? -1 : a->node > b->node;
}

static void put_meta(FILE *to, const struct profile *p)
{
	const char *sep = "";

	fputs("\"meta\":[", to);
	for (uint32_t i = 0; i < p->nmeta; i++) {
		fprintf(to, "%s[", sep);
		markup_string(to, profile_text(p, p->meta[i].key));
		fputc(',', to);
		markup_string(to, profile_text(p, p->meta[i].value));
		fputc(']', to);
		sep = ",\n";
	}
	fputs("]", to);
}

/* Writes the counts of one event. @place: node -> node of the page's tree. */
static void put_counts(FILE *to, const struct profile *p, const uint32_t *place, bool period)
{
	struct profile_count *counts = xmalloc((p->ncounts + 1) * sizeof(*counts));
	struct strbuf sb = STRBUF_INIT;
	uint32_t thread = 0, block = 0, node = 0;

	for (size_t i = 0; i < p->ncounts; i++) {
		counts[i] = p->counts[i];
		counts[i].node = place[counts[i].node];
	}
	qsort(counts, p->ncounts, sizeof(*counts), by_thread_block_node);
	for (size_t i = 0; i < p->ncounts; i++) {
		const struct profile_count *c = &counts[i];

		strbuf_add_varint(&sb, c->thread - thread);
		strbuf_add_varint(&sb, c->thread != thread ? c->block : c->block - block);
		strbuf_add_svarint(&sb, (int64_t)c->node - node);
		strbuf_add_varint(&sb, profile_weight(c, period));
		thread = c->thread;
		block = c->block;
		node = c->node;
	}
	put_column(to, "counts", &sb);
	strbuf_fini(&sb);
	free(counts);
}

/*
 * Writes one profile: threads, times and nodes of its samples. @place: node -> node of the page's
 * tree. With several events, the counts are those of the first.
 */
static void put_side(FILE *to, const struct profile *all, const uint32_t *place, const struct html_opts *o,
		     const char *label, double scale)
{
	const struct profile view = profile_view_event(all, 0), *p = &view;

	fputs("{", to);
	put_member(to, "label", label);
	fprintf(to, "\"scale\":%.17g,\"samples\":%llu,\"period\":%llu,\"cut\":%s,\n\"block_ns\":%llu,\"nblocks\":%u,\"ncounts\":%zu,\n",
		scale > 0 ? scale : 1, (unsigned long long)p->samples, (unsigned long long)p->period,
		p->cut ? "true" : "false", (unsigned long long)p->block_ns, p->nblocks, p->ncounts);
	put_threads(to, p);
	put_counts(to, p, place, all->nevents ? all->events[0].by_period : o->period);
	put_meta(to, p);
	fputs("}", to);
}

static void put_fact(FILE *to, const char *key, uint64_t v)
{
	if (v)
		fprintf(to, ",\n[\"%s\",\"%" PRIu64 "\"]", key, v);
}

/* 0 is known, too, and replaces what is known of all events. */
static void put_known(FILE *to, const char *key, uint64_t v)
{
	if (v != PROFILE_UNKNOWN)
		fprintf(to, ",\n[\"%s\",\"%" PRIu64 "\"]", key, v);
}

/*
 * Writes what changes when another of several events is chosen. The first one's counts are those of
 * the side.
 */
static void put_events(FILE *to, const struct profile *p, const uint32_t *place)
{
	struct strbuf name = STRBUF_INIT;

	fputs("\"events\":[", to);
	for (uint32_t i = 0; i < p->nevents; i++) {
		const struct profile_event *ev = &p->events[i];
		const struct profile view = profile_view_event(p, i);

		strbuf_reset(&name);
		profile_event_text(p, i, &name);
		fputs(i ? ",\n{" : "{", to);
		put_member(to, "name", name.s ? name.s : "");
		put_member(to, "unit", ev->by_period ? "period" : "samples");
		fprintf(to, "\"samples\":%" PRIu64 ",\"period\":%" PRIu64 ",\"ncounts\":%zu,\n", ev->samples, ev->period, view.ncounts);
		if (i)
			put_counts(to, &view, place, ev->by_period);
		fputs("\"facts\":[[\"event\",", to);
		markup_string(to, profile_text(p, ev->name));
		fputs("],\n[\"event_modifier\",", to);
		markup_string(to, profile_text(p, ev->modifier));
		fprintf(to, "],\n[\"event_unit\",\"%s\"]", strcmp(profile_text(p, ev->unit), "ns") ? "events" : "ns");
		put_fact(to, "frequency", ev->frequency);
		put_fact(to, "fixed_period", ev->fixed_period);
		put_fact(to, "truncated", ev->truncated);
		put_fact(to, "incomplete", ev->incomplete);
		put_known(to, "kept", ev->kept);
		put_known(to, "lost", ev->lost);
		put_known(to, "cut", ev->cut);
		put_known(to, "dropped", ev->dropped);
		put_known(to, "withheld", ev->withheld);
		put_known(to, "throttled_samples", ev->throttled_samples);
		fputs("]}", to);
	}
	fputs("],\n", to);
	strbuf_fini(&name);
}

static void put_lead(FILE *to, const struct lead *lead)
{
	static const char *const level[LEAD_KINDS] = {
		[LEAD_COMM] = "comm", [LEAD_PROCESS] = "process", [LEAD_THREAD] = "thread", [LEAD_CONTAINER] = "container",
		[LEAD_FIELD] = "field:",
	};

	fputs("\"by\":[", to);
	for (uint32_t i = 0; lead && i < lead->n; i++) {
		struct strbuf name = STRBUF_INIT;

		strbuf_adds(&name, level[lead->by[i]]);
		if (lead->by[i] == LEAD_FIELD)
			strbuf_add(&name, lead->field, strcspn(lead->field, ","));
		fputs(i ? "," : "", to);
		markup_string(to, name.s);
		strbuf_fini(&name);
	}
	fputs("],\n", to);
}

void html_write(const struct profile *a, const struct profile *b, const struct html_opts *o, FILE *to)
{
	struct html_tree *t = html_tree_new(a, b);

	put(to, page_head, page_head_end);
	fputs("<title>", to);
	markup_text(to, o->title, 200);
	fputs("</title>\n<style>\n", to);
	put(to, page_css, page_css_end);
	fputs("</style>\n</head>\n", to);
	put(to, page_body, page_body_end);
	fputs("<script type=\"application/json\" id=\"data\">\n{\"version\":1,\n", to);
	put_member(to, "title", o->title);
	put_member(to, "unit", (a->nevents ? a->events[0].by_period : o->period) ? "period" : "samples");
	put_member(to, "note", o->note ? o->note : "");
	fprintf(to, "\"amounts\":%s,\n", o->amounts ? "true" : "false");
	put_lead(to, o->lead);
	put_frames(to, t);
	put_nodes(to, t);
	put_changes(to, t, o);
	if (a->nevents)
		put_events(to, a, t->place[0]);
	fputs("\"sides\":[\n", to);
	put_side(to, a, t->place[0], o, b ? "before" : "", o->scale_a);
	if (b) {
		fputs(",\n", to);
		put_side(to, b, t->place[1], o, "after", o->scale_b);
	}
	fputs("]}\n</script>\n<script>\n(function () {\n", to);
	put(to, page_js, page_js_end);
	fputs("}());\n</script>\n</body>\n</html>\n", to);
	html_tree_free(t);
}
