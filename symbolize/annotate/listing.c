/* Disassembles a function (listing.h). */
#include "annotate/listing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "annotate/annotate.h"
#include "annotate/codesource.h"
#include "annotate/disasm.h"
#include "base/intern.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "debuginfo/inlines.h"
#include "modules/module.h"

#define INSN_MAX 15	/* bytes, for both machines */

static uint32_t add_text(struct listing *l, const char *text)
{
	uint32_t at = (uint32_t)l->texts.len;

	strbuf_add(&l->texts, text, strlen(text) + 1);
	return at;
}

const char *listing_text(const struct listing *l, uint32_t at)
{
	return l->texts.s + at;
}

static struct listing_insn *add_insn(struct listing *l)
{
	XGROW(l->insns, l->n, l->cap);
	l->insns[l->n] = (struct listing_insn){ .to = LISTING_NONE };
	return &l->insns[l->n++];
}

/*
 * Size of the piece that begins at @at: missing bytes, or code in which no other known instruction
 * start lies.
 */
static size_t piece(const struct code *c, size_t at)
{
	const bool missing = c->what[at] == CODE_MISSING;
	size_t end = at + 1;

	while (end < c->size && (missing ? c->what[end] == CODE_MISSING : c->what[end] == CODE_THERE))
		end++;
	return end - at;
}

/*
 * Disassembles the piece of @size bytes at @at. Returns how many bytes were used: before missing
 * code, the last instruction may be incomplete.
 */
static size_t take_apart(struct listing *l, struct disasm *d, const struct code *c, size_t at, size_t size)
{
	const size_t begin = at, end = at + size;
	const bool cut = end < c->size && c->what[end] == CODE_MISSING;

	while (at < end) {
		struct listing_insn *li;
		struct disasm_insn in;

		disasm_next(d, c->bytes + at, end - at, c->start + at, &in);
		if (in.bad && cut && end - at < INSN_MAX)
			break;
		li = add_insn(l);
		li->addr = in.addr;
		li->size = in.size;
		li->flow = in.flow;
		li->has_target = in.has_target;
		li->target = in.target;
		li->name = add_text(l, in.name);
		li->operands = add_text(l, in.operands);
		at += in.size;
	}
	return at - begin;
}

static void add_missing(struct listing *l, uint64_t addr, size_t size)
{
	struct listing_insn *li = add_insn(l);

	li->addr = addr;
	li->size = (uint32_t)size;
	li->missing = true;
}

/* Index of the instruction that holds @addr; l->n if none does. */
static size_t find(const struct listing *l, uint64_t addr)
{
	size_t i = BISECT(l->n, k, l->insns[k].addr + l->insns[k].size <= addr);

	return i < l->n && addr >= l->insns[i].addr ? i : l->n;
}

static void count_at(struct listing *l, size_t i, uint64_t addr, bool within, uint64_t samples, const uint64_t *weight)
{
	if (i == l->n) {
		l->beyond += samples;
	} else if (l->insns[i].addr == addr || l->insns[i].missing || within) {
		l->insns[i].samples += samples;
		l->insns[i].weight += weight ? *weight : 0;
	} else {
		if (!l->inside || addr < l->inside_at)
			l->inside_at = addr;
		l->inside += samples;
	}
}

/* Index of the instruction that entered the kernel: @addr is within it, or it returns to @addr, or faulted there. */
static size_t find_entry(const struct listing *l, uint64_t addr)
{
	const size_t i = find(l, addr), before = find(l, addr - 1);

	return before < l->n && before != i && l->insns[before].flow == DISASM_SYSCALL ? before : i;
}

static void count_samples(struct listing *l, const struct annotate_func *f)
{
	uint64_t addr, samples;
	size_t it = 0;

	while (u64map_next(&f->at, &it, &addr, &samples))
		count_at(l, find(l, addr), addr, f->calls, samples, u64map_get(&f->weight_at, addr));
	it = 0;
	while (u64map_next(&f->entered, &it, &addr, &samples))
		count_at(l, find_entry(l, addr), addr, true, samples, u64map_get(&f->weight_entered, addr));
}

static void find_targets(struct listing *l)
{
	for (size_t i = 0; i < l->n; i++) {
		struct listing_insn *li = &l->insns[i];
		size_t to;

		if (!li->has_target || li->flow != DISASM_JUMP)
			continue;
		to = find(l, li->target);
		if (to == l->n || l->insns[to].addr != li->target)
			continue;
		li->to = (uint32_t)to;
		l->insns[to].label = 1;
	}
	for (size_t i = 0; i < l->n; i++)
		if (l->insns[i].label)
			l->insns[i].label = ++l->labels;
}

static void find_lines(struct listing *l, struct module *m)
{
	struct strbuf path = STRBUF_INIT;

	for (size_t i = 0; i < l->n; i++) {
		struct listing_insn *li = &l->insns[i];
		uint32_t line;

		if (li->missing || !inlines_source(module_inlines(m), (struct svma){ li->addr }, &path, &line) || !line)
			continue;
		li->file = intern_addn(l->files, path.s, path.len);
		li->line = line;
	}
	strbuf_fini(&path);
}

int listing_init(struct listing *l, const struct annotate_func *f, const struct code *code, bool lines, bool intel)
{
	struct elf_file *ef = f->mod->elf ? f->mod->elf : f->mod->captured;
	struct disasm *d = ef ? disasm_new(elf_file_machine(ef), intel) : NULL;

	if (!d)
		return -ENOTSUP;
	*l = (struct listing){ .files = intern_new() };
	for (size_t at = 0, n; at < code->size; at += n) {
		const bool missing = code->what[at] == CODE_MISSING;
		size_t done;

		n = piece(code, at);
		done = missing ? 0 : take_apart(l, d, code, at, n);
		if (!missing && done < n)
			n += piece(code, at + n);
		if (done < n)
			add_missing(l, code->start + at + done, n - done);
	}
	disasm_free(d);
	count_samples(l, f);
	find_targets(l);
	if (lines)
		find_lines(l, f->mod);
	return 0;
}

void listing_fini(struct listing *l)
{
	free(l->insns);
	strbuf_fini(&l->texts);
	intern_free(l->files);
	*l = (struct listing){ 0 };
}
