/*
 * Mangled and demangled pairs from the Itanium C++ ABI (5.1 and its examples), Rust RFC 2603, and
 * the D ABI page.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/util.h"
#include "symbols/demangle.h"
#include "symbols/demangle_java.h"

static void expect(const char *mangled, const char *want)
{
	char *got = demangle(mangled);

	assert_string_equal(got, want);
	free(got);
}

static void test_cxx(void **state)
{
	static const char *const pairs[][2] = {
		{ "_Z1fv", "f()" },
		{ "_Z1fi", "f(int)" },
		{ "_Z3foo3bar", "foo(bar)" },
		{ "_Zrm1XS_", "operator%(X, X)" },
		{ "_ZplR1XS0_", "operator+(X&, X&)" },
		{ "_ZlsRK1XS1_", "operator<<(X const&, X const&)" },
		{ "_ZN3FooIA4_iE3barE", "Foo<int [4]>::bar" },
		{ "_Z1fIiEvi", "void f<int>(int)" },
		{ "_Z5firstI3DuoEvS0_", "void first<Duo>(Duo)" },
		{ "_Z3fooIiPFidEiEvv", "void foo<int, int (*)(double), int>()" },
		{ "_ZN1N1fE", "N::f" },
		{ "_ZN6System5Sound4beepEv", "System::Sound::beep()" },
		{ "_ZN5Arena5levelE", "Arena::level" },
		{ "_ZN5StackIiiE5levelE", "Stack<int, int>::level" },
		{ "_ZNK3fooclEv", "foo::operator()() const" },
		{ "_ZN12_GLOBAL__N_13fooEv", "(anonymous namespace)::foo()" },
		/* The compiler's suffixes stay visible. */
		{ "_ZN1N1fEi.cold", "N::f(int) [clone .cold]" },
		{ "_Z1fi.constprop.0", "f(int) [clone .constprop.0]" },
		{ "_Z1fi.llvm.123", "f(int) [clone .llvm.123]" },
		{ "_Z1fi.isra.0.part.1.cold",
		  "f(int) [clone .isra.0] [clone .part.1] [clone .cold]" },
		{ "_Z1fi@plt", "f(int)@plt" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
		expect(pairs[i][0], pairs[i][1]);
}

static void test_rust(void **state)
{
	static const char *const pairs[][2] = {
		/* RFC 2603, with its example hashes */
		{ "_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar" },
		{ "_RNvC6_123foo3bar", "123foo::bar" },
		{ "_RNCNvCs1234_7mycrate4main0", "mycrate::main::{closure#0}" },
		{ "_RINvNtC3std3mem8align_ofjdE", "std::mem::align_of::<usize, f64>" },
		{ "_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y",
		  "utf8_idents::\341\203\241\341\203\220\341\203\255\341\203\233\341\203\224\341\203\232"
		  "\341\203\220\341\203\223_\341\203\222\341\203\224\341\203\233\341\203\240\341\203\230"
		  "\341\203\224\341\203\232\341\203\230_\341\203\241\341\203\220\341\203\223\341\203\230"
		  "\341\203\232\341\203\230" },
		/* legacy: C++ mangling and a hash, which was not in the source */
		{ "_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write" },
		{ "_ZN3std6thread6Thread4join17hddd6ee66166e6e1dE", "std::thread::Thread::join" },
		/* Rust's own demangler (rustc-demangle) drops ThinLTO's suffix; others stay. */
		{ "_ZN4core3fmt5write17h0123456789abcdefE.llvm.1234567890", "core::fmt::write" },
		{ "_RNvCs1234_7mycrate3foo.llvm.1234567890", "mycrate::foo" },
		{ "_RNvCs1234_7mycrate3foo.cold", "mycrate::foo [clone .cold]" },
		{ "_RNvCs1234_7mycrate3foo.llvm.1234567890.cold.1", "mycrate::foo [clone .cold.1]" },
		{ "_ZN4core3fmt5write17h0123456789abcdefE.part.0",
		  "core::fmt::write [clone .part.0]" },
		{ "_ZN4core3fmt5write17h0123456789abcdefE@plt", "core::fmt::write@plt" },
		{ "_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar17h"
		  "930b740aa94f1d3aE",
		  "<Test + 'static as foo::Bar<Test>>::bar" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
		expect(pairs[i][0], pairs[i][1]);
	/* C++ with something that looks like a hash is not Rust: too few different digits. */
	expect("_ZN3foo17h0000000000000000E", "foo::h0000000000000000");
}

static void test_d(void **state)
{
	(void)state;
	expect("_Dmain", "D main");
	expect("_D8demangle4testFiZv", "demangle.test(int)");
	expect("_D8demangle4testFAaZv", "demangle.test(char[])");
	expect("_D8demangle4testFAaZv.part.0.cold",
	       "demangle.test(char[]) [clone .part.0] [clone .cold]");
	/*
	 * "return scope" is NkM (the ABI page, Parameter2); the same letters within names are left
	 * alone.
	 */
	expect("_D8demangle4testFNkMAaZv", "demangle.test(return scope char[])");
	expect("_D8demangle5NkMabFNkMAaNkMQfZv",
	       "demangle.NkMab(return scope char[], return scope char[])");
}

/* Class, name and descriptor by the JVM's specification, 4.2 and 4.3. */
static void test_java(void **state)
{
	static const char *const names[][2] = {
		{ "LWork;jLeaf(I)I", "Work.jLeaf(int)" },
		{ "Ljava/lang/Object;<init>()V", "java.lang.Object.<init>()" },
		{ "Lorg/app/Parser$Token;next([BIJ)[[Ljava/lang/String;", "org.app.Parser$Token.next(byte[], int, long)" },
		{ "La/B;f(Ljava/util/Map$Entry;[[DLa/B;ZCFS)Lx;", "a.B.f(java.util.Map$Entry, double[][], a.B, boolean, char, float, short)" },
		/* A hidden class, and a name that is not valid in the language. */
		{ "LL$$Lambda$1.0x00007f6528000a08;run()V", "L$$Lambda$1.0x00007f6528000a08.run()" },
		{ "La/B;lambda$main$0(Ljava/lang/String;)Z", "a.B.lambda$main$0(java.lang.String)" },
	};
	static const char *const others[] = {
		"", "L", "L;", "La;", "L;f()V", "La;f", "La;f(", "La;f(I", "La;f(I)", "La;f(V)V", "La;f(Q)V", "La;f()VV", "La;f()V ",
		"La;f(La)V", "La;f(L;)V", "La;f([)V", "La;f()[V", "La;()V", "La;f/g()V", "a;f()V", "[La;f()V", "La/B;::f", "Interpreter",
		"LazyCompile:*heavy work.js:1", "int Work.jLeaf(int)", "_Z1fv",
	};
	char *got;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		got = demangle_java(names[i][0]);
		assert_string_equal(got, names[i][1]);
		free(got);
	}
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		got = demangle_java(others[i]);
		assert_string_equal(got, others[i]);
		free(got);
	}
}

static void test_plain(void **state)
{
	static const char *const names[] = {
		"",
		"main",
		"_",
		"_R",
		"_Z",
		"_D",
		"_DYNAMIC",
		"_Dtor",
		"_Record",
		"i",
		"v",
		"f",
		"_Zebra",
		"_Z_",
		"__libc_start_main",
		"_GLOBAL_OFFSET_TABLE_",
		"_GLOBAL__sub_I_main.cc",
		"foo.part.0",
		"foo.llvm.123",
		"main.cold",
		"puts@plt",
		"@plt",
		"_@plt",
		"\377\376",
		"_ZN",
		"_RNv",
		"_D3",
		"Z1fv",
		"runtime.mallocgc",
		"[unknown]",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		expect(names[i], names[i]);
}

/* libiberty's recursion limit rejects everything above 1 KiB; real template names are longer. */
static void test_long(void **state)
{
	char mangled[2048] = "_ZN", want[4096] = "";

	(void)state;
	for (int i = 0; i < 400; i++) {
		strcat(mangled, "3abc");
		strcat(want, i ? "::abc" : "abc");
	}
	strcat(mangled, "Ev");
	strcat(want, "()");
	expect(mangled, want);
}

static void repeat(char *out, const char *head, const char *unit, size_t n)
{
	strcpy(out, head);
	out += strlen(head);
	for (; n; n--) {
		strcpy(out, unit);
		out += strlen(unit);
	}
}

/* Names made to exhaust stack, memory or time are returned unchanged or as something short. */
static void test_hostile(void **state)
{
	static const char *const units[][2] = {
		{ "_Z1f", "P" },     { "_Z1f", "1AI" },	     { "_Z1fIX", "ng" },
		{ "_Z1fIX", "cl" },  { "_Z", "Z1fv" },	     { "_Z1f", "M1AF" },
		{ "_Z1f", "DTnw_" }, { "_RNvMC0", "R" },     { "_RINvC1a1f", "T" },
		{ "_D1a1fF", "P" },  { "_D1a1fF", "HQaQb" }, { "_R", "IYM" },
		{ "_D", "1" },	     { "_D1a1fF", "NkM" }, { "_Z1f", "17h" },
		{ "_R", ".a" },	     { "_D1a1fFZv", ".1" },
	};
	static const size_t sizes[] = { 300, 1000, 1300, 4000, 20000, 200000 };
	char *name = malloc(1 << 20), *got;

	(void)state;
	for (size_t u = 0; u < ARRAY_SIZE(units); u++)
		for (size_t s = 0; s < ARRAY_SIZE(sizes); s++) {
			repeat(name, units[u][0], units[u][1], sizes[s] / strlen(units[u][1]));
			got = demangle(name);
			assert_true(strlen(got) <= 256 << 10 || !strcmp(got, name));
			free(got);
		}
	free(name);
	/*
	 * Each argument is p<the previous one, the previous one>: 2^33 times "p<" when written out.
	 * S_ is p, S0_ the first argument and so on, in base 36.
	 */
	expect("_Z1f1pIiiES_IS0_S0_ES_IS1_S1_ES_IS2_S2_ES_IS3_S3_ES_IS4_S4_ES_IS5_S5_ES_IS6_S6_ES_IS7_S7_E"
	       "S_IS8_S8_ES_IS9_S9_ES_ISA_SA_ES_ISB_SB_ES_ISC_SC_ES_ISD_SD_ES_ISE_SE_ES_ISF_SF_ES_ISG_SG_E"
	       "S_ISH_SH_ES_ISI_SI_ES_ISJ_SJ_ES_ISK_SK_ES_ISL_SL_ES_ISM_SM_ES_ISN_SN_ES_ISO_SO_ES_ISP_SP_E",
	       "_Z1f1pIiiES_IS0_S0_ES_IS1_S1_ES_IS2_S2_ES_IS3_S3_ES_IS4_S4_ES_IS5_S5_ES_IS6_S6_ES_IS7_S7_E"
	       "S_IS8_S8_ES_IS9_S9_ES_ISA_SA_ES_ISB_SB_ES_ISC_SC_ES_ISD_SD_ES_ISE_SE_ES_ISF_SF_ES_ISG_SG_E"
	       "S_ISH_SH_ES_ISI_SI_ES_ISJ_SJ_ES_ISK_SK_ES_ISL_SL_ES_ISM_SM_ES_ISN_SN_ES_ISO_SO_ES_ISP_SP_E");
}

/* A function of a struct, and of pairs of the previous argument: its text is 2^15 times as long. */
static char *make_doubled(void)
{
	enum { LEN = 30000, TIMES = 15 };
	char *name = calloc(1, 2 * LEN), *at = name, *before;

	at += sprintf(at, "_D1fF");
	before = at;
	at += sprintf(at, "S%d", LEN);
	memset(at, 'a', LEN);
	at += LEN;
	for (int i = 0; i < TIMES; i++) {
		char *pair = at;

		at += sprintf(at, "B2");
		/* How far back, base 26: capitals, and a small letter for the last digit. */
		for (int k = 0; k < 2; k++) {
			const int back = (int)(at - before);

			*at++ = 'Q';
			if (back >= 26 * 26)
				at += sprintf(at, "%c", 'A' + back / 676 / 26 % 26);
			if (back >= 26 * 26)
				at += sprintf(at, "%c", 'A' + back / 676 % 26);
			if (back >= 26)
				at += sprintf(at, "%c", 'A' + back / 26 % 26);
			*at++ = (char)('a' + back % 26);
		}
		before = pair;
	}
	strcpy(at, "Zv");
	return name;
}

/* It was written out in 2 GB, only to be found too long. */
static void test_doubled(void **state)
{
	char *name = make_doubled();
	struct rusage used;
	int status;
	pid_t pid;

	(void)state;
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		_exit(strcmp(demangle(name), name) ? 1 : 0);
	assert_int_equal(wait4(pid, &status, 0, &used), pid);
	assert_int_equal(status, 0);
	assert_in_range(used.ru_maxrss, 1, 512 << 10);
	free(name);
	/* What repeats little stays: pairs of a short struct. */
	expect("_D1fFS1aB2QfQhB2QiQkZv", "f(a, Tuple!(a, a), Tuple!(Tuple!(a, a), Tuple!(a, a)))");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cxx),
		cmocka_unit_test(test_rust),
		cmocka_unit_test(test_d),
		cmocka_unit_test(test_java),
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_doubled),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("symbolize demangle", tests, NULL, NULL);
}
