/* Runtimes that generate code (jitruntime.h). */
#include "modules/jitruntime.h"

#include <string.h>

#include "base/util.h"
#include "jitdump.h"

/* What may follow @name in a file's name. */
enum rest {
	REST_NONE,	/* nothing */
	REST_VERSION,	/* nothing, or a version: "8.4", "-5.1.so" */
	REST_ANY,
};

static const struct {
	const char *name;	/* base name of a file, or its beginning */
	enum rest rest;
	unsigned int bit;
} files[] = {
	{ "libj9jit", REST_ANY, JIT_OPENJ9 },
	{ "libj9vm", REST_ANY, JIT_OPENJ9 },
	{ "libjvm.so", REST_NONE, JIT_JVM },
	{ "java", REST_NONE, JIT_JVM },
	{ "libcoreclr.so", REST_NONE, JIT_DOTNET },
	{ "beam.", REST_ANY, JIT_ERLANG },
	{ "node", REST_VERSION, JIT_NODE },
	{ "nodejs", REST_VERSION, JIT_NODE },
	{ "libnode.so", REST_ANY, JIT_NODE },
	{ "llvmjit.so", REST_NONE, JIT_POSTGRES },
	{ "opcache.so", REST_NONE, JIT_PHP },
	{ "php", REST_VERSION, JIT_PHP },
	{ "php-fpm", REST_VERSION, JIT_PHP },
	{ "php-cgi", REST_VERSION, JIT_PHP },
	{ "libphp", REST_ANY, JIT_PHP },
	{ "luajit", REST_VERSION, JIT_LUAJIT },
	{ "libluajit", REST_ANY, JIT_LUAJIT },
	{ "sbcl", REST_VERSION, JIT_SBCL },
	{ "sbcl.core", REST_NONE, JIT_SBCL },
	{ "ruby", REST_VERSION, JIT_RUBY },
	{ "libruby", REST_ANY, JIT_RUBY },
	{ "qemu-", REST_ANY, JIT_QEMU },
};

static const struct {
	unsigned int bit;
	const char *naming, *unwinding;
} runtimes[] = {
	{ JIT_QEMU, "run qemu with -perfmap (QEMU 8.0 and later)", NULL },
	{ JIT_OPENJ9, "run java with -XX:+PerfTool", NULL },
	{ JIT_JVM, "run 'jcmd PID Compiler.perfmap' before the recording ends (JDK 17 and later), or start java with "
		   "-XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit", "run java with -XX:+PreserveFramePointer" },
	{ JIT_DOTNET, "set DOTNET_PerfMapEnabled=1 in its environment", NULL },
	{ JIT_ERLANG, "run erl with +JPperf true", "run erl with +JPperf true" },
	{ JIT_NODE, "run node with --perf-basic-prof", NULL },
	{ JIT_POSTGRES, "set jit_profiling_support=on and restart the server", NULL },
	{ JIT_PHP, "run php with -d opcache.jit_debug=0x10", NULL },
	{ JIT_LUAJIT, NULL, NULL },
	{ JIT_SBCL, NULL, NULL },
	{ JIT_RUBY, "run ruby with --yjit-perf", NULL },
};

static bool rest_is(const char *s, enum rest rest)
{
	if (rest == REST_ANY || !*s || !strcmp(s, " (deleted)"))
		return true;
	return rest == REST_VERSION && s[strspn(s, "0123456789.-")] == '\0';
}

unsigned int jit_runtime_proof(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	if (jitdump_marks(path))
		return JIT_DUMP;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		size_t n = strlen(files[i].name);

		if (!strncmp(name, files[i].name, n) && rest_is(name + n, files[i].rest))
			return files[i].bit;
	}
	return 0;
}

const char *jit_runtime_naming(unsigned int all)
{
	for (size_t i = 0; i < ARRAY_SIZE(runtimes); i++)
		if (all & runtimes[i].bit)
			return runtimes[i].naming;
	return "if it can, have it write /tmp/perf-PID.map or a jitdump: nsprof-symbolize(1), JIT CODE";
}

const char *jit_runtime_unwinding(unsigned int all, bool named)
{
	for (size_t i = 0; i < ARRAY_SIZE(runtimes); i++) {
		const char *how = runtimes[i].unwinding;

		/* An option that is already on does not help. */
		if (all & runtimes[i].bit)
			return how && named && !strcmp(how, runtimes[i].naming) ? NULL : how;
	}
	return "if it can, have it keep frame pointers, or put call frame information into a jitdump";
}
