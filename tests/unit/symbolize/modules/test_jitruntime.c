/*
 * Which runtimes are recognized by the files that a process maps, and the advice about their code.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"
#include "modules/jitruntime.h"

static void test_proof(void **state)
{
	static const struct {
		const char *path;
		unsigned int want;
	} t[] = {
		{ "/usr/lib/jvm/java-25-openjdk-amd64/lib/server/libjvm.so", JIT_JVM },
		{ "/usr/lib/jvm/libjvm.so (deleted)", JIT_JVM },
		{ "/opt/jvm/libjvm.so.old", 0 },
		{ "/opt/java/openjdk/lib/default/libj9jit29.so", JIT_OPENJ9 },
		{ "/opt/java/openjdk/lib/default/libj9vm29.so", JIT_OPENJ9 },
		{ "/usr/bin/node", JIT_NODE },
		{ "/usr/lib/x86_64-linux-gnu/libnode.so.137", JIT_NODE },
		{ "/usr/bin/node_exporter", 0 },
		{ "/usr/lib/erlang/erts-17.1.1/bin/beam.smp", JIT_ERLANG },
		{ "/usr/lib/postgresql/18/lib/llvmjit.so", JIT_POSTGRES },
		{ "/usr/lib/postgresql/18/bin/postgres", 0 },
		{ "/usr/lib/php/20240924/opcache.so", JIT_PHP },
		{ "/usr/sbin/php-fpm8.4", JIT_PHP },
		{ "/usr/bin/phpize", 0 },
		{ "/usr/share/dotnet/shared/Microsoft.NETCore.App/9.0.0/libcoreclr.so", JIT_DOTNET },
		{ "/usr/bin/luajit-2.1.1748459687", JIT_LUAJIT },
		{ "/usr/lib/sbcl/sbcl.core", JIT_SBCL },
		{ "/usr/bin/qemu-aarch64", JIT_QEMU },
		{ "/usr/lib/x86_64-linux-gnu/libruby-3.3.so.3.3.8", JIT_RUBY },
		{ "/tmp/jit-17.dump", JIT_DUMP },
		{ "//anon", 0 },
		{ "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		if (jit_runtime_proof(t[i].path) != t[i].want)
			fail_msg("'%s': %#x", t[i].path, jit_runtime_proof(t[i].path));
}

static void test_advice(void **state)
{
	(void)state;
	assert_non_null(strstr(jit_runtime_naming(JIT_JVM), "jcmd PID Compiler.perfmap"));
	assert_non_null(strstr(jit_runtime_unwinding(JIT_JVM, false), "+PreserveFramePointer"));
	/* OpenJ9 has another map and no such option, and maps a file with HotSpot's name. */
	assert_string_equal(jit_runtime_naming(JIT_OPENJ9 | JIT_JVM), "run java with -XX:+PerfTool");
	assert_null(jit_runtime_unwinding(JIT_OPENJ9 | JIT_JVM, false));
	/* Frame pointers need another option than the map. */
	assert_non_null(jit_runtime_unwinding(JIT_JVM, true));
	/* Erlang's one option enables both: where there are names, there are frame pointers. */
	assert_non_null(strstr(jit_runtime_naming(JIT_ERLANG), "+JPperf true"));
	assert_non_null(strstr(jit_runtime_unwinding(JIT_ERLANG, false), "+JPperf true"));
	assert_null(jit_runtime_unwinding(JIT_ERLANG, true));
	assert_null(jit_runtime_unwinding(JIT_ERLANG | JIT_DUMP, true));
	/* The program in qemu may be Java, but the code is qemu's. */
	assert_string_equal(jit_runtime_naming(JIT_QEMU | JIT_JVM), jit_runtime_naming(JIT_QEMU));
	assert_null(jit_runtime_unwinding(JIT_QEMU, false));
	assert_null(jit_runtime_naming(JIT_SBCL));
	assert_null(jit_runtime_naming(JIT_LUAJIT));
	/* Nothing is known, so nothing is claimed. */
	assert_int_equal(strncmp(jit_runtime_naming(0), "if it can, ", 11), 0);
	assert_int_equal(strncmp(jit_runtime_unwinding(JIT_DUMP, true), "if it can, ", 11), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_proof),
		cmocka_unit_test(test_advice),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("symbolize jitruntime", tests, NULL, NULL);
}
