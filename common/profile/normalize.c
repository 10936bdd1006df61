/* Strips from names what a rebuild changes (normalize.h). */
#include "profile/normalize.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/util.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static size_t digits(const char *s)
{
	size_t n = 0;

	while (is_digit(s[n]))
		n++;
	return n;
}

static size_t hex_digits(const char *s)
{
	size_t n = 0;

	while (isxdigit((unsigned char)s[n]))
		n++;
	return n;
}

/*
 * Does a name end at @s? Names end with the text, or before a version, a blank, or an annotation:
 * "read_[k]".
 */
static bool ends_name(const char *s)
{
	return !s[0] || s[0] == '@' || s[0] == ' ' || (s[0] == '_' && s[1] == '[');
}

/*
 * Could a compiler for C and its relatives have appended a suffix without a number to @kept (@len
 * bytes)? Not to Go's methods and V8's functions, such as "main.(*Cache).warm" and "JS:*Cache.warm
 * /app.js:1:2": there the part after the dot is the function itself. After a dot, such compilers
 * write an underscore ("main._omp_fn.0"), a digit, or one of the words in @own, which denote
 * separate functions.
 */
static bool takes_bare_suffix(const char *kept, size_t len)
{
	static const char *const own[] = { "actor", "destroy", "resume", "cleanup", "resolver", "default", "arch_" };
	const char *end = kept + len;

	for (const char *c = kept; c < end; c++) {
		if (*c == '(' || *c == '/')
			return false;
		/* "JS:*f", but not "a::b" */
		if (*c == ':' && c[1] != ':' && (c == kept || c[-1] != ':'))
			return false;
	}
	for (const char *dot = kept; (dot = memchr(dot, '.', (size_t)(end - dot))); ) {
		bool known = false;

		dot++;
		for (size_t i = 0; i < ARRAY_SIZE(own); i++)
			known |= !strncmp(dot, own[i], strlen(own[i]));
		if (isalpha((unsigned char)*dot) && !known)
			return false;
	}
	return true;
}

/*
 * Length of one suffix at @s, with its '.', as a compiler or post-link optimizer writes it; 0:
 * none. GCC writes ".constprop.0" and ".cold"; LLVM ".llvm.1234567890", ".cold.1" and, with basic
 * block sections, ".__part.3"; BOLT ".warm". @bare: a suffix without a number is allowed here.
 */
static size_t suffix_len(const char *s, bool bare)
{
	static const struct {
		const char *word;
		bool number;	/* always has a number; without one it is an ordinary name */
	} known[] = {
		{ ".constprop", true }, { ".isra", true }, { ".part", true }, { ".lto_priv", true }, { ".locality_clone", true },
		{ ".llvm", true }, { ".__part", true }, { ".__uniq", true }, { ".memprof", true }, { ".specialized", true },
		{ ".org", true }, { ".cold", false }, { ".warm", false }, { ".hot", false }, { ".eh", false }, { ".localalias", false },
		{ ".argprom", false }, { ".argelim", false },
		{ ".retelim", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		size_t word = strlen(known[i].word), n = word;

		if (strncmp(s, known[i].word, word))
			continue;
		while (s[n] == '.' && digits(s + n + 1))
			n += 1 + digits(s + n + 1);
		if (n == word && (known[i].number || !bare))
			continue;
		/* ".coldfish" and ".cold_start" are the program's own names. */
		if (ends_name(s + n) || s[n] == '.' || s[n] == ']' || s[n] == ')')
			return n;
	}
	return 0;
}

/* Total length of a row of suffixes at @s. */
static size_t suffixes_len(const char *s, bool bare)
{
	size_t n = 0, one;

	while ((one = suffix_len(s + n, bare)))
		n += one;
	return n;
}

/* " [clone .isra.0] [clone .cold]", or " (.isra.0.cold)" as written by LLVM's demangler */
static size_t clones_len(const char *s)
{
	static const char *const opens[] = { " [clone .", " (." };
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(opens); i++) {
		const size_t open = strlen(opens[i]) - 1;

		while (!strncmp(s + n, opens[i], open + 1)) {
			size_t inner = suffixes_len(s + n + open, true);

			if (!inner || s[n + open + inner] != (i ? ')' : ']'))
				break;
			n += open + inner + 1;
		}
	}
	return n;
}

/* "::h0123456789abcdef" at the end of a name */
static size_t rust_hash_len(const char *s)
{
	return !strncmp(s, "::h", 3) && hex_digits(s + 3) == 16 && ends_name(s + 19) ? 19 : 0;
}

/* The same in a mangled name, "_ZN4core3fmt5write17h0123456789abcdefE": 17 is its length. */
static size_t mangled_hash_len(const char *kept, const char *s)
{
	/* The terminating E is a hexadecimal digit, too. */
	return !strncmp(kept, "_ZN", 3) && !strncmp(s, "17h", 3) && hex_digits(s + 3) == 17 && s[19] == 'E' &&
	       (ends_name(s + 20) || s[20] == '.') ? 19 : 0;
}

/* "[0123456789abcdef]" after a crate's name: at most 16 digits */
static size_t crate_hash_len(const char *s)
{
	size_t n = s[0] == '[' ? hex_digits(s + 1) : 0;

	return n >= 8 && n <= 16 && s[n + 1] == ']' ? n + 2 : 0;
}

/* Does the text of @len bytes that ends at @before end with @word? */
static bool follows(const char *before, size_t len, const char *word)
{
	size_t n = strlen(word);

	return len >= n && !memcmp(before - n, word, n);
}

/* Length of a counting number at @s. @before, @len: the text before it, as for follows(). */
static size_t counter_len(const char *before, size_t len, const char *s)
{
	size_t n;

	/* "{lambda(int)#2}", "{unnamed type#1}": libiberty */
	if (s[0] == '#' && (n = digits(s + 1)) && s[n + 1] == '}')
		return n + 1;
	/* "'lambda0'": LLVM */
	if (is_digit(s[0]) && follows(before, len, "'lambda")) {
		n = digits(s);
		return s[n] == '\'' ? n : 0;
	}
	/* "$_3": clang's names for lambdas */
	if (is_digit(s[0]) && follows(before, len, "$_"))
		return digits(s);
	/* "$$Lambda$14/0x..." and "$$Lambda/0x...": Java; agents see "$$Lambda$14.0x..." */
	if (strchr("$/.", s[0]) && follows(before, len, "$Lambda")) {
		n = s[0] == '$' ? 1 + digits(s + 1) : 0;
		if ((s[n] == '/' || s[n] == '.') && s[n + 1] == '0' && s[n + 2] == 'x')
			n += 3 + hex_digits(s + n + 3);
		return n;
	}
	return 0;
}

/*
 * "[libx.so+0x1234]": from the '+' to before the ']'; "write+0x12" and "read+0x12_[k]": to the end
 * of the name
 */
static size_t offset_len(char first, const char *s)
{
	size_t n = 3;

	if (strncmp(s, "+0x", 3))
		return 0;
	n += hex_digits(s + n);
	if (n > 3 && first == '[')
		return s[n] == ']' && !s[n + 1] ? n : 0;
	return n > 3 && ends_name(s + n) ? n : 0;
}

/* "0x7f0012345678" in place of a name: the part after "0x" */
static size_t address_len(const char *kept, size_t len, const char *s)
{
	size_t n = len == 2 && !memcmp(kept, "0x", 2) ? hex_digits(s) : 0;

	return n && ends_name(s + n) ? n : 0;
}

/*
 * How many bytes to drop at @s. @kept: what was kept of the text before it, @len bytes, not empty.
 */
static size_t junk_len(const char *kept, size_t len, const char *s)
{
	size_t n = 0;

	switch (s[0]) {
	case '.':
		n = suffixes_len(s, takes_bare_suffix(kept, len));
		break;
	case ' ':
		return clones_len(s);
	case ':':
		return rust_hash_len(s);
	case '+':
		return offset_len(kept[0], s);
	case '[':
		n = crate_hash_len(s);
		break;
	case '1':
		n = mangled_hash_len(kept, s);
		break;
	}
	if (!n)
		n = address_len(kept, len, s);
	return n ? n : counter_len(kept + len, len, s);
}

size_t normalize_name(char *name)
{
	size_t in = 0, out = 0;

	while (name[in]) {
		size_t n = out ? junk_len(name, out, name + in) : 0;

		in += n;
		if (!n)
			name[out++] = name[in++];
	}
	name[out] = '\0';
	return out;
}
