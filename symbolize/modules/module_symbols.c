/*
 * Chooses a module's symbol table, and finds the end of unsized symbols from its code
 * (module_symbols.h).
 */
#include "modules/module_symbols.h"

#include "host/parser.h"
#include "symbols/symtab.h"

/* All files except the slice's names, which are opened only for a new table. */
static struct symtab_files files_of(const struct module *m)
{
	return (struct symtab_files){
		.elf = m->elf, .debug = m->files.debug, .slice = m->captured, .path = m->dso.path,
	};
}

/* All files, with the slice's names. */
static struct symtab_files open_files(struct module *m)
{
	struct symtab_files f = files_of(m);

	if (!m->captured)
		f.names = module_slice_names(m, m->slice);
	return f;
}

void module_symbols_expect(struct module *m, const struct svma *at, size_t n)
{
	struct symtab_files f = files_of(m);

	parser_working_on(m->id, m->dso.path);
	if (m->symtab || m->few || !symtab_few_pays(&f, n))
		return;
	f = open_files(m);
	m->few = symtab_new_few(&f, at, n);
}

/* The table in which @addr can be looked up. */
static struct symtab *table_for(struct module *m, struct svma addr)
{
	if (m->few && symtab_has(m->few, addr))
		return m->few;
	if (!m->symtab) {
		const struct symtab_files f = open_files(m);

		m->symtab = symtab_new(&f);
	}
	return m->symtab;
}

/*
 * made_rows_reach() if there is a whole file; symbols from the recording have sizes. Rows that are
 * cut or made are not used: their functions prove nothing.
 */
static uint64_t reach(void *ctx, uint64_t start, uint64_t end)
{
	struct module *m = ctx;
	struct made_rows *made = module_made(m);
	struct cfi *cfi = made ? module_cfi(m) : NULL;

	return made ? made_rows_reach(made, m->cfi_cut ? NULL : cfi, start, end) : end;
}

int module_symbol(struct module *m, struct svma addr, struct symbol *out)
{
	parser_working_on(m->id, m->dso.path);
	return symtab_lookup(table_for(m, addr), addr, reach, m, out);
}
