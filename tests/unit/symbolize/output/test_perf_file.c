/*
 * perf.data at its limits: overlong texts and stacks, samples without a stack, a full device.
 * Expectations come from the format.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "output/perf_file.h"

static const struct perf_file_event event = { .name = "cpu-clock", .type = PERF_TYPE_SOFTWARE, .period = 99, .freq = true };
static const struct perf_file_id id = { .pid = 7, .tid = 8, .cpu = 1, .time = 1000 };

/* Reads the whole file; sets the offset of its first record and the end of the last. */
static uint8_t *finish(struct perf_file *pf, FILE *f, uint64_t *at, uint64_t *end)
{
	uint64_t data[2];
	uint8_t *all;
	long size;

	assert_int_equal(perf_file_finish(pf), 0);
	perf_file_free(pf);
	assert_int_equal(fseek(f, 0, SEEK_END), 0);
	size = ftell(f);
	all = malloc((size_t)size);
	rewind(f);
	assert_int_equal(fread(all, 1, (size_t)size, f), size);
	fclose(f);
	memcpy(data, all + 40, sizeof(data));
	*at = data[0];
	*end = data[0] + data[1];
	assert_true(*end <= (uint64_t)size);
	return all;
}

static struct perf_event_header header_at(const uint8_t *all, uint64_t at)
{
	struct perf_event_header h;

	memcpy(&h, all + at, sizeof(h));
	return h;
}

static void test_longest_stack(void **state)
{
	FILE *f = tmpfile();
	struct perf_file *pf = perf_file_new(f, &event, 1, false);
	uint64_t *ips = calloc(PERF_FILE_FRAMES, sizeof(*ips)), at, end, n, first[2];
	struct perf_event_header h;
	uint8_t *all;

	(void)state;
	for (size_t i = 0; i < PERF_FILE_FRAMES; i++)
		ips[i] = 0x1000 + i;
	/* Both user and kernel part, so both markers. */
	perf_file_sample(pf, &(struct perf_file_sample){ .id = id, .period = 5, .kernel = ips, .nkernel = 1, .user = ips + 1,
			.nuser = PERF_FILE_FRAMES - 1 });
	perf_file_sample(pf, &(struct perf_file_sample){ .id = id, .period = 5 });
	all = finish(pf, f, &at, &end);
	h = header_at(all, at);
	assert_int_equal(h.type, PERF_RECORD_SAMPLE);
	memcpy(&n, all + at + 48, sizeof(n));
	assert_int_equal(n, PERF_FILE_FRAMES + 2);
	assert_int_equal(h.size, 56 + 8 * n);
	memcpy(first, all + at + 56, sizeof(first));
	assert_true(first[0] == (uint64_t)PERF_CONTEXT_KERNEL && first[1] == 0x1000);
	at += h.size;
	h = header_at(all, at);
	memcpy(&n, all + at + 48, sizeof(n));
	assert_int_equal(n, 0);
	assert_int_equal(at + h.size, end);
	free(all);
	free(ips);
}

static uint64_t u64_at(const uint8_t *all, uint64_t at)
{
	uint64_t v;

	memcpy(&v, all + at, sizeof(v));
	return v;
}

/*
 * With several events, a sample begins with the id of its event, other records end with one, and each
 * attr says where its id is (struct perf_file_attr in tools/perf/util/header.c).
 */
static void test_several_events(void **state)
{
	static const struct perf_file_event evs[] = {
		{ .name = "cpu-clock", .type = PERF_TYPE_SOFTWARE, .period = 99, .freq = true },
		{ .name = "cycles:u", .type = PERF_TYPE_HARDWARE, .period = 1000, .exclude_kernel = true },
		{ .name = "sched:sched_switch", .type = PERF_TYPE_RAW, .config1 = 7, .period = 1 },
	};
	FILE *f = tmpfile();
	struct perf_file *pf = perf_file_new(f, evs, 3, false);
	const uint64_t ip = 0x1234;
	uint64_t at, end, ids[3], attrs, size;
	struct perf_event_attr a;
	uint8_t *all;

	(void)state;
	perf_file_comm(pf, &id, false, "1234567");
	for (uint32_t i = 3; i--;)
		perf_file_sample(pf, &(struct perf_file_sample){ .id = id, .event = i, .period = 5, .user = &ip, .nuser = 1 });
	all = finish(pf, f, &at, &end);
	size = u64_at(all, 16);
	attrs = u64_at(all, 24);
	assert_int_equal(u64_at(all, 32), 3 * size);
	for (uint32_t i = 0; i < 3; i++) {
		const uint64_t where = u64_at(all, attrs + i * size + size - 16);

		memset(&a, 0, sizeof(a));
		memcpy(&a, all + attrs + i * size, size - 16);
		assert_int_equal(u64_at(all, attrs + i * size + size - 8), sizeof(uint64_t));
		ids[i] = u64_at(all, where);
		assert_int_equal(a.type, evs[i].type);
		assert_int_equal(a.config1, evs[i].config1);
		assert_int_equal(a.exclude_kernel, evs[i].exclude_kernel);
		assert_int_equal(a.mmap, i == 0);
		assert_true(a.sample_type & PERF_SAMPLE_IDENTIFIER);
		for (uint32_t k = 0; k < i; k++)
			assert_int_not_equal(ids[i], ids[k]);
	}
	assert_int_equal(header_at(all, at).size, 8 + 8 + 8 + 32);
	assert_int_equal(u64_at(all, at + 48), ids[0]);
	at += 56;
	for (uint32_t i = 3; i--;) {
		assert_int_equal(u64_at(all, at + 8), ids[i]);
		assert_int_equal(u64_at(all, at + 16), ip);
		at += header_at(all, at).size;
	}
	assert_int_equal(at, end);
	free(all);
}

static void test_long_texts(void **state)
{
	FILE *f = tmpfile();
	struct perf_file *pf = perf_file_new(f, &event, 1, false);
	const struct ev_mmap m = { .pid = 7, .tid = 7, .start = 0x1000, .len = 0x1000, .prot = 4 };
	char *text = malloc(70001);
	uint64_t at, end;
	uint8_t *all;

	(void)state;
	memset(text, 'x', 70000);
	text[70000] = '\0';
	perf_file_comm(pf, &id, false, text);
	perf_file_mmap(pf, &id, &m, NULL, text);
	perf_file_comm(pf, &id, false, "1234567");	/* 8 bytes with its NUL: no padding */
	perf_file_text(pf, PERF_FILE_CMDLINE, text);
	all = finish(pf, f, &at, &end);
	assert_int_equal(header_at(all, at).size, 8 + 8 + PERF_FILE_TEXT + 8 + 24);
	at += header_at(all, at).size;
	assert_int_equal(header_at(all, at).size, 8 + 64 + PERF_FILE_TEXT + 8 + 24);
	at += header_at(all, at).size;
	assert_int_equal(header_at(all, at).size, 8 + 8 + 8 + 24);
	assert_string_equal((char *)all + at + 16, "1234567");
	assert_int_equal(at + 48, end);
	free(all);
	free(text);
}

static void test_full_device(void **state)
{
	FILE *f = fopen("/dev/full", "w");
	struct perf_file *pf;

	(void)state;
	if (!f)
		skip();
	pf = perf_file_new(f, &event, 1, false);
	for (int i = 0; i < 10000; i++)
		perf_file_comm(pf, &id, false, "worker");
	assert_int_equal(perf_file_finish(pf), -ENOSPC);
	perf_file_free(pf);
	fclose(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_longest_stack),
		cmocka_unit_test(test_several_events),
		cmocka_unit_test(test_long_texts),
		cmocka_unit_test(test_full_device),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
