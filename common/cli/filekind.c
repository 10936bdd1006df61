/* File formats by their first bytes. Sources are named where they are not obvious. */
#include "cli/filekind.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/util.h"
#include "bytes/codec_zlib.h"
#include "profile/profile.h"
#include "recording.h"

#define DATA_OF "give the recording or perf.data it was made from"
#define SCRIPT_TEXT "text of perf script: fold it with stackcollapse-perf.pl, or " DATA_OF

struct kind {
	const char *magic;
	size_t len, at;		/* bytes of magic, and their offset in the file */
	const char *text;
};

#define BEGINS(magic, text) { magic, sizeof(magic) - 1, 0, text }

static const struct kind kinds[] = {
	BEGINS("\xfd" "7zXZ\0", "compressed by xz: decompress it first (unxz -k)"),
	BEGINS("\x28\xb5\x2f\xfd", "compressed by zstd: decompress it first (unzstd)"),
	BEGINS("\x04\x22\x4d\x18", "compressed by lz4: decompress it first (unlz4)"),
	BEGINS("BZh", "compressed by bzip2: decompress it first (bunzip2 -k)"),
	BEGINS("PK\3\4", "a zip archive: unpack it first (unzip)"),
	{ "ustar", 5, 257, "a tar archive: unpack it first (tar xf)" },
	BEGINS("PERFFILE", "perf.data in the format used before Linux 2.6.38, which nsprof does not read"),
	BEGINS("\x17\x08\x44tracing", "a trace of trace-cmd, which has no stacks to read here"),
	BEGINS("JITD", "a jitdump, which has no samples: give the recording made at the same time"),
	BEGINS("DTiJ", "a jitdump, which has no samples: give the recording made at the same time"),
	BEGINS("FLR\0", "a recording of the Java Flight Recorder: 'jfr print' shows it"),
	BEGINS("# callgrind format", "a profile of callgrind: callgrind_annotate shows it"),
	BEGINS("\x7f" "ELF", "a program or library, not a profile"),
	BEGINS("%PDF", "a PDF"),
	BEGINS(" Percent |\tSource code", "text of perf annotate: " DATA_OF),
	BEGINS(" Percent  Samples | ", "text of nsprof annotate: " DATA_OF),
	BEGINS("children,self,", "a table of nsprof report: " DATA_OF),
	BEGINS("function,self_before,", "a table of nsprof diff: give the two recordings it was made from"),
	BEGINS("\x89PNG", "a picture: " DATA_OF),
};

/* What a gzip file contains. */
static const char *gzip_text(const void *head, size_t n)
{
	uint8_t in[16];
	size_t got = zlib_gunzip_head(head, n, in, sizeof(in));

	if (got >= 8 && (!memcmp(in, "PERFILE2", 8) || !memcmp(in, "2ELIFREP", 8)))
		return "gzip-compressed perf.data: decompress it first (gunzip -k)";
	if (got >= REC_MAGIC_LEN && !memcmp(in, REC_MAGIC, REC_MAGIC_LEN))
		return "a gzip-compressed recording: decompress it first (gunzip -k)";
	/* profile.proto: sample_type comes first, a ValueType message that begins with its type. */
	if (got >= 3 && in[0] == 0x0a && in[2] == 0x08)
		return "a pprof profile: 'go tool pprof' shows it; here, " DATA_OF;
	return "compressed by gzip: decompress it first (gunzip -k)";
}

static bool begins(const char *s, const char *end, const char *with)
{
	const size_t len = strlen(with);

	return (size_t)(end - s) >= len && !strncasecmp(s, with, len);
}

/* "12.345678:", the time in a line of perf script, with digits on both sides of the point. */
static bool has_script_time(const char *s, const char *end)
{
	for (const char *p = s; p + 7 < end; p++) {
		const char *q = p + 1;

		if (*p != '.' || p == s || !isdigit((unsigned char)p[-1]))
			continue;
		while (q < end && isdigit((unsigned char)*q))
			q++;
		if (q - p > 6 && q < end && *q == ':')
			return true;
	}
	return false;
}

/*
 * "                   1494 app_leaf (/bin/app)", a frame of perf script: indented, the address in
 * hexadecimal, then a name or nothing.
 */
static bool is_script_frame(const char *s, const char *end)
{
	const char *p = s, *digits;

	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	digits = p;
	while (p < end && isxdigit((unsigned char)*p))
		p++;
	return digits > s && p - digits >= 3 && (p == end || *p == ' ' || *p == '\n');
}

/* "0x108@perf.data [0x50]: event: 69", a record as printed by perf -D. */
static bool is_dump(const char *s, const char *end)
{
	const char *eol = memchr(s, '\n', (size_t)(end - s));

	return begins(s, end, "0x") && eol && memmem(s, (size_t)(eol - s), "]: event: ", 10);
}

/*
 * The header of perf script, perf report or nsprof report, or a sample: its line, followed by an
 * indented frame or nothing.
 */
static const char *perf_text(const char *s, const char *end)
{
	const char *eol;

	if (begins(s, end, "# To display the perf.data header info"))
		return "text of perf report: " DATA_OF;
	if (begins(s, end, "# ========"))
		return SCRIPT_TEXT;
	eol = memchr(s, '\n', (size_t)(end - s));
	if (begins(s, end, "# ") && eol && memmem(s, (size_t)(eol - s), " different stack", 16))
		return "text of nsprof report: " DATA_OF;
	for (; s < end && (*s == '#' || *s == '\n'); s = eol + 1) {
		eol = memchr(s, '\n', (size_t)(end - s));
		if (!eol)
			return NULL;
	}
	if (is_dump(s, end))
		return "a dump by perf -D: " DATA_OF;
	eol = memchr(s, '\n', (size_t)(end - s));
	if (has_script_time(s, eol ? eol : end) || (eol && is_script_frame(eol + 1, end)))
		return SCRIPT_TEXT;
	return NULL;
}

/* "main;parse;read 12" */
static bool is_folded(const char *s, const char *end)
{
	const char *eol = memchr(s, '\n', (size_t)(end - s)), *p;

	if (eol && eol > s && eol[-1] == '\r')
		eol--;
	p = eol;
	while (p && p > s && isdigit((unsigned char)p[-1]))
		p--;
	return p && p < eol && p > s && p[-1] == ' ' && memchr(s, ';', (size_t)(p - s));
}

static const char *text_text(const char *s, const char *end)
{
	static const char magic[] = "PERFILE2";
	const char *first = s;

	while (first < end && isspace((unsigned char)*first))
		first++;
	if (begins(first, end, "<!doctype html") || begins(first, end, "<html"))
		return "a web page: " DATA_OF;
	if (begins(first, end, "<svg") || begins(first, end, "<?xml"))
		return "a picture (SVG) or other XML: " DATA_OF;
	if (first < end && (*first == '{' || begins(first, end, "[{")))
		return "JSON, as speedscope and the Firefox Profiler read it: " DATA_OF;
	if (memmem(s, (size_t)(end - s), magic, sizeof(magic) - 1))
		return "perf.data after text that another program wrote to the same pipe: redirect that text";
	if (memchr(s, '\0', (size_t)(end - s)))
		return NULL;
	if (begins(s, end, PROFILE_MAGIC))
		return "a profile: 'nsprof report' reads it";
	return is_folded(s, end) ? "folded text: 'nsprof report' reads it" : perf_text(s, end);
}

const char *filekind_text(const void *head, size_t n)
{
	const uint8_t *b = head;

	n = MIN(n, (size_t)FILEKIND_HEAD);
	if (n > 2 && b[0] == 0x1f && b[1] == 0x8b)
		return gzip_text(head, n);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (n >= kinds[i].at + kinds[i].len && !memcmp(b + kinds[i].at, kinds[i].magic, kinds[i].len))
			return kinds[i].text;
	if (n >= REC_MAGIC_LEN && !memcmp(b, REC_MAGIC, REC_MAGIC_LEN))
		return "a recording of nsprof: 'nsprof report' reads it";
	if (n >= 6 && b[0] == 0x0a && b[1] < 32 && b[2] == 0x08 && b[4] == 0x10)
		return "a pprof profile: 'go tool pprof' shows it; here, " DATA_OF;
	return text_text(head, (const char *)head + n);
}
