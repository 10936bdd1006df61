/*
 * Reads /proc/kallsyms: lines of "ADDRESS TYPE name[\t[module]]" (Linux, kernel/kallsyms.c s_show).
 * BPF programs and trampolines are listed in the pseudo module "bpf". There are no sizes.
 */
#include "symbols/kallsyms.h"

#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "base/util.h"
#include "base/xalloc.h"

/*
 * A symbol ends at the next one, but this many bytes after its start at the latest: after the last
 * symbol of a module or of a BPF program comes a hole, and then the memory of other modules. The
 * largest function of a distribution kernel is well below 100 KiB, the largest BPF program below 1
 * MiB.
 */
#define REACH_MAX	(1u << 20)

struct ksym {
	uint64_t addr;
	uint32_t name, module; /* offsets in text; module 0: the kernel proper */
	char type; /* 't', 'T', 'w', 'W'; 0: data, which only ends the code before it */
};

struct kallsyms {
	char *text;		/* owned copy, cut up into strings */
	struct ksym *syms;	/* sorted by addr, one per address */
	size_t n, cap;
};

/* @line ends at @end, which holds a NUL. Malformed lines are skipped. */
static void add_line(struct kallsyms *ks, char *line, char *end)
{
	struct ksym s = { 0, 0, 0, 0 };
	char *p = line, *name, *tab;

	for (; hex_digit(*p) >= 0; p++) {
		if (s.addr >> 60)
			return;
		s.addr = s.addr << 4 | (uint64_t)hex_digit(*p);
	}
	if (p == line || end - p < 4 || p[0] != ' ' || p[2] != ' ')
		return;
	if (strchr("tTwW", p[1]))
		s.type = p[1];
	name = p + 3;
	tab = strchr(name, '\t');
	if (tab) {
		*tab = '\0';
		if (tab[1] == '[' && end[-1] == ']' && end - tab > 3) {
			end[-1] = '\0';
			s.module = (uint32_t)(tab + 2 - ks->text);
		}
	}
	if (!*name)
		return;
	s.name = (uint32_t)(name - ks->text);
	XGROW(ks->syms, ks->n, ks->cap);
	ks->syms[ks->n++] = s;
}

static int type_rank(char type)
{
	switch (type) {
	case 'T':
		return 0;
	case 'W':
	case 'w':
		return 1;
	case 't':
		return 2;
	default:
		return 3;
	}
}

/* <0: @a is the better name. The rules of symtab.h, with binding taken from the type letter. */
static int compare_names(const char *text, const struct ksym *a, const struct ksym *b)
{
	const char *an = text + a->name, *bn = text + b->name;
	int ar = type_rank(a->type), br = type_rank(b->type);
	size_t al, bl;

	if (ar != br)
		return ar - br;
	if ((*an == '_') != (*bn == '_'))
		return *an == '_' ? 1 : -1;
	al = strlen(an);
	bl = strlen(bn);
	if (al != bl)
		return al < bl ? -1 : 1;
	return strcmp(an, bn);
}

static int by_addr(const void *pa, const void *pb, void *text)
{
	const struct ksym *a = pa, *b = pb;

	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	return compare_names(text, a, b);
}

struct kallsyms *kallsyms_new(const char *text, size_t len)
{
	struct kallsyms *ks = xcalloc(1, sizeof(*ks));
	bool all_zero = true;
	size_t n = 0;
	char *p, *end;

	if (len > UINT32_MAX)
		len = UINT32_MAX;
	ks->text = xmalloc(len + 1);
	if (len)
		memcpy(ks->text, text, len);
	ks->text[len] = '\0';
	p = ks->text;
	end = p + len;
	while (p < end) {
		char *nl = memchr(p, '\n', (size_t)(end - p));

		if (!nl)
			nl = end;
		*nl = '\0';
		add_line(ks, p, nl);
		p = nl + 1;
	}
	for (size_t i = 0; i < ks->n && all_zero; i++)
		all_zero = !ks->syms[i].addr;
	if (all_zero) {
		kallsyms_free(ks);
		return NULL;
	}
	qsort_r(ks->syms, ks->n, sizeof(*ks->syms), by_addr, ks->text);
	for (size_t i = 0; i < ks->n; i++)
		if (!n || ks->syms[i].addr != ks->syms[n - 1].addr)
			ks->syms[n++] = ks->syms[i];
	ks->n = n;
	return ks;
}

void kallsyms_free(struct kallsyms *ks)
{
	if (!ks)
		return;
	free(ks->syms);
	free(ks->text);
	free(ks);
}

bool kallsyms_lookup(const struct kallsyms *ks, struct avma addr, const char **name,
		     const char **module_name)
{
	size_t above = BISECT(ks->n, i, ks->syms[i].addr <= addr.v);
	const struct ksym *s;

	if (!above)
		return false;
	s = &ks->syms[above - 1];
	if (!s->type || addr.v - s->addr >= REACH_MAX)
		return false;
	*name = ks->text + s->name;
	*module_name = s->module ? ks->text + s->module : NULL;
	return true;
}

bool kallsyms_next(const struct kallsyms *ks, size_t *it, struct kallsym *out)
{
	while (*it < ks->n) {
		const struct ksym *s = &ks->syms[(*it)++];
		const uint64_t next = *it < ks->n ? s[1].addr : UINT64_MAX;

		if (!s->type)
			continue;
		*out = (struct kallsym){
			.start = s->addr,
			.end = next - s->addr < REACH_MAX ? next : s->addr + REACH_MAX,
			.name = ks->text + s->name,
			.module = s->module ? ks->text + s->module : NULL,
		};
		return true;
	}
	return false;
}
