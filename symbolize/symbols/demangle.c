/*
 * Mangled names to what people wrote: C++ (Itanium C++ ABI, 5.1), Rust v0 (RFC 2603) and legacy, D
 * (the language's ABI page). libiberty does the work; this file decides what is tried and what it
 * may cost.
 *
 * The names come from binaries inside of containers. Back references let a mangled name of n bytes
 * stand for 2^n bytes of text, so the output is capped and the demangler left by longjmp() when it
 * reaches the cap.
 */
#include "symbols/demangle.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"

/*
 * Not xalloc.h: libiberty.h declares allocators of the same names (and xmemdup with another type).
 * The linker takes ours, which come first; those used here agree in type and in what they do.
 */

/* Longer names are returned as they are. */
#define MANGLED_MAX	(64u << 10)
/* Text of one name. The longest in clang and libxul are some tens of KiB. */
#define TEXT_MAX	(256u << 10)
/*
 * libiberty's own limit on recursion refuses names above 1 KiB outright, which C++ with templates
 * exceeds every day. Below this many bytes the length itself bounds the recursion: to about 2 MiB
 * of stack in the worst case tried (nested pointers, templates, expressions).
 */
#define SHORT_ENOUGH	4096u
#define LIBIBERTY_MAX	(DEMANGLE_RECURSION_LIMIT / 2)
/*
 * The D demangler can only return its text whole. Each doubling takes two back references ('Q'), so
 * this many bound it to 2^16 times the name.
 */
#define D_BACKREFS_MAX	32u

#define OPTIONS		(DMGL_PARAMS | DMGL_ANSI)

struct text {
	struct strbuf sb;
	jmp_buf too_long;
};

static void append(const char *s, size_t len, void *opaque)
{
	struct text *t = opaque;

	if (len > TEXT_MAX - t->sb.len)
		longjmp(t->too_long, 1);
	strbuf_add(&t->sb, s, len);
}

/*
 * Owned, or NULL when @fn does not take @name. What libiberty has allocated when it is left in the
 * middle (the digits of a Unicode identifier, for Rust) is lost: a few bytes for a name made to do
 * harm.
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
 * Legacy Rust is C++ mangling with a hash at the end, "17h" and 16 digits. Length of it without what
 * the linker's side has appended, 0 when @name is none.
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
 * libiberty takes no hash with less than five different digits for one, so as not to take C++ for Rust. Hashes are random, and some
 * have four (Debian 13's Thread::join). With two or less it is no hash.
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
 * A parameter that is "return scope" is mangled "NkM" since D 2.096, and libiberty knows "MNk" only.
 * They are of one length, so references to what stands before stay right. Identifiers ("5found") are
 * left alone; behind some letters a number is the length of an array or a value. False when there was
 * no such parameter.
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

static char *demangle_d(const char *name)
{
	size_t refs = 0;
	char *text, *out, *swapped;

	for (const char *p = strchr(name, 'Q'); p; p = strchr(p + 1, 'Q'))
		refs++;
	if (refs > D_BACKREFS_MAX)
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
	out = strlen(text) <= TEXT_MAX ? xstrdup(text) : NULL;
	free(text);
	return out;
}

/*
 * What compilers append to clones and parts, in libiberty's words for C++: ".cold" to " [clone .cold]".
 * ".llvm.N" of Rust, which ThinLTO puts behind every local function, is left out as Rust's own demangler
 * does.
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

/* Rust and D, whose demanglers want nothing behind the first @len bytes of @name. */
static char *demangle_stem(const char *name, size_t len, bool rust)
{
	char *stem = xstrndup(name, len);
	char *text = rust ? demangle_rust(stem) : demangle_d(stem);

	free(stem);
	return text && name[len] ? with_clones(text, name + len, rust) : text;
}

/* By prefix, so that no plain C name is ever taken for a type or an encoding. NULL: not mangled. */
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

char *demangle(const char *name)
{
	size_t len = strnlen(name, MANGLED_MAX + 1);
	char *out = NULL, *stem, *text;

	if (len > MANGLED_MAX)
		return xstrdup(name);
	/* "@plt" is put on by the reader of the ELF file and is in no mangling. */
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
