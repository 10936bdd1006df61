/* Normalizing names that compilers and demanglers write. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"
#include "profile/normalize.h"
#include "random.h"

static void check(const char *name, const char *want)
{
	char *s = strdup(name);
	size_t n = normalize_name(s);

	assert_string_equal(s, want);
	assert_int_equal(n, strlen(want));
	/* Names without suffixes stay unchanged. */
	assert_int_equal(normalize_name(s), n);
	assert_string_equal(s, want);
	free(s);
}

static void test_suffixes(void **state)
{
	(void)state;
	check("parse.cold", "parse");
	check("parse.cold.3", "parse");
	check("parse.constprop.0", "parse");
	check("parse.part.0.isra.0", "parse");
	check("expression_rule.lto_priv.0.cold", "expression_rule");
	check("update.llvm.8692120917669024057", "update");
	check("memcpy.localalias", "memcpy");
	/* Post-link optimizers and basic block sections. */
	check("parse.warm", "parse");
	check("parse.warm_[k]", "parse_[k]");
	check("parse.cold.0.warm", "parse");
	check("parse.__part.12", "parse");
	check("parse.__part.3.cold", "parse");
	check("f(int) [clone .__part.2]", "f(int)");
	check("f(int) [clone .warm]", "f(int)");
	check("f(int) (.warm)", "f(int)");
	check("f(int) const (.__part.1.cold)", "f(int) const");
	check("core::fmt::write (.llvm.8692120917669024057)", "core::fmt::write");
	check("f(int) (.resume)", "f(int) (.resume)");
	check("f(int) (.cold", "f(int) (.cold");
	check("f(int) [clone .actor] [clone .cold]", "f(int) [clone .actor]");
	check("parse.eh", "parse");
	check("parse.hot", "parse");
	check("parse.hotter", "parse.hotter");
	check("parse.org.0", "parse");
	check("init.__uniq.293484023415", "init");
	check("init.__uniq.293484023415.llvm.77", "init");
	check("scan.specialized.1", "scan");
	check("scan.memprof.2", "scan");
	check("scan.locality_clone.0", "scan");
	check("scan.argelim", "scan");
	check("scan.retelim.argprom", "scan");
	check("main._omp_fn.0.cold", "main._omp_fn.0");
	check("write.part.0@plt", "write@plt");
	check("parse.isra.0_[i]", "parse_[i]");
	check("parse.cold_[k]", "parse_[k]");
	check("parse.cold (input.c:12)", "parse (input.c:12)");
	check("void f<int>(int) [clone .cold]", "void f<int>(int)");
	check("f(int) [clone .constprop.0] [clone .part.3]", "f(int)");
	/* Suffixes that are not the compiler's. */
	check("main.part", "main.part");
	check("main.main.func1.2", "main.main.func1.2");
	check("Shop.coldfish", "Shop.coldfish");
	check("main.cold_start", "main.cold_start");
	check("main.__part", "main.__part");
	check("main.__part.x", "main.__part.x");
	check("warm.warmer", "warm.warmer");
	check("main.(*Cache).warm", "main.(*Cache).warm");
	check("main.(*Cache).cold", "main.(*Cache).cold");
	check("main.Cache.warm", "main.Cache.warm");
	check("github.com/acme/cache.cold", "github.com/acme/cache.cold");
	check("JS:*Cache.warm /app/cache.js:10:5", "JS:*Cache.warm /app/cache.js:10:5");
	check("LazyCompile:~get.cold file:///a.js:1:5", "LazyCompile:~get.cold file:///a.js:1:5");
	check("core::fmt::write.cold", "core::fmt::write");
	check("py::Cache.cold_get:/app/c.py", "py::Cache.cold_get:/app/c.py");
	check("f.part.0_x", "f.part.0_x");
	check("core::write::h66be450f6544cf1c_x", "core::write::h66be450f6544cf1c_x");
	check("f(int) [clone of mine]", "f(int) [clone of mine]");
	check(".cold", ".cold");
	check("", "");
}

static void test_hashes(void **state)
{
	(void)state;
	check("core::fmt::write::h66be450f6544cf1c", "core::fmt::write");
	check("<alloc[aeb1ad5a6b2ccbd2]::vec::Vec<u8>>::push", "<alloc::vec::Vec<u8>>::push");
	check("std[f1e2d3c4b5a69788]::rt::lang_start::{closure#0}", "std::rt::lang_start::{closure}");
	check("_ZN4core3fmt5write17h66be450f6544cf1cE", "_ZN4core3fmt5writeE");
	check("_ZN4core3fmt5write17h66be450f6544cf1cE.llvm.77_[i]", "_ZN4core3fmt5writeE_[i]");
	check("_ZN4core17h66be450f6544cf1cEv", "_ZN4core17h66be450f6544cf1cEv");
	check("x17h66be450f6544cf1cE", "x17h66be450f6544cf1cE");
	check("a::h123", "a::h123");
	check("a::hash_one", "a::hash_one");
	check("x[12]", "x[12]");
	check("operator new[](unsigned long)", "operator new[](unsigned long)");
}

static void test_counters(void **state)
{
	(void)state;
	check("main::{lambda(int)#2}::operator()(int) const", "main::{lambda(int)}::operator()(int) const");
	check("f()::{unnamed type#1}::g()", "f()::{unnamed type}::g()");
	check("f()::'lambda0'(int)::operator()(int) const", "f()::'lambda'(int)::operator()(int) const");
	check("f()::$_3::operator()() const", "f()::$_::operator()() const");
	check("Lcom/a/B$$Lambda$14/0x0000000840066840;::run", "Lcom/a/B$$Lambda;::run");
	check("com.a.B$$Lambda/0x00007f12a0c43.run", "com.a.B$$Lambda.run");
	check("com.a.B$$Lambda$2.0x00007f6528000c28.applyAsInt(int)", "com.a.B$$Lambda.applyAsInt(int)");
	check("com.a.B$$Lambda.0x00007f6528000c28.run()", "com.a.B$$Lambda.run()");
	check("com.a.B$$Lambda.run()", "com.a.B$$Lambda.run()");
	check("sha256_block_data_order_avx2", "sha256_block_data_order_avx2");
	check("f#2", "f#2");
}

static void test_offsets(void **state)
{
	(void)state;
	check("[libx.so+0x1234]", "[libx.so]");
	check("[vdso+0x6]", "[vdso]");
	check("[libx.so+0x12zz]", "[libx.so+0x12zz]");
	check("a+0x12]", "a+0x12]");
	check("write+0x12", "write");
	check("vfs_read+0xab_[k]", "vfs_read_[k]");
	check("a+0x12z", "a+0x12z");
	check("operator+", "operator+");
	check("0x7f0012345678", "0x");
	check("0xffffffff81000000_[k]", "0x_[k]");
	check("0xtable", "0xtable");
}

/* Arbitrary bytes: the result is never longer, and is empty only if the name was. */
static void test_any_bytes(void **state)
{
	static const char *const parts[] = { ".cold", ".part.", "0", "::h", "0123456789abcdef", "[", "]", "#",
					     "{", "}", " [clone ", "$_", "$Lambda", "/0x", ".0x", "'lambda", "'", "a", "0x", "+0x", "_ZN", "17h", "E" };
	uint64_t seed = 11;

	(void)state;
	for (int round = 0; round < 200000; round++) {
		char s[256];
		size_t n = 0, got;

		do {
			const char *p;

			p = parts[random_next(&seed) % ARRAY_SIZE(parts)];
			memcpy(s + n, p, strlen(p));
			n += strlen(p);
		} while (random_next(&seed) % 16 && n < 200);
		s[n] = '\0';
		got = normalize_name(s);
		assert_true(got <= n && got > 0 && strlen(s) == got);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_suffixes), cmocka_unit_test(test_hashes),
		cmocka_unit_test(test_counters), cmocka_unit_test(test_offsets),
		cmocka_unit_test(test_any_bytes),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("common normalize", tests, NULL, NULL);
}
