/*
 * Our reader of call frame information compared with libdw's, on real binaries: for every FDE, at
 * several addresses, the rules must be the same. The slices that cfi_emit() writes must give the
 * same rules, read by us and by libdw.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "cfi/cfi.h"
#include "cfi_equal.h"
#include "elf/elf_file.h"
#include "toolrun.h"

/* The common form to which both readers' rules are reduced. */
struct simple_rule {
	enum cfi_how how;
	uint64_t reg;
	int64_t off;
	uint64_t hash;		/* of the expression's operations */
	size_t nops;
};

#define FDES_MAX 4000		/* per binary; more are sampled evenly */

/* ---- libdw's rules, which it returns as DWARF operations ---- */

static uint64_t hash_ops(const Dwarf_Op *ops, size_t n)
{
	uint64_t h = 1469598103934665603ull;

	for (size_t i = 0; i < n; i++) {
		h = (h ^ ops[i].atom) * 1099511628211ull;
		h = (h ^ ops[i].number) * 1099511628211ull;
		h = (h ^ ops[i].number2) * 1099511628211ull;
	}
	return h;
}

static struct simple_rule oracle_cfa(Dwarf_Frame *frame)
{
	struct simple_rule r = { .how = CFI_UNSPEC };
	Dwarf_Op *ops;
	size_t n;

	if (dwarf_frame_cfa(frame, &ops, &n) || !n)
		return r;
	if (n == 1 && ops[0].atom == DW_OP_bregx) {
		r = (struct simple_rule){ .how = CFI_REGISTER,
					  .reg = ops[0].number,
					  .off = (int64_t)ops[0].number2 };
	} else if (n == 1 && ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31) {
		r = (struct simple_rule){ .how = CFI_REGISTER, .reg = ops[0].atom - DW_OP_breg0,
					  .off = (int64_t)ops[0].number };
	} else {
		r.how = CFI_VAL_EXPR;
		r.nops = n;
		r.hash = hash_ops(ops, n);
	}
	return r;
}

/*
 * dwarf_frame_register(): "no operations and ops == NULL" is same value, "none but ops != NULL"
 * undefined. Offsets come as DW_OP_call_frame_cfa [DW_OP_plus_uconst N], with DW_OP_stack_value for
 * values; a register as DW_OP_regx; expressions are preceded by DW_OP_call_frame_cfa.
 */
static struct simple_rule oracle_reg(Dwarf_Frame *frame, int regno)
{
	struct simple_rule r = { .how = CFI_UNSPEC };
	Dwarf_Op mem[3], *ops = NULL;
	bool value = false;
	size_t n = 0;

	assert_int_equal(dwarf_frame_register(frame, regno, mem, &ops, &n), 0);
	if (n == 0) {
		r.how = ops ? CFI_UNDEF : CFI_SAME;
		return r;
	}
	if (n == 1 && ops[0].atom == DW_OP_regx)
		return (struct simple_rule){ .how = CFI_REGISTER, .reg = ops[0].number };
	if (ops[n - 1].atom == DW_OP_stack_value) {
		value = true;
		n--;
	}
	assert_int_equal(ops[0].atom, DW_OP_call_frame_cfa);
	r.how = value ? CFI_VAL_OFFSET : CFI_OFFSET;
	if (n == 1)
		return r;
	if (n == 2 && ops == mem && ops[1].atom == DW_OP_plus_uconst) {
		r.off = (int64_t)ops[1].number;
		return r;
	}
	r.how = value ? CFI_VAL_EXPR : CFI_EXPR;
	r.nops = n - 1;
	r.hash = hash_ops(ops + 1, n - 1);
	return r;
}

/* ---- our rules; libdw decodes the expressions, so that only their bytes matter ---- */

/*
 * An expression's bytes, decoded by libdw through a CIE made up for it: the one place where libdw
 * decodes bytes it is given. @bytes must outlive the result, so the caller hashes at once.
 */
static void our_expr(const struct cfi_rule *rule, struct simple_rule *r)
{
	Dwarf_Op mem[3], *ops;
	struct strbuf sb = STRBUF_INIT, body = STRBUF_INIT;
	Elf64_Ehdr eh = { 0 };
	Dwarf_CFI *cfi;
	Dwarf_Frame *frame;
	Elf *elf;
	size_t n;
	Elf64_Shdr sh[3] = { { 0 } };
	static const char names[] = "\0.eh_frame\0.shstrtab";

	/* CIE: def_cfa sp+8, expression for register 3, ra 16; FDE for [0x1000, 0x2000). */
	strbuf_add(&body, "\0\0\0\0\1zR\0\1\x78\x10\1\0\x0c\7\x08\x10\3", 18);
	strbuf_add_varint(&body, rule->expr_len);
	strbuf_add(&body, rule->expr, rule->expr_len);
	strbuf_add_u32(&sb, (uint32_t)body.len);
	strbuf_add(&sb, body.s, body.len);
	strbuf_add_u32(&sb, 21);
	strbuf_add_u32(&sb, (uint32_t)sb.len);
	strbuf_add_u64(&sb, 0x1000);
	strbuf_add_u64(&sb, 0x1000);
	strbuf_addc(&sb, 0);
	strbuf_add_u32(&sb, 0);

	memcpy(eh.e_ident, ELFMAG, SELFMAG);
	eh.e_ident[EI_CLASS] = ELFCLASS64;
	eh.e_ident[EI_DATA] = ELFDATA2LSB;
	eh.e_ident[EI_VERSION] = EV_CURRENT;
	eh.e_type = ET_DYN;
	eh.e_machine = EM_X86_64;
	eh.e_version = EV_CURRENT;
	eh.e_ehsize = sizeof(eh);
	eh.e_shentsize = sizeof(*sh);
	eh.e_shnum = 3;
	eh.e_shstrndx = 2;
	eh.e_shoff = sizeof(eh);
	sh[1] = (Elf64_Shdr){ .sh_name = 1,
			      .sh_type = SHT_PROGBITS,
			      .sh_flags = SHF_ALLOC,
			      .sh_addr = 0x100000,
			      .sh_offset = sizeof(eh) + sizeof(sh),
			      .sh_size = sb.len,
			      .sh_addralign = 1 };
	sh[2] = (Elf64_Shdr){ .sh_name = 11,
			      .sh_type = SHT_STRTAB,
			      .sh_offset = sizeof(eh) + sizeof(sh) + sb.len,
			      .sh_size = sizeof(names),
			      .sh_addralign = 1 };
	strbuf_reset(&body);
	strbuf_add(&body, &eh, sizeof(eh));
	strbuf_add(&body, sh, sizeof(sh));
	strbuf_add(&body, sb.s, sb.len);
	strbuf_add(&body, names, sizeof(names));

	elf = elf_memory(body.s, body.len);
	assert_non_null(elf);
	cfi = dwarf_getcfi_elf(elf);
	assert_non_null(cfi);
	assert_int_equal(dwarf_cfi_addrframe(cfi, 0x1800, &frame), 0);
	assert_int_equal(dwarf_frame_register(frame, 3, mem, &ops, &n), 0);
	assert_true(n >= 1);
	r->nops = n - 1;
	r->hash = hash_ops(ops + 1, n - 1);
	free(frame);
	dwarf_cfi_end(cfi);
	elf_end(elf);
	strbuf_fini(&sb);
	strbuf_fini(&body);
}

static struct simple_rule ours(const struct cfi_rule *rule)
{
	struct simple_rule r = { .how = rule->how };

	switch (rule->how) {
	case CFI_OFFSET:
	case CFI_VAL_OFFSET:
		r.off = rule->off;
		break;
	case CFI_REGISTER:
		r.reg = rule->reg;
		r.off = rule->off;
		break;
	case CFI_EXPR:
	case CFI_VAL_EXPR:
		our_expr(rule, &r);
		break;
	}
	return r;
}

static bool rules_equal(const struct simple_rule *a, const struct simple_rule *b)
{
	return a->how == b->how && a->reg == b->reg && a->off == b->off && a->nops == b->nops &&
	       a->hash == b->hash;
}

/*
 * For a register without a rule libdw returns its view of the psABI: rbp, r12-r15 keep their value,
 * rsp is the CFA, the others are undefined (rbx as well, where its table names register 0 instead).
 * cfi.h says CFI_UNSPEC for all of them.
 */
static bool default_matches(int reg, const struct simple_rule *oracle)
{
	switch (reg) {
	case 6: case 12: case 13: case 14: case 15:
		return oracle->how == CFI_SAME;
	case 7:
		return oracle->how == CFI_VAL_OFFSET && oracle->off == 0;
	default:
		return oracle->how == CFI_UNDEF || oracle->how == CFI_SAME;
	}
}

/* ---- comparing ---- */

struct tally {
	size_t fdes, rows, differ, both_fail, hows[CFI_VAL_EXPR + 1], signal, plain;
};

static void compare_at(struct cfi *cfi, Dwarf_CFI *oracle, uint64_t pc, const char *what,
		       struct tally *t)
{
	struct cfi_fde fde;
	struct cfi_row row;
	Dwarf_Frame *frame = NULL;
	Dwarf_Addr start, end;
	struct cfi_plain plain;
	bool signal;
	int ours_err, theirs_err, ra;

	ours_err = cfi_find(cfi, pc, &fde);
	if (!ours_err)
		ours_err = cfi_row(cfi, &fde, pc, &row);
	theirs_err = dwarf_cfi_addrframe(oracle, pc, &frame);
	if (ours_err || theirs_err) {
		if (ours_err && theirs_err) {
			t->both_fail++;
			return;
		}
		print_message("# %s: %#lx: ours %d, libdw %s\n", what, pc, ours_err,
			      theirs_err ? dwarf_errmsg(-1) : "fine");
		t->differ++;
		free(frame);
		return;
	}
	t->rows++;
	ra = dwarf_frame_info(frame, &start, &end, &signal);
	/*
	 * libdw's DW_CFA_restore_state restores the start of the remembered row along with its
	 * rules, so its start may be too low. Ours must be the end of the row before.
	 */
	if (row.start > fde.start) {
		struct cfi_row before;

		assert_int_equal(cfi_row(cfi, &fde, row.start - 1, &before), 0);
		assert_int_equal(before.end, row.start);
	}
	if (ra != row.ra_reg || start > row.start || end != row.end || signal != row.signal_frame) {
		print_message("# %s: %#lx: ra %d/%d range %#lx-%#lx/%#lx-%#lx signal %d/%d\n", what,
			      pc, row.ra_reg, ra, row.start, row.end, start, end, row.signal_frame,
			      signal);
		t->differ++;
	}
	t->signal += signal;
	if (cfi_plain_row(cfi, &fde, pc, &plain)) {
		t->plain++;
		t->differ += !cfi_is_plain(&row, &plain);
	}
	for (int reg = -1; reg < CFI_NREGS; reg++) {
		struct simple_rule a = ours(reg < 0 ? &row.cfa : &row.regs[reg]);
		struct simple_rule b = reg < 0 ? oracle_cfa(frame) : oracle_reg(frame, reg);

		if (reg < 0 && a.how != row.cfa_how)
			t->differ++;
		if (reg >= 0)
			t->hows[a.how]++;
		if (rules_equal(&a, &b) ||
		    (reg >= 0 && a.how == CFI_UNSPEC && default_matches(reg, &b)))
			continue;
		print_message(
			"# %s: %#lx reg %d: ours how %d reg %lu off %ld nops %zu, libdw %d %lu %ld %zu\n",
			what, pc, reg, a.how, a.reg, a.off, a.nops, b.how, b.reg, b.off, b.nops);
		t->differ++;
	}
	free(frame);
}

static Dwarf_CFI *oracle_open(Elf *elf, bool eh, Dwarf **dw)
{
	*dw = NULL;
	if (eh)
		return dwarf_getcfi_elf(elf);
	*dw = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	return *dw ? dwarf_getcfi(*dw) : NULL;
}

static void compare_slice(struct cfi *cfi, const uint64_t *pcs, size_t n, Elf *orig,
			  const char *what);

/* Every FDE (or FDES_MAX of them), at its first and last byte and at the ends of its first rows. */
static void compare_binary(const char *path, struct tally *t, size_t *nfdes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;
	struct cfi_sections secs;
	struct elf_file *ef;
	struct cfi *cfi;
	struct cfi_fde fde;
	Dwarf_CFI *eh, *df;
	Dwarf *dw, *none;
	uint64_t *pcs;
	size_t n = 0, npcs = 0, step;

	memset(t, 0, sizeof(*t));
	*nfdes = 0;
	assert_true(fd >= 0);
	ef = elf_file_open_fd(fd, &err);
	close(fd);
	assert_non_null(ef);
	elf_file_cfi_sections(ef, &secs);
	cfi = cfi_new(&secs);
	while (!cfi_nth(cfi, n, &fde))
		n++;
	*nfdes = n;
	assert_int_equal(cfi_empty(cfi), n == 0);
	eh = oracle_open(elf_file_handle(ef), true, &none);
	df = oracle_open(elf_file_handle(ef), false, &dw);
	pcs = calloc(FDES_MAX + 1, sizeof(*pcs));
	step = n / FDES_MAX + 1;
	for (size_t i = 0; i < n; i += step) {
		struct cfi_fde found;
		struct cfi_row row;
		Dwarf_CFI *oracle;

		assert_int_equal(cfi_nth(cfi, i, &fde), 0);
		assert_int_equal(cfi_find(cfi, fde.start, &found), 0);
		assert_int_equal(found.off, fde.off);
		oracle = fde.debug_frame ? df : eh;
		assert_non_null(oracle);
		t->fdes++;
		pcs[npcs++] = fde.start + (fde.end - fde.start) / 2;
		compare_at(cfi, oracle, fde.start, path, t);
		compare_at(cfi, oracle, fde.end - 1, path, t);
		for (uint64_t pc = fde.start, k = 0; k < 8 && pc < fde.end; k++, pc = row.end) {
			if (cfi_row(cfi, &fde, pc, &row))
				break;
			compare_at(cfi, oracle, pc, path, t);
			compare_at(cfi, oracle, row.end - 1, path, t);
		}
	}
	compare_slice(cfi, pcs, npcs, elf_file_handle(ef), path);
	free(pcs);
	if (eh)
		dwarf_cfi_end(eh);
	if (dw)
		dwarf_end(dw);
	cfi_free(cfi);
	elf_file_close(ef);
}

/* ---- slices ---- */

/* The smallest ELF file from which libdw reads .eh_frame. */
static void wrap(const struct strbuf *eh_frame, struct strbuf *out)
{
	static const char names[] = "\0.eh_frame\0.shstrtab";
	Elf64_Ehdr eh = { .e_type = ET_DYN,
			  .e_machine = EM_X86_64,
			  .e_version = EV_CURRENT,
			  .e_ehsize = sizeof(Elf64_Ehdr),
			  .e_shentsize = sizeof(Elf64_Shdr),
			  .e_shnum = 3,
			  .e_shstrndx = 2,
			  .e_shoff = sizeof(Elf64_Ehdr) };
	size_t at = sizeof(eh) + 3 * sizeof(Elf64_Shdr);
	Elf64_Shdr sh[3] = {
		{ 0 },
		{ .sh_name = 1,
		  .sh_type = SHT_PROGBITS,
		  .sh_flags = SHF_ALLOC,
		  .sh_addr = 0x7f0000000000,
		  .sh_offset = at,
		  .sh_size = eh_frame->len,
		  .sh_addralign = 8 },
		{ .sh_name = 11,
		  .sh_type = SHT_STRTAB,
		  .sh_offset = at + eh_frame->len,
		  .sh_size = sizeof(names),
		  .sh_addralign = 1 },
	};

	memcpy(eh.e_ident, ELFMAG, SELFMAG);
	eh.e_ident[EI_CLASS] = ELFCLASS64;
	eh.e_ident[EI_DATA] = ELFDATA2LSB;
	eh.e_ident[EI_VERSION] = EV_CURRENT;
	strbuf_add(out, &eh, sizeof(eh));
	strbuf_add(out, sh, sizeof(sh));
	strbuf_add(out, eh_frame->s, eh_frame->len);
	strbuf_add(out, names, sizeof(names));
}

static void compare_slice(struct cfi *cfi, const uint64_t *pcs, size_t n, Elf *orig,
			  const char *what)
{
	struct strbuf out = STRBUF_INIT, file = STRBUF_INIT;
	struct cfi_sections secs = { .is64 = gelf_getclass(orig) == ELFCLASS64 };
	struct tally t = { 0 };
	struct cfi *slice;
	struct cfi_fde fde;
	Dwarf_CFI *oracle;
	size_t emitted, count = 0;
	Elf *elf;

	if (!n)
		return;
	emitted = cfi_emit(cfi, pcs, n, &out);
	assert_int_equal(emitted, n);	/* one address was taken from each FDE */
	secs.eh_frame = (struct cfi_section){ (const uint8_t *)out.s, out.len, 0x7f0000000000 };
	slice = cfi_new(&secs);
	while (!cfi_nth(slice, count, &fde))
		count++;
	assert_int_equal(count, n);
	wrap(&out, &file);
	elf = elf_memory(file.s, file.len);
	oracle = dwarf_getcfi_elf(elf);
	assert_non_null(oracle);
	for (size_t i = 0; i < n; i++) {
		struct cfi_row a, b;
		struct cfi_fde of, sf;
		int ea, eb;

		assert_int_equal(cfi_find(cfi, pcs[i], &of), 0);
		assert_int_equal(cfi_find(slice, pcs[i], &sf), 0);
		assert_int_equal(of.start, sf.start);
		assert_int_equal(of.end, sf.end);
		for (uint64_t pc = of.start, k = 0; k < 8 && pc < of.end; k++, pc = a.end) {
			ea = cfi_row(cfi, &of, pc, &a);
			eb = cfi_row(slice, &sf, pc, &b);
			assert_int_equal(ea, eb);
			if (ea)
				break;
			assert_rows_equal(&a, &b);
		}
		compare_at(slice, oracle, pcs[i], what, &t);
	}
	assert_int_equal(t.differ, 0);
	dwarf_cfi_end(oracle);
	elf_end(elf);
	cfi_free(slice);
	strbuf_fini(&file);
	strbuf_fini(&out);
}

/* ---- the corpus ---- */

/* The first of the paths that exists, or NULL. */
static const char *pick(const char *const *paths)
{
	for (; *paths; paths++) {
		if (access(*paths, R_OK) == 0)
			return *paths;
	}
	return NULL;
}

static void check_path(const char *path, struct tally *t)
{
	size_t n;

	compare_binary(path, t, &n);
	print_message(
		"# %s: %zu FDEs, %zu compared in %zu rows; off %zu undef %zu expr %zu valexpr %zu signal %zu "
		"neither %zu\n",
		path, n, t->fdes, t->rows, t->hows[CFI_OFFSET], t->hows[CFI_UNDEF],
		t->hows[CFI_EXPR], t->hows[CFI_VAL_EXPR], t->signal, t->both_fail);
	assert_int_equal(t->differ, 0);
	assert_true(t->rows > 0);
}

static void test_libc(void **state)
{
	static const char *const paths[] = { "/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6",
					     NULL };
	const char *path = pick(paths);
	struct tally t;

	(void)state;
	if (!path)
		skip();
	check_path(path, &t);
	assert_true(t.fdes > 1000);
	assert_true(t.signal > 0);	/* __restore_rt */
	assert_true(t.hows[CFI_EXPR] > 0);
	/* Otherwise plain rows gain nothing. */
	assert_true(t.plain > t.rows - t.rows / 20);
}

static void test_distribution(void **state)
{
	static const char *const paths[] = {
		"/lib64/ld-linux-x86-64.so.2",
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/bin/bash",
		"/bin/busybox",
		"/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
		"/lib/x86_64-linux-gnu/libgcc_s.so.1",
		"/lib/ld-musl-x86_64.so.1",
	};
	struct tally t;
	size_t n, tried = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		if (access(paths[i], R_OK))
			continue;
		compare_binary(paths[i], &t, &n);
		print_message("# %s: %zu FDEs, %zu rows\n", paths[i], n, t.rows);
		assert_int_equal(t.differ, 0);
		tried += n > 0;
	}
	assert_true(tried >= 2);
}

/* ---- binaries made here ---- */

/* Builds "out" from @source, the file @name, with the shell command @command. */
static bool build(const char *name, const char *source, const char *command)
{
	tool_write(name, source);
	return tool_run("rm -f out; { %s; } >/dev/null 2>&1 && [ -r out ]", command) == 0;
}

static const char c_source[] =
	"#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
	"static int cmp(const void *a, const void *b) { return *(int *)a - *(int *)b; }\n"
	"int main(int c, char **v) { int n = c * 40 + 3; int a[n]; for (int i = 0; i < n; i++) a[i] = rand();\n"
	"qsort(a, n, sizeof(*a), cmp); if (c > 1) { char b[c * 10]; snprintf(b, sizeof b, \"%s\", v[1]); puts(b); }\n"
	"return printf(\"%d %f\\n\", a[0], (double)a[1]); }\n";

static const char cxx_source[] =
	"#include <map>\n#include <string>\n#include <vector>\n#include <iostream>\n#include <algorithm>\n"
	"#include <stdexcept>\nstruct V { virtual ~V() {} virtual int f(int) = 0; };\n"
	"struct W : V { std::map<std::string, std::vector<int>> m; int f(int n) override {\n"
	"m[std::to_string(n)].push_back(n); if (n > 50) throw std::runtime_error(\"x\");\n"
	"std::vector<int> &v = m[\"1\"]; std::sort(v.begin(), v.end()); return (int)m.size(); } };\n"
	"int main() { W w; int s = 0; try { for (int i = 0; i < 100; i++) s += w.f(i); }\n"
	"catch (std::exception &e) { std::cout << e.what() << s << std::endl; } return 0; }\n";

/* Every instruction that an assembler writes, with rules that no compiler makes. */
static const char asm_source[] =
	".text\n.globl f\n.type f,@function\nf:\n.cfi_startproc\nnop\n"
	".cfi_def_cfa_offset 16\n.cfi_offset 6,-16\npush %rbp\n.cfi_def_cfa_register 6\nnop\n"
	".cfi_remember_state\n.cfi_def_cfa 7,24\n.cfi_undefined 3\n.cfi_same_value 12\nnop\n"
	".cfi_remember_state\n.cfi_register 16,0\n.cfi_rel_offset 13,8\nnop\n"
	".cfi_restore_state\n.cfi_val_offset 14,-32\nnop\n.cfi_restore_state\n.cfi_restore 6\nnop\n"
	/*
	 * GNU_args_size 16; expression r15: breg7+8, deref, lit3, and; val_expression rbx: breg6
	 * -8, plus
	 */
	".cfi_escape 0x2e,0x10\n.cfi_escape 0x10,0x0f,0x05,0x77,0x08,0x06,0x33,0x1a\n"
	".cfi_escape 0x16,0x03,0x03,0x76,0x78,0x22\nnop\n"
	/* def_cfa_expression: breg7 64, deref, plus_uconst 8 */
	".cfi_escape 0x0f,0x06,0x77,0xc0,0x00,0x06,0x23,0x08\nnop\n"
	/* def_cfa_sf 7,-3 ; def_cfa_offset_sf -4; offset_extended_sf 13, 2; val_offset_sf 12,-2 */
	".cfi_escape 0x12,0x07,0x7d\nnop\n.cfi_escape 0x13,0x7c\n.cfi_escape 0x11,0x0d,0x02\n"
	".cfi_escape 0x15,0x0c,0x7e\nnop\n.cfi_escape 0x05,0x0e,0x03\n.cfi_escape 0x06,0x0d\nnop\n"
	".fill 300,1,0x90\n.cfi_def_cfa_offset 80\n.fill 70000,1,0x90\n.cfi_def_cfa_offset 96\nret\n"
	".cfi_endproc\n.size f,.-f\n"
	".type g,@function\ng:\n.cfi_startproc\n.cfi_signal_frame\n.cfi_undefined 16\nnop\nnop\n.cfi_endproc\n"
	/* the simple form gets no rules from the assembler: the FDE defines the CFA */
	".type h,@function\nh:\n.cfi_startproc simple\n.cfi_def_cfa 6,16\n.cfi_offset 16,-8\nnop\n.cfi_endproc\n"
	".globl _start\n_start: jmp _start\n.section .note.GNU-stack,\"\",@progbits\n";

static void check_built(const char *name, const char *source, const char *command, struct tally *t)
{
	if (!build(name, source, command)) {
		print_message("# skipped: cannot run: %s\n", command);
		skip();
	}
	check_path(tool_path("out"), t);
}

static void test_cxx(void **state)
{
	struct tally t;

	(void)state;
	check_built("x.cc", cxx_source, "g++ -O2 -fomit-frame-pointer -o out x.cc", &t);
	assert_true(t.fdes >= 10);
}

static void test_musl_static(void **state)
{
	struct tally t;

	(void)state;
	check_built("m.c", c_source, "musl-gcc -static -O2 -o out m.c", &t);
}

static void test_glibc_static(void **state)
{
	struct tally t;

	(void)state;
	check_built("s.c", c_source, "gcc -static -O2 -o out s.c", &t);
	assert_true(t.fdes > 500);
}

/*
 * Only .debug_frame, as in programs without unwind tables; large enough that compressing it pays.
 */
static void test_debug_frame(void **state)
{
	static const char *const gz[] = { "none", "zlib", "zlib-gnu" };
	char command[512];
	struct tally t;

	(void)state;
	for (size_t i = 0; i < sizeof(gz) / sizeof(*gz); i++) {
		snprintf(
			command, sizeof(command),
			"for i in $(seq 400); do echo \"int f$i(int a) { volatile int b[$i]; b[a] = $i; return b[0]; }\"; "
			"done >>d.c; gcc -O1 -g -gz=%s -fno-asynchronous-unwind-tables -fno-unwind-tables -nostartfiles "
			"-Wl,-e,main -o out d.c; readelf -SW out | grep -q '%s'",
			gz[i],
			i == 0	 ? " [.]debug_frame"
			: i == 1 ? " [.]debug_frame.* C "
				 : " [.]zdebug_frame");
		check_built("d.c", c_source, command, &t);
		assert_true(t.fdes > 400);
	}
}

static void test_every_instruction(void **state)
{
	struct tally t;

	(void)state;
	check_built("a.s", asm_source, "gcc -nostdlib -static -o out a.s", &t);
	assert_true(t.hows[CFI_EXPR] > 0);
	assert_true(t.hows[CFI_VAL_EXPR] > 0);
	assert_true(t.hows[CFI_VAL_OFFSET] > 0);
	assert_true(t.hows[CFI_REGISTER] > 0);
	assert_true(t.hows[CFI_UNDEF] > 0);
	assert_true(t.hows[CFI_SAME] > 0);
	assert_true(t.signal > 0);
}

/* No .eh_frame_hdr table: our own index must find the same. */
static void test_no_hdr(void **state)
{
	struct tally t;

	(void)state;
	check_built("x.cc", cxx_source, "g++ -O2 -Wl,--no-eh-frame-hdr -o out x.cc", &t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_libc),
		cmocka_unit_test(test_distribution),
		cmocka_unit_test(test_cxx),
		cmocka_unit_test(test_musl_static),
		cmocka_unit_test(test_glibc_static),
		cmocka_unit_test(test_debug_frame),
		cmocka_unit_test(test_every_instruction),
		cmocka_unit_test(test_no_hdr),
	};

	elf_version(EV_CURRENT);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, tool_setup, tool_teardown);
}
