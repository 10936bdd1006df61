/* What -e and --filter say: two texts with a NUL between them. PMUs and tracepoints are made-up ones. */
#include "../../unit/event_trees.h"
#include "../fuzz.h"
#include "evlist/evlist.h"

static void trees(void)
{
	static bool made;

	if (made)
		return;
	trees_make();
	atexit(trees_remove);
	made = true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed f = { data, size };
	const uint8_t kind = feed_u8(&f), *nul = f.left ? memchr(f.p, 0, f.left) : NULL;
	struct feed text = feed_part(&f, nul ? (size_t)(nul - f.p) : f.left);
	struct evlist_places places;
	struct event_spec spec;
	struct evlist el = { 0 };
	char *events = fuzz_text(text.p, text.left);

	trees();
	feed_u8(&f);
	places = (struct evlist_places){ kind & 1 ? tree_hybrid : tree_pmus, tree_tracefs };
	spec = (struct event_spec){ .text = events, .filter = nul ? fuzz_text(f.p, f.left) : NULL };
	if (!evlist_parse(&el, &spec, 1, 99, &places)) {
		for (size_t i = 0; i < el.n; i++) {
			fuzz_read_text(el.v[i].name);
			if (el.v[i].leader >= el.n)
				abort();
		}
		evlist_narrow(&el, kind & 2, kind & 4);
	}
	evlist_fini(&el);
	free(spec.filter);
	free(events);
	return 0;
}
