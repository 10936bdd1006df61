/*
 * Symbols and their names looked up by several threads, compared with looking them up one by one.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/util.h"
#include "elf/elf_file.h"
#include "event.h"
#include "modules/module.h"
#include "modules/module_symbols.h"
#include "naming/name_prefetch.h"
#include "support/location.h"
#include "symbols/demangle.h"

#define STEP 61		/* bytes from one address to the next */

struct fixture {
	struct modules *mods;	/* this program and the C++ library */
	struct locations locs;
};

static struct module *open_module(struct modules *mods, uint32_t id, const char *path)
{
	struct ev_dso dso = { .id = id, .path = path };
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;
	struct module *m;

	assert_true(fd >= 0);
	assert_int_equal(modules_add(mods, &dso), 0);
	m = modules_get(mods, id);
	m->elf = elf_file_open_fd(fd, &err);
	m->source = MODULE_HOST;
	close(fd);
	assert_non_null(m->elf);
	return m;
}

/* Addresses all over the code of @m, some of which are in no symbol. */
static void add_places(struct fixture *f, struct module *m)
{
	const struct elf_load *loads;
	size_t n = elf_file_loads(m->elf, &loads);

	for (size_t i = 0; i < n; i++) {
		for (uint64_t at = 0; loads[i].flags & 1 && at < loads[i].filesz; at += STEP) {
			struct location loc = {
				.kind = LOC_FILE, .owner = m->id, .mod = m, .off = loads[i].offset + at,
			};

			loc.addr = loc.off;
			locations_id(&f->locs, &loc);
		}
	}
}

/* The C++ library that a compiler brings along; NULL: this machine has none in the usual places. */
static const char *cxx_library(void)
{
	static const char *const paths[] = {
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/usr/lib64/libstdc++.so.6", "/usr/lib/libstdc++.so.6",
	};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		if (!access(paths[i], R_OK))
			return paths[i];
	return NULL;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	const char *cxx = cxx_library();

	f->mods = modules_new();
	locations_init(&f->locs);
	add_places(f, open_module(f->mods, 1, "/proc/self/exe"));
	if (cxx)
		add_places(f, open_module(f->mods, 2, cxx));
	else
		printf("# no libstdc++ here: no mangled names\n");
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	locations_fini(&f->locs);
	modules_free(f->mods);
	free(f);
	return 0;
}

/* A location without a file, which is not looked up. */
static void add_other(struct fixture *f)
{
	struct location loc = { .kind = LOC_KERNEL, .addr = 0xffffffff81000000 };

	locations_id(&f->locs, &loc);
}

static void check_symbols(const struct fixture *f, const struct prefetch_found *found, struct u64map *raw)
{
	size_t with = 0;

	for (size_t i = 0; i < f->locs.n; i++) {
		const struct location *loc = &f->locs.locs[i];
		const struct prefetch_symbol *s = &found->syms[i];
		struct symbol sym;
		struct svma at;

		assert_int_equal(s->asked, loc->kind == LOC_FILE);
		if (!s->asked)
			continue;
		assert_true(elf_file_off_to_svma(loc->mod->elf, loc->off, &at.v));
		assert_int_equal(s->found, !module_symbol(loc->mod, at, &sym));
		if (!s->found)
			continue;
		assert_ptr_equal(s->sym.name, sym.name);
		assert_int_equal(s->sym.start, sym.start);
		assert_int_equal(s->sym.end, sym.end);
		u64map_put(raw, (uintptr_t)sym.name, NULL);
		with++;
	}
	assert_true(with > f->locs.n / 4);
}

/* Each name is there once, as demangle() gives it. */
static void check_names(const struct prefetch_found *found, struct u64map *raw)
{
	size_t mangled = 0;

	assert_int_equal(found->nnames, raw->n);
	for (size_t i = 0; i < found->nnames; i++) {
		char *want = demangle(found->names[i].raw);

		assert_string_equal(found->names[i].plain, want);
		assert_true(u64map_del(raw, (uintptr_t)found->names[i].raw));
		mangled += strcmp(want, found->names[i].raw) != 0;
		free(want);
	}
	assert_int_equal(raw->n, 0);
	assert_true(mangled > 500 || !cxx_library());
}

static void test_threads(void **state)
{
	struct fixture *f = *state;

	add_other(f);
	for (unsigned int threads = 1; threads <= 5; threads += 2) {
		const struct prefetch_opts opts = { .threads = threads, .demangle = true };
		struct u64map raw = U64MAP_INIT;
		struct prefetch_found found;

		prefetch_lookup(&f->locs, &opts, &found);
		assert_null(found.done);
		check_symbols(f, &found, &raw);
		check_names(&found, &raw);
		prefetch_found_fini(&found);
		u64map_fini(&raw);
	}
}

/* Not requested, and with no locations. */
static void test_none(void **state)
{
	const struct prefetch_opts opts = { .threads = 2 };
	struct fixture *f = *state;
	struct locations none;
	struct prefetch_found found;
	struct u64map raw = U64MAP_INIT;

	prefetch_lookup(&f->locs, &opts, &found);
	assert_int_equal(found.nnames, 0);
	check_symbols(f, &found, &raw);
	prefetch_found_fini(&found);
	u64map_fini(&raw);
	locations_init(&none);
	prefetch_lookup(&none, &opts, &found);
	assert_int_equal(found.nnames, 0);
	assert_null(found.done);
	prefetch_found_fini(&found);
	locations_fini(&none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_none),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, teardown);
}
