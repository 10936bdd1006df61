/* Tracepoints of a perf.data (perf_tracing.h). */
#include "output/perf_tracing.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/util.h"
#include "trace/tp_format.h"

#define VERSION "0.5"	/* without names of threads, which the file has in records of its own */
#define PAGE 4096u
#define LITTLE_ENDIAN_BYTES 0

/* The text is C for perf, and the recording may be anybody's. */
static bool is_identifier(const char *name)
{
	return *name && !name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")];
}

size_t perf_tracing_record(const char *fields)
{
	struct tp_format f;
	bool good = !tp_format_parse(&f, fields, strlen(fields));
	size_t need = 0;

	for (size_t i = 0; i < f.n && good; i++) {
		good = is_identifier(f.v[i].name);
		need = good ? MAX(need, (size_t)f.v[i].offset + f.v[i].size) : 0;
	}
	tp_format_fini(&f);
	return need;
}

/* The conversion of a number: perf does not extend signs, but takes it at its size. */
static const char *conversion(const struct tp_field *fd)
{
	if (fd->pointer)
		return "0x%llx";
	if (!fd->is_signed)
		return "%llu";
	return fd->each == 1 ? "%hhd" : fd->each == 2 ? "%hd" : fd->each == 4 ? "%d" : "%lld";
}

static void add_argument(const struct tp_field *fd, struct strbuf *out)
{
	const char *rel = fd->relative ? "rel_" : "";

	switch (fd->kind) {
	case TP_NUMBER:
		strbuf_addf(out, ", REC->%s", fd->name);
		break;
	case TP_TEXT:
		if (fd->dynamic)
			strbuf_addf(out, ", __get_%sstr(%s)", rel, fd->name);
		else
			strbuf_addf(out, ", REC->%s", fd->name);
		break;
	case TP_NUMBERS:
	case TP_BYTES:
		if (fd->dynamic)
			strbuf_addf(out, ", __print_array(__get_%sdynamic_array(%s), __get_%sdynamic_array_len(%s) / %u, %u)", rel, fd->name,
				    rel, fd->name, fd->each, fd->each);
		else
			strbuf_addf(out, ", __print_array(REC->%s, %u, %u)", fd->name, fd->size / fd->each, fd->each);
		break;
	}
}

static void add_print_fmt(const struct tp_format *f, struct strbuf *out)
{
	const char *sep = "";

	strbuf_adds(out, "print fmt: \"");
	for (size_t i = 0; i < f->n; i++) {
		if (f->v[i].common)
			continue;
		strbuf_addf(out, "%s%s=%s", sep, f->v[i].name, f->v[i].kind == TP_NUMBER ? conversion(&f->v[i]) : "%s");
		sep = " ";
	}
	strbuf_addc(out, '"');
	for (size_t i = 0; i < f->n; i++)
		if (!f->v[i].common)
			add_argument(&f->v[i], out);
	strbuf_addc(out, '\n');
}

static void add_field(const struct tp_field *fd, const char *line, size_t len, struct strbuf *out, bool *common)
{
	/* An empty line ends those that all tracepoints have. */
	if (*common && !fd->common)
		strbuf_addc(out, '\n');
	*common = fd->common;
	strbuf_addc(out, '\t');
	strbuf_add(out, line, len);
	strbuf_addc(out, '\n');
}

/* The file events/GROUP/NAME/format. */
static void add_format(const struct perf_tracepoint *tp, const char *name, size_t name_len, struct strbuf *out)
{
	struct tp_format f;
	const char *line = tp->fields;
	bool common = true;

	tp_format_parse(&f, tp->fields, strlen(tp->fields));
	strbuf_addf(out, "name: %.*s\nID: %" PRIu64 "\nformat:\n", (int)name_len, name, tp->id);
	for (size_t i = 0; i < f.n && *line;) {
		const size_t len = strcspn(line, "\n");

		if (!strncmp(line, "field:", strlen("field:")))
			add_field(&f.v[i++], line, len, out, &common);
		line += len + (line[len] == '\n');
	}
	strbuf_adds(out, common ? "\n\n" : "\n");
	add_print_fmt(&f, out);
	tp_format_fini(&f);
}

static void add_text(struct strbuf *out, const char *text, size_t len)
{
	strbuf_add(out, text, len);
	strbuf_addc(out, '\0');
}

static void add_tracepoint(const struct perf_tracepoint *tp, struct strbuf *out)
{
	const size_t group = strcspn(tp->name, ":");
	const char *name = tp->name + group + (tp->name[group] == ':');
	struct strbuf format = STRBUF_INIT;

	add_format(tp, name, strcspn(name, ":"), &format);
	add_text(out, tp->name, group);
	strbuf_add_u32(out, 1);
	strbuf_add_u64(out, format.len);
	strbuf_add(out, format.s, format.len);
	strbuf_fini(&format);
}

void perf_tracing_data(const struct perf_tracepoint *tps, size_t n, struct strbuf *out)
{
	static const uint8_t magic[] = { 23, 8, 68, 't', 'r', 'a', 'c', 'i', 'n', 'g' };
	/* The file has no buffers of ftrace, but perf wants some text about them. */
	static const char page[] = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
				   "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
				   "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
				   "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n";
	static const char *const headers[][2] = { { "header_page", page }, { "header_event", "# none\n" } };

	strbuf_add(out, magic, sizeof(magic));
	add_text(out, VERSION, strlen(VERSION));
	strbuf_addc(out, LITTLE_ENDIAN_BYTES);
	strbuf_addc(out, sizeof(uint64_t));	/* a long of the kernel */
	strbuf_add_u32(out, PAGE);
	for (size_t i = 0; i < ARRAY_SIZE(headers); i++) {
		add_text(out, headers[i][0], strlen(headers[i][0]));
		strbuf_add_u64(out, strlen(headers[i][1]));
		strbuf_adds(out, headers[i][1]);
	}
	strbuf_add_u32(out, 0);			/* ftrace's own events */
	strbuf_add_u32(out, (uint32_t)n);
	for (size_t i = 0; i < n; i++)
		add_tracepoint(&tps[i], out);
	strbuf_add_u32(out, 0);			/* /proc/kallsyms */
	strbuf_add_u32(out, 0);			/* formats of trace_printk() */
}
