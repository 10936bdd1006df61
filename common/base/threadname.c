/* Removing numbers from thread names (threadname.h). */
#include "base/threadname.h"

#include <stddef.h>
#include <string.h>

/* Bytes above ASCII belong to letters. */
static bool is_letter(unsigned char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c >= 0x80;
}

bool threadname_merge(const char *name, struct strbuf *out)
{
	bool merged = false, letters = false;

	strbuf_reset(out);
	for (const char *p = name; *p;) {
		size_t run = strspn(p, "0123456789");
		unsigned char before = p == name ? 'a' : (unsigned char)p[-1];

		if (run && (!p[run] || !is_letter(before))) {
			strbuf_addc(out, 'N');
			merged = true;
		} else {
			run += !run;
			strbuf_add(out, p, run);
			letters |= is_letter((unsigned char)*p);
		}
		p += run;
	}
	return merged && letters;
}
