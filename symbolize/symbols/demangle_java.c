/*
 * Names of Java methods in JVMTI form: class, name and descriptor joined. Agents that write
 * jitdumps, such as perf's libperf-jvmti.so, leave them like that: "Ljava/lang/String;charAt(I)C"
 * is java.lang.String.charAt(int). Grammar: The Java Virtual Machine Specification, 4.2 and 4.3. A
 * name is converted only if all of it matches the grammar.
 */
#include <stdbool.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/xalloc.h"
#include "symbols/demangle_java.h"

#define NAME_MAX_BYTES (64u << 10)

/*
 * Appends the class name at @p, which follows an 'L', with dots for slashes. Returns the text after
 * its ';', or NULL.
 */
static const char *put_class(struct strbuf *sb, const char *p)
{
	size_t len = strcspn(p, ";[()");

	if (!len || p[len] != ';')
		return NULL;
	for (size_t i = 0; i < len; i++)
		strbuf_addc(sb, p[i] == '/' ? '.' : p[i]);
	return p + len + 1;
}

static const char *put_primitive(struct strbuf *sb, const char *p)
{
	static const struct {
		char c;
		const char *name;
	} types[] = {
		{ 'B', "byte" }, { 'C', "char" }, { 'D', "double" }, { 'F', "float" }, { 'I', "int" }, { 'J', "long" },
		{ 'S', "short" }, { 'Z', "boolean" },
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		if (types[i].c != *p)
			continue;
		strbuf_adds(sb, types[i].name);
		return p + 1;
	}
	return NULL;
}

/* Appends the type of a field. Returns the text after it, or NULL. */
static const char *put_type(struct strbuf *sb, const char *p)
{
	size_t arrays = strspn(p, "[");

	p += arrays;
	/* The JVM's own limit. */
	if (arrays > 255)
		return NULL;
	p = *p == 'L' ? put_class(sb, p + 1) : put_primitive(sb, p);
	while (p && arrays--)
		strbuf_adds(sb, "[]");
	return p;
}

static bool put_method(struct strbuf *sb, const char *p)
{
	struct strbuf unused = STRBUF_INIT;
	const char *end;
	size_t len;

	p = *p == 'L' ? put_class(sb, p + 1) : NULL;
	len = p ? strcspn(p, ".;[/(") : 0;
	if (!len || p[len] != '(')
		return false;
	strbuf_addc(sb, '.');
	strbuf_add(sb, p, len + 1);
	p += len + 1;
	for (bool first = true; p && *p != ')'; first = false) {
		if (!first)
			strbuf_adds(sb, ", ");
		p = put_type(sb, p);
	}
	if (!p)
		return false;
	strbuf_addc(sb, ')');
	/* The return type is checked but not shown, as for C++. */
	end = p[1] == 'V' ? p + 2 : put_type(&unused, p + 1);
	strbuf_fini(&unused);
	return end && !*end;
}

char *demangle_java(const char *name)
{
	struct strbuf sb = STRBUF_INIT;

	if (strnlen(name, NAME_MAX_BYTES + 1) <= NAME_MAX_BYTES && put_method(&sb, name))
		return sb.s;
	strbuf_fini(&sb);
	return xstrdup(name);
}
