/*
 * Prints a function as text and JSON (annotate_show.h). The text resembles perf annotate --stdio.
 */
#include "annotate/annotate_show.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "annotate/annotate.h"
#include "annotate/codesource.h"
#include "annotate/disasm.h"
#include "annotate/listing.h"
#include "annotate/sourcetext.h"
#include "base/escape.h"
#include "base/intern.h"
#include "base/strbuf.h"
#include "base/unicode.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "bytes/json.h"
#include "debuginfo/inlines.h"
#include "modules/module.h"
#include "modules/module_symbols.h"
#include "symbols/demangle.h"

/* perf's colors, and the percentages from which they are used. */
#define RED "\033[31m"
#define GREEN "\033[32m"
#define DIM "\033[2m"
#define PLAIN "\033[m"
#define MUCH 5.0
#define SOME 0.5

#define TEXT_WIDTH_MAX 300	/* bytes shown of a source line */

static double percent(uint64_t n, uint64_t whole)
{
	return whole ? 100.0 * (double)n / (double)whole : 0;
}

/* Hex digits of the build-id, "" if there is none. */
static void build_id(const struct module *m, struct strbuf *out)
{
	strbuf_reset(out);
	for (uint32_t i = 0; i < m->dso.build_id_len; i++)
		strbuf_addf(out, "%02x", m->dso.build_id[i]);
}

/* "memcpy@plt", "parse+0x12", or "" if nothing is known. */
static void name_target(const struct annotate_shown *s, uint64_t at, struct strbuf *out)
{
	struct symbol sym;
	char *name;

	strbuf_reset(out);
	strbuf_adds(out, "");
	if (module_symbol(s->func->mod, (struct svma){ at }, &sym) && inlines_symbol(module_inlines(s->func->mod), (struct svma){ at }, &sym))
		return;
	name = s->demangle ? demangle(sym.name) : xstrdup(sym.name);
	escape_name(out, name);
	free(name);
	if (at != sym.start)
		strbuf_addf(out, "+0x%" PRIx64, at - sym.start);
}

/* The operands. For jumps and calls, their target and its name are appended. */
static void operands(const struct annotate_shown *s, const struct listing_insn *li, struct strbuf *out)
{
	const struct listing *l = s->listing;
	struct strbuf name = STRBUF_INIT;
	const char *text = listing_text(l, li->operands);

	strbuf_reset(out);
	escape_text(out, text);
	if (!li->has_target)
		return;
	if (li->to != LISTING_NONE) {
		const struct listing_insn *to = &l->insns[li->to];

		strbuf_addf(out, "  <L%" PRIu32 " %s>", to->label, to->addr > li->addr ? "down" : "up");
		return;
	}
	name_target(s, li->target, &name);
	if (name.len)
		strbuf_addf(out, "  <%s>", name.s);
	strbuf_fini(&name);
}

static void print_counts(const struct annotate_shown *s, const struct listing_insn *li, FILE *to)
{
	double share = percent(li->weight, s->func->weight);
	const char *on = !s->color ? "" : share >= MUCH ? RED : share >= SOME ? GREEN : "";

	if (li->samples)
		fprintf(to, "%s%8.2f %8" PRIu64 "%s |", on, share, li->samples, *on ? PLAIN : "");
	else
		fprintf(to, "%17s |", "");
}

/* Prints a source line after a margin as wide as the counts. */
static void print_source(const struct annotate_shown *s, const struct listing_insn *li, FILE *to)
{
	const char *path = intern_str(s->listing->files, li->file), *text;
	const char *slash = strrchr(path, '/');
	struct strbuf sb = STRBUF_INIT, line = STRBUF_INIT;
	size_t len = 0;

	text = s->source ? sourcetext_line(s->source, s->func->mod, path, li->line, &len) : NULL;
	escape_name(&sb, text || !slash ? (slash ? slash + 1 : path) : path);
	strbuf_addf(&sb, ":%" PRIu32, li->line);
	for (size_t i = 0; text && i < len && i < TEXT_WIDTH_MAX; i++) {
		if (text[i] == '\t')
			strbuf_adds(&line, "    ");
		else
			strbuf_addc(&line, text[i] ? text[i] : '?');
	}
	fprintf(to, "%17s | %s%s", "", s->color ? DIM : "", sb.s);
	if (text && len > TEXT_WIDTH_MAX)
		line.s[line.len = utf8_whole(line.s, line.len)] = '\0';
	if (line.len) {
		strbuf_reset(&sb);
		escape_text(&sb, line.s);
		fprintf(to, "  %s", sb.s);
	}
	fprintf(to, "%s\n", s->color ? PLAIN : "");
	strbuf_fini(&line);
	strbuf_fini(&sb);
}

static void print_header(const struct annotate_shown *s, FILE *to)
{
	const struct annotate_func *f = s->func;
	struct strbuf sb = STRBUF_INIT;

	escape_word(&sb, s->event);
	fprintf(to, " Percent  %7s | %s: %" PRIu64 " %s%s of %s, %.2f%% of all %" PRIu64 "%s\n",
		!strcmp(s->one, "wait") ? "Waits" : "Samples", f->name, f->samples, s->one, plural(f->samples), sb.s, percent(f->weight, s->weight), s->weight, !s->period ? "" : s->time ? " ns" : " events");
	strbuf_reset(&sb);
	escape_name(&sb, f->mod->dso.path);
	fprintf(to, "%17s | %s", "", sb.s);
	if (f->twins)
		fprintf(to, " and the same code in %" PRIu32 " more", f->twins);
	build_id(f->mod, &sb);
	if (sb.len)
		fprintf(to, ", build-id %s", sb.s);
	fprintf(to, "%s\n", s->code->captured ? ", code from the recording" : "");
	fputs("------------------+-------------------------------------------------------------\n", to);
	strbuf_fini(&sb);
}

/* Samples that are at no instruction. */
static void print_rest(const struct annotate_shown *s, FILE *to)
{
	const struct listing *l = s->listing;

	if (l->inside)
		fprintf(to, "%17s | %" PRIu64 " sample%s within instructions, the first at %" PRIx64 "\n", "", l->inside,
			plural(l->inside), l->inside_at);
	if (l->beyond)
		fprintf(to, "%17s | %" PRIu64 " sample%s after the first %u MiB of code, which is all that is shown\n", "",
			l->beyond, plural(l->beyond), CODE_MAX >> 20);
}

void annotate_text(const struct annotate_shown *s, FILE *to)
{
	const struct listing *l = s->listing;
	struct strbuf sb = STRBUF_INIT;
	uint32_t file = 0, line = 0;
	char label[16];

	print_header(s, to);
	for (size_t i = 0; i < l->n && !ferror(to); i++) {
		const struct listing_insn *li = &l->insns[i];

		if (li->line && (li->file != file || li->line != line)) {
			print_source(s, li, to);
			file = li->file;
			line = li->line;
		}
		print_counts(s, li, to);
		if (li->missing) {
			fprintf(to, " %8" PRIx64 ":       (%" PRIu32 " byte%s of code not in the recording)\n", li->addr,
				li->size, plural(li->size));
			continue;
		}
		label[0] = 0;
		if (li->label)
			snprintf(label, sizeof(label), "L%" PRIu32, li->label);
		operands(s, li, &sb);
		fprintf(to, " %8" PRIx64 ": %-5s %-*s%s%s\n", li->addr, label, sb.len ? 7 : 0, listing_text(l, li->name), sb.len ? " " : "",
			sb.len ? sb.s : "");
	}
	print_rest(s, to);
	strbuf_fini(&sb);
}

/* ---- JSON ---- */

static void insn_json(const struct annotate_shown *s, const struct listing_insn *li, struct json *j)
{
	const struct listing *l = s->listing;
	struct strbuf sb = STRBUF_INIT;

	json_begin_object(j, NULL);
	json_u64(j, "address", li->addr);
	json_u64(j, "size", li->size);
	json_u64(j, "samples", li->samples);
	if (s->period)
		json_u64(j, "period", li->weight);
	if (li->missing) {
		json_bool(j, "missing", true);
	} else {
		strbuf_adds(&sb, listing_text(l, li->name));
		if (*listing_text(l, li->operands))
			strbuf_addf(&sb, " %s", listing_text(l, li->operands));
		json_str(j, "text", sb.s);
	}
	if (li->has_target) {
		json_u64(j, "target", li->target);
		if (li->to == LISTING_NONE) {
			name_target(s, li->target, &sb);
			if (sb.len)
				json_str(j, "target_symbol", sb.s);
		}
	}
	if (li->label)
		json_bool(j, "jump_target", true);
	if (li->line) {
		json_name(j, "file", intern_str(l->files, li->file));
		json_u64(j, "line", li->line);
	}
	json_end_object(j);
	strbuf_fini(&sb);
}

void annotate_json(const struct annotate_shown *s, struct json *j)
{
	const struct annotate_func *f = s->func;
	const struct listing *l = s->listing;
	struct strbuf sb = STRBUF_INIT;

	json_begin_object(j, NULL);
	json_str(j, "symbol", f->name);
	json_name(j, "linkage", f->linkage);
	json_name(j, "binary", f->mod->dso.path);
	build_id(f->mod, &sb);
	if (sb.len)
		json_str(j, "build_id", sb.s);
	json_u64(j, "twins", f->twins);
	json_str(j, "code", s->code->captured ? "recording" : "binary");
	json_u64(j, "start", f->start);
	json_u64(j, "end", f->end);
	json_u64(j, "samples", f->samples);
	if (s->period)
		json_u64(j, "period", f->weight);
	json_u64(j, "samples_inside", l->inside);
	json_u64(j, "samples_beyond", l->beyond);
	json_begin_array(j, "instructions");
	for (size_t i = 0; i < l->n; i++)
		insn_json(s, &l->insns[i], j);
	json_end_array(j);
	json_end_object(j);
	strbuf_fini(&sb);
}
