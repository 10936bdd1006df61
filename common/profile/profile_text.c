/* A profile as text (profile.h; nsprof.profile(5)). */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/lines.h"
#include "base/log.h"
#include "base/longname.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "bytes/crc32c.h"
#include "event.h"
#include "profile/profile.h"

/* A profile of one event without fields is of the first version, which older programs read. */
#define VERSION_ONE "1"
#define VERSION_SEVERAL "2"
#define WRITE_BYTES (256u << 10)
#define FIELDS_MAX 18	/* per line, including its letter */
/* Bytes of texts that are read; longer ones are cut. */
#define THREAD_TEXT_MAX 4096
#define EVENT_TEXT_MAX 1024

static const char kinds[PROFILE_KINDS + 1] = "ukjil";

/* ---- writing ---- */

struct writer {
	FILE *to;
	const struct profile *p;
	bool fields;		/* of threads */
	struct strbuf out;
	uint64_t lines;
	uint32_t crc;		/* of everything written so far */
};

static void add_text(struct writer *w, uint32_t id)
{
	const char *s = profile_text(w->p, id);

	strbuf_addc(&w->out, '\t');
	for (;;) {
		size_t plain = strcspn(s, "\t\n\\");

		strbuf_add(&w->out, s, plain);
		s += plain;
		if (!*s)
			return;
		strbuf_addc(&w->out, '\\');
		strbuf_addc(&w->out, *s == '\t' ? 't' : *s == '\n' ? 'n' : '\\');
		s++;
	}
}

static void flush(struct writer *w)
{
	if (!w->out.len)
		return;
	w->crc = crc32c(w->crc, w->out.s, w->out.len);
	fwrite(w->out.s, 1, w->out.len, w->to);
	strbuf_reset(&w->out);
}

static void end_line(struct writer *w)
{
	strbuf_addc(&w->out, '\n');
	w->lines++;
	if (w->out.len >= WRITE_BYTES)
		flush(w);
}

/* All of them, or if none is known and nothing follows, none. */
static void add_losses(struct writer *w, const struct profile_event *ev)
{
	const uint64_t v[] = { ev->kept, ev->lost, ev->cut, ev->dropped, ev->withheld, ev->throttled_times, ev->throttled_samples };
	bool known = ev->call_graph;

	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		known |= v[i] != PROFILE_UNKNOWN;
	for (size_t i = 0; i < ARRAY_SIZE(v) && known; i++) {
		strbuf_addc(&w->out, '\t');
		if (v[i] != PROFILE_UNKNOWN)
			strbuf_addf(&w->out, "%" PRIu64, v[i]);
	}
}

static void write_events(struct writer *w)
{
	for (uint32_t i = 0; i < w->p->nevents; i++) {
		const struct profile_event *ev = &w->p->events[i];

		strbuf_addc(&w->out, 'V');
		add_text(w, ev->name);
		add_text(w, ev->modifier);
		add_text(w, ev->unit);
		strbuf_addf(&w->out, "\t%" PRIu64 "\t%" PRIu64 "\t%s\t%" PRIu64 "\t%" PRIu64, ev->frequency, ev->fixed_period,
			    ev->by_period ? "period" : "samples", ev->truncated, ev->incomplete);
		add_losses(w, ev);
		if (ev->call_graph) {
			add_text(w, ev->call_graph);
			strbuf_addf(&w->out, "\t%" PRIu64, ev->stack_bytes);
		}
		end_line(w);
	}
}

static void write_names(struct writer *w)
{
	const struct profile *p = w->p;

	for (uint32_t i = 1; i < p->nthreads; i++) {
		const struct profile_thread *t = &p->threads[i];

		strbuf_addc(&w->out, 'T');
		add_text(w, t->container);
		add_text(w, t->cgroup);
		add_text(w, t->comm);
		add_text(w, t->process);
		strbuf_addf(&w->out, "\t%" PRId32 "\t%" PRId32 "\t%" PRId32 "\t%d", t->pid, t->tid, t->nspid, t->helper);
		if (w->fields)
			add_text(w, t->fields);
		end_line(w);
	}
	for (uint32_t i = 1; i < p->nframes; i++) {
		const struct profile_frame *f = &p->frames[i];

		strbuf_addc(&w->out, 'F');
		add_text(w, f->name);
		add_text(w, f->dso);
		strbuf_addf(&w->out, "\t%c\t%d", kinds[f->kind], f->joined);
		add_text(w, f->source);
		add_text(w, f->srcline);
		end_line(w);
	}
}

int profile_write(FILE *to, const struct profile *p)
{
	struct writer w = { .to = to, .p = p };

	for (uint32_t i = 1; i < p->nthreads; i++)
		w.fields |= p->threads[i].fields != 0;
	strbuf_adds(&w.out, p->nevents || w.fields ? PROFILE_MAGIC VERSION_SEVERAL : PROFILE_MAGIC VERSION_ONE);
	end_line(&w);
	for (uint32_t i = 0; i < p->nmeta; i++) {
		strbuf_addc(&w.out, 'M');
		add_text(&w, p->meta[i].key);
		add_text(&w, p->meta[i].value);
		end_line(&w);
	}
	strbuf_addf(&w.out, "B\t%" PRIu64 "\t%" PRIu32, p->block_ns, p->nblocks);
	end_line(&w);
	write_events(&w);
	write_names(&w);
	for (uint32_t i = 1; i < p->nnodes; i++) {
		strbuf_addf(&w.out, "N\t%" PRIu32 "\t%" PRIu32, p->nodes[i].parent, p->nodes[i].frame);
		end_line(&w);
	}
	for (size_t i = 0; i < p->ncounts; i++) {
		const struct profile_count *c = &p->counts[i];

		strbuf_addf(&w.out, "C\t%" PRIu32 "\t%" PRIu32 "\t%" PRIu32 "\t%" PRIu64 "\t%" PRIu64, c->thread,
			    c->node, c->block, c->samples, c->period);
		if (p->nevents)
			strbuf_addf(&w.out, "\t%" PRIu32, c->event);
		end_line(&w);
	}
	flush(&w);
	strbuf_addf(&w.out, "E\t%" PRIu64 "\t%08" PRIx32, w.lines, w.crc);
	end_line(&w);
	flush(&w);
	strbuf_fini(&w.out);
	return ferror(to) ? -EIO : 0;
}

/* ---- reading ---- */

struct reader {
	struct profile *p;
	struct lines lines;
	char *f[FIELDS_MAX];	/* fields of the current line; [0] is its letter */
	size_t n;
	struct strbuf repaired;
	bool several;		/* the version with events */
	bool blocks, ended;	/* lines B, E were seen */
	uint32_t crc;		/* of all lines so far except E, with line ends */
	uint64_t shortened;	/* texts that were cut */
	bool altered;		/* crc differs from the one in line E */
};

/*
 * Splits the line into fields and resolves escapes. False: too many fields, or an invalid escape.
 */
static bool split(struct reader *r, char *line)
{
	char *from = line, *to = line;

	r->n = 0;
	r->f[r->n++] = to;
	for (; *from; from++) {
		if (*from == '\t') {
			if (r->n == FIELDS_MAX)
				return false;
			*to++ = '\0';
			r->f[r->n++] = to;
		} else if (*from != '\\') {
			*to++ = *from;
		} else {
			from++;
			if (*from != 't' && *from != 'n' && *from != '\\')
				return false;
			*to++ = *from == 't' ? '\t' : *from == 'n' ? '\n' : '\\';
		}
	}
	*to = '\0';
	return true;
}

static bool number(const char *s, uint64_t max, uint64_t *out)
{
	uint64_t v = 0;

	if (!*s)
		return false;
	for (; *s; s++) {
		if (*s < '0' || *s > '9' || __builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*s - '0'), &v))
			return false;
	}
	*out = v;
	return v <= max;
}

/* A number below @end. */
static bool id_below(const char *s, uint32_t end, uint32_t *out)
{
	uint64_t v;

	if (!end || !number(s, end - 1, &v))
		return false;
	*out = (uint32_t)v;
	return true;
}

/* An integer of at least @least, which is at most 0. */
static bool whole(const char *s, int32_t least, int32_t *out)
{
	bool minus = *s == '-';
	uint64_t v;

	if (!number(s + minus, minus ? (uint64_t)-least : INT32_MAX, &v) || (minus && !v))
		return false;
	*out = minus ? -(int32_t)v : (int32_t)v;
	return true;
}

static bool flag(const char *s, bool *out)
{
	*out = *s == '1';
	return (*s == '0' || *s == '1') && !s[1];
}

/*
 * Strings are text (escape.h). A profile that others wrote may hold anything. Returns @s, or what it
 * becomes in @sb.
 */
static const char *text(const char *s, struct strbuf *sb)
{
	if (escape_is_text(s, strlen(s)))
		return s;
	strbuf_reset(sb);
	escape_text(sb, s);
	return sb->s;
}

static uint32_t string(struct reader *r, const char *s)
{
	return profile_string(r->p, text(s, &r->repaired));
}

/* Views repeat these texts in each row. Those of real threads, cgroups and events are shorter than @max. */
static uint32_t short_string(struct reader *r, const char *s, size_t max)
{
	const size_t len = strlen(s);
	struct strbuf sb = STRBUF_INIT;
	uint32_t id;

	if (len <= max)
		return string(r, s);
	longname_add(&sb, s, len, max);
	id = string(r, sb.s);
	strbuf_fini(&sb);
	r->shortened++;
	return id;
}

static bool read_meta(struct reader *r)
{
	if (r->n != 3)
		return false;
	profile_set_meta(r->p, r->f[1], text(r->f[2], &r->repaired));
	return true;
}

static bool read_blocks(struct reader *r)
{
	uint64_t width, n;

	/* Times are ns in 64 bits. */
	if (r->blocks || r->n != 3 || !number(r->f[1], UINT64_MAX / PROFILE_BLOCKS_MAX, &width) ||
	    !number(r->f[2], PROFILE_BLOCKS_MAX, &n) || (!width && n))
		return false;
	r->p->block_ns = width;
	r->p->nblocks = (uint32_t)n;
	r->blocks = true;
	return true;
}

/*
 * Ids are given in the order of lines. A line that repeats an earlier one would get the earlier id,
 * so it is invalid.
 */
static bool read_thread(struct reader *r)
{
	struct profile *p = r->p;
	struct profile_thread t;
	uint32_t n = p->nthreads;

	if ((r->n != 9 && !(r->several && r->n == 10)) || !whole(r->f[5], -1, &t.pid) || !whole(r->f[6], PROFILE_TID_MERGED, &t.tid) ||
	    !whole(r->f[7], -1, &t.nspid) || !flag(r->f[8], &t.helper))
		return false;
	t.container = short_string(r, r->f[1], THREAD_TEXT_MAX);
	t.cgroup = short_string(r, r->f[2], THREAD_TEXT_MAX);
	t.comm = short_string(r, r->f[3], THREAD_TEXT_MAX);
	t.process = short_string(r, r->f[4], THREAD_TEXT_MAX);
	t.fields = r->n == 10 ? short_string(r, r->f[9], THREAD_TEXT_MAX) : 0;
	return profile_thread(p, &t) == n;
}

static bool read_frame(struct reader *r)
{
	struct profile *p = r->p;
	struct profile_frame f;
	uint32_t n = p->nframes;
	const char *kind;

	if (r->n != 7 || !r->f[3][0] || r->f[3][1] || !flag(r->f[4], &f.joined))
		return false;
	kind = strchr(kinds, r->f[3][0]);
	if (!kind)
		return false;
	f.kind = (uint8_t)(kind - kinds);
	f.name = string(r, r->f[1]);
	f.dso = string(r, r->f[2]);
	f.source = string(r, r->f[5]);
	f.srcline = string(r, r->f[6]);
	return profile_frame(p, &f) == n;
}

static bool read_node(struct reader *r)
{
	uint32_t n = r->p->nnodes, parent, frame;

	return r->n == 3 && id_below(r->f[1], n, &parent) && id_below(r->f[2], r->p->nframes, &frame) && frame &&
	       profile_child(r->p, parent, frame) == n;
}

#define EVENT_FIELDS 9u
#define EVENT_LOSSES 7u
#define LOSSES_BEFORE 5u	/* older profiles have none of the last two */
#define EVENT_STACKS 2u

static bool read_losses(struct reader *r, struct profile_event *ev)
{
	uint64_t *const v[EVENT_LOSSES] = { &ev->kept, &ev->lost, &ev->cut, &ev->dropped, &ev->withheld, &ev->throttled_times,
					    &ev->throttled_samples };

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		const char *s = i + EVENT_FIELDS < r->n ? r->f[i + EVENT_FIELDS] : "";

		*v[i] = PROFILE_UNKNOWN;
		if (*s && !number(s, PROFILE_UNKNOWN - 1, v[i]))
			return false;
	}
	return r->n == EVENT_FIELDS || r->n == EVENT_FIELDS + LOSSES_BEFORE || r->n >= EVENT_FIELDS + EVENT_LOSSES;
}

/* Those of an event that takes them in another way than the facts say. */
static bool read_stacks(struct reader *r, struct profile_event *ev)
{
	const uint32_t at = EVENT_FIELDS + EVENT_LOSSES;

	if (r->n <= at)
		return true;
	if (r->n != at + EVENT_STACKS || !*r->f[at] || !number(r->f[at + 1], UINT64_MAX, &ev->stack_bytes))
		return false;
	ev->call_graph = short_string(r, r->f[at], EVENT_TEXT_MAX);
	return true;
}

static bool read_event(struct reader *r)
{
	struct profile_event ev = { 0 };

	if (!r->several || r->n < EVENT_FIELDS || !read_losses(r, &ev) || !read_stacks(r, &ev) || r->p->ncounts || r->p->nevents == SAMPLED_EVENTS_MAX || !number(r->f[4], UINT64_MAX, &ev.frequency) ||
	    !number(r->f[5], UINT64_MAX, &ev.fixed_period) || !number(r->f[7], UINT64_MAX, &ev.truncated) ||
	    !number(r->f[8], UINT64_MAX, &ev.incomplete))
		return false;
	ev.by_period = !strcmp(r->f[6], "period");
	if (!ev.by_period && strcmp(r->f[6], "samples"))
		return false;
	ev.name = short_string(r, r->f[1], EVENT_TEXT_MAX);
	ev.modifier = short_string(r, r->f[2], EVENT_TEXT_MAX);
	ev.unit = short_string(r, r->f[3], EVENT_TEXT_MAX);
	profile_event(r->p, &ev);
	return true;
}

static bool read_count(struct reader *r)
{
	const struct profile *p = r->p;
	struct profile_count c = { 0 };

	/* Without times there is one block, which has number 0. */
	if (r->n != (p->nevents ? 7 : 6) || (p->nevents && !id_below(r->f[6], p->nevents, &c.event)) || !id_below(r->f[1], p->nthreads, &c.thread) || !id_below(r->f[2], p->nnodes, &c.node) ||
	    !id_below(r->f[3], p->block_ns ? p->nblocks : 1, &c.block) || !number(r->f[4], UINT64_MAX, &c.samples) ||
	    !number(r->f[5], UINT64_MAX, &c.period))
		return false;
	profile_count(r->p, &c);
	return true;
}

/* The checksum may be missing, so that profiles can be written by hand. */
static bool read_end(struct reader *r)
{
	char crc[9];
	uint64_t n;

	r->ended = true;
	snprintf(crc, sizeof(crc), "%08" PRIx32, r->crc);
	r->altered = r->n == 3 && strcmp(r->f[2], crc);
	/* This line has been counted already. */
	return (r->n == 2 || r->n == 3) && number(r->f[1], UINT64_MAX, &n) && n + 1 == r->lines.n;
}

/* Call it before the line is split. A NUL has replaced the line's end. */
static void add_to_crc(struct reader *r, char *line, size_t len)
{
	if (!line || line[0] == 'E')
		return;
	line[len] = '\n';
	r->crc = crc32c(r->crc, line, len + 1);
	line[len] = '\0';
}

static bool read_line(struct reader *r, char *line, size_t len)
{
	if (!line || memchr(line, '\0', len) || r->ended || !split(r, line) || !r->f[0][0] || r->f[0][1])
		return false;
	switch (r->f[0][0]) {
	case 'M':
		return read_meta(r);
	case 'B':
		return read_blocks(r);
	case 'V':
		return read_event(r);
	case 'T':
		return read_thread(r);
	case 'F':
		return read_frame(r);
	case 'N':
		return read_node(r);
	case 'C':
		return read_count(r);
	case 'E':
		return read_end(r);
	default:
		return false;
	}
}

static int read_header(struct reader *r, const char *name)
{
	size_t len;
	char *line;

	if (lines_next(&r->lines, &line, &len) && line && !strncmp(line, PROFILE_MAGIC, PROFILE_MAGIC_LEN) &&
	    r->lines.ended) {
		add_to_crc(r, line, len);
		r->several = !strcmp(line + PROFILE_MAGIC_LEN, VERSION_SEVERAL);
		if (r->several || !strcmp(line + PROFILE_MAGIC_LEN, VERSION_ONE))
			return 0;
		pr_err("'%s' is a profile of another version; this program reads versions " VERSION_ONE " and " VERSION_SEVERAL, name);
		return -EINVAL;
	}
	if (r->lines.err)
		pr_err("cannot read '%s': %s", name, strerror(-r->lines.err));
	else
		pr_err("'%s' is not an nsprof profile", name);
	return r->lines.err ? r->lines.err : -EINVAL;
}

int profile_read(FILE *in, const char *name, struct profile **out)
{
	struct reader r = { .p = NULL };
	bool good = true;
	size_t len;
	char *line;
	int err;

	lines_init(&r.lines, in);
	err = read_header(&r, name);
	if (err) {
		lines_fini(&r.lines);
		return err;
	}
	r.p = profile_new();
	while (good && lines_next(&r.lines, &line, &len)) {
		add_to_crc(&r, line, len);
		good = r.lines.ended && read_line(&r, line, len);
	}
	if (!good && r.lines.ended)
		pr_warn("'%s' is damaged: line %" PRIu64 " does not belong in a profile; only the lines before it are used", name, r.lines.n);
	else if (r.lines.err)
		pr_warn("cannot read '%s' to its end: %s", name, strerror(-r.lines.err));
	else if (!r.ended)
		pr_warn("'%s' is cut after line %" PRIu64 "; only the lines up to there are used", name, r.lines.n - !good);
	else if (r.altered)
		pr_warn("'%s' is damaged or was edited: its checksum differs from the one in its last line; names or counts may be wrong", name);
	if (r.shortened)
		pr_warn("'%s': %" PRIu64 " long name%s of threads or events %s cut", name, r.shortened, plural(r.shortened),
			plural_of(r.shortened, "is", "are"));
	r.p->cut = !good || !r.ended || r.altered;
	profile_finish(r.p);
	lines_fini(&r.lines);
	strbuf_fini(&r.repaired);
	*out = r.p;
	return 0;
}
