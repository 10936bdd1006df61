/*
 * Turns mangled names into source names: C++ (Itanium C++ ABI, 5.1), Rust v0 (RFC 2603) and legacy,
 * D (the language's ABI page). libiberty does the work. This file decides what to try and limits
 * the cost.
 *
 * The names come from binaries inside containers. With back references, a mangled name of n bytes
 * can expand to 2^n bytes. So the output is capped, and a longjmp() leaves the demangler at the
 * cap.
 */
#include "symbols/demangle.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"

/*
 * xalloc.h is not included: libiberty.h declares allocators of the same names (and xmemdup with
 * another type). The linker takes ours, which come first. Those used here have the same types and
 * behavior.
 */

/* Longer names are returned as they are. */
#define MANGLED_MAX	(64u << 10)
/* Longest demangled text. The longest names in clang and libxul are some tens of KiB. */
#define TEXT_MAX	(256u << 10)
/*
 * libiberty's own recursion limit rejects every name above 1 KiB, and C++ templates often exceed
 * that. Up to this length, the length itself bounds the recursion: to about 2 MiB of stack in the
 * worst case tried (nested pointers, templates, expressions).
 */
#define SHORT_ENOUGH	4096u
#define LIBIBERTY_MAX	(DEMANGLE_RECURSION_LIMIT / 2)
/*
 * The D demangler can only return its text as a whole. A back reference ('Q') to a type repeats all
 * of its text. So r of them can make the text 3^(r/3) times as long: most if three each repeat what
 * the three before them gave. D_EXPANDED_MAX limits that product, bytes.
 */
#define D_BACKREFS_MAX	32u
#define D_EXPANDED_MAX	(8u << 20)

#define OPTIONS		(DMGL_PARAMS | DMGL_ANSI)

/* At most TEXT_MAX. */
static _Thread_local size_t text_max;

struct text {
	struct strbuf sb;
	jmp_buf too_long;
};

static void append(const char *s, size_t len, void *opaque)
{
	struct text *t = opaque;

	if (len > text_max - t->sb.len)
		longjmp(t->too_long, 1);
	strbuf_add(&t->sb, s, len);
}

/*
 * Owned, or NULL if @fn does not accept @name. A longjmp() out of libiberty leaks what it has
 * allocated (for Rust, the digits of a Unicode identifier): a few bytes, and only for a malicious
 * name.
 */
static char *run(int (*fn)(const char *, int, demangle_callbackref, void *), const char *name,
		 int options)
{
	struct text *t = xcalloc(1, sizeof(*t));
	char *out = NULL;

	if (!setjmp(t->too_long) && fn(name, options, append, t) && t->sb.len) {
		out = t->sb.s;
		t->sb = (struct strbuf)STRBUF_INIT;
	}
	strbuf_fini(&t->sb);
	free(t);
	return out;
}

static char *demangle_cxx(const char *name, size_t len)
{
	int options = OPTIONS;

	if (len > LIBIBERTY_MAX && len <= SHORT_ENOUGH)
		options |= DMGL_NO_RECURSE_LIMIT;
	return run(cplus_demangle_v3_callback, name, options);
}

/*
 * Legacy Rust is C++ mangling with a hash at the end: "17h" and 16 digits. Returns the length
 * without suffixes added when linking, 0 if @name is not legacy Rust.
 */
static size_t legacy_rust_len(const char *name)
{
	for (const char *p = strstr(name, "17h"); p; p = strstr(p + 1, "17h")) {
		const char *end = p + 3 + strspn(p + 3, "0123456789abcdef");

		if (end == p + 3 + 16 && *end == 'E' && (!end[1] || end[1] == '.'))
			return (size_t)(end + 1 - name);
	}
	return 0;
}

/*
 * To tell Rust from C++, libiberty requires at least five different digits in a hash. Hashes are
 * random, and some have four (Thread::join in Debian 13). Two or fewer are not taken for a hash
 * here, either.
 */
static void plain_hash(char *hash)
{
	unsigned int seen = 0;

	for (int i = 0; i < 16; i++)
		seen |= 1u << (isdigit((unsigned char)hash[i]) ? hash[i] - '0' : hash[i] - 'a' + 10);
	if (__builtin_popcount(seen) > 2)
		memcpy(hash, "0123456789abcdef", 16);
}

static char *demangle_rust(char *name)
{
	size_t len = name[1] == 'Z' ? strlen(name) : 0;

	if (len > 17)
		plain_hash(name + len - 17);
	return run(rust_demangle_callback, name, OPTIONS);
}

/*
 * D 2.096 and later mangle a "return scope" parameter as "NkM", but libiberty only knows "MNk".
 * Both are equally long, so back references stay valid. Identifiers ("5found") are skipped. After
 * some letters a number is an array length or a value, not the length of an identifier. False if
 * there is no such parameter.
 */
static bool d_swap_return_scope(char *name)
{
	const char *end = name + strlen(name);
	bool found = false;
	char before = '_';

	for (char *p = name; p < end;) {
		size_t digits = strspn(p, "0123456789"), len = 0;

		if (digits) {
			if (digits < 6 && !strchr("GHNeic", before))
				len = strtoul(p, NULL, 10);
			p += digits + (len <= (size_t)(end - p) - digits ? len : 0);
			before = '_';
		} else if (!strncmp(p, "NkM", 3)) {
			memcpy(p, "MNk", 3);
			found = true;
			p += 3;
			before = '_';
		} else {
			before = *p++;
		}
	}
	return found;
}

/*
 * Does the 'Q' at @q refer to an identifier? A number follows it, how many bytes before the 'Q' that
 * begins: of digits A to Z, and a to z for the last one. Identifiers begin with a decimal digit.
 */
static bool d_to_identifier(const char *name, const char *q)
{
	size_t back = 0;
	const char *p = q + 1;

	for (; *p >= 'A' && *p <= 'Z' && back < MANGLED_MAX; p++)
		back = back * 26 + (size_t)(*p - 'A');
	if (*p < 'a' || *p > 'z')
		return false;
	back = back * 26 + (size_t)(*p - 'a');
	return back <= (size_t)(q - name) && isdigit((unsigned char)q[-(ptrdiff_t)back]);
}

static bool d_expands_too_far(const char *name)
{
	size_t all = 0, types = 0, most = strlen(name);

	for (const char *p = strchr(name, 'Q'); p; p = strchr(p + 1, 'Q')) {
		all++;
		types += !d_to_identifier(name, p);
	}
	if (all > D_BACKREFS_MAX)
		return true;
	for (; types >= 3; types -= 3)
		most *= 3;
	return most * (types ? types : 1) > D_EXPANDED_MAX;
}

static char *demangle_d(const char *name)
{
	char *text, *out, *swapped;

	if (d_expands_too_far(name))
		return NULL;
	text = dlang_demangle(name, OPTIONS);
	if (!text) {
		swapped = xstrdup(name);
		if (d_swap_return_scope(swapped)) {
			text = dlang_demangle(swapped, OPTIONS);
			for (char *p = text; p && (p = strstr(p, "scope return ")); p++)
				memcpy(p, "return scope ", 13);
		}
		free(swapped);
	}
	if (!text)
		return NULL;
	out = strlen(text) <= text_max ? xstrdup(text) : NULL;
	free(text);
	return out;
}

/*
 * Appends the suffixes of clones and parts in libiberty's style for C++: ".cold" becomes " [clone
 * .cold]". For Rust, ".llvm.N" is dropped, as Rust's own demangler does: ThinLTO appends it to
 * every local function.
 */
static char *with_clones(char *text, const char *suffix, bool rust)
{
	struct strbuf sb = STRBUF_INIT;

	strbuf_adds(&sb, text);
	while (*suffix) {
		const char *end = suffix + 1;

		while (*end && (*end != '.' || isdigit((unsigned char)end[1])))
			end++;
		if (!rust || strncmp(suffix, ".llvm.", 6) != 0) {
			strbuf_adds(&sb, " [clone ");
			strbuf_add(&sb, suffix, (size_t)(end - suffix));
			strbuf_addc(&sb, ']');
		}
		suffix = end;
	}
	free(text);
	return sb.s;
}

/* For Rust and D, whose demanglers reject anything after the first @len bytes of @name. */
static char *demangle_stem(const char *name, size_t len, bool rust)
{
	char *stem = xstrndup(name, len);
	char *text = rust ? demangle_rust(stem) : demangle_d(stem);

	free(stem);
	return text && name[len] ? with_clones(text, name + len, rust) : text;
}

/*
 * Chosen by prefix, so that a plain C name is never taken for a type or an encoding. NULL: not
 * mangled.
 */
static char *demangle_known(const char *name, size_t len)
{
	char *text = NULL;

	if (len < 3 || name[0] != '_')
		return NULL;
	if (name[1] == 'Z') {
		size_t rust = legacy_rust_len(name);

		if (rust)
			text = demangle_stem(name, rust, true);
		return text ? text : demangle_cxx(name, len);
	}
	if (name[1] == 'R')
		return demangle_stem(name, strcspn(name, "."), true);
	if (name[1] == 'D' && (isdigit((unsigned char)name[2]) || !strcmp(name, "_Dmain")))
		return demangle_stem(name, strcspn(name, "."), false);
	return NULL;
}

char *demangle_most(const char *name, size_t max)
{
	size_t len = strnlen(name, MANGLED_MAX + 1);
	char *out = NULL, *stem, *text;

	text_max = max < TEXT_MAX ? max : TEXT_MAX;
	if (len > MANGLED_MAX)
		return xstrdup(name);
	/* The ELF reader appends "@plt"; it is not part of the mangling. */
	if (len > 4 && !strcmp(name + len - 4, "@plt")) {
		stem = xstrndup(name, len - 4);
		text = demangle_known(stem, len - 4);
		if (text)
			out = xasprintf("%s@plt", text);
		free(text);
		free(stem);
	} else {
		out = demangle_known(name, len);
	}
	return out ? out : xstrdup(name);
}

char *demangle(const char *name)
{
	return demangle_most(name, TEXT_MAX);
}
