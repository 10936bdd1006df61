/* For tests of the unwinders: comparing and printing a stack that an unwinder returned. */
#ifndef NSPROF_TEST_UNWIND_STACK_H
#define NSPROF_TEST_UNWIND_STACK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdbool.h>

#include "addr.h"
#include "modules/addrspace.h"
#include "modules/module.h"
#include "unwind/unwind.h"

#define FRAMES_MAX 512

struct stack {
	struct frame frames[FRAMES_MAX];
	struct unwind_result res;
};

static inline bool same_frames(const struct stack *a, const struct stack *b)
{
	if (a->res.n != b->res.n || a->res.end != b->res.end)
		return false;
	for (uint32_t i = 0; i < a->res.n; i++)
		if (a->frames[i].addr.v != b->frames[i].addr.v ||
		    a->frames[i].kind != b->frames[i].kind)
			return false;
	return true;
}

static inline void print_frames(const struct addrspace *as, const char *title,
				const struct stack *st)
{
	print_message("# %s: %s\n", title, unwind_end_text(st->res.end));
	for (uint32_t i = 0; i < st->res.n; i++) {
		const struct mapping *m = addrspace_find(as, frame_lookup_addr(&st->frames[i]));
		struct svma s = { 0 };

		if (m && m->mod)
			mapping_to_svma(m, st->frames[i].addr, &s);
		print_message("#   %2u %#" PRIx64 " %s %s+%#" PRIx64 "\n", i, st->frames[i].addr.v,
			      st->frames[i].kind == FRAME_IP ? "ip" : "return", m ? m->path : "?",
			      s.v);
	}
}

#endif
