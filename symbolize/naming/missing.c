/* Finds incomplete stacks and missing names (missing.h). */
#include "naming/missing.h"

#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/hash.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "elf/elf_file.h"
#include "modules/jitruntime.h"
#include "recording/rec_reader.h"

/* perf_event_open(2): a stack copy is smaller than 64 KiB, and a multiple of 8. */
#define COPY_MAX 65528

/* The owner of code without a name. */
enum owner_kind { OWNER_MODULE, OWNER_JIT, OWNER_ODD, OWNER_NOMAP, OWNER_KERNEL };

struct finder {
	const struct missing_input *in;
	struct missing_list *g;
	struct u64map nameless;	/* owner_key() -> index in g->list */
	struct u64map mapped;	/* images with code that a perf map or jitdump has named */
	struct u64map last;	/* owner_key() -> the last leaf whose samples were counted */
};

static char *clean_copy(const char *s)
{
	struct strbuf sb = STRBUF_INIT;

	escape_name(&sb, s);
	return sb.s;
}

static struct missing *add(struct missing_list *g, bool name, const struct module *m, char *where)
{
	XGROW(g->list, g->n, g->cap);
	g->list[g->n] = (struct missing){ .name = name, .mod = m, .where = where };
	return &g->list[g->n++];
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* ---- what to do ---- */

static bool recording_cut(const struct missing_input *in)
{
	return rec_reader_damage(in->reader)->cut;
}

/*
 * Memory that looks like a file: shared by mmap(2), memfd_create(2) or shmget(2), or made of huge
 * pages.
 */
static bool is_memory(const struct module *m)
{
	static const char *const names[] = { "/dev/zero", "/memfd:", "/SYSV", "/anon_hugepage" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strncmp(m->dso.path, names[i], strlen(names[i])))
			return true;
	return false;
}

/* For a binary whose bytes were not found. */
static const char *binary_remedy(const struct missing_input *in, const struct module *m)
{
	if (recording_cut(in))
		return "stop the recorder with Ctrl-C or SIGTERM: it writes its data about binaries at the end";
	if (m->not_elf || is_memory(m))
		return NULL;
	if (!m->dso.build_id_len)
		return "if it is a program or a library, link it with --build-id; or symbolize while it runs, as root";
	return "put the file with this build-id at its path on this host, or symbolize while it runs, as root";
}

/* The largest copy of any event, bytes. */
static uint32_t copy_size(const struct missing_input *in)
{
	const struct rec_events *events = in->col->opts.events;
	uint32_t size = 0;

	for (uint32_t i = 0; events && i < events->table.n; i++)
		size = MAX(size, events->table.ev[i].dump_size);
	return size;
}

static const char *copy_remedy(const struct missing_input *in)
{
	if (copy_size(in) >= COPY_MAX)
		return "stack copies cannot be larger: if the program keeps frame pointers, record with "
		       "--call-graph fp";
	return unwind_end_remedy(UNWIND_COPY_END);
}

static const char *mapping_remedy(const struct missing_input *in)
{
	struct ev_ledger led;

	if (rec_reader_ledger(in->reader, &led) && led.lost_sideband)
		return "mapping records were lost: record with a larger -m";
	return unwind_end_remedy(UNWIND_NO_MAPPING);
}

/*
 * Haskell code keeps its calls on a stack in the heap, addressed by %rbp, which no option copies.
 * GHC's programs have a note that the linker keeps.
 */
static bool is_ghc(const struct module *m)
{
	return m && m->elf && elf_file_has_section(m->elf, ".debug-ghc-link-info");
}

static const char *end_remedy(const struct missing_input *in, enum unwind_end end,
			      const struct module *m)
{
	switch (end) {
	case UNWIND_NO_ROWS:
	case UNWIND_HOLE:
	case UNWIND_BAD_READ:
		if (is_ghc(m))
			return "Haskell's stack cannot be copied: build with ghc -prof and run with +RTS -p to see callers";
		return unwind_end_remedy(end);
	case UNWIND_COPY_END:
		return copy_remedy(in);
	case UNWIND_NO_MODULE:
		return m ? binary_remedy(in, m) : unwind_end_remedy(end);
	case UNWIND_NO_MAPPING:
		return mapping_remedy(in);
	default:
		return unwind_end_remedy(end);
	}
}

/*
 * A Go program whose function table is unusable, because the address that its entries are relative
 * to is unknown.
 */
static bool is_go_lost(const struct module *m)
{
	return m && m->elf && elf_file_go_lost(m->elf);
}

#define GO_LOST "the start address of the code in Go's function table is unknown"
#define GO_LOST_REMEDY "keep the section .go.module, or the symbol runtime.text"

/* ---- stacks ---- */

static const char *end_where(enum unwind_end end, const struct module *m)
{
	if (m)
		return m->dso.path;
	return end == UNWIND_NO_JIT_ROWS ? "[jit]" : "-";
}

static void add_end(struct finder *f, enum unwind_end end, const struct module *m, uint64_t samples)
{
	struct missing *gap;

	if (!samples)
		return;
	gap = add(f->g, false, m, clean_copy(end_where(end, m)));
	gap->reason = unwind_end_text(end);
	gap->remedy = end_remedy(f->in, end, m);
	if (is_go_lost(m) && (end == UNWIND_NO_ROWS || end == UNWIND_BAD_READ)) {
		gap->reason = GO_LOST;
		gap->remedy = GO_LOST_REMEDY;
	}
	gap->samples = samples;
}

/* "[jit] of java", owned. */
static char *jit_where(const struct image *img)
{
	const char *exe = base_name(img->exe);
	struct strbuf sb = STRBUF_INIT;
	char *where;

	strbuf_addf(&sb, "[jit] of %s", exe[0] ? exe : img->comm);
	where = clean_copy(sb.s);
	strbuf_fini(&sb);
	return where;
}

/* Adds stacks that end in JIT code of image @index. */
static void add_jit_end(struct finder *f, uint32_t index, uint64_t samples)
{
	const struct image *img = replay_image(f->in->nm->rp, index);
	struct missing *gap = add(f->g, false, NULL, jit_where(img));
	const unsigned int runtimes = image_runtimes(img);

	gap->reason = unwind_end_text(UNWIND_NO_JIT_ROWS);
	gap->remedy = jit_runtime_unwinding(runtimes, runtimes & JIT_DUMP || u64map_get(&f->mapped, index));
	gap->samples = samples;
}

static void find_ends(struct finder *f)
{
	const struct collect *c = f->in->col;
	uint64_t rest[UNWIND_END_MAX], key, val;
	size_t it = 0;

	memcpy(rest, c->verdicts, sizeof(rest));
	while (u64map_next(&c->ended_in, &it, &key, &val)) {
		enum unwind_end end = (enum unwind_end)(key & 0xff);
		const uint32_t at = (uint32_t)(key >> 8);
		const struct module *m;

		if (end == UNWIND_NO_JIT_ROWS && at & COLLECT_AT_IMAGE) {
			add_jit_end(f, at & ~COLLECT_AT_IMAGE, val);
			rest[end] -= val;
			continue;
		}
		m = modules_get(f->in->mods, at);
		if (!m)
			continue;
		add_end(f, end, m, val);
		rest[end] -= val;
	}
	for (int e = 0; e < UNWIND_END_MAX; e++) {
		if (collect_incomplete((enum unwind_end)e))
			add_end(f, (enum unwind_end)e, NULL, rest[e]);
	}
}

/* ---- names ---- */

static uint64_t owner_key(const struct location *loc)
{
	enum owner_kind kind;
	uint32_t id = loc->owner;

	switch ((enum location_kind)loc->kind) {
	case LOC_FILE:
	case LOC_NOELF:
		kind = loc->kind == LOC_NOELF && is_memory(loc->mod) ? OWNER_JIT : OWNER_MODULE;
		id = kind == OWNER_JIT ? loc->owner : loc->mod->id;
		break;
	case LOC_ANON:
		kind = location_may_be_jit(loc) ? OWNER_JIT : OWNER_ODD;
		break;
	case LOC_NOMAP:
		kind = OWNER_NOMAP;
		id = 0;
		break;
	default:
		kind = OWNER_KERNEL;
		id = 0;
	}
	return (uint64_t)kind << 32 | id;
}

/*
 * @image: a process image that maps it. A runtime may keep its own code in a file that is not ELF.
 */
static void describe_module(struct finder *f, struct missing *gap, const struct module *m, uint32_t image)
{
	gap->mod = m;
	gap->where = clean_copy(m->dso.path);
	if (m->source == MODULE_NONE && m->not_elf) {
		unsigned int runtimes = image_runtimes(replay_image(f->in->nm->rp, image)) & ~(unsigned int)JIT_DUMP;

		gap->reason = "not an ELF file";
		gap->remedy = runtimes ? jit_runtime_naming(runtimes) : NULL;
	} else if (m->source == MODULE_NONE) {
		gap->reason = m->why ? m->why : "binary not available";
		gap->remedy = binary_remedy(f->in, m);
	} else if (is_go_lost(m)) {
		gap->reason = GO_LOST;
		gap->remedy = GO_LOST_REMEDY;
	} else if (m->files.refused && !m->files.debug) {
		gap->reason = m->files.why;
		gap->remedy = "give the debug file of this very build with --debug-dir or --debuginfod";
	} else if (m->source == MODULE_CAPTURED && !m->files.debug) {
		/*
		 * It may have had other symbols. That is not known any more: the recorder reads no
		 * debug info.
		 */
		gap->reason = "the recording has no symbol at these addresses";
		gap->remedy = "give its debug symbols with --debug-dir or --debuginfod";
	} else if ((m->elf && elf_file_has_symtab(m->elf)) || m->files.debug || m->vdso) {
		gap->reason = "no symbol at these addresses";
	} else {
		gap->reason = "stripped of its symbols";
		gap->remedy = "install its debug symbols, or give --debug-dir or --debuginfod";
	}
}

static void describe_jit(struct finder *f, struct missing *gap, uint32_t image)
{
	const struct image *img = replay_image(f->in->nm->rp, image);
	const unsigned int runtimes = image_runtimes(img);
	const uint64_t *refused;

	gap->where = jit_where(img);
	refused = u64map_get(&f->in->nm->refused, image);
	if (refused && !u64map_get(&f->mapped, image)) {
		gap->reason = (const char *)(uintptr_t)*refused;
		gap->remedy = "see JIT CODE in nsprof-symbolize(1)";
	} else if (runtimes & JIT_DUMP && !img->exited) {
		/*
		 * Producers write through a buffer (python -X perf_jit: 4 KiB), which reaches the
		 * file only when it is full.
		 */
		gap->reason = "not in its jitdump, whose end may still be in the program's buffer";
		gap->remedy = "record for longer, or until the program ends: it writes the rest then";
	} else if (runtimes & JIT_DUMP) {
		gap->reason = "not in its jitdump";
	} else if (u64map_get(&f->mapped, image)) {
		gap->reason = "not in its perf map or jitdump";
	} else {
		gap->reason = "it has no perf map or jitdump";
		gap->remedy = jit_runtime_naming(runtimes);
	}
}

static struct missing *gap_of(struct finder *f, const struct location *loc, uint64_t key)
{
	const struct naming *nm = f->in->nm;
	bool is_new;
	uint64_t *slot = u64map_put(&f->nameless, key, &is_new);
	struct missing *gap;

	if (!is_new)
		return &f->g->list[*slot];
	*slot = f->g->n;
	gap = add(f->g, true, NULL, NULL);
	switch ((enum owner_kind)(key >> 32)) {
	case OWNER_MODULE:
		describe_module(f, gap, loc->mod, loc->kind == LOC_NOELF ? loc->owner : 0);
		break;
	case OWNER_JIT:
		describe_jit(f, gap, loc->owner);
		break;
	case OWNER_ODD:
		gap->where = clean_copy(loc->path);
		gap->reason = "code where data should be";
		break;
	case OWNER_NOMAP:
		gap->where = xstrdup("-");
		gap->reason = unwind_end_text(UNWIND_NO_MAPPING);
		gap->remedy = mapping_remedy(f->in);
		break;
	case OWNER_KERNEL:
		gap->where = xstrdup("[kernel]");
		gap->reason = nm->kernel_hidden ? nm->kernel_why : "no symbol at these addresses";
		gap->remedy = nm->kernel_hidden ? nm->kernel_remedy : NULL;
		break;
	}
	return gap;
}

static void find_mapped(struct finder *f)
{
	const struct locations *ls = &f->in->col->locs;

	for (size_t i = 0; i < ls->n; i++) {
		if (f->in->nm->named[i].source == NAME_PERFMAP)
			u64map_put(&f->mapped, ls->locs[i].owner, NULL);
	}
}

/* The kernel's page for return probes has no symbols, but its mapping has a name. */
static bool is_named_page(const struct location *loc)
{
	return loc->kind == LOC_ANON && loc->path && !strcmp(loc->path, "[uprobes]");
}

static void find_nameless(struct finder *f)
{
	const struct collect *c = f->in->col;

	for (size_t i = 1; i < c->tree.n; i++) {
		uint32_t at = (uint32_t)i;

		if (!c->tree.nodes[i].samples)
			continue;
		for (; at != STACKTREE_ROOT; at = c->tree.nodes[at].parent) {
			uint32_t id = c->tree.nodes[at].loc;
			const struct location *loc = &c->locs.locs[id];
			uint64_t key, *last;

			if (loc->kind == LOC_TEXT || loc->kind == LOC_PROCESS || is_named_page(loc) ||
			    f->in->nm->named[id].source != NAME_NONE)
				continue;
			key = owner_key(loc);
			last = u64map_put(&f->last, key, NULL);
			if (*last == i)
				continue;
			*last = i;
			gap_of(f, loc, key)->samples += c->tree.nodes[i].samples;
		}
	}
}

static int by_samples(const void *pa, const void *pb)
{
	const struct missing *a = pa, *b = pb;
	int d;

	if (a->samples != b->samples)
		return a->samples > b->samples ? -1 : 1;
	if (a->name != b->name)
		return a->name ? 1 : -1;
	/* Advice about runtimes comes before advice about stripped binaries. */
	if (!a->mod != !b->mod)
		return a->mod ? 1 : -1;
	d = strcmp(a->where, b->where);
	return d ? d : strcmp(a->reason, b->reason);
}

void missing_find(struct missing_list *g, const struct missing_input *in)
{
	struct finder f = { .in = in, .g = g };

	memset(g, 0, sizeof(*g));
	find_mapped(&f);
	find_ends(&f);
	if (!in->nm->skipped)
		find_nameless(&f);
	if (g->n)
		qsort(g->list, g->n, sizeof(*g->list), by_samples);
	u64map_fini(&f.nameless);
	u64map_fini(&f.mapped);
	u64map_fini(&f.last);
}

void missing_fini(struct missing_list *g)
{
	for (size_t i = 0; i < g->n; i++)
		free(g->list[i].where);
	free(g->list);
	memset(g, 0, sizeof(*g));
}
