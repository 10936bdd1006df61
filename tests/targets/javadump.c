/*
 * A Java agent that writes a jitdump (tools/perf/Documentation/jitdump-specification.txt):
 * -agentpath:javadump.so=DIR makes DIR/jit-PID.dump. Methods get the names that perf's
 * libperf-jvmti.so gives them: class, name and descriptor from JVMTI, concatenated. It also writes
 * the line numbers that the compiler records for its code.
 */
#include <elf.h>
#include <fcntl.h>
#include <jvmti.h>
#include <jvmticmlr.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { LOAD = 0, LINES = 2 };

static FILE *dump;
static uint64_t loads;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void put32(uint32_t v)
{
	fwrite(&v, sizeof(v), 1, dump);
}

static void put64(uint64_t v)
{
	fwrite(&v, sizeof(v), 1, dump);
}

static void begin_record(uint32_t type, size_t body)
{
	put32(type);
	put32((uint32_t)(16 + body));
	put64(now());
}

static void put_load(const char *name, const void *code, size_t size)
{
	begin_record(LOAD, 40 + strlen(name) + 1 + size);
	put32((uint32_t)getpid());
	put32((uint32_t)syscall(SYS_gettid));
	put64((uintptr_t)code);
	put64((uintptr_t)code);
	put64(size);
	put64(loads++);
	fwrite(name, strlen(name) + 1, 1, dump);
	fwrite(code, size, 1, dump);
	fflush(dump);
}

static int line_of(jvmtiEnv *env, jmethodID method, jint bci)
{
	jvmtiLineNumberEntry *table;
	jint n, line = 0;

	if ((*env)->GetLineNumberTable(env, method, &n, &table))
		return 0;
	for (jint i = 0; i < n && table[i].start_location <= bci; i++)
		line = table[i].line_number;
	(*env)->Deallocate(env, (unsigned char *)table);
	return line;
}

/* One entry per address with known lines: the innermost method there. */
static void put_lines(jvmtiEnv *env, const void *code, const jvmtiCompiledMethodLoadRecordHeader *info)
{
	static const char file[] = "Java";
	const jvmtiCompiledMethodLoadInlineRecord *in = (const void *)info;

	while (info && info->kind != JVMTI_CMLR_INLINE_INFO)
		info = info->next;
	in = (const void *)info;
	if (!in || !in->numpcs)
		return;
	begin_record(LINES, 16 + (size_t)in->numpcs * (16 + sizeof(file)));
	put64((uintptr_t)code);
	put64((uint64_t)in->numpcs);
	for (jint i = 0; i < in->numpcs; i++) {
		const PCStackInfo *at = &in->pcinfo[i];

		put64((uintptr_t)at->pc);
		put32((uint32_t)line_of(env, at->methods[0], at->bcis[0]));
		put32(0);
		fwrite(file, sizeof(file), 1, dump);
	}
}

static void JNICALL on_method(jvmtiEnv *env, jmethodID method, jint size, const void *code, jint nmap,
			      const jvmtiAddrLocationMap *map, const void *info)
{
	char *name = NULL, *descriptor = NULL, *class_name = NULL, text[4096];
	jclass class;

	(void)nmap;
	(void)map;
	if (!(*env)->GetMethodDeclaringClass(env, method, &class) && !(*env)->GetClassSignature(env, class, &class_name, NULL) &&
	    !(*env)->GetMethodName(env, method, &name, &descriptor, NULL)) {
		snprintf(text, sizeof(text), "%s%s%s", class_name, name, descriptor);
		pthread_mutex_lock(&lock);
		put_lines(env, code, info);
		put_load(text, code, (size_t)size);
		pthread_mutex_unlock(&lock);
	}
	(*env)->Deallocate(env, (unsigned char *)name);
	(*env)->Deallocate(env, (unsigned char *)descriptor);
	(*env)->Deallocate(env, (unsigned char *)class_name);
}

static void JNICALL on_code(jvmtiEnv *env, const char *name, const void *code, jint size)
{
	(void)env;
	pthread_mutex_lock(&lock);
	put_load(name, code, (size_t)size);
	pthread_mutex_unlock(&lock);
}

static int open_dump(const char *dir)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/jit-%d.dump", dir, (int)getpid());
	dump = fopen(path, "w+");
	/* Recorders learn about the file from this mapping. */
	if (!dump || mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(dump), 0) == MAP_FAILED)
		return -1;
	put32(0x4a695444);
	put32(1);
	put32(40);
	put32(EM_X86_64);
	put32(0);
	put32((uint32_t)getpid());
	put64(now());
	put64(0);
	return 0;
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	const jvmtiEventCallbacks on = { .CompiledMethodLoad = on_method, .DynamicCodeGenerated = on_code };
	const jvmtiCapabilities can = { .can_generate_compiled_method_load_events = 1, .can_get_line_numbers = 1 };
	jvmtiEnv *env;

	(void)reserved;
	if (open_dump(options && *options ? options : ".") || (*vm)->GetEnv(vm, (void **)&env, JVMTI_VERSION_1_2) ||
	    (*env)->AddCapabilities(env, &can) || (*env)->SetEventCallbacks(env, &on, sizeof(on)) ||
	    (*env)->SetEventNotificationMode(env, JVMTI_ENABLE, JVMTI_EVENT_COMPILED_METHOD_LOAD, NULL) ||
	    (*env)->SetEventNotificationMode(env, JVMTI_ENABLE, JVMTI_EVENT_DYNAMIC_CODE_GENERATED, NULL))
		return JNI_ERR;
	return JNI_OK;
}
