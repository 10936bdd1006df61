/*
 * Reads code (codesource.h). Slices contain only names and rows, and debug files have no code
 * either.
 */
#include "annotate/codesource.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "code/code_pack.h"
#include "modules/module.h"
#include "recording/rec_reader.h"

struct captured {
	uint32_t id;	/* ev_dso.id */
	struct code_pack *pack;	/* owned */
};

struct codesource {
	struct rec_reader *r;
	bool asked;
	struct captured *packs;	/* owned; in recording order; a binary has one per segment */
	size_t n, cap;
};

struct codesource *codesource_new(struct rec_reader *r)
{
	struct codesource *cs = xcalloc(1, sizeof(*cs));

	cs->r = r;
	return cs;
}

void codesource_free(struct codesource *cs)
{
	if (!cs)
		return;
	for (size_t i = 0; i < cs->n; i++)
		code_pack_free(cs->packs[i].pack);
	free(cs->packs);
	free(cs);
}

static int on_capture(void *ctx, const struct capture *cap)
{
	struct codesource *cs = ctx;
	struct code_pack *pack;

	if (cap->kind != CAPTURE_CODE)
		return 0;
	pack = code_pack_read(cap->data, cap->size);
	if (!pack)
		return 0;
	XGROW(cs->packs, cs->n, cs->cap);
	cs->packs[cs->n++] = (struct captured){ cap->id, pack };
	return 0;
}

static void put(struct code *c, uint64_t svma, const uint8_t *bytes, size_t n)
{
	memcpy(c->bytes + (svma - c->start), bytes, n);
	memset(c->what + (svma - c->start), CODE_THERE, n);
}

/* Reads all bytes up to the first one that the file does not have. */
static bool from_file(struct elf_file *ef, struct code *c)
{
	size_t at = 0;

	while (at < c->size) {
		const uint8_t *bytes;
		size_t n = elf_file_code(ef, c->start + at, &bytes);

		if (!n)
			break;
		n = MIN(n, c->size - at);
		put(c, c->start + at, bytes, n);
		at += n;
	}
	return at > 0;
}

static bool from_pack(const struct code_pack *pack, struct code *c)
{
	const struct code_range *ranges;
	size_t n = code_pack_ranges(pack, &ranges);
	bool any = false;

	for (size_t i = BISECT(n, k, ranges[k].svma + ranges[k].len <= c->start); i < n; i++) {
		uint64_t from = MAX(ranges[i].svma, c->start);
		uint64_t to = MIN(ranges[i].svma + ranges[i].len, c->start + c->size);
		const uint8_t *bytes;

		if (from >= to)
			break;
		if (code_pack_find(pack, from, &bytes) < to - from)
			break;
		put(c, from, bytes, to - from);
		if (from == ranges[i].svma)
			c->what[from - c->start] = CODE_BEGIN;
		any = true;
	}
	return any;
}

static bool from_recording(struct codesource *cs, uint32_t id, struct code *c)
{
	bool any = false;

	/* Damage was reported when the recording was read. */
	if (!cs->asked)
		rec_reader_captures_packed(cs->r, on_capture, cs);
	cs->asked = true;
	for (size_t i = 0; i < cs->n; i++)
		if (cs->packs[i].id == id)
			any |= from_pack(cs->packs[i].pack, c);
	return any;
}

int codesource_read(struct codesource *cs, struct module *m, uint64_t start, uint64_t end, struct code *out)
{
	*out = (struct code){ 0 };
	if (end <= start)
		return -ENOENT;
	*out = (struct code){ .start = start, .size = MIN(end - start, (uint64_t)CODE_MAX) };
	out->bytes = xcalloc(out->size, 1);
	out->what = xcalloc(out->size, 1);
	if (m->elf && from_file(m->elf, out))
		return 0;
	out->captured = from_recording(cs, m->id, out);
	if (out->captured)
		return 0;
	code_fini(out);
	return -ENOENT;
}

void code_fini(struct code *c)
{
	free(c->bytes);
	free(c->what);
	*c = (struct code){ 0 };
}
