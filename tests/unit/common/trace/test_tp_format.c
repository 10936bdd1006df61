/*
 * Formats of tracepoints. The texts are those of Linux 5.10 and 6.18; values are laid out by hand as
 * Documentation/trace/events.rst and include/trace/stages/ say.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/tp_format.h"
#include "trace/tp_text.h"

static const char text[] =
	"name: made_up\nID: 316\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
	"\n"
	"\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	"\tfield:long prev_state;\toffset:24;\tsize:8;\tsigned:1;\n"
	"\tfield:__data_loc char[] name;\toffset:32;\tsize:4;\tsigned:0;\n"
	"\tfield:__rel_loc u8[] packet;\toffset:36;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned long args[2];\toffset:40;\tsize:16;\tsigned:0;\n"
	"\tfield:const char * filename;\toffset:56;\tsize:8;\tsigned:0;\n"
	"\tfield:s8 small;\toffset:64;\tsize:1;\tsigned:1;\n"
	"\tfield:__u8 addr[4];\toffset:65;\tsize:4;\tsigned:0;\n"
	"\tfield:struct thing whole;\toffset:72;\tsize:8;\tsigned:0;\n"
	"\tfield:char rwbs[TASK_COMM_LEN];\toffset:80;\tsize:8;\tsigned:0;\n"
	"\n"
	"print fmt: \"field:%d\", REC->prev_state\n";

#define RECORD 104
#define NAME_AT 88
#define PACKET_AT 96

static struct tp_format format;
static uint8_t record[RECORD];

static const struct tp_field *field(const char *name)
{
	const struct tp_field *fd = tp_format_find(&format, name, strlen(name));

	assert_non_null(fd);
	return fd;
}

static void put(size_t at, uint64_t v, size_t size)
{
	memcpy(record + at, &v, size);
}

static int setup(void **state)
{
	(void)state;
	assert_int_equal(tp_format_parse(&format, text, sizeof(text) - 1), 0);
	memset(record, 0xee, sizeof(record));
	put(4, (uint32_t)-2, 4);
	memcpy(record + 8, "kworker/0:1\0junk", 16);
	put(24, (uint64_t)-3, 8);
	put(32, 6u << 16 | NAME_AT, 4);
	/* Relative to the end of these 4 bytes. */
	put(36, 5u << 16 | (PACKET_AT - 40), 4);
	put(40, 0x1111, 8);
	put(48, ~0ull, 8);
	put(64, 0x80, 1);
	memcpy(record + NAME_AT, "inner", 6);
	memcpy(record + PACKET_AT, "bytes", 5);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tp_format_fini(&format);
	return 0;
}

static void fields(void **state)
{
	static const struct {
		const char *name, *type;
		enum tp_kind kind;
		uint32_t each;
	} want[] = {
		{ "common_type", "unsigned short", TP_NUMBER, 2 },
		{ "common_pid", "int", TP_NUMBER, 4 },
		{ "prev_comm", "char[16]", TP_TEXT, 1 },
		{ "prev_state", "long", TP_NUMBER, 8 },
		{ "name", "__data_loc char[]", TP_TEXT, 1 },
		{ "packet", "__rel_loc u8[]", TP_BYTES, 1 },
		{ "args", "unsigned long[2]", TP_NUMBERS, 8 },
		{ "filename", "const char *", TP_NUMBER, 8 },
		{ "small", "s8", TP_NUMBER, 1 },
		{ "addr", "__u8[4]", TP_BYTES, 1 },
		{ "whole", "struct thing", TP_BYTES, 1 },
		{ "rwbs", "char[TASK_COMM_LEN]", TP_TEXT, 1 },
	};

	(void)state;
	assert_int_equal(format.n, sizeof(want) / sizeof(want[0]));
	for (size_t i = 0; i < format.n; i++) {
		assert_string_equal(format.v[i].name, want[i].name);
		assert_string_equal(format.v[i].type, want[i].type);
		assert_int_equal(format.v[i].kind, want[i].kind);
		assert_int_equal(format.v[i].each, want[i].each);
		assert_int_equal(format.v[i].common, i < 2);
	}
	assert_true(field("filename")->pointer);
	assert_true(field("packet")->relative && field("packet")->dynamic && !field("name")->relative);
	assert_null(tp_format_find(&format, "prev", 4));
}

static void values(void **state)
{
	const uint8_t *at;
	uint64_t v;
	size_t n;

	(void)state;
	assert_true(tp_field_number(field("common_pid"), record, RECORD, 0, &v));
	assert_int_equal((int64_t)v, -2);
	assert_true(tp_field_number(field("prev_state"), record, RECORD, 0, &v));
	assert_int_equal((int64_t)v, -3);
	assert_true(tp_field_number(field("small"), record, RECORD, 0, &v));
	assert_int_equal((int64_t)v, -128);
	assert_true(tp_field_number(field("args"), record, RECORD, 0, &v));
	assert_int_equal(v, 0x1111);
	assert_true(tp_field_number(field("args"), record, RECORD, 1, &v));
	assert_true(v == ~0ull);
	assert_false(tp_field_number(field("args"), record, RECORD, 2, &v));
	assert_false(tp_field_number(field("name"), record, RECORD, 0, &v));
	assert_true(tp_field_bytes(field("name"), record, RECORD, &at, &n));
	assert_int_equal(n, 6);
	assert_string_equal((const char *)at, "inner");
	assert_true(tp_field_bytes(field("packet"), record, RECORD, &at, &n));
	assert_int_equal(n, 5);
	assert_memory_equal(at, "bytes", 5);
	/* A record that ends too early, or says that a value lies behind its end. */
	assert_false(tp_field_number(field("prev_state"), record, 31, 0, &v));
	assert_false(tp_field_bytes(field("packet"), record, PACKET_AT + 4, &at, &n));
	put(32, 0xffffffff, 4);
	assert_false(tp_field_bytes(field("name"), record, RECORD, &at, &n));
}

static void hidden(void **state)
{
	uint8_t before[RECORD];
	uint64_t v;

	(void)state;
	memcpy(before, record, RECORD);
	tp_format_hide(&format, record, RECORD);
	/*
	 * Text and bytes are gone, except for the names of threads. So is what lies between fields,
	 * and behind such a name and the last field.
	 */
	for (size_t i = 0; i < RECORD; i++) {
		const bool gone = i == 2 || i == 3 || (i >= 8 + 11 && i < 24) || (i >= 65 && i < 72) || i >= 72;

		assert_int_equal(record[i], gone ? 0 : before[i]);
	}
	assert_true(tp_field_number(field("prev_state"), record, RECORD, 0, &v));
}

static void lines(void **state)
{
	struct strbuf sb = STRBUF_INIT;
	struct tp_format again;

	(void)state;
	tp_format_lines(text, sizeof(text) - 1, &sb);
	assert_non_null(strstr(sb.s, "field:unsigned short common_type;"));
	assert_null(strstr(sb.s, "print"));
	assert_null(strstr(sb.s, "format"));
	assert_int_equal(tp_format_parse(&again, sb.s, sb.len), 0);
	assert_int_equal(again.n, format.n);
	for (size_t i = 0; i < again.n; i++)
		assert_string_equal(again.v[i].type, format.v[i].type);
	tp_format_fini(&again);
	strbuf_fini(&sb);
}

static void malformed(void **state)
{
	static const char *const bad[] = {
		"field:", "field:int x", "field:int x;\toffset:0;", "field:int x;\tsize:4;\tsigned:0;",
		"field:x;\toffset:0;\tsize:4;\tsigned:0;", "field:int x];\toffset:0;\tsize:4;", "field:int [4];\toffset:0;\tsize:4;",
		"field:int x;\toffset:-1;\tsize:4;", "field:int x;\toffset:65535;\tsize:4;", "field:int x;\toffset:0;\tsize:65536;",
		"field:;\toffset:0;\tsize:4;",
	};
	struct tp_format f;
	struct strbuf many = STRBUF_INIT;

	(void)state;
	for (size_t i = 1; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (tp_format_parse(&f, bad[i], strlen(bad[i])) != -EINVAL)
			fail_msg("'%s' is accepted", bad[i]);
		tp_format_fini(&f);
	}
	/* Without any field, as in what is no format at all, there is nothing wrong either. */
	assert_int_equal(tp_format_parse(&f, "name: x\n\n", 9), 0);
	assert_int_equal(f.n, 0);
	tp_format_fini(&f);
	/* Kernels before 3.1 did not say "signed". */
	assert_int_equal(tp_format_parse(&f, "field:int x;\toffset:0;\tsize:4;", 30), 0);
	tp_format_fini(&f);
	for (unsigned int i = 0; i <= TP_FIELDS_MAX; i++)
		strbuf_addf(&many, "field:int x%u;\toffset:0;\tsize:4;\tsigned:1;\n", i);
	assert_int_equal(tp_format_parse(&f, many.s, many.len), -EINVAL);
	tp_format_fini(&f);
	strbuf_fini(&many);
}

/* Values as nsprof-script(1), FIELDS, says. */
static void as_text(void **state)
{
	struct strbuf sb = STRBUF_INIT;

	(void)state;
	tp_record_text(&format, record, sizeof(record), &sb);
	assert_string_equal(sb.s, "prev_comm=kworker/0:1 prev_state=-3 name=inner packet=6279746573 args={4369,18446744073709551615} "
				  "filename=0xeeeeeeeeeeeeeeee small=-128 addr=eeeeeeee whole=eeeeeeeeeeeeeeee "
				  "rwbs=\\x{ee}\\x{ee}\\x{ee}\\x{ee}\\x{ee}\\x{ee}\\x{ee}\\x{ee}");
	strbuf_fini(&sb);
	/* Fields that lie beyond the record are empty. */
	tp_record_text(&format, record, 32, &sb);
	assert_non_null(strstr(sb.s, "prev_state=-3 name= packet= args= filename= "));
	strbuf_fini(&sb);
}

/* Numbers that are addresses by their names have base 16. */
static void addresses(void **state)
{
	static const struct { const char *decl, *size, *sign, *shown; } cases[] = {
		{ "unsigned long ip", "8", "0", "0xffffffff81000000" }, { "unsigned long caller_ip", "8", "0", "0xffffffff81000000" },
		{ "unsigned long call_site", "8", "0", "0xffffffff81000000" }, { "u64 fault_address", "8", "0", "0xffffffff81000000" },
		{ "unsigned long addr", "8", "0", "0xffffffff81000000" }, { "unsigned long zip", "8", "0", "18446744071578845184" },
		{ "unsigned long addresses", "8", "0", "18446744071578845184" }, { "unsigned int ip", "4", "0", "2164260864" },
		{ "long addr", "8", "1", "-2130706432" },
	};
	const uint64_t value = 0xffffffff81000000;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct strbuf line = STRBUF_INIT, shown = STRBUF_INIT;
		struct tp_format f;

		strbuf_addf(&line, "field:%s;\toffset:0;\tsize:%s;\tsigned:%s;\n", cases[i].decl, cases[i].size, cases[i].sign);
		assert_int_equal(tp_format_parse(&f, line.s, line.len), 0);
		tp_value_text(&f.v[0], &value, sizeof(value), &shown);
		assert_string_equal(shown.s, cases[i].shown);
		tp_format_fini(&f);
		strbuf_fini(&line);
		strbuf_fini(&shown);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(fields, setup, teardown),
		cmocka_unit_test_setup_teardown(as_text, setup, teardown),
		cmocka_unit_test_setup_teardown(values, setup, teardown),
		cmocka_unit_test_setup_teardown(hidden, setup, teardown),
		cmocka_unit_test_setup_teardown(lines, setup, teardown),
		cmocka_unit_test(malformed),
		cmocka_unit_test(addresses),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
