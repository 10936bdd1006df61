/*
 * Mangled names to what people wrote: C++ (Itanium C++ ABI, 5.1), Rust v0 (RFC 2603) and legacy, D
 * (the language's ABI page). libiberty does the work; this file decides what is tried and what it
 * may cost.
 *
 * The names come from binaries inside of containers. Back references let a mangled name of n bytes
 * stand for 2^n bytes of text, so the output is capped and the demangler left by longjmp() when it
 * reaches the cap.
 */
#include "names.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "strbuf.h"

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
	char *out;

	/*
	 * Legacy Rust is C++ mangling with a hash at the end; it tells itself apart, C++ does not.
	 */
	out = run(rust_demangle_callback, name, options);
	if (out)
		return out;
	if (len > LIBIBERTY_MAX && len <= SHORT_ENOUGH)
		options |= DMGL_NO_RECURSE_LIMIT;
	return run(cplus_demangle_v3_callback, name, options);
}

static char *demangle_d(const char *name)
{
	size_t refs = 0;
	char *text, *out;

	for (const char *p = strchr(name, 'Q'); p; p = strchr(p + 1, 'Q'))
		refs++;
	if (refs > D_BACKREFS_MAX)
		return NULL;
	text = dlang_demangle(name, OPTIONS);
	if (!text)
		return NULL;
	out = strlen(text) <= TEXT_MAX ? xstrdup(text) : NULL;
	free(text);
	return out;
}

/* By prefix, so that no plain C name is ever taken for a type or an encoding. NULL: not mangled. */
static char *demangle_known(const char *name, size_t len)
{
	if (len < 3 || name[0] != '_')
		return NULL;
	if (name[1] == 'Z')
		return demangle_cxx(name, len);
	if (name[1] == 'R')
		return run(rust_demangle_callback, name, OPTIONS);
	if (name[1] == 'D' && (isdigit((unsigned char)name[2]) || !strcmp(name, "_Dmain")))
		return demangle_d(name);
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
