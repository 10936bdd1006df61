/*
 * code FILE: prints the captured code of a recording, one line per range: path of the binary, svma
 * and bytes, both hexadecimal. A line "path samples missed missed_functions" begins each binary.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "code/code_pack.h"
#include "recording/rec_reader.h"

static int on_dso(void *ctx, const struct ev_dso *ev)
{
	uint64_t *slot = u64map_put(ctx, ev->id, NULL);

	if (!*slot)
		*slot = (uintptr_t)xstrdup(ev->path);
	return 0;
}

static int on_capture(void *ctx, const struct capture *cap)
{
	const uint64_t *slot = u64map_get(ctx, cap->id);
	const char *path = slot ? (const char *)(uintptr_t)*slot : "?";
	const struct code_counts *counts;
	const struct code_range *r;
	struct code_pack *cp;
	size_t n;

	if (cap->kind != CAPTURE_CODE)
		return 0;
	cp = code_pack_read(cap->data, cap->size);
	if (!cp) {
		pr_err("damaged code of '%s'", path);
		return 1;
	}
	counts = code_pack_counts(cp);
	printf("%s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", path, counts->samples, counts->missed,
	       counts->missed_functions);
	n = code_pack_ranges(cp, &r);
	for (size_t i = 0; i < n; i++) {
		const uint8_t *code;

		printf("%s %" PRIx64 " ", path, r[i].svma);
		for (size_t k = 0, len = code_pack_find(cp, r[i].svma, &code); k < len; k++)
			printf("%02x", code[k]);
		putchar('\n');
	}
	code_pack_free(cp);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct event_ops ops = { .dso = on_dso };
	struct u64map paths = U64MAP_INIT;
	uint64_t id, path;
	struct rec_reader *r;
	size_t it = 0;
	int err;

	if (argc != 2)
		return 2;
	log_init("code");
	r = rec_reader_open(argv[1]);
	if (!r)
		return 1;
	err = rec_reader_events(r, &ops, &paths);
	if (!err)
		err = rec_reader_captures(r, on_capture, &paths);
	rec_reader_close(r);
	while (u64map_next(&paths, &it, &id, &path))
		free((void *)(uintptr_t)path);
	u64map_fini(&paths);
	return err ? 1 : 0;
}
