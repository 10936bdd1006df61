/*
 * Prints samples as perf script does (to_script.h). Format: perf_sample__fprintf_start() in
 * tools/perf/builtin-script.c.
 */
#include "output/to_script.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/escape.h"
#include "base/intern.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "debuginfo/inlines.h"
#include "modules/module_symbols.h"
#include "naming/naming.h"
#include "output/script_bound.h"
#include "profile/folded_frame.h"
#include "profile/profile_bound.h"
#include "recording/rec_events.h"
#include "recording/rec_reader.h"
#include "replay/collect.h"
#include "replay/sample_fields.h"
#include "trace/tp_text.h"

#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_US UINT64_C(1000)

/* perf's fields for single instructions: perf prints nothing for them on these samples, either. */
static bool empty_field(const char *name, size_t len)
{
	static const char *const names[] = { "flags", "callindent", "synth" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strlen(names[i]) == len && !strncmp(names[i], name, len))
			return true;
	return false;
}

/* Other fields of perf 7.2. */
static bool theirs(const char *name, size_t len)
{
	static const char names[] = " dsoff addr iregs uregs brstack brstacksym brstackinsn brstackinsnlen brstackdisasm brstackoff brcntr data_src "
		"weight bpf-output insn disasm insnlen phys_addr metric misc srccode ipc tod data_page_size code_page_size ins_lat "
		"retire_lat machine_pid vcpu ";
	const char *at = names;

	while ((at = memmem(at, strlen(at), name, len))) {
		if (at[-1] == ' ' && at[len] == ' ')
			return true;
		at += len;
	}
	return false;
}

/* perf's prefix "sw:" selects a type of events; all types are the same here. */
static const char *without_type(const char *text)
{
	static const char *const types[] = { "hw:", "sw:", "trace:", "raw:", "break:", "synth:", "bpf:", "other:" };

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (!strncmp(text, types[i], strlen(types[i])))
			return text + strlen(types[i]);
	return text;
}

int script_parse_fields(const char *text, uint32_t *fields)
{
	static const char *const names[] = { "comm", "pid", "tid", "cpu", "time", "period", "event", "ip", "sym", "symoff",
					     "dso", "srcline", "cgroup", "trace" };
	const char *list = text;
	uint32_t all;

	text = without_type(text);
	all = strchr("+-", text[0]) && text[0] ? *fields : 0;
	while (*text) {
		const char sign = *text == '+' || *text == '-' ? *text++ : 0;
		size_t len = strcspn(text, ","), i;

		for (i = 0; i < ARRAY_SIZE(names); i++)
			if (strlen(names[i]) == len && !strncmp(names[i], text, len))
				break;
		if (i == ARRAY_SIZE(names) && empty_field(text, len)) {
			text += len + (text[len] == ',');
			continue;
		}
		if (i == ARRAY_SIZE(names) && theirs(text, len)) {
			pr_err("perf has -F '%.*s', nsprof does not: recordings do not contain it", (int)len, text);
			return -EINVAL;
		}
		if (i == ARRAY_SIZE(names)) {
			pr_err("invalid field '%.*s'; -F takes comm, pid, tid, cpu, time, period, event, ip, sym, symoff, dso, "
			       "srcline, cgroup and trace", (int)len, text);
			return -EINVAL;
		}
		all = sign == '-' ? all & ~(1u << i) : all | 1u << i;
		text += len + (text[len] == ',');
	}
	/* 0 means the default, which was not requested here. */
	if (!all) {
		pr_err("-F '%s' selects no field", list);
		return -EINVAL;
	}
	*fields = all;
	return 0;
}

/* ---- text that all readers parse correctly ---- */

/*
 * Readers split fields at blanks, at digits after a comm, and at parentheses around a file. They
 * make folded text of comms and symbols (folded_frame.h), so a symbol must not end in what looks
 * like a mark there.
 */
enum text_kind {
	TEXT_COMM,	/* blanks become '_', as in stackcollapse-perf.pl */
	TEXT_DSO,	/* blanks and parentheses become escapes */
	TEXT_SYM,	/* "->" gets a blank: stackcollapse-perf.pl takes it for an inlined call */
};

/* Names in one of these forms, each made once. */
struct script_texts {
	enum text_kind kind;
	const struct intern *from;
	struct intern *made;	/* owned */
	uint32_t *ids;		/* owned; by id in @from: 1 + id in @made, 0: not yet */
};

static void script_text(struct strbuf *out, const char *text, enum text_kind kind)
{
	struct strbuf name = STRBUF_INIT;

	strbuf_reset(out);
	/* inferno takes the first word of digits for the pid. */
	if (kind == TEXT_COMM && *text && text[strspn(text, "0123456789/")] == '\0')
		strbuf_addc(out, '_');
	if (kind == TEXT_DSO)
		strbuf_adds(&name, text);
	else
		folded_add_name(&name, text);
	if (kind == TEXT_SYM && folded_ends_in_count(name.s ? name.s : "", name.len))
		folded_guard_count(&name);
	for (const char *s = name.s; s && *s; s++) {
		if (kind == TEXT_DSO && strchr(" ()", *s))
			strbuf_addf(out, "\\u{%x}", (unsigned int)*s);
		else if (kind == TEXT_COMM && *s == ' ')
			strbuf_addc(out, '_');
		else if (kind == TEXT_SYM && *s == '-' && s[1] == '>')
			strbuf_adds(out, "- ");
		else
			strbuf_addc(out, *s);
	}
	if (!out->len)
		strbuf_addc(out, '?');
	strbuf_fini(&name);
}

static struct script_texts texts_of(enum text_kind kind, const struct intern *from)
{
	return (struct script_texts){ kind, from, intern_new(), xcalloc(intern_count(from), sizeof(uint32_t)) };
}

static void texts_fini(struct script_texts *t)
{
	intern_free(t->made);
	free(t->ids);
}

static void put(FILE *to, struct script_texts *t, uint32_t id)
{
	if (!t->ids[id]) {
		struct strbuf sb = STRBUF_INIT;

		script_text(&sb, intern_str(t->from, id), t->kind);
		t->ids[id] = intern_addn(t->made, sb.s, sb.len) + 1;
		strbuf_fini(&sb);
	}
	id = t->ids[id] - 1;
	/* Not byte by byte: with more than one thread, each write would lock the stream. */
	fwrite_unlocked(intern_str(t->made, id), 1, intern_len(t->made, id), to);
}

/* ---- frames ---- */

struct printer {
	const struct to_script *in;
	FILE *to;
	struct script_texts comms, cgroups, dsos, syms;
	char **events;		/* owned, with the names */
	int event_width;	/* of the longest name */
	struct sample_fields *formats;	/* owned; of tracepoints; NULL: not asked for */
	struct strbuf trace;
	uint64_t since;		/* ns; the zero of printed times */
	struct script_bound bound;
};

/*
 * The address that perf 6.1 prints: the address in the file for code of a file, otherwise the
 * runtime address.
 */
static uint64_t frame_address(const struct location *loc, struct svma *at)
{
	const struct elf_file *ef;

	if (loc->kind == LOC_TEXT || loc->kind == LOC_PROCESS)
		return 0;
	if (loc->kind != LOC_FILE)
		return loc->addr;
	ef = loc->mod->elf ? loc->mod->elf : loc->mod->captured;
	return ef && elf_file_off_to_svma(ef, loc->off, &at->v) ? at->v : loc->off;
}

static void print_dso(struct printer *p, const struct named_frame *nf, int32_t pid)
{
	const char *dso = intern_str(p->in->nm->names, nf->dso);

	fputs(" (", p->to);
	if (nf->kind == PROFILE_INLINED)
		fputs("inlined", p->to);
	else if (nf->kind == PROFILE_JIT && !strcmp(dso, "[jit]"))
		fprintf(p->to, "/tmp/perf-%" PRId32 ".map", pid);
	else if (!*dso)
		fputs("[unknown]", p->to);
	else
		put(p->to, &p->dsos, nf->dso);
	putc(')', p->to);
}

static void print_frame(struct printer *p, const struct location *loc, uint32_t i, bool unnamed, int32_t pid)
{
	const struct naming *nm = p->in->nm;
	const struct named_frame *nf = &nm->frames[i];
	const uint32_t fields = p->in->fields;
	const char *line = intern_str(nm->names, nf->line);
	struct svma at = { 0 };
	uint64_t addr = frame_address(loc, &at);
	struct symbol sym;

	putc('\t', p->to);
	if (fields & SCRIPT_IP)
		fprintf(p->to, "%16" PRIx64, addr);
	if (fields & SCRIPT_SYM) {
		putc(' ', p->to);
		/* perf's word for it; readers replace it by the file's name. */
		if (unnamed && *intern_str(nm->names, nf->dso) == '/')
			fputs("[unknown]", p->to);
		else
			put(p->to, &p->syms, nm->ids[i]);
		if (fields & SCRIPT_SYMOFF && at.v && nf->kind == PROFILE_USER && !unnamed &&
		    (!module_symbol(loc->mod, at, &sym) || !inlines_symbol(module_inlines(loc->mod), at, &sym)))
			fprintf(p->to, "+0x%" PRIx64, at.v - sym.start);
	}
	if (fields & SCRIPT_DSO)
		print_dso(p, nf, pid);
	putc('\n', p->to);
	if (fields & SCRIPT_SRCLINE && *line)
		fprintf(p->to, "  %s\n", line);
}

/* In place of a stack's outermost frames. */
static void print_left_out(struct printer *p)
{
	const uint32_t fields = p->in->fields;

	putc('\t', p->to);
	if (fields & SCRIPT_IP)
		fprintf(p->to, "%16d", 0);
	if (fields & SCRIPT_SYM)
		fputs(" " BOUND_LEFT_OUT, p->to);
	if (fields & SCRIPT_DSO)
		fputs(" ([unknown])", p->to);
	putc('\n', p->to);
}

/* Prints a stack, leaf first. */
static void print_stack(struct printer *p, uint32_t node, uint32_t thread)
{
	const struct stacktree *tree = &p->in->col->tree;
	const int32_t pid = p->in->col->spread.threads[thread].pid;
	const struct naming *nm = p->in->nm;
	uint64_t left = script_bound_bytes(&p->bound, node, thread);

	for (; node != STACKTREE_ROOT; node = tree->nodes[node].parent) {
		const uint32_t id = tree->nodes[node].loc;
		const struct named *named = &nm->named[id];
		const struct location *loc = &p->in->col->locs.locs[id];

		for (uint32_t k = 0; k < named->n; k++) {
			const uint64_t bytes = script_bound_frame(nm, named->first + k);

			if (bytes > left) {
				print_left_out(p);
				return;
			}
			left -= bytes;
			print_frame(p, loc, named->first + k, named->source == NAME_NONE && loc->kind != LOC_TEXT, pid);
		}
	}
}

/* ---- samples ---- */

/* perf prints the text of a tracepoint behind the event's name, too. */
static void print_trace(struct printer *p, const struct collect_each *e)
{
	const struct tp_format *f = p->formats ? sample_fields_format(p->formats, e->event) : NULL;

	strbuf_reset(&p->trace);
	if (f)
		tp_record_text(f, p->in->col->payloads.s + e->payload, e->payload_len, &p->trace);
	if (p->trace.len)
		fwrite_unlocked(p->trace.s, 1, p->trace.len, p->to);
}

static void print_sample(struct printer *p, const struct collect_each *e, uint32_t node)
{
	const struct collect *c = p->in->col;
	const struct profile_thread *t = &c->spread.threads[e->thread];
	const uint32_t fields = p->in->fields;
	const uint64_t time = e->time - MIN(p->since, e->time);
	FILE *to = p->to;

	if (fields & SCRIPT_COMM) {
		put(to, &p->comms, t->comm);
		putc(' ', to);
	}
	if (fields & SCRIPT_PID && fields & SCRIPT_TID)
		fprintf(to, "%7" PRId32 "/%-7" PRId32 " ", t->pid, t->tid);
	else if (fields & (SCRIPT_PID | SCRIPT_TID))
		fprintf(to, "%7" PRId32 " ", fields & SCRIPT_TID ? t->tid : t->pid);
	if (fields & SCRIPT_CPU)
		fprintf(to, "[%03" PRIu32 "] ", e->cpu);
	if (fields & SCRIPT_TIME && p->in->ns)
		fprintf(to, "%5" PRIu64 ".%09" PRIu64 ": ", time / NS_PER_S, time % NS_PER_S);
	else if (fields & SCRIPT_TIME)
		fprintf(to, "%5" PRIu64 ".%06" PRIu64 ": ", time / NS_PER_S, time % NS_PER_S / NS_PER_US);
	if (fields & SCRIPT_PERIOD)
		fprintf(to, "%10" PRIu64 " ", e->period);
	if (fields & SCRIPT_EVENT)
		fprintf(to, "%*s: ", p->event_width, p->events[e->event]);
	if (fields & SCRIPT_TRACE && e->payload_len)
		print_trace(p, e);
	if (fields & SCRIPT_CGROUP) {
		putc(' ', to);
		put(to, &p->cgroups, t->cgroup);
	}
	putc('\n', to);
	if (fields & (SCRIPT_IP | SCRIPT_SYM | SCRIPT_DSO))
		print_stack(p, node, e->thread);
	putc('\n', to);
}

/* Writes perf's block of "# key : value" lines. */
static void print_header(const struct printer *p)
{
	/* perf's name, the recording's key, the unit. */
	static const char *const keys[][3] = {
		{ "hostname", "hostname" }, { "os release", "kernel" }, { "perf version", "version" }, { "arch", "arch" },
		{ "nrcpus avail", "ncpus" }, { "total memory", "memory_kb", " kB" }, { "cmdline", "cmdline" },
	};
	const char *v = rec_reader_info(p->in->reader, "start_wall_ns");
	struct strbuf sb = STRBUF_INIT;
	time_t when = v ? (time_t)(strtoull(v, NULL, 10) / NS_PER_S) : 0;
	char date[64] = "";
	struct tm tm;

	if (localtime_r(&when, &tm))
		strftime(date, sizeof(date), "%a %b %e %H:%M:%S %Y", &tm);
	fprintf(p->to, "# ========\n# captured on    : %s\n# header version : 1\n", date);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if ((v = rec_reader_info(p->in->reader, keys[i][1]))) {
			strbuf_reset(&sb);
			escape_bytes(&sb, v);
			fprintf(p->to, "# %s : %s%s\n", keys[i][0], sb.s, keys[i][2] ? keys[i][2] : "");
		}
	strbuf_fini(&sb);
	for (size_t i = 0; i < p->in->col->nevents; i++)
		if (p->in->col->opts.event == REC_EVENTS_ALL || p->in->col->opts.event == i)
			fprintf(p->to, "# event : name = %s\n", p->events[i]);
	fputs("# ========\n#\n", p->to);
}

/* As perf does, all names are as wide as the longest one that can occur. */
static void name_events(struct printer *p)
{
	const struct collect_opts *o = &p->in->col->opts;
	const struct rec_events *events = o->events;
	struct strbuf name = STRBUF_INIT, shown = STRBUF_INIT;
	struct event_label label;

	p->events = xcalloc(p->in->col->nevents, sizeof(*p->events));
	for (size_t i = 0; i < p->in->col->nevents; i++) {
		strbuf_reset(&name);
		strbuf_reset(&shown);
		label = events ? rec_events_label(&events->table.ev[i]) : (struct event_label){ "", "" };
		if (!*label.name)
			label.name = "cpu-clock";
		event_label_text(&label, &name);
		escape_word(&shown, name.s);
		p->events[i] = xstrdup(shown.s);
		if (o->event == REC_EVENTS_ALL || o->event == i)
			p->event_width = MAX(p->event_width, (int)shown.len);
	}
	strbuf_fini(&name);
	strbuf_fini(&shown);
}

void to_script(const struct to_script *in, FILE *to)
{
	struct printer p = {
		.in = in, .to = to, .comms = texts_of(TEXT_COMM, in->col->texts), .cgroups = texts_of(TEXT_DSO, in->col->texts),
		.dsos = texts_of(TEXT_DSO, in->nm->names), .syms = texts_of(TEXT_SYM, in->nm->names),
	};
	const struct collect_each *each = in->col->each;
	const size_t n = in->header_only ? 0 : in->col->neach;
	uint32_t *nodes = collect_each_nodes(in->col);

	name_events(&p);
	script_bound_init(&p.bound, in->col, in->nm, nodes);
	if (in->fields & SCRIPT_TRACE && in->col->opts.events)
		p.formats = sample_fields_new(in->col->opts.events, "");
	if (in->header || in->header_only)
		print_header(&p);
	for (size_t i = 0; i < n && !ferror(to); i++) {
		if (in->reltime || in->deltatime)
			p.since = each[in->deltatime && i ? i - 1 : in->deltatime ? i : 0].time;
		print_sample(&p, &each[i], nodes[i]);
	}
	script_bound_fini(&p.bound);
	texts_fini(&p.comms);
	texts_fini(&p.cgroups);
	texts_fini(&p.dsos);
	texts_fini(&p.syms);
	for (size_t i = 0; i < in->col->nevents; i++)
		free(p.events[i]);
	free(p.events);
	sample_fields_free(p.formats);
	strbuf_fini(&p.trace);
	free(nodes);
}
