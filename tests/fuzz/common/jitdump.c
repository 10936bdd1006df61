/*
 * Jitdumps: what the recorder takes from one, two of them joined, and the lines of a function.
 * After a byte of choices comes the dump; with bit 0 it is split in two.
 */
#include "../fuzz.h"
#include "base/strbuf.h"
#include "jitdump.h"

static void slice(const struct feed *dump, struct strbuf *out, bool some)
{
	static const uint64_t addrs[] = { 0x1000, 0x7f0000001010, 0x7f0000002000 };
	char path[32];
	int fd = fuzz_file(dump->p, dump->left, path);

	jitdump_slice(fd, some ? addrs : NULL, some ? ARRAY_SIZE(addrs) : 0, 0, out);
	close(fd);
}

static void lines(const struct feed *f, bool put)
{
	struct jitdump_line *v, *at;
	struct strbuf out = STRBUF_INIT;
	char name[] = "LazyCompile:~main /app/main.js:1";
	uint8_t *body = fuzz_copy(f->p, f->left);
	size_t n;

	if (!jitdump_lines_read(body, f->left, 4096, put ? NULL : name, &v, &n)) {
		at = jitdump_lines_at(v, n, 64);
		if (at)
			fuzz_read_text(at->file);
		jitdump_lines_put(&out, 1, 0x1000, v, n);
		free(v);
	}
	strbuf_fini(&out);
	free(body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strbuf out = STRBUF_INIT, other = STRBUF_INIT;
	struct feed f = { data, size }, second;
	uint8_t how = feed_u8(&f);

	if (how & 4) {
		lines(&f, how & 2);
		return 0;
	}
	second = f;
	if (how & 1)
		feed_part(&second, f.left / 2);
	slice(&f, &out, how & 2);
	slice(&second, &other, false);
	jitdump_join(&out, &other);
	fuzz_read(out.s, out.len);
	strbuf_fini(&out);
	strbuf_fini(&other);
	return 0;
}
