/*
 * leaks SECRETS RECORDING [PID...]: looks for secrets in a recording. SECRETS has words of 8 bytes, as
 * tests/targets/secrets writes them. They are searched for at any alignment, in all that the
 * recording has of samples (words of stacks, registers, callchains), and in the bytes of all blocks,
 * as they are stored and decompressed. Prints
 *
 *	planted N found N samples N stacks N withheld N of_pids N withheld N
 *
 * where samples have a user part, stacks have words, and withheld are those whose stack the recorder
 * did not keep, the last two those of the processes PID, and the first few secrets that it has found.
 * Status 1 if there are any.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/hash.h"
#include "base/util.h"
#include "bytes/codec.h"
#include "recording.h"
#include "recording/rec_reader.h"

#define SHOWN 5
#define CONTEXT_USER ((uint64_t)-512)	/* include/uapi/linux/perf_event.h */

struct search {
	struct u64map secrets;		/* to 1 once it is found */
	uint8_t filter[1 << 16];	/* by the low 16 bits: is there such a secret? */
	struct u64map seen;		/* words that were looked at, with the next one */
	uint64_t found, samples, stacks, withheld, of_pids, withheld_of_pids;
	struct u64map pids;
};

static void look(struct search *s, uint64_t v)
{
	uint64_t *at;

	if (!s->filter[v & 0xffff])
		return;
	at = u64map_get(&s->secrets, v);
	if (!at || *at)
		return;
	*at = 1;
	if (s->found++ < SHOWN)
		printf("# %016" PRIx64 "\n", v);
}

static void look_bytes(struct search *s, const void *data, size_t len)
{
	const uint8_t *p = data;
	uint64_t v;

	for (size_t i = 0; i + sizeof(v) <= len; i++) {
		memcpy(&v, p + i, sizeof(v));
		look(s, v);
	}
}

/* At all alignments that begin in @word. */
static void look_words(struct search *s, uint64_t word, uint64_t next)
{
	const uint64_t both[2] = { word, next };
	bool is_new;

	u64map_put(&s->seen, hash_combine(word, next), &is_new);
	if (is_new)
		look_bytes(s, both, sizeof(both) - 1);
}

static int on_sample(void *ctx, const struct ev_sample *ev)
{
	struct search *s = ctx;
	uint64_t word = 0, next;
	bool user = ev->has_regs, withheld = false;

	for (uint32_t i = 0; i < ev->nchain; i++) {
		look(s, ev->chain[i]);
		user |= ev->chain[i] == CONTEXT_USER;
		withheld |= ev->chain[i] == CHAIN_WITHHELD;
	}
	if (ev->has_regs)
		look_bytes(s, ev->regs, sizeof(ev->regs));
	for (uint64_t at = ev->stack.lo; at < ev->stack.hi; at += 8) {
		if (stack_view_read(&ev->stack, at, &next))
			return -1;
		if (word || next)
			look_words(s, word, next);
		word = next;
	}
	look_words(s, word, 0);
	s->samples += user || withheld;
	s->stacks += ev->stack.hi > ev->stack.lo;
	s->withheld += withheld;
	if (u64map_get(&s->pids, ev->pid)) {
		s->of_pids += user || withheld;
		s->withheld_of_pids += withheld;
	}
	return 0;
}

/* ---- blocks ---- */

static void *slurp(const char *path, size_t *len)
{
	FILE *f = fopen(path, "rb");
	char *data = NULL;
	size_t cap = 0, n;

	*len = 0;
	while (f) {
		if (*len == cap)
			data = realloc(data, cap = cap ? 2 * cap : 1 << 20);
		n = fread(data + *len, 1, cap - *len, f);
		if (!n)
			break;
		*len += n;
	}
	if (f)
		fclose(f);
	else
		perror(path);
	return data;
}

static void look_frame(struct search *s, const void *frame, size_t len, size_t raw)
{
	struct codec_dec *d = codec_dec_new();
	void *out = malloc(raw + 1);

	if (!codec_decompress(d, out, raw, frame, len))
		look_bytes(s, out, raw);
	else
		puts("# a block that does not decompress");
	codec_dec_free(d);
	free(out);
}

static void look_block(struct search *s, const struct rec_block_header *h, const uint8_t *payload)
{
	struct cursor c;
	uint64_t order, events, here;
	const void *frame;
	uint8_t method;

	look_bytes(s, payload, h->stored_len);
	if (h->flags & REC_F_ZSTD)
		look_frame(s, payload, h->stored_len, h->raw_len);
	if (h->type != REC_STREAM)
		return;
	cursor_init(&c, payload, h->stored_len);
	method = cursor_u8(&c);
	order = cursor_varint(&c);
	events = cursor_varint(&c);
	here = cursor_varint(&c);
	cursor_varint(&c);
	frame = cursor_bytes(&c, here);
	if (frame && method & REC_STREAM_ZSTD)
		look_frame(s, frame, here, order + events);
}

static void look_file(struct search *s, const uint8_t *raw, size_t len)
{
	struct rec_block_header h;

	for (size_t at = REC_HEADER_MIN; at + sizeof(h) <= len; at += sizeof(h) + h.stored_len) {
		memcpy(&h, raw + at, sizeof(h));
		if (h.magic != REC_BLOCK_MAGIC || h.stored_len > len - at - sizeof(h))
			break;
		look_block(s, &h, raw + at + sizeof(h));
	}
}

int main(int argc, char **argv)
{
	static const struct event_ops ops = { .sample = on_sample };
	static struct search s;
	struct rec_reader *r;
	size_t nsecrets, len;
	uint64_t *secrets;
	void *raw;

	if (argc < 3)
		return 2;
	secrets = slurp(argv[1], &nsecrets);
	raw = slurp(argv[2], &len);
	r = rec_reader_open(argv[2]);
	if (!secrets || !raw || !r)
		return 2;
	for (int i = 3; i < argc; i++)
		u64map_put(&s.pids, strtoul(argv[i], NULL, 10), NULL);
	nsecrets /= sizeof(*secrets);
	for (size_t i = 0; i < nsecrets; i++) {
		u64map_put(&s.secrets, secrets[i], NULL);
		s.filter[secrets[i] & 0xffff] = 1;
	}
	if (rec_reader_events(r, &ops, &s) < 0)
		return 2;
	look_file(&s, raw, len);
	printf("planted %zu found %" PRIu64 " samples %" PRIu64 " stacks %" PRIu64 " withheld %" PRIu64 " of_pids %" PRIu64 " withheld %" PRIu64 "\n",
	       s.secrets.n, s.found, s.samples, s.stacks, s.withheld, s.of_pids, s.withheld_of_pids);
	rec_reader_close(r);
	u64map_fini(&s.secrets);
	u64map_fini(&s.seen);
	u64map_fini(&s.pids);
	free(secrets);
	free(raw);
	return s.found != 0;
}
