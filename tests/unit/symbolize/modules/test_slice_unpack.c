/* Packed slices: whole ones, and only their symbols where the binary is available. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "base/util.h"
#include "cfi/cfi.h"
#include "elf/elf_file.h"
#include "elf/elf_write.h"
#include "event.h"
#include "modules/module.h"
#include "modules/module_symbols.h"
#include "modules/slice_unpack.h"
#include "recgen.h"
#include "recording/rec_reader.h"
#include "recording/rec_writer.h"
#include "toolrun.h"

/* A name that is in no binary, so that only a slice can give it. */
#define FAR 0x7f0000000000u
#define FAR_LEN 16u

struct packed {
	struct strbuf elf, bytes;	/* the slice, and its form in the recording */
	struct capture cap;
};

static int take(void *ctx, const struct capture *cap)
{
	struct packed *p = ctx;

	assert_true(cap->packed > 0);
	strbuf_add(&p->bytes, cap->data, cap->packed);
	p->cap = *cap;
	p->cap.data = p->bytes.s;
	return 0;
}

/* @p->elf as it is in a recording. */
static void through_recording(struct packed *p)
{
	const struct capture cap = { .kind = CAPTURE_ELF, .id = 1, .data = p->elf.s, .size = p->elf.len };
	char path[64];
	int fd = gen_memfd(path), err;
	struct rec_writer *w = rec_writer_new(fd, &err);
	struct rec_reader *r;

	assert_non_null(w);
	assert_int_equal(rec_writer_capture(w, &cap), 0);
	assert_int_equal(rec_writer_finish(w), 0);
	rec_writer_free(w);
	r = rec_reader_open(path);
	assert_non_null(r);
	assert_int_equal(rec_reader_captures_packed(r, take, p), 0);
	assert_true(p->bytes.len > 0);
	rec_reader_close(r);
	close(fd);
}

/*
 * A slice with the rows of some of this program's functions and one symbol, @name; its build-id is
 * @id.
 */
static void pack(struct packed *p, const char *name, const uint8_t *id, size_t id_len)
{
	const struct elf_sym sym = { .svma = FAR, .size = FAR_LEN, .name = name, .type = STT_FUNC, .bind = STB_LOCAL };
	const struct elf_load load = { .offset = 0x1000, .vaddr = FAR, .filesz = 0x1000, .memsz = 0x1000, .flags = PF_R | PF_X };
	struct elf_slice s = {
		.type = ET_DYN, .machine = EM_X86_64, .syms = &sym, .nsyms = 1, .loads = &load, .nloads = 1, .build_id = id,
		.build_id_len = id_len,
	};
	struct elf_file *ef = tool_open_elf("/proc/self/exe");
	struct strbuf eh_frame = STRBUF_INIT;
	struct cfi_sections secs;
	uint64_t pcs[200];
	struct cfi_fde fde;
	struct cfi *cfi;
	size_t n = 0;

	assert_non_null(ef);
	elf_file_cfi_sections(ef, &secs);
	cfi = cfi_new(&secs);
	while (n < ARRAY_SIZE(pcs) && !cfi_nth(cfi, n, &fde))
		pcs[n++] = fde.start;
	assert_true(n > 100);
	assert_true(cfi_emit(cfi, pcs, n, &eh_frame) > 0);
	s.eh_frame = eh_frame.s;
	s.eh_frame_size = eh_frame.len;
	*p = (struct packed){ .elf = STRBUF_INIT, .bytes = STRBUF_INIT };
	elf_write(&s, &p->elf);
	through_recording(p);
	cfi_free(cfi);
	strbuf_fini(&eh_frame);
	elf_file_close(ef);
}

static void packed_fini(struct packed *p)
{
	strbuf_fini(&p->elf);
	strbuf_fini(&p->bytes);
}

static void assert_whole(struct slice *sl, const struct packed *p)
{
	size_t size;
	const void *data = slices_wait(sl, &size);

	assert_non_null(data);
	assert_int_equal(size, p->elf.len);
	assert_memory_equal(data, p->elf.s, size);
}

static int is_it(void *ctx, const struct elf_sym *sym)
{
	const char *name = *(const char **)ctx;

	assert_string_equal(sym->name, name);
	assert_int_equal(sym->svma, FAR);
	*(const char **)ctx = NULL;
	return 0;
}

/* The one symbol is there; rows are there only if @rows. */
static void assert_names(struct slice *sl, const char *name, bool rows)
{
	struct cfi_sections secs;
	struct elf_file *ef;
	const void *data;
	size_t size;
	int err;

	data = slices_names(sl, &size);
	assert_non_null(data);
	ef = elf_file_open_mem(data, size, &err);
	assert_non_null(ef);
	assert_int_equal(elf_file_symbols(ef, is_it, &name), 0);
	assert_null(name);
	memset(&secs, 0, sizeof(secs));
	elf_file_cfi_sections(ef, &secs);
	assert_int_equal(secs.eh_frame.size > 0, rows);
	elf_file_close(ef);
}

/*
 * With and without a thread, in any order; unpacking that was left to itself is finished when the
 * result is needed.
 */
static void test_orders(void **state)
{
	struct packed p[3];

	(void)state;
	pack(&p[0], "first", NULL, 0);
	pack(&p[1], "second", NULL, 0);
	pack(&p[2], "third", NULL, 0);
	for (unsigned int how = 0; how < 4; how++) {
		struct slices *s = slices_new(how & 1);
		struct slice *a = slices_add(s, &p[0].cap, NULL), *b = slices_add(s, &p[1].cap, a);
		struct slice *c = slices_add(s, &p[2].cap, NULL);

		assert_ptr_equal(slices_before(b), a);
		assert_null(slices_before(a));
		if (how & 2)
			slices_leave(b);
		assert_names(b, "second", false);
		assert_names(b, "second", false);
		assert_whole(c, &p[2]);
		assert_whole(b, &p[1]);
		assert_names(b, "second", true);
		assert_whole(a, &p[0]);
		assert_names(c, "third", true);
		slices_free(s);
	}
	for (size_t i = 0; i < ARRAY_SIZE(p); i++)
		packed_fini(&p[i]);
}

static void test_damage(void **state)
{
	struct packed p;
	struct slices *s = slices_new(false);
	struct slice *sl;
	size_t size;

	(void)state;
	pack(&p, "name", NULL, 0);
	p.cap.packed /= 2;
	sl = slices_add(s, &p.cap, NULL);
	assert_null(slices_names(sl, &size));
	assert_null(slices_wait(sl, &size));
	assert_null(slices_names(sl, &size));
	slices_free(s);
	packed_fini(&p);
}

static int find_libc(struct dl_phdr_info *info, size_t size, void *path)
{
	(void)size;
	if (!strstr(info->dlpi_name, "/libc.so"))
		return 0;
	*(const char **)path = info->dlpi_name;
	return 1;
}

static int find_malloc(void *ctx, const struct elf_sym *sym)
{
	struct svma *at = ctx;

	if (!strcmp(sym->name, "malloc") || !strncmp(sym->name, "malloc@@", 8))
		at->v = sym->svma;
	return 0;
}

/* Finds the C library, whose tables are worth a job, with slice @p of it. */
static struct module *open_module(struct modules *mods, const struct packed *p, const uint8_t *id, size_t id_len)
{
	struct ev_dso dso = { .id = 1, .build_id_len = (uint8_t)id_len };
	struct module *m;
	int fd, err;

	assert_int_equal(dl_iterate_phdr(find_libc, &dso.path), 1);
	fd = open(dso.path, O_RDONLY | O_CLOEXEC);
	memcpy(dso.build_id, id, id_len);
	modules_add_slice(mods, &p->cap);
	assert_int_equal(modules_add(mods, &dso), 0);
	m = modules_get(mods, 1);
	m->elf = elf_file_open_fd(fd, &err);
	close(fd);
	assert_non_null(m->elf);
	m->source = MODULE_HOST;
	return m;
}

/*
 * If the binary has no name, the recording may have one; its rows stay packed. For all symbols, and
 * for the expected ones.
 */
static void test_names_beside_the_binary(void **state)
{
	static const uint8_t id[20] = { 1, 2, 3 }, other[20] = { 4, 5, 6 };
	struct packed p;

	(void)state;
	pack(&p, "only_in_the_recording", id, sizeof(id));
	for (unsigned int how = 0; how < 4; how++) {
		const bool ours = how & 1;
		struct modules *mods = modules_new();
		struct module *m = open_module(mods, &p, ours ? id : other, sizeof(id));
		struct svma malloc_at = { 0 }, far = { FAR + FAR_LEN - 1 };
		struct symbol sym;

		if (how & 2) {
			module_symbols_expect(m, &far, 1);
			assert_non_null(m->few);
		}
		assert_int_equal(module_symbol(m, far, &sym), ours ? 0 : -ENOENT);
		if (ours) {
			assert_string_equal(sym.name, "only_in_the_recording");
			assert_int_equal(sym.source, NAME_CAPTURED);
		}
		assert_null(m->captured);
		assert_int_equal(elf_file_symbols(m->elf, find_malloc, &malloc_at), 0);
		assert_int_equal(module_symbol(m, malloc_at, &sym), 0);
		assert_string_equal(sym.name, "malloc");
		/* The rows are available when they are needed after all. */
		assert_int_equal(module_captured(m) != NULL, ours);
		modules_free(mods);
	}
	packed_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_orders),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_names_beside_the_binary),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
