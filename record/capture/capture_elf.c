/*
 * The sliced ELF file of a binary: what the addresses of a recording need from it
 * (contrib/doc/capture.md).
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "capture/capture.h"
#include "capture/capture_syms.h"
#include "capture/dwarf_names.h"
#include "base/pcset.h"
#include "cfi/cfi.h"
#include "code/made_rows.h"
#include "elf/debugfile.h"
#include "elf/elf_file.h"
#include "elf/elf_write.h"
#include "host/nsopen.h"

/* Rows should take tens of KiB, so what is copied whole must not dominate a recording. */
#define DEBUGDATA_MAX (1u << 20)
#define DEBUGLINK_MAX 512
/* Linkers create 2 to 6; e_phnum of the slice has 16 bits. */
#define LOADS_MAX 256

/* Translates @offs to svma; skips those outside of all segments. */
static void wanted_pcs(const struct elf_file *ef, const uint64_t *offs, size_t n, struct pcset *pcs)
{
	uint64_t *svmas = xcalloc(n ? n : 1, sizeof(*svmas));
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		k += elf_file_off_to_svma(ef, offs[i], &svmas[k]);
	pcset_init(pcs, svmas, k);
	free(svmas);
}

static bool has_cfi(const struct cfi_sections *secs)
{
	return secs->eh_frame.data || secs->debug_frame.data;
}

/*
 * Opens the debug file; NULL if there is none or it is not needed. It may be the container's or the
 * host's, since either must prove that it belongs to the binary. Debug packages of distributions
 * are usually on the host, if anywhere.
 */
static struct elf_file *open_debug_file(struct elf_file *ef, bool need, int rootfd,
					const char *path)
{
	const char *why = NULL, *host_why = NULL;
	struct elf_file *debug;
	int fd = -ENOENT, host, err;

	if (!need || !path)
		return NULL;
	if (rootfd >= 0)
		fd = debugfile_find(rootfd, path, ef, &why);
	if (fd < 0) {
		host = nsopen_host_root();
		if (host >= 0) {
			fd = debugfile_find(host, path, ef, &host_why);
			close(host);
		}
	}
	if (fd < 0 && (why || host_why))
		pr_verbose("no rows captured from the debug file of '%s': %s", path, why ? why : host_why);
	if (fd < 0)
		return NULL;
	debug = elf_file_open_fd(fd, &err);
	close(fd);
	return debug;
}

/*
 * Is an address not in any symbol? Most addresses come with the byte before them (capture.h), and
 * only one of such a pair is looked up. So a pair counts as named if either is. Otherwise the
 * padding before each function would count as missing.
 */
static bool some_unnamed(const struct capture_syms *cs)
{
	const struct pcset *pcs = cs->pcs;

	for (size_t i = 0; i < pcs->n; i++) {
		bool hit = capture_syms_hit(cs, i);

		if (!hit && i + 1 < pcs->n && pcs->v[i + 1] == pcs->v[i] + 1)
			hit = capture_syms_hit(cs, i + 1);
		if (!hit && i > 0 && pcs->v[i - 1] == pcs->v[i] - 1)
			hit = capture_syms_hit(cs, i - 1);
		if (!hit)
			return true;
	}
	return false;
}

/* Names of functions that only the binary's own debug info describes. Needs room and time only for those. */
static void add_described(struct capture_syms *cs, struct elf_file *ef)
{
	const bool need = some_unnamed(cs);
	struct dwarf_names *dn;

	if (!elf_file_has_section(ef, ".debug_info"))
		return;
	dn = need ? dwarf_names_new(ef) : NULL;
	capture_syms_more(cs, need ? dwarf_names_find : NULL, dn);
	dwarf_names_free(dn);
}

static void copy_section(struct elf_file *ef, const char *name, size_t max, const void **data,
			 size_t *size)
{
	const uint8_t *bytes;

	if (elf_file_section(ef, name, &bytes, size, NULL) || *size > max) {
		*size = 0;
		return;
	}
	*data = bytes;
}

/* Adds the bounds of the functions that contain @pcs, for whole rows. */
static void widen(struct cfi *cfi, const struct pcset *pcs, struct pcset *wide)
{
	uint64_t *v = xmalloc((3 * pcs->n + 1) * sizeof(*v));
	struct cfi_fde fde;
	size_t n = 0;

	for (size_t i = 0; i < pcs->n; i++) {
		v[n++] = pcs->v[i];
		if (cfi_find(cfi, pcs->v[i], &fde))
			continue;
		v[n++] = fde.start;
		v[n++] = fde.end - 1;
	}
	pcset_init(wide, v, n);
	free(v);
}

/*
 * The range in which all answers are the same as at the @i-th pc: one FDE, no symbol begins, and
 * those that begin at the nearest start either all continue or have all ended.
 */
static struct span span_at(const struct capture_syms *cs, const struct cfi_fde *fde, size_t i)
{
	struct span s = { MAX(cs->pred[i], fde->start), MIN(cs->succ[i], fde->end) };
	size_t at = BISECT(cs->n, k, cs->v[k].svma < cs->pred[i]);

	if (!capture_syms_hit(cs, i)) {
		s.start = MAX(s.start, MAX(cs->cover[i], cs->reach[i]));
		return s;
	}
	if (at == cs->n || cs->v[at].svma != cs->pred[i])
		return (struct span){ 0, 0 };
	for (; at < cs->n && cs->v[at].svma == cs->pred[i]; at++)
		s.end = MIN(s.end, cs->v[at].svma + cs->v[at].size);
	return s;
}

static void add_span(const struct elf_slice *slice, struct span s, struct strbuf *out)
{
	struct span last = { 0, 0 };

	for (size_t i = 0; i < slice->nloads; i++) {
		const struct elf_load *l = &slice->loads[i];

		if (s.start < l->vaddr || s.end - l->vaddr > l->filesz)
			continue;
		s = (struct span){ s.start - l->vaddr + l->offset, s.end - l->vaddr + l->offset };
		if (out->len)
			memcpy(&last, out->s + out->len - sizeof(last), sizeof(last));
		/* Spans of one function come in order, but segments may lie in any order. */
		if (s.start >= last.end)
			strbuf_add(out, &s, sizeof(s));
		return;
	}
}

/* Does @extra have rows there, which override the binary's own? They cover single addresses. */
static bool has_extra(struct cfi *extra, struct span s, uint64_t pc)
{
	struct cfi_fde fde;

	return extra && (!cfi_find(extra, pc, &fde) || !cfi_find(extra, s.start, &fde) ||
			 !cfi_find(extra, s.end - 1, &fde));
}

static void add_spans(const struct elf_slice *slice, struct cfi *cfi, struct cfi *extra,
		      const struct capture_syms *cs, struct strbuf *out)
{
	struct cfi_fde fde;

	for (size_t i = 0; i < cs->pcs->n; i++) {
		struct span s;

		if (cfi_find(cfi, cs->pcs->v[i], &fde))
			continue;
		s = span_at(cs, &fde, i);
		if (s.start < s.end && !has_extra(extra, s, cs->pcs->v[i]))
			add_span(slice, s, out);
	}
}

static void slice_elf(struct elf_file *ef, struct elf_file *debug, struct cfi_sections *secs,
		      const struct pcset *pcs, struct strbuf *out, struct strbuf *spans)
{
	struct pcset wide = { NULL, 0 };
	struct elf_file *files[] = { ef, debug };
	struct strbuf eh_frame = STRBUF_INIT;
	struct elf_slice slice = { 0 };
	struct capture_syms cs;
	uint8_t id[20];
	struct made_rows *made = made_rows_new(ef);
	struct strbuf rows = STRBUF_INIT;
	struct cfi_sections first = { .is64 = true };
	struct cfi *cfi, *extra = NULL;

	/* Needed for rows made from code, and twice for the slice. */
	elf_file_remember_symbols(ef);
	if (debug)
		elf_file_remember_symbols(debug);
	slice.type = elf_file_type(ef);
	slice.machine = elf_file_machine(ef);
	slice.entry = elf_file_entry(ef);
	slice.nloads = MIN(elf_file_loads(ef, &slice.loads), (size_t)LOADS_MAX);
	slice.build_id_len = elf_file_build_id(ef, id);
	slice.build_id = id;

	cfi = cfi_new(secs);
	if (spans) {
		widen(cfi, pcs, &wide);
		pcs = &wide;
	}
	if (slice.machine == EM_X86_64 && made_rows_emit(made, cfi, pcs->v, pcs->n, &rows)) {
		first.eh_frame.data = (const uint8_t *)rows.s;
		first.eh_frame.size = rows.len;
		extra = cfi_new(&first);
	}
	/* To detect start-up code, a reader needs the whole FDE at the entry point. */
	if (cfi_emit_rows(cfi, extra, pcs->v, pcs->n, slice.entry, &eh_frame)) {
		slice.eh_frame = eh_frame.s;
		slice.eh_frame_size = eh_frame.len;
	}
	capture_syms_choose(&cs, files, ARRAY_SIZE(files), made, cfi, pcs);
	add_described(&cs, ef);
	if (spans)
		add_spans(&slice, cfi, extra, &cs, spans);
	cfi_free(cfi);
	cfi_free(extra);
	strbuf_fini(&rows);
	made_rows_free(made);

	slice.syms = cs.v;
	slice.nsyms = cs.n;
	copy_section(ef, ".gnu_debuglink", DEBUGLINK_MAX, &slice.debuglink, &slice.debuglink_size);
	/*
	 * MiniDebugInfo is one compressed block, and useful only to a binary without a symbol
	 * table.
	 */
	if (!debug && !elf_file_has_symtab(ef) && some_unnamed(&cs))
		copy_section(ef, ".gnu_debugdata", DEBUGDATA_MAX, &slice.debugdata,
			     &slice.debugdata_size);
	elf_write(&slice, out);
	capture_syms_fini(&cs);
	pcset_fini(&wide);
	strbuf_fini(&eh_frame);
}

static int capture(struct elf_file *ef, int rootfd, const char *path, const uint64_t *offs,
		   size_t n, struct strbuf *out, struct strbuf *spans)
{
	struct cfi_sections secs, other;
	struct elf_file *debug;
	struct pcset pcs;

	/* 32-bit programs are not unwound, and their slice would need other headers. */
	if (!elf_file_is64(ef))
		return -ENOTSUP;
	elf_file_cfi_sections(ef, &secs);
	debug = open_debug_file(ef, !elf_file_has_symtab(ef) || !has_cfi(&secs), rootfd, path);
	if (debug && !secs.debug_frame.data) {
		elf_file_cfi_sections(debug, &other);
		secs.debug_frame = other.debug_frame;
	}
	wanted_pcs(ef, offs, n, &pcs);
	slice_elf(ef, debug, &secs, &pcs, out, spans);
	pcset_fini(&pcs);
	elf_file_close(debug);
	return 0;
}

int capture_elf(int fd, int rootfd, const char *path, const uint64_t *offs, size_t n,
		struct strbuf *out, struct strbuf *spans)
{
	struct elf_file *ef;
	int err;

	ef = elf_file_open_fd(fd, &err);
	if (!ef)
		return err;
	err = capture(ef, rootfd, path, offs, n, out, spans);
	if (!err && elf_file_short_of_room(ef))
		err = 1;
	elf_file_close(ef);
	return err;
}

int capture_elf_mem(const void *data, size_t size, const uint64_t *offs, size_t n,
		    struct strbuf *out, struct strbuf *spans)
{
	struct elf_file *ef;
	int err;

	ef = elf_file_open_mem(data, size, &err);
	if (!ef)
		return err;
	err = capture(ef, -1, NULL, offs, n, out, spans);
	elf_file_close(ef);
	return err;
}
