/* Turns locations into frames (naming.h). */
#include "naming/naming.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/hash.h"
#include "base/intern.h"
#include "base/log.h"
#include "base/longname.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "debuginfo/inlines.h"
#include "modules/module_symbols.h"
#include "naming/name_accounts.h"
#include "naming/name_prefetch.h"
#include "naming/perfmap_source.h"
#include "profile/folded_frame.h"
#include "profile/normalize.h"
#include "profile/profile.h"
#include "replay/leading_frames.h"
#include "support/process_alive.h"
#include "symbols/demangle.h"
#include "symbols/demangle_java.h"
#include "symbols/kallsyms.h"

/* Bytes of a demangled name of an owner who has no more room for long ones. */
#define SPENT_TEXT_MAX 4096
#define FILE_NAME_MAX 1024	/* bytes of a source file's name */
#define INLINES_MAX 128		/* frames inlined at one address */

enum suffix { SUFFIX_NONE, SUFFIX_KERNEL, SUFFIX_JIT, SUFFIX_INLINE, SUFFIX_LATER /* the line comes first */, SUFFIX_JIT_LATER };

/* State of the pass. */
struct pass {
	struct naming *nm;
	struct perfmap_source *perf;
	struct name_accounts *accounts;
	struct intern *raw;	/* names as in their sources */
	struct u64map done; /* raw id << 8 | enum suffix -> name id: each name is demangled once */
	struct prefetch_found found;
	struct u64map plain;	/* address of a raw name -> index in @found.names */
	struct u64map symbols;	/* address of a symbol's name << 1 | joined -> name id */
	struct u64map brief;	/* name id -> id of the same name, cut to LONGNAME_BRIEF */
	struct {		/* the last "[module]"; there may be thousands in a row */
		const struct module *mod;
		uint32_t id;
		bool joined;
	} last;
	struct strbuf text, clean;
	struct strbuf cut;	/* a name that is being cut */
	bool joined; /* of the current location: struct location */
	bool kernel_tried;
	const struct kallsyms *kernel;	/* NULL if there are none */
};

static const uint8_t kinds[] = {
	[SUFFIX_NONE] = PROFILE_USER, [SUFFIX_KERNEL] = PROFILE_KERNEL, [SUFFIX_JIT] = PROFILE_JIT,
	[SUFFIX_INLINE] = PROFILE_INLINED, [SUFFIX_LATER] = PROFILE_USER, [SUFFIX_JIT_LATER] = PROFILE_JIT,
};

/* @id, or the same name cut if the owner of the location may not show all of it. */
static uint32_t shown_id(struct pass *p, uint32_t id)
{
	const size_t len = intern_len(p->nm->names, id);
	bool is_new;
	uint64_t *slot;

	if (len <= LONGNAME_BRIEF || name_accounts_show(p->accounts, len))
		return id;
	slot = u64map_put(&p->brief, id, &is_new);
	if (is_new) {
		strbuf_reset(&p->cut);
		longname_add(&p->cut, intern_str(p->nm->names, id), len, LONGNAME_BRIEF);
		*slot = intern_addn(p->nm->names, p->cut.s, p->cut.len);
	}
	return (uint32_t)*slot;
}

/* @line: as in named_frame. */
static void add_id(struct pass *p, uint32_t id, enum suffix suffix, uint32_t line)
{
	struct naming *nm = p->nm;

	id = shown_id(p, id);
	if (nm->opts.detail) {
		XGROW(nm->frames, nm->nids, nm->frames_cap);
		nm->frames[nm->nids] = (struct named_frame){ .line = line, .kind = kinds[suffix], .joined = p->joined };
	}
	XGROW(nm->ids, nm->nids, nm->ids_cap);
	nm->ids[nm->nids++] = id;
}

/* Sets what all frames of a location, from @first on, have in common. */
static void add_origin(struct pass *p, size_t first, const char *dso, enum name_source source)
{
	struct naming *nm = p->nm;
	uint32_t id = 0;

	if (!nm->opts.detail)
		return;
	if (dso && *dso) {
		strbuf_reset(&p->clean);
		escape_name(&p->clean, dso);
		id = intern_addn(nm->names, p->clean.s, p->clean.len);
	}
	for (size_t i = first; i < nm->nids; i++) {
		nm->frames[i].dso = id;
		nm->frames[i].source = (uint8_t)(nm->frames[i].kind == PROFILE_INLINED ? NAME_INLINE : source);
	}
}

static void annotate(struct pass *p, enum suffix suffix)
{
	if (p->nm->opts.annotate && !p->nm->opts.detail && suffix < SUFFIX_LATER)
		folded_add_marks(&p->clean, kinds[suffix], p->joined);
}

/*
 * Sets p->clean to the frame of a name: its text, and in folded text what that needs. A symbol in
 * brackets must not look like a placeholder.
 */
static void make_frame(struct pass *p, const char *name, bool placeholder)
{
	const size_t len = strlen(name);
	struct strbuf text = STRBUF_INIT;

	strbuf_reset(&p->clean);
	if (!placeholder && *name == '[' && name[len - 1] == ']') {
		strbuf_adds(&text, "\\u{5b}");
		name++;
	}
	escape_name(&text, *name ? name : "?");
	if (p->nm->opts.detail)
		strbuf_add(&p->clean, text.s, text.len);
	else
		folded_add_name(&p->clean, text.s);
	strbuf_fini(&text);
}

/* Owned. Placeholders are never demangled, though some look mangled. */
static char *frame_text(const struct pass *p, const char *raw, enum suffix suffix, bool placeholder)
{
	if (!p->nm->opts.demangle || placeholder)
		return xstrdup(raw);
	/* JIT compilers write names in readable form, except Java's. */
	if (suffix == SUFFIX_JIT || suffix == SUFFIX_JIT_LATER)
		return demangle_java(raw);
	return demangle_most(raw, name_accounts_spent(p->accounts) ? SPENT_TEXT_MAX : SIZE_MAX);
}

/* The result of frame_text(), if the prefetch made it; otherwise NULL. Borrowed. */
static const char *made_text(const struct pass *p, const char *raw, enum suffix suffix, bool placeholder)
{
	const uint64_t *i = u64map_get(&p->plain, (uintptr_t)raw);

	if (!i || placeholder || suffix == SUFFIX_JIT || suffix == SUFFIX_JIT_LATER)
		return NULL;
	return p->found.names[*i].plain;
}

/*
 * @raw as an id in p->raw. A name that no source should have, or for which its owner has no room, is
 * cut; then *@cut is set, and the result is not cached.
 */
static uint32_t raw_id(struct pass *p, const char *raw, bool *cut)
{
	const size_t len = strlen(raw);
	uint32_t id = len > LONGNAME_MAX ? UINT32_MAX : intern_find(p->raw, raw);
	size_t max = MIN(len, LONGNAME_MAX);

	*cut = false;
	if (id != UINT32_MAX)
		return id;
	if (len > LONGNAME_BRIEF && !name_accounts_keep(p->accounts, max))
		max = LONGNAME_BRIEF;
	*cut = max < len;
	strbuf_reset(&p->cut);
	longname_add(&p->cut, raw, len, max);
	return intern_addn(p->raw, p->cut.s ? p->cut.s : "", p->cut.len);
}

/* Appends what is known of the frame to p->clean, which is then ready to be shown. */
static uint32_t clean_id(struct pass *p, enum suffix suffix)
{
	if (p->clean.len > LONGNAME_BRIEF && !name_accounts_keep(p->accounts, p->clean.len)) {
		strbuf_reset(&p->cut);
		longname_add(&p->cut, p->clean.s, p->clean.len, LONGNAME_BRIEF);
		strbuf_reset(&p->clean);
		strbuf_add(&p->clean, p->cut.s, p->cut.len);
	}
	annotate(p, suffix);
	return intern_addn(p->nm->names, p->clean.s, p->clean.len);
}

/* Name id of @raw. */
static uint32_t frame_id(struct pass *p, const char *raw, enum suffix suffix, bool placeholder)
{
	struct naming *nm = p->nm;
	bool is_new, cut;
	const uint32_t id = raw_id(p, raw, &cut);
	uint64_t key = (uint64_t)id << 8 | (uint64_t)p->joined << 5 | (uint64_t)placeholder << 4 | suffix;
	uint64_t *slot = u64map_put(&p->done, key, &is_new);

	if (is_new) {
		const char *made = nm->opts.normalize || cut ? NULL : made_text(p, raw, suffix, placeholder);
		char *plain = made ? NULL : cut ? xstrdup(intern_str(p->raw, id)) : frame_text(p, raw, suffix, placeholder);

		if (nm->opts.normalize)
			normalize_name(plain);
		if (!made)
			made = plain;
		make_frame(p, made, placeholder);
		*slot = clean_id(p, suffix);
		free(plain);
	}
	return (uint32_t)*slot;
}

/*
 * frame_id() of a symbol, cached by the address of its name: thousands of addresses are in hundreds
 * of functions.
 */
static uint32_t symbol_id(struct pass *p, const char *raw)
{
	bool is_new;
	uint64_t *slot = u64map_put(&p->symbols, (uint64_t)(uintptr_t)raw << 1 | p->joined, &is_new);

	if (is_new)
		*slot = frame_id(p, raw, SUFFIX_NONE, false);
	return (uint32_t)*slot;
}

/* Adds a frame to the current location. */
static void add_frame(struct pass *p, const char *raw, enum suffix suffix, bool placeholder)
{
	add_id(p, frame_id(p, raw, suffix, placeholder), suffix, 0);
}

/* The name of the source file, cut if it is too long. Borrowed until the next name. */
static const char *file_name(struct pass *p, const struct source_line *at)
{
	const size_t len = strlen(at->file);

	if (len <= FILE_NAME_MAX)
		return at->file;
	strbuf_reset(&p->cut);
	longname_add(&p->cut, at->file, len, FILE_NAME_MAX);
	return p->cut.s;
}

/* Adds a frame with its source line, if that is known. */
static void add_frame_at(struct pass *p, const char *raw, enum suffix suffix,
			 const struct source_line *at)
{
	struct naming *nm = p->nm;
	uint32_t line;

	if (!at->file || !at->line) {
		add_frame(p, raw, suffix, false);
		return;
	}
	nm->nlines++;
	if (nm->opts.detail) {
		strbuf_reset(&p->clean);
		escape_name(&p->clean, file_name(p, at));
		strbuf_addf(&p->clean, ":%" PRIu32, at->line);
		line = intern_addn(nm->names, p->clean.s, p->clean.len);
		add_id(p, frame_id(p, raw, suffix, false), suffix, line);
		return;
	}
	line = frame_id(p, raw, suffix == SUFFIX_JIT ? SUFFIX_JIT_LATER : SUFFIX_LATER, false);
	strbuf_reset(&p->text);
	escape_name(&p->text, file_name(p, at));
	strbuf_reset(&p->clean);
	strbuf_addf(&p->clean, "%s (", intern_str(nm->names, line));
	folded_add_name(&p->clean, p->text.s);
	strbuf_addf(&p->clean, ":%" PRIu32 ")", at->line);
	add_id(p, clean_id(p, suffix), suffix, 0);
}

/* ---- user code ---- */

static void add_module_placeholder(struct pass *p, const struct module *m, const char *what,
				   uint64_t at)
{
	bool plain = !*what && !p->nm->opts.offsets;

	if (plain && p->last.mod == m && p->last.joined == p->joined) {
		add_id(p, p->last.id, SUFFIX_NONE, 0);
		return;
	}
	strbuf_reset(&p->text);
	if (m->vdso) {
		strbuf_adds(&p->text, "[vdso");
	} else {
		strbuf_addc(&p->text, '[');
		strbuf_adds(&p->text, what);
		strbuf_adds(&p->text, module_name(m));
	}
	if (p->nm->opts.offsets)
		strbuf_addf(&p->text, "+0x%" PRIx64, at);
	strbuf_addc(&p->text, ']');
	add_frame(p, p->text.s, SUFFIX_NONE, true);
	if (!plain)
		return;
	p->last.mod = m;
	p->last.id = p->nm->ids[p->nm->nids - 1];
	p->last.joined = p->joined;
}

static enum name_source name_file(struct pass *p, const struct location *loc, const struct prefetch_symbol *ahead)
{
	struct source_line at_line[INLINES_MAX + 1];
	const char *inl[INLINES_MAX];
	struct module *m = loc->mod;
	const struct elf_file *ef;
	struct symbol sym;
	struct svma at;
	size_t i, n;

	module_retry(m);
	ef = m->elf ? m->elf : m->captured;
	if (!ef || !elf_file_off_to_svma(ef, loc->off, &at.v)) {
		add_module_placeholder(p, m, "", loc->off);
		return NAME_NONE;
	}
	n = p->nm->opts.inlines ? inlines_lookup(module_inlines(m), at, inl, INLINES_MAX) : 0;
	memset(at_line, 0, (n + 1) * sizeof(*at_line));
	/* One per frame; without inlined frames, only the function's own line is left. */
	if (p->nm->opts.srcline)
		inlines_lines(module_inlines(m), at, at_line, n + 1);
	for (i = 0; i < n; i++)
		add_frame_at(p, inl[i], SUFFIX_INLINE, &at_line[i]);
	p->nm->by_source[NAME_INLINE] += n;
	if (ahead->asked ? !ahead->found : module_symbol(m, at, &sym)) {
		/* If interrupted, do not read debug info: that may take long. */
		if (p->found.done || inlines_symbol(module_inlines(m), at, &sym)) {
			add_module_placeholder(p, m, "", at.v);
			return NAME_NONE;
		}
	} else if (ahead->asked) {
		sym = ahead->sym;
	}
	if (at_line[n].file && at_line[n].line)
		add_frame_at(p, sym.name, SUFFIX_NONE, &at_line[n]);
	else
		add_id(p, symbol_id(p, sym.name), SUFFIX_NONE, 0);
	return sym.source;
}

static const char *anon_placeholder(const struct location *loc)
{
	if (loc->kind == LOC_NOMAP)
		return "[no mapping]";
	return location_may_be_jit(loc) ? "[jit]" : loc->path;
}

static enum name_source name_by_perf_map(struct pass *p, const struct location *loc)
{
	const struct image *img = replay_image(p->nm->rp, loc->owner);
	struct avma addr = { loc->addr };
	const char *name;

	if (perfmap_source_lookup(p->perf, img, addr, &name)) {
		add_frame(p, name, SUFFIX_JIT, false);
		return NAME_PERFMAP;
	}
	if (loc->kind == LOC_NOELF)
		add_module_placeholder(p, loc->mod, loc->mod->dso.deleted ? "deleted:" : "",
				       loc->off);
	else
		add_frame(p, anon_placeholder(loc),
			  loc->kind == LOC_ANON ? SUFFIX_JIT : SUFFIX_NONE, true);
	return NAME_NONE;
}

/*
 * @text: the owner of LOC_JIT. A file name has no line feed, and only the line follows its last
 * colon.
 */
static void name_jit(struct pass *p, const char *text)
{
	struct source_line at = { NULL, 0 };
	char *name = xstrdup(text), *file = strrchr(name, '\n'), *line = strrchr(file, ':');

	*file++ = '\0';
	if (line && p->nm->opts.srcline) {
		*line++ = '\0';
		at = (struct source_line){ file, (uint32_t)strtoul(line, NULL, 10) };
	}
	add_frame_at(p, name, SUFFIX_JIT, &at);
	free(name);
}

/* ---- kernel ---- */

static const struct kallsyms *kernel_names(struct pass *p)
{
	if (p->kernel_tried)
		return p->kernel;
	p->kernel_tried = true;
	p->kernel = replay_kernel(p->nm->rp, p->nm->opts.kallsyms);
	if (!p->kernel) {
		p->nm->kernel_hidden = true;
		if (alive_same_boot()) {
			p->nm->kernel_why = "the kernel hides its addresses";
			p->nm->kernel_remedy =
				"symbolize as root, or set kernel.kptr_restrict to 0 and kernel.perf_event_paranoid to 1";
		} else {
			p->nm->kernel_why = "the recording has no kernel symbols";
			p->nm->kernel_remedy = "record as root, or set kernel.kptr_restrict to 0 and "
					       "kernel.perf_event_paranoid to 1, and let the recorder end by itself";
		}
	}
	return p->kernel;
}

static enum name_source name_kernel(struct pass *p, const struct location *loc)
{
	const struct kallsyms *ks;
	const char *name, *module;

	if (loc->kind == LOC_KSYM) {
		add_frame(p, replay_ksym(p->nm->rp, loc->owner)->name, SUFFIX_KERNEL, false);
		return NAME_KALLSYMS;
	}
	ks = kernel_names(p);
	if (ks && kallsyms_lookup(ks, (struct avma){ loc->addr }, &name, &module)) {
		add_frame(p, name, SUFFIX_KERNEL, false);
		return NAME_KALLSYMS;
	}
	add_frame(p, "[kernel]", SUFFIX_KERNEL, true);
	p->nm->kernel_id = p->nm->ids[p->nm->nids - 1];
	return NAME_NONE;
}

/* The file of a location, by perf's name for it; NULL: unknown. Valid until the next call. */
static const char *dso_of(struct pass *p, const struct location *loc)
{
	const char *name, *module;

	switch ((enum location_kind)loc->kind) {
	case LOC_FILE:
	case LOC_NOELF:
		return loc->mod->vdso ? "[vdso]" : loc->mod->dso.path;
	case LOC_JIT:
		return "[jit]";
	case LOC_ANON:
		return location_may_be_jit(loc) ? "[jit]" : loc->path;
	case LOC_KSYM:
		return "[bpf]";
	case LOC_KERNEL:
		if (!p->kernel || !kallsyms_lookup(p->kernel, (struct avma){ loc->addr }, &name, &module) || !module)
			return "[kernel.kallsyms]";
		strbuf_reset(&p->text);
		strbuf_addf(&p->text, "[%s]", module);
		return p->text.s;
	case LOC_TEXT:
	case LOC_PROCESS:
	case LOC_NOMAP:
		break;
	}
	return NULL;
}

static void note_refused(struct pass *p)
{
	for (uint32_t i = 0; i < replay_images(p->nm->rp); i++) {
		const struct image *img = replay_image(p->nm->rp, i);
		const char *why = perfmap_source_refused(p->perf, img);

		why = why ? why : replay_jit_refused(p->nm->rp, img);
		if (why)
			*u64map_put(&p->nm->refused, i, NULL) = (uintptr_t)why;
	}
}

void naming_run(struct naming *nm, const struct naming_opts *opts, const struct replay *rp,
		const struct locations *ls, const struct intern *texts)
{
	const struct prefetch_opts aopts = {
		.inlines = opts->inlines, .lines = opts->srcline, .demangle = opts->demangle && !opts->normalize,
		.progress = opts->progress,
	};
	struct pass p = { .nm = nm, .raw = intern_new() };
	size_t i;

	memset(nm, 0, sizeof(*nm));
	nm->opts = *opts;
	nm->rp = rp;
	nm->names = intern_new();
	nm->nlocs = ls->n;
	nm->named = xcalloc(ls->n ? ls->n : 1, sizeof(*nm->named));
	p.accounts = name_accounts_new(rp, ls, opts->tree, opts->each);
	p.perf = perfmap_source_new(rp, ls, p.accounts);
	prefetch_lookup(ls, &aopts, &p.found);
	for (i = 0; i < p.found.nnames; i++)
		*u64map_put(&p.plain, (uintptr_t)p.found.names[i].raw, NULL) = i;
	for (i = 0; i < ls->n; i++) {
		const struct location *loc = &ls->locs[i];
		struct named *nd = &nm->named[i];

		nd->first = (uint32_t)nm->nids;
		p.joined = loc->joined;
		name_accounts_at(p.accounts, i);
		switch ((enum location_kind)loc->kind) {
		case LOC_TEXT:
			add_id(&p, intern_add(nm->names, intern_str(texts, loc->owner)), SUFFIX_NONE, 0);
			nd->n = 1;
			continue;	/* not code: counted nowhere */
		case LOC_PROCESS:
			leading_process(replay_image(rp, loc->owner), &p.clean);
			add_id(&p, intern_addn(nm->names, p.clean.s, p.clean.len), SUFFIX_NONE, 0);
			nd->n = 1;
			continue;
		case LOC_FILE:
			if (!p.found.done || p.found.done[i]) {
				nd->source = name_file(&p, loc, &p.found.syms[i]);
			} else {
				add_module_placeholder(&p, loc->mod, "", loc->off);
				nm->skipped++;
			}
			break;
		case LOC_NOELF:
		case LOC_ANON:
		case LOC_NOMAP:
			nd->source = name_by_perf_map(&p, loc);
			break;
		case LOC_JIT:
			name_jit(&p, intern_str(texts, loc->owner));
			nd->source = NAME_JITDUMP;
			break;
		case LOC_KERNEL:
		case LOC_KSYM:
			nd->source = name_kernel(&p, loc);
			break;
		}
		add_origin(&p, nd->first, dso_of(&p, loc), (enum name_source)nd->source);
		nd->n = (uint32_t)nm->nids - nd->first;
		nm->by_source[nd->source]++;
	}
	note_refused(&p);
	name_accounts_tell(p.accounts);
	name_accounts_free(p.accounts);
	prefetch_found_fini(&p.found);
	u64map_fini(&p.plain);
	u64map_fini(&p.symbols);
	u64map_fini(&p.brief);
	strbuf_fini(&p.cut);
	perfmap_source_free(p.perf);
	intern_free(p.raw);
	u64map_fini(&p.done);
	strbuf_fini(&p.text);
	strbuf_fini(&p.clean);
}

void naming_fini(struct naming *nm)
{
	intern_free(nm->names);
	free(nm->named);
	free(nm->ids);
	free(nm->frames);
	u64map_fini(&nm->refused);
	memset(nm, 0, sizeof(*nm));
}
