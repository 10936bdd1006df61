#include "list/list_names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "cli/event_name.h"
#include "evlist/name_list.h"
#include "evlist/pmu.h"
#include "evlist/tracefs.h"

static bool continues(const char *name, const char *typed)
{
	return !strncmp(name, typed, strlen(typed));
}

static void print_pmus(const char *typed, const char *path, FILE *to)
{
	struct pmus all;

	pmus_load(&all, path);
	for (size_t i = 0; i < all.n; i++) {
		char **names;
		const size_t n = pmu_names(&all, &all.v[i], "events", &names), len = strlen(all.v[i].name);
		const bool within = continues(typed, all.v[i].name) && typed[len] == '/';

		for (size_t k = 0; k < n; k++)
			if (within ? continues(names[k], typed + len + 1) : continues(all.v[i].name, typed))
				fprintf(to, "%s/%s/\n", all.v[i].name, names[k]);
		name_list_free(names, n);
	}
	pmus_fini(&all);
}

static void print_tracepoints(const char *typed, const char *path, FILE *to)
{
	const char *colon = strchr(typed, ':');
	char *group = colon ? xstrndup(typed, (size_t)(colon - typed)) : NULL, **names, why[512];
	struct tracefs t;
	size_t n;

	if (!tracefs_open(&t, path, why, sizeof(why))) {
		n = tracefs_names(&t, group, &names);
		for (size_t i = 0; i < n; i++) {
			if (!continues(names[i], colon ? colon + 1 : typed))
				continue;
			if (group)
				fprintf(to, "%s:%s\n", group, names[i]);
			else
				fprintf(to, "%s:\n", names[i]);
		}
		name_list_free(names, n);
	}
	tracefs_close(&t);
	free(group);
}

void list_names(const char *typed, const struct evlist_places *places, FILE *to)
{
	const struct event_name *n;
	size_t i = 0;

	while ((n = event_name_next(&i)))
		if (continues(n->name, typed))
			fprintf(to, "%s\n", n->name);
	print_pmus(typed, places && places->pmus ? places->pmus : PMUS_PATH, to);
	print_tracepoints(typed, places ? places->tracefs : NULL, to);
}
