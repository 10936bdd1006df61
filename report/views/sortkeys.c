/* Sort keys (sortkeys.h). */
#include "views/sortkeys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/suggest.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "profile/lead_frames.h"

static const struct {
	const char *name, *other;	/* @other: perf's second spelling */
	const char *title;
	enum grid_kind kind;
} known[SORT_KEYS] = {
	[SORT_SYMBOL] = { "symbol", "sym", "Symbol", GRID_SYMBOL },
	[SORT_DSO] = { "dso", NULL, "Shared Object", GRID_PATH },
	[SORT_SRCLINE] = { "srcline", NULL, "Source:Line", GRID_TEXT },
	[SORT_COMM] = { "comm", NULL, "Command", GRID_TEXT },
	[SORT_PID] = { "pid", "tgid", "Pid:Command", GRID_TEXT },
	[SORT_TID] = { "tid", NULL, "Tid:Command", GRID_TEXT },
	[SORT_CONTAINER] = { "container", NULL, "Container", GRID_TEXT },
	[SORT_CGROUP] = { "cgroup", NULL, "Cgroup", GRID_TEXT },
	/* Title and name are those of the field. */
	[SORT_FIELD] = { "", NULL, "", GRID_TEXT },
};

#define NO_BRANCHES "recordings have no branch records"
#define NO_DATA "data addresses and the costs of accesses are not recorded"
#define NO_PARALLEL "the number of threads running at a time is not recorded"

/* perf's other keys, up to perf 7.2, each preceded by a blank. */
static const struct {
	const char *names, *why;
} refused[] = {
	{ " parallelism latency latency_children", NO_PARALLEL "; tid has a row for each thread" },
	{ " cpu socket", "nsprof script -F cpu shows the CPU of each sample" },
	{ " time", "--format html shows threads over time" },
	{ " parent", "--focus NAME shows the callers of a function, -g the call tree" },
	{ " srcfile", "srcline has the file, too" },
	{ " comm_nodigit", "comm with --merge-threads has one name for threads that differ by numbers" },
	{ " cgroup_id", "cgroup has the path" },
	{ " symbol_size dso_size symoff", "nsprof annotate shows where in a function its samples are" },
	{ " overhead_sys overhead_us overhead_guest_sys overhead_guest_us", "record with -e cycles:u or cycles:k" },
	{ " dso_from dso_to symbol_from sym_from symbol_to sym_to mispredict abort in_tx cycles srcline_from srcline_to ipc_lbr ipc_null "
	  "addr_from addr_to callchain_branch_predicted callchain_branch_abort callchain_branch_cycles", NO_BRANCHES },
	{ " addr weight weight1 weight2 weight3 local_weight ins_lat local_ins_lat retire_lat local_retire_lat p_stage_cyc local_p_stage_cyc op "
	  "cache mem memory snoop tlb dtlb locked blocked dcacheline symbol_daddr dso_daddr symbol_iaddr phys_daddr data_page_size "
	  "code_page_size simd type typeoff typecln", NO_DATA },
	{ " transaction", "transactions are not recorded" },
	{ " trace trace_fields", "field:NAME has a row for each value of a field" },
};

/* Why perf's key @text of @len bytes is unsupported; NULL: not a key of perf. */
static const char *why_refused(const char *text, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		const char *word = refused[i].names;

		while (*word) {
			size_t n = strcspn(++word, " ");

			if (n == len && !memcmp(word, text, len))
				return refused[i].why;
			word += n;
		}
	}
	return NULL;
}

/* The key that is meant by a misspelled one, as a question, or "". */
static const char *suggestion(const char *text, size_t len, char *buf, size_t size)
{
	struct suggest s;

	suggest_init(&s, text, len);
	for (size_t k = 0; k < SORT_KEYS; k++)
		if (*known[k].name)
			suggest_offer(&s, known[k].name);
	return suggest_text(&s, "", buf, size);
}

static int refuse(const char *text, size_t len)
{
	const char *why = why_refused(text, len);
	char meant[200];

	if (why)
		pr_err("perf has the sort key '%.*s', nsprof does not: %s", (int)len, text, why);
	else
		pr_err("invalid sort key '%.*s'.%s The keys are symbol, dso, srcline, comm, pid, tid, container, cgroup and fields of "
		       "tracepoints, each at most once", (int)len, text, suggestion(text, len, meant, sizeof(meant)));
	return -EINVAL;
}

#define FIELD "field:"

/* The length of the word at @s, as names of fields and tracepoints are. */
static size_t word_length(const char *s)
{
	return strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
}

/*
 * "field:NAME", or as perf has it "NAME" or "TRACEPOINT.NAME". What is no key and looks like none is a
 * field: whether there is one, the profile tells.
 */
static bool is_field(const char *text, size_t len)
{
	const size_t word = word_length(text);
	char meant[200];

	if (len > strlen(FIELD) && !strncmp(text, FIELD, strlen(FIELD)))
		return true;
	if (!word || why_refused(text, len) || *suggestion(text, len, meant, sizeof(meant)))
		return false;
	return word == len || (text[word] == '.' && word + 1 < len && word + 1 + word_length(text + word + 1) == len);
}

/* The name of the @k-th key, which is a field; *@len: its length. */
static const char *field_name(const struct sortkeys *s, size_t k, size_t *len)
{
	const char *text = s->fields[k], *dot = memchr(text, '.', strcspn(text, ","));

	if (!strncmp(text, FIELD, strlen(FIELD)))
		text += strlen(FIELD);
	else if (dot)
		text = dot + 1;
	*len = strcspn(text, ",");
	return text;
}

void sortkeys_fields(const struct sortkeys *s, struct strbuf *out)
{
	for (size_t k = 0; k < s->n; k++) {
		const char *name;
		size_t len;

		if (s->keys[k] != SORT_FIELD)
			continue;
		name = field_name(s, k, &len);
		strbuf_adds(out, out->len ? "," : "");
		strbuf_add(out, name, len);
	}
}

int sortkeys_parse(const char *text, struct sortkeys *out)
{
	out->n = 0;
	for (;;) {
		size_t len = strcspn(text, ","), k = 0;

		for (; k < SORT_KEYS; k++)
			if ((strlen(known[k].name) == len && !memcmp(known[k].name, text, len)) ||
			    (known[k].other && strlen(known[k].other) == len && !memcmp(known[k].other, text, len)))
				break;
		/* SORT_FIELD has no name of its own. */
		if (k == SORT_KEYS || !len)
			k = is_field(text, len) ? SORT_FIELD : SORT_KEYS;
		if (k == SORT_KEYS || out->n == SORT_MAX || (k != SORT_FIELD && sortkeys_have(out, (enum sortkey)k)))
			return refuse(text, len);
		out->fields[out->n] = text;
		out->keys[out->n++] = (enum sortkey)k;
		if (!text[len])
			return 0;
		text += len + 1;
	}
}

bool sortkeys_have(const struct sortkeys *s, enum sortkey key)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->keys[i] == key)
			return true;
	return false;
}

/* Fields keep their name as title, and have field:NAME as key. */
static void field_column(const struct sortkeys *s, size_t k, struct groups *gs, struct grid *g)
{
	size_t len;
	const char *name = field_name(s, k, &len);
	char *full = xasprintf(FIELD "%.*s", (int)len, name);
	const uint32_t key = intern_add(gs->texts, full);

	free(full);
	grid_column(g, intern_str(gs->texts, key) + strlen(FIELD), intern_str(gs->texts, key), GRID_TEXT);
}

void sortkeys_columns(const struct sortkeys *s, struct groups *gs, struct grid *g)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->keys[i] == SORT_FIELD)
			field_column(s, i, gs, g);
		else
			grid_column(g, known[s->keys[i]].title, known[s->keys[i]].name, known[s->keys[i]].kind);
}

/* The value of @key for a frame; NULL: unknown. */
static const char *frame_text(enum sortkey key, const struct profile *p, const struct profile_frame *f)
{
	switch (key) {
	case SORT_SYMBOL:
		return profile_text(p, f->name);
	case SORT_DSO:
		return f->dso ? profile_text(p, f->dso) : "[unknown]";
	case SORT_SRCLINE:
		return f->srcline ? profile_text(p, f->srcline) : "??:0";
	default:
		return NULL;
	}
}

static void add_number(struct strbuf *buf, int32_t number, const char *comm)
{
	if (number == PROFILE_TID_MERGED)
		strbuf_addf(buf, "N:%s", comm);
	else
		strbuf_addf(buf, "%u:%s", (uint32_t)number, comm);
}

/* The value of the @k-th key, a field. */
static const char *field_text(const struct sortkeys *s, size_t k, const struct profile *p, uint32_t thread, struct strbuf *buf)
{
	size_t len;
	const char *name = field_name(s, k, &len);

	strbuf_reset(buf);
	if (!lead_field_value(profile_text(p, p->threads[thread].fields), name, len, buf))
		return "[none]";
	return buf->len ? buf->s : "";
}

static const char *thread_text(const struct sortkeys *s, size_t k, const struct profile *p, uint32_t thread, struct strbuf *buf)
{
	const enum sortkey key = s->keys[k];
	const struct profile_thread *t = &p->threads[thread];
	const char *comm = t->comm ? profile_text(p, t->comm) : "[no_name]";

	if (key == SORT_FIELD)
		return field_text(s, k, p, thread, buf);
	if (frame_text(key, p, &p->frames[0]))
		return NULL;
	strbuf_reset(buf);
	/* Folded text. */
	if (!thread)
		return "[unknown]";
	switch (key) {
	case SORT_PID:
		add_number(buf, t->pid, t->process ? profile_text(p, t->process) : comm);
		return buf->s;
	case SORT_TID:
		add_number(buf, t->tid, comm);
		return buf->s;
	case SORT_CONTAINER:
		return t->container ? profile_text(p, t->container) : "[unknown]";
	case SORT_CGROUP:
		return t->cgroup ? profile_text(p, t->cgroup) : "[unknown]";
	default:
		return comm;
	}
}

/* A number for each different text, from 0 in the order of appearance. */
static uint32_t group_id(struct intern *ids, const struct strbuf *text)
{
	/* The text is never the empty string, which already has number 0. */
	return intern_addn(ids, text->s, text->len) - 1;
}

static void add_part(struct strbuf *text, const char *part)
{
	strbuf_adds(text, part);
	strbuf_addc(text, '\0');
}

void groups_init(struct groups *gs, const struct sortkeys *s, const struct profile *p)
{
	struct strbuf text = STRBUF_INIT, buf = STRBUF_INIT;
	struct intern *ids = intern_new();

	*gs = (struct groups){ .texts = intern_new() };
	gs->threads = xcalloc(p->nthreads, sizeof(*gs->threads));
	gs->thread_of = xcalloc(p->nthreads, sizeof(*gs->thread_of));
	gs->frames = xcalloc(p->nframes, sizeof(*gs->frames));
	gs->frame_of = xcalloc(p->nframes, sizeof(*gs->frame_of));
	for (uint32_t i = 0; i < p->nthreads; i++) {
		strbuf_reset(&text);
		strbuf_addc(&text, ' ');
		for (size_t k = 0; k < s->n; k++) {
			const char *part = thread_text(s, k, p, i, &buf);

			if (part)
				add_part(&text, part);
		}
		gs->threads[i] = group_id(ids, &text);
		if (gs->threads[i] == gs->nthreads)
			gs->thread_of[gs->nthreads++] = i;
	}
	intern_free(ids);
	ids = intern_new();
	for (uint32_t i = 1; i < p->nframes; i++) {
		uint32_t g;

		strbuf_reset(&text);
		strbuf_addc(&text, ' ');
		for (size_t k = 0; k < s->n; k++) {
			const char *part = frame_text(s->keys[k], p, &p->frames[i]);

			if (part)
				add_part(&text, part);
			/*
			 * A kernel function is not the user function of that name, and the row
			 * shows which one it is.
			 */
			if (s->keys[k] == SORT_SYMBOL && p->frames[i].kind == PROFILE_KERNEL)
				add_part(&text, "k");
		}
		g = gs->frames[i] = group_id(ids, &text);
		if (g == gs->nframes)
			gs->frame_of[gs->nframes++] = i;
		else if (p->frames[gs->frame_of[g]].kind == PROFILE_INLINED)
			gs->frame_of[g] = i;
	}
	intern_free(ids);
	strbuf_fini(&text);
	strbuf_fini(&buf);
}

void groups_fini(struct groups *gs)
{
	free(gs->threads);
	free(gs->frames);
	free(gs->thread_of);
	free(gs->frame_of);
	intern_free(gs->texts);
}

void sortkeys_cells(const struct sortkeys *s, struct groups *gs, const struct profile *p, uint32_t thread,
		    uint32_t frame, struct grid_cell *cells)
{
	const struct profile_frame *f = &p->frames[gs->frame_of[frame]];
	struct strbuf buf = STRBUF_INIT;

	for (size_t k = 0; k < s->n; k++) {
		const char *text = thread_text(s, k, p, gs->thread_of[thread], &buf);

		if (text)
			text = intern_str(gs->texts, intern_add(gs->texts, text));
		cells[k].text = text ? text : frame_text(s->keys[k], p, f);
		cells[k].n = f->kind;
	}
	strbuf_fini(&buf);
}
