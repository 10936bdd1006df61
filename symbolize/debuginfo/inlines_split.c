/*
 * Split units (inlines_split.h). libdw knows .dwo files, but opens them itself, on this host and at
 * the path that the program states; and before 0.191 it does not know packages. So the file is
 * found here, and libdw gets an image with the unit's parts as ordinary sections. What depends on
 * the program, the address table and the base of ranges, is added or calculated here.
 */
#include "debuginfo/inlines_split.h"

#include <dwarf.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "debuginfo/debugsource.h"
#include "debuginfo/dwo.h"
#include "debuginfo/inlines_source.h"
#include "elf/elf_file.h"
#include "host/openwhy.h"

struct inline_split {
	struct inline_source src;
	struct elf_file *dwo;	/* owned; NULL if from the binary's package */
	struct elf_file *image;	/* owned; reads bytes.s */
	struct strbuf bytes;
	struct dwo_unit unit;
	Dwarf_Off top;
	uint64_t base;		/* low_pc of the unit in the program, svma */
	uint16_t version;
	struct dwo_bytes old_ranges;	/* DWARF 4: the program's .debug_ranges from the unit's on */
};

static bool number(Dwarf_Die *die, unsigned int at, uint64_t *out)
{
	Dwarf_Attribute attr;
	Dwarf_Word v;

	if (!dwarf_attr(die, at, &attr) || dwarf_formudata(&attr, &v))
		return false;
	*out = v;
	return true;
}

static const char *text(struct inline_source *main, Dwarf_Die *die, unsigned int at)
{
	Dwarf_Attribute attr;

	return dwarf_attr(die, at, &attr) ? inline_text(main, &attr) : NULL;
}

/* A section of the program, from @off on. */
static struct dwo_bytes from_offset(struct elf_file *ef, const char *name, uint64_t off)
{
	struct dwo_bytes b;

	if (elf_file_section(ef, name, &b.data, &b.size, NULL) || off > b.size)
		return (struct dwo_bytes){ NULL, 0 };
	b.data += off;
	b.size -= off;
	return b;
}

static void read_skeleton(struct inline_split *sp, struct inline_source *main, Dwarf_Die *skel)
{
	uint64_t off = 0;

	if (!number(skel, DW_AT_addr_base, &off) && !number(skel, DW_AT_GNU_addr_base, &off))
		off = 0;
	sp->unit.part[DWO_ADDR] = from_offset(main->file, ".debug_addr", off);
	if (dwarf_lowpc(skel, &sp->base))
		sp->base = 0;
	off = 0;
	number(skel, DW_AT_GNU_ranges_base, &off);
	if (sp->version < 5)
		sp->old_ranges = from_offset(main->file, ".debug_ranges", off);
}

/* Finds the unit @id in the image. */
static bool find_unit(struct inline_split *sp, uint64_t id)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Half version;
	uint64_t have;
	uint8_t type;
	Dwarf_Die die;

	while (dwarf_get_units(sp->src.dw, cu, &cu, &version, &type, &die, NULL) == 0) {
		if (version >= 5 ? dwarf_cu_info(cu, NULL, NULL, NULL, NULL, &have, NULL, NULL) != 0 :
				   !number(&die, DW_AT_GNU_dwo_id, &have))
			continue;
		if (have != id || version != sp->version)
			continue;
		sp->top = dwarf_dieoffset(&die);
		return true;
	}
	return false;
}

static void close_image(struct inline_split *sp)
{
	dwarf_end(sp->src.dw);
	sp->src.dw = NULL;
	elf_file_close(sp->image);
	sp->image = NULL;
	strbuf_reset(&sp->bytes);
}

/* Turns sp->unit into an image that libdw reads. */
static bool open_image(struct inline_split *sp, uint64_t id)
{
	Elf *elf;
	int err;

	dwo_write_elf(&sp->unit, &sp->bytes);
	sp->image = elf_file_open_mem(sp->bytes.s, sp->bytes.len, &err);
	elf = sp->image ? elf_file_handle(sp->image) : NULL;
	sp->src.dw = elf ? dwarf_begin_elf(elf, DWARF_C_READ, NULL) : NULL;
	if (sp->src.dw && find_unit(sp, id))
		return true;
	close_image(sp);
	return false;
}

static void set_parts(struct inline_split *sp, const struct dwo_unit *unit)
{
	struct dwo_bytes addr = sp->unit.part[DWO_ADDR];

	sp->unit = *unit;
	sp->unit.part[DWO_ADDR] = addr;
}

static bool find_parts(struct inline_split *sp, struct debug_files *files, const char *path, struct inline_source *main,
		       Dwarf_Die *skel, uint64_t id)
{
	const char *name = text(main, skel, DW_AT_dwo_name), *dir = text(main, skel, DW_AT_comp_dir);
	struct dwo_unit unit;
	struct elf_file *dwp = debugsource_dwp(files, path);
	const char *why = NULL;
	int fd, err;

	if (dwp && dwo_from_package(dwp, id, &unit)) {
		set_parts(sp, &unit);
		if (open_image(sp, id))
			return true;
	}
	if (!name)
		name = text(main, skel, DW_AT_GNU_dwo_name);
	for (unsigned int i = 0; name && (fd = debugsource_dwo(files, path, dir, name, i)) != -ERANGE; i++) {
		if (fd < 0) {
			why = openwhy(OPENWHY_DEBUG, fd) ? openwhy(OPENWHY_DEBUG, fd) : why;
			continue;
		}
		sp->dwo = elf_file_open_fd(fd, &err);
		close(fd);
		why = sp->dwo ? "split debug file is of another build" : "split debug file is not a readable ELF file";
		if (sp->dwo && dwo_from_file(sp->dwo, &unit)) {
			set_parts(sp, &unit);
			if (open_image(sp, id))
				return true;
		}
		elf_file_close(sp->dwo);
		sp->dwo = NULL;
	}
	files->split_why = why ? why : files->split_why;
	return false;
}

struct inline_split *inline_split_open(struct debug_files *files, const char *path, struct inline_source *main,
				       Dwarf_Die *skeleton)
{
	static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
	struct inline_split *sp;
	Dwarf_Half version;
	uint64_t id;
	uint8_t type;
	bool found;

	if (dwarf_cu_info(skeleton->cu, &version, &type, NULL, NULL, &id, NULL, NULL) ||
	    type != DW_UT_skeleton)
		return NULL;
	sp = xcalloc(1, sizeof(*sp));
	sp->version = version;
	sp->src.code = main->code;
	sp->src.ranges_left = main->ranges_left;
	sp->src.split = sp;
	/*
	 * Several threads may open units of one binary, and these share its package and sections.
	 */
	pthread_mutex_lock(&opening);
	read_skeleton(sp, main, skeleton);
	found = find_parts(sp, files, path, main, skeleton, id);
	pthread_mutex_unlock(&opening);
	if (found)
		return sp;
	inline_split_free(sp);
	return NULL;
}

void inline_split_free(struct inline_split *sp)
{
	if (!sp)
		return;
	close_image(sp);
	strbuf_fini(&sp->bytes);
	elf_file_close(sp->dwo);
	free(sp);
}

struct inline_source *inline_split_source(struct inline_split *sp)
{
	return &sp->src;
}

Dwarf_Off inline_split_top(const struct inline_split *sp)
{
	return sp->top;
}

/* ---- ranges ---- */

struct adding {
	struct inline_source *src;
	struct ranges *out;
	uint32_t id;
};

static void add_range(void *ctx, uint64_t start, uint64_t end)
{
	struct adding *a = ctx;

	if (!a->src->ranges_left)
		return;
	a->src->ranges_left--;
	if (start > 1 && end > start && elf_file_code_end(a->src->code, start))
		ranges_add(a->out, start, end, a->id);
}

/*
 * DWARF 4, 2.17.3: pairs of offsets from the base. A pair that begins with all ones sets the base;
 * 0, 0 ends the list.
 */
static void old_ranges(const struct inline_split *sp, uint64_t off, struct adding *a)
{
	uint64_t base = sp->base, x, y;
	struct cursor c;

	if (!sp->old_ranges.data || off > sp->old_ranges.size)
		return;
	cursor_init(&c, sp->old_ranges.data + off, sp->old_ranges.size - off);
	while (a->src->ranges_left) {
		x = cursor_u64(&c);
		y = cursor_u64(&c);
		if (!cursor_ok(&c) || (!x && !y))
			return;
		if (x == UINT64_MAX)
			base = y;
		else
			add_range(a, base + x, base + y);
	}
}

bool inline_split_ranges(struct inline_split *sp, Dwarf_Die *die, struct ranges *out, uint32_t id)
{
	struct adding a = { &sp->src, out, id };
	Dwarf_Attribute attr;
	struct cursor c;

	if (!dwarf_attr(die, DW_AT_ranges, &attr))
		return false;
	if (dwarf_whatform(&attr) == DW_FORM_rnglistx) {
		/*
		 * A LEB128 number of at most 10 bytes. More bytes of the image follow the section.
		 */
		cursor_init(&c, attr.valp, 10);
		dwo_ranges(&sp->unit, cursor_varint(&c), sp->base, sp->src.ranges_left, add_range,
			   &a);
	} else if (sp->version < 5 && dwarf_whatform(&attr) == DW_FORM_sec_offset) {
		/* libdw would look for the section in the image. Packages have no 64-bit DWARF. */
		cursor_init(&c, attr.valp, 4);
		old_ranges(sp, cursor_u32(&c), &a);
	}
	return true;
}
