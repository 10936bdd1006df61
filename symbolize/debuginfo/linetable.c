/*
 * Line number programs (linetable.h). Section numbers are those of DWARF 5. The bytes are
 * untrusted. A program of n bytes makes at most n rows, and a file table has at most as many
 * entries as bytes.
 */
#include "debuginfo/linetable.h"

#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "elf/elf_file.h"
#include "base/ranges.h"

/* The constants that are used here: DWARF 5, 7.22 and 7.5.6. */
enum {
	LNS_COPY = 1, LNS_ADVANCE_PC, LNS_ADVANCE_LINE, LNS_SET_FILE, LNS_SET_COLUMN,
	LNS_NEGATE_STMT, LNS_SET_BASIC_BLOCK, LNS_CONST_ADD_PC, LNS_FIXED_ADVANCE_PC,
};
enum { LNE_END_SEQUENCE = 1, LNE_SET_ADDRESS, LNE_DEFINE_FILE };
enum { LNCT_PATH = 1, LNCT_DIRECTORY_INDEX };
enum {
	FORM_DATA2 = 0x05, FORM_DATA4 = 0x06, FORM_DATA8 = 0x07, FORM_STRING = 0x08,
	FORM_BLOCK = 0x09, FORM_DATA1 = 0x0b, FORM_STRP = 0x0e, FORM_UDATA = 0x0f,
	FORM_STRP_SUP = 0x1d, FORM_DATA16 = 0x1e, FORM_LINE_STRP = 0x1f,
};

#define FORMATS_MAX 16	/* content types of an entry; 5 are defined */

struct row {
	uint32_t file, line;
};

struct file {
	const char *path;	/* borrowed from the sections; NULL: invalid */
	uint64_t dir;		/* number of its folder */
};

struct linetable {
	struct ranges ranges;	/* svma -> index of rows */
	struct row *rows;	/* owned */
	size_t nrows, cap;
	struct file *files;	/* owned */
	size_t nfiles, files_cap;
	const char **dirs;	/* owned; borrowed from the sections, NULL: invalid */
	size_t ndirs, dirs_cap;
	unsigned int first;	/* number of files[0] and dirs[0] */
};

struct program {
	struct cursor c;	/* the unit, after its length field */
	const struct linetable_sections *secs;
	struct linetable *lt;
	bool is64;		/* 64-bit DWARF */
	uint16_t version;
	uint8_t min_inst, line_range, opcode_base;
	int8_t line_base;
	const uint8_t *op_args;	/* operands of standard opcode i at [i - 1] */
};

/* ---- header, 6.2.4 ---- */

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash && slash[1] ? slash + 1 : path;
}

static const char *string_at(const struct linetable_bytes *sec, uint64_t off)
{
	if (!sec->data || off >= sec->size || !memchr(sec->data + off, 0, sec->size - off))
		return NULL;
	return (const char *)sec->data + off;
}

static void add_file(struct linetable *lt, const char *path, uint64_t dir)
{
	XGROW(lt->files, lt->nfiles, lt->files_cap);
	lt->files[lt->nfiles++] = (struct file){ path && path[0] ? path : NULL, dir };
}

static void add_dir(struct linetable *lt, const char *path)
{
	XGROW(lt->dirs, lt->ndirs, lt->dirs_cap);
	lt->dirs[lt->ndirs++] = path && path[0] ? path : NULL;
}

static uint64_t offset_field(struct program *p)
{
	return p->is64 ? cursor_u64(&p->c) : cursor_u32(&p->c);
}

/* Reads one field of an entry. Sets *@path if it is a string, *@number if it is a number. */
static void read_form(struct program *p, uint64_t form, const char **path, uint64_t *number)
{
	struct cursor *c = &p->c;

	switch (form) {
	case FORM_STRING:
		*path = cursor_cstr(c);
		break;
	case FORM_LINE_STRP:
		*path = string_at(&p->secs->line_str, offset_field(p));
		break;
	case FORM_STRP:
		*path = string_at(&p->secs->str, offset_field(p));
		break;
	case FORM_STRP_SUP:
		offset_field(p);
		break;
	case FORM_UDATA:
		*number = cursor_varint(c);
		break;
	case FORM_DATA1:
		*number = cursor_u8(c);
		break;
	case FORM_DATA2:
		*number = cursor_u16(c);
		break;
	case FORM_DATA4:
		cursor_skip(c, 4);
		break;
	case FORM_DATA8:
		cursor_skip(c, 8);
		break;
	case FORM_DATA16:
		cursor_skip(c, 16);
		break;
	case FORM_BLOCK:
		cursor_skip(c, cursor_varint(c));
		break;
	default:
		c->bad = true;
	}
}

/*
 * DWARF 5: a description of the entries' fields, then the entries. @files: files, otherwise
 * folders.
 */
static void read_entries(struct program *p, bool files)
{
	struct {
		uint64_t content, form;
	} formats[FORMATS_MAX];
	uint8_t nformats = cursor_u8(&p->c);
	uint64_t n;

	if (nformats > FORMATS_MAX)
		p->c.bad = true;
	for (uint8_t i = 0; i < nformats && cursor_ok(&p->c); i++) {
		formats[i].content = cursor_varint(&p->c);
		formats[i].form = cursor_varint(&p->c);
	}
	n = cursor_varint(&p->c);
	/* Every entry must take at least one byte, or there could be any number of them. */
	if (n && (!nformats || n > cursor_left(&p->c)))
		p->c.bad = true;
	for (uint64_t i = 0; i < n && cursor_ok(&p->c); i++) {
		const char *path = NULL;
		uint64_t dir = 0;

		for (uint8_t k = 0; k < nformats; k++) {
			const char *text = NULL;
			uint64_t number = 0;

			read_form(p, formats[k].form, &text, &number);
			if (formats[k].content == LNCT_PATH)
				path = text;
			else if (formats[k].content == LNCT_DIRECTORY_INDEX)
				dir = number;
		}
		if (!cursor_ok(&p->c))
			break;
		if (files)
			add_file(p->lt, path, dir);
		else
			add_dir(p->lt, path);
	}
}

/* What follows a file's name: folder (returned), time, length. */
static uint64_t read_file_rest(struct cursor *c)
{
	uint64_t dir = cursor_varint(c);

	cursor_varint(c);
	cursor_varint(c);
	return dir;
}

static void read_old_tables(struct program *p)
{
	const char *s;

	while ((s = cursor_cstr(&p->c)) && s[0])
		add_dir(p->lt, s);
	while ((s = cursor_cstr(&p->c)) && s[0]) {
		uint64_t dir = read_file_rest(&p->c);

		if (cursor_ok(&p->c))
			add_file(p->lt, s, dir);
	}
}

/* Leaves the cursor at the program. False if the header cannot be read. */
static bool read_header(struct program *p, const struct linetable_bytes *line, uint64_t offset)
{
	uint64_t len, header;
	size_t body;

	if (!line->data || offset >= line->size)
		return false;
	cursor_init(&p->c, line->data + offset, line->size - offset);
	len = cursor_u32(&p->c);
	p->is64 = len == 0xffffffff;
	if (p->is64)
		len = cursor_u64(&p->c);
	if (!cursor_ok(&p->c) || len > cursor_left(&p->c))
		return false;
	cursor_init(&p->c, p->c.base + p->c.pos, len);
	p->version = cursor_u16(&p->c);
	if (p->version < 2 || p->version > 5)
		return false;
	if (p->version == 5)
		cursor_skip(&p->c, 2);	/* sizes of an address and of a segment selector */
	header = offset_field(p);
	if (!cursor_ok(&p->c) || header > cursor_left(&p->c))
		return false;
	body = p->c.pos + header;
	p->min_inst = cursor_u8(&p->c);
	if (p->version >= 4)
		cursor_skip(&p->c, 1);	/* operations per instruction: 1, except for VLIW */
	cursor_skip(&p->c, 1);		/* default_is_stmt */
	p->line_base = (int8_t)cursor_u8(&p->c);
	p->line_range = cursor_u8(&p->c);
	p->opcode_base = cursor_u8(&p->c);
	p->op_args = cursor_bytes(&p->c, p->opcode_base ? p->opcode_base - 1u : 0);
	if (!cursor_ok(&p->c) || !p->opcode_base || !p->line_range)
		return false;
	p->lt->first = p->version < 5;
	if (p->version < 5) {
		read_old_tables(p);
	} else {
		read_entries(p, false);
		read_entries(p, true);
	}
	if (!cursor_ok(&p->c))
		return false;
	p->c.pos = body;
	return true;
}

/* ---- program, 6.2.5 ---- */

/* 7.6: signed LEB128. Bits beyond 64 are dropped. */
static int64_t read_sleb(struct cursor *c)
{
	unsigned int shift = 0;
	uint64_t v = 0;
	uint8_t b;

	do {
		b = cursor_u8(c);
		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
	} while ((b & 0x80) && cursor_ok(c));
	if ((b & 0x40) && shift < 64)
		v |= ~UINT64_C(0) << shift;
	return (int64_t)v;
}

struct state {
	uint64_t addr, file;
	uint32_t line;
};

struct sequence {
	uint64_t last;	/* address of the latest row */
	bool open;	/* there is a row */
	bool dead;	/* the linker dropped this code */
};

static void add_row(struct program *p, struct sequence *seq, const struct state *s)
{
	struct linetable *lt = p->lt;

	/*
	 * Code that the linker dropped is at 0, 1 or the top of the address space, and would cover
	 * what really is there.
	 */
	if (!seq->open)
		seq->dead = s->addr <= 1 || !elf_file_code_end(p->secs->code, s->addr);
	else if (!seq->dead)
		ranges_add(&lt->ranges, seq->last, s->addr, (uint32_t)lt->nrows - 1);
	seq->open = true;
	seq->last = s->addr;
	if (seq->dead)
		return;
	XGROW(lt->rows, lt->nrows, lt->cap);
	lt->rows[lt->nrows++] =
		(struct row){ s->file > UINT32_MAX ? UINT32_MAX : (uint32_t)s->file, s->line };
}

static void extended_op(struct program *p, struct sequence *seq, struct state *s)
{
	uint64_t len = cursor_varint(&p->c);
	const char *name;
	struct cursor c;

	if (!cursor_ok(&p->c) || !len || len > cursor_left(&p->c)) {
		p->c.bad = true;
		return;
	}
	cursor_init(&c, p->c.base + p->c.pos, len);
	cursor_skip(&p->c, len);
	switch (cursor_u8(&c)) {
	case LNE_END_SEQUENCE:
		/* The address after the last instruction, which is not a row. */
		if (seq->open && !seq->dead)
			ranges_add(&p->lt->ranges, seq->last, s->addr, (uint32_t)p->lt->nrows - 1);
		*seq = (struct sequence){ 0 };
		*s = (struct state){ .file = 1, .line = 1 };
		break;
	case LNE_SET_ADDRESS:
		s->addr = len == 9 ? cursor_u64(&c) : len == 5 ? cursor_u32(&c) : s->addr;
		break;
	case LNE_DEFINE_FILE:
		name = cursor_cstr(&c);
		add_file(p->lt, name, name ? read_file_rest(&c) : 0);
		break;
	}
}

static void standard_op(struct program *p, uint8_t op, struct sequence *seq, struct state *s)
{
	struct cursor *c = &p->c;

	switch (op) {
	case LNS_COPY:
		add_row(p, seq, s);
		break;
	case LNS_ADVANCE_PC:
		s->addr += cursor_varint(c) * p->min_inst;
		break;
	case LNS_ADVANCE_LINE:
		s->line += (uint32_t)read_sleb(c);
		break;
	case LNS_SET_FILE:
		s->file = cursor_varint(c);
		break;
	case LNS_CONST_ADD_PC:
		s->addr += (uint64_t)((255 - p->opcode_base) / p->line_range) * p->min_inst;
		break;
	case LNS_FIXED_ADVANCE_PC:
		s->addr += cursor_u16(c);
		break;
	default:
		/* Columns, flags, and opcodes of later versions. */
		for (uint8_t i = 0; i < p->op_args[op - 1]; i++)
			cursor_varint(c);
	}
}

static void run(struct program *p, size_t *rows_left)
{
	struct state s = { .file = 1, .line = 1 };
	struct sequence seq = { 0 };

	while (cursor_ok(&p->c) && cursor_left(&p->c)) {
		size_t before = p->lt->nrows;
		uint8_t op = cursor_u8(&p->c);

		if (op >= p->opcode_base) {
			op -= p->opcode_base;
			s.addr += (uint64_t)(op / p->line_range) * p->min_inst;
			s.line += (uint32_t)(p->line_base + op % p->line_range);
			add_row(p, &seq, &s);
		} else if (op) {
			standard_op(p, op, &seq, &s);
		} else {
			extended_op(p, &seq, &s);
		}
		if (p->lt->nrows == before)
			continue;
		if (!*rows_left)
			break;
		--*rows_left;
	}
	ranges_flatten(&p->lt->ranges);
}

struct linetable *linetable_new(const struct linetable_sections *secs, uint64_t offset,
				size_t *rows_left)
{
	struct linetable *lt = xcalloc(1, sizeof(*lt));
	struct program p = { .secs = secs, .lt = lt };

	if (read_header(&p, &secs->line, offset))
		run(&p, rows_left);
	return lt;
}

void linetable_free(struct linetable *lt)
{
	if (!lt)
		return;
	ranges_fini(&lt->ranges);
	free(lt->rows);
	free(lt->files);
	free(lt->dirs);
	free(lt);
}

bool linetable_find(const struct linetable *lt, uint64_t svma, uint64_t *file, uint32_t *line)
{
	const struct range *r = ranges_find(&lt->ranges, svma);

	if (!r)
		return false;
	*file = lt->rows[r->id].file;
	*line = lt->rows[r->id].line;
	return true;
}

static const struct file *file_of(const struct linetable *lt, uint64_t number)
{
	if (number < lt->first || number - lt->first >= lt->nfiles)
		return NULL;
	return &lt->files[number - lt->first];
}

const char *linetable_file(const struct linetable *lt, uint64_t number)
{
	const struct file *f = file_of(lt, number);

	return f ? base_name(f->path) : NULL;
}

/* Appends @path to @out, or replaces it if @path is absolute. */
static void add_path(struct strbuf *out, const char *path)
{
	if (!path)
		return;
	if (path[0] == '/')
		strbuf_reset(out);
	else if (out->len && out->s[out->len - 1] != '/')
		strbuf_addc(out, '/');
	strbuf_adds(out, path);
}

bool linetable_path(const struct linetable *lt, uint64_t number, const char *comp_dir, struct strbuf *out)
{
	const struct file *f = file_of(lt, number);

	strbuf_reset(out);
	if (!f || !f->path)
		return false;
	/* 6.2.4: folder 0 is the unit's. Only version 5 has it in the table, too. */
	add_path(out, lt->first || !lt->ndirs ? comp_dir : lt->dirs[0]);
	if (f->dir && f->dir - lt->first < lt->ndirs)
		add_path(out, lt->dirs[f->dir - lt->first]);
	add_path(out, f->path);
	return true;
}
