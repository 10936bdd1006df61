/* A perf.data: its header, features and records, in order and as stored. */
#include "../fuzz.h"
#include "events/sample_parse.h"
#include "import/perfdata.h"

struct reading {
	struct perfdata *pd;
	uint64_t *room;
	unsigned int left;	/* records that may still be looked at */
};

static int record(void *ctx, const struct perfdata_record *r)
{
	struct perfdata_read reads[PERFDATA_READS];
	struct reading *rd = ctx;
	struct raw_sample raw;
	uint64_t cookie;
	size_t n;

	fuzz_read(r->body, r->len);
	if (r->type == PERF_RECORD_SAMPLE && r->attr) {
		memset(&raw, 0, sizeof(raw));
		if (!perfdata_sample(rd->pd, r, &raw, rd->room))
			fuzz_read(raw.in.chain, raw.in.nchain * sizeof(*raw.in.chain));
		perfdata_reads(rd->pd, r, reads);
		if (perfdata_cookie(rd->pd, r, &cookie))
			perfdata_deferred_find(rd->pd, cookie, &n);
	}
	return !--rd->left;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reading rd = { .room = xmalloc(PERFDATA_ROOM) };
	char path[32];
	int fd = fuzz_file(data, size, path);
	uint8_t *copy = fuzz_copy(data, size);
	const uint8_t *map;

	rd.pd = perfdata_open(fd, "fuzz");
	if (rd.pd) {
		/* A mapping ends with a page, and would hide what is read behind the file. */
		map = rd.pd->map;
		rd.pd->map = map ? copy : NULL;
		rd.left = 10000;
		perfdata_each(rd.pd, false, record, &rd);
		if (rd.pd->map) {
			rd.left = 10000;
			perfdata_each(rd.pd, true, record, &rd);
		}
		fuzz_read_text(rd.pd->cmdline);
		rd.pd->map = map;
		perfdata_free(rd.pd);
	}
	close(fd);
	free(copy);
	free(rd.room);
	return 0;
}
