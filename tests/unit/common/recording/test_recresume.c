/*
 * Where samples resume after damage: at the next KEY block and nowhere else, whether or not the
 * next block is decoded ahead.
 */
#include "base/log.h"
#include "recdamage_fixture.h"

#define BLOCKS 200	/* STREAM blocks: KEY blocks are 0, 64, 128 and 192 */
#define PER_BLOCK 8	/* samples */
#define SAMPLES (BLOCKS * PER_BLOCK)
#define KEY_STEP 64

struct resumption {
	struct image im;
	struct block *blk;
	size_t nblk;
	struct got *got;
	struct rec_reader *r;
	int fd;
};

static void begin(struct resumption *t)
{
	*t = (struct resumption){ .im = make(SAMPLES, PER_BLOCK, 6) };
	t->blk = calloc(1024, sizeof(*t->blk));
	t->nblk = blocks_of(&t->im, t->blk, 1024);
	t->got = calloc(1, sizeof(*t->got));
	t->got->gen = calloc(1, sizeof(*t->got->gen));
	gen_init(t->got->gen, 6, 4, 300);
}

/* The number of the @victim-th STREAM block. */
static const struct block *stream_block(const struct resumption *t, unsigned int victim)
{
	const struct block *found = NULL;
	unsigned int stream = 0;

	for (size_t i = 0; i < t->nblk; i++) {
		if (t->blk[i].h.type != REC_STREAM)
			continue;
		assert_int_equal(t->blk[i].h.samples, PER_BLOCK);
		assert_int_equal(!!(t->blk[i].h.flags & REC_F_KEY), stream % KEY_STEP == 0);
		if (stream++ == victim)
			found = &t->blk[i];
	}
	assert_int_equal(stream, BLOCKS);
	return found;
}

/* Reads the first @len bytes, with and without the thread that decodes ahead. */
static const struct rec_damage *read_damaged(struct resumption *t, size_t len)
{
	char path[32];

	t->fd = file_of(&t->im, len, path);
	t->r = read_all(path, t->got);
	assert_non_null(t->r);
	for (unsigned int alone = 0; alone < 3; alone++)
		same_ahead(path, t->r, t->got, alone);
	assert_false(t->got->wrong);
	return rec_reader_damage(t->r);
}

static void end(struct resumption *t)
{
	rec_reader_close(t->r);
	close(t->fd);
	gen_fini(t->got->gen);
	free(t->got->gen);
	free(t->got);
	free(t->blk);
	free(t->im.b);
}

/* The KEY block after @victim, or the end. */
static unsigned int next_key(unsigned int victim)
{
	return MIN((victim / KEY_STEP + 1) * KEY_STEP, BLOCKS);
}

/*
 * Damages block @victim; @header: its length, otherwise its payload; @index: the END block and its
 * index stay.
 */
static void resume(unsigned int victim, bool header, bool index)
{
	const struct rec_damage *d;
	const struct block *at;
	unsigned int key = next_key(victim);
	struct resumption t;
	size_t len;

	begin(&t);
	len = t.im.len;
	at = stream_block(&t, victim);
	if (header)
		t.im.b[at->off + 9] ^= 0x15;	/* second byte of stored_len */
	else
		t.im.b[at->end - 3] ^= 0x40;
	if (!index) {
		assert_int_equal(t.blk[t.nblk - 1].h.type, REC_END);
		len = t.blk[t.nblk - 1].off;
	}
	d = read_damaged(&t, len);
	/* Samples resume at the next KEY block, side-band at the next block. */
	for (unsigned int i = 0; i < SAMPLES; i++) {
		unsigned int b = i / PER_BLOCK;

		assert_int_equal(t.got->sample[i], b < victim || b >= key);
		assert_int_equal(t.got->comm[i], b != victim);
	}
	assert_int_equal(d->cut, !index);
	assert_int_equal(d->bad_blocks, 1);
	assert_int_equal(d->first_bad, at->off);
	/* Without the index, nobody knows what a block with a damaged header held. */
	assert_int_equal(d->lost_samples, PER_BLOCK * (key - victim - (header && !index)));
	end(&t);
}

static void test_resume_at_key(void **state)
{
	static const unsigned int victims[] = { 0, 1, 70, 127, 128, 199 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(victims); i++)
		for (int how = 0; how < 4; how++)
			resume(victims[i], how & 1, how & 2);
}

/*
 * Damage that shows only after all samples of block @victim were delivered, when the next ones may
 * be decoded already: the block declares one sample too many. The samples up to the next KEY block
 * are lost.
 */
static void resume_counted(unsigned int victim)
{
	unsigned int key = next_key(victim);
	const struct rec_damage *d;
	const struct block *at;
	struct resumption t;

	begin(&t);
	at = stream_block(&t, victim);
	t.im.b[at->off + offsetof(struct rec_block_header, samples)]++;
	fix_crc(&t.im, at);
	d = read_damaged(&t, t.im.len);
	for (unsigned int i = 0; i < SAMPLES; i++) {
		assert_int_equal(t.got->sample[i], i / PER_BLOCK <= victim || i / PER_BLOCK >= key);
		assert_int_equal(t.got->comm[i], 1);
	}
	assert_int_equal(d->bad_blocks, 1);
	assert_int_equal(d->lost_samples, PER_BLOCK * (key - victim - 1));
	end(&t);
}

static void test_resume_behind_samples(void **state)
{
	static const unsigned int victims[] = { 0, 61, 62, 63, 130 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(victims); i++)
		resume_counted(victims[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_resume_at_key),
		cmocka_unit_test(test_resume_behind_samples),
	};

	log_set_verbosity(-1);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
