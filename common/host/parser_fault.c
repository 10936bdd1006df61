#include "host/parser_fault.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/log.h"
#include "base/util.h"
#include "host/parser.h"

/* Files that one run can leave out. */
#define AVOID_MAX 8
/* For a handler, where the fault may be that the stack is full. */
#define STACK_SIZE (64u << 10)
#define NAME_ROOM 512

/* The parser writes it, so the program does not trust it. */
struct shared {
	volatile uint32_t what;
	volatile bool output;	/* standard output is being written */
	char name[NAME_ROOM];
};

static struct shared *shared;
static bool catching;
static uint32_t avoid[AVOID_MAX];
static size_t navoid;

__thread struct parser_work parser_work;

void parser_fault_init(void)
{
	void *p;

	if (shared)
		return;
	p = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	shared = p == MAP_FAILED ? NULL : p;
}

void parser_work_begin(void)
{
	stack_t st = { .ss_size = STACK_SIZE };

	parser_work.begun = true;
	if (!catching)
		return;
	st.ss_sp = malloc(STACK_SIZE);
	if (st.ss_sp)
		sigaltstack(&st, NULL);
}

/* The first thread that gets here notes what it read. */
static void on_fault(int signo)
{
	const char *name = parser_work.name;
	size_t i = 0;

	if (shared && !shared->what) {
		for (; name && name[i] && i < NAME_ROOM - 1; i++)
			shared->name[i] = name[i];
		shared->name[i] = '\0';
		shared->what = parser_work.what;
	}
	/* The handler is gone (SA_RESETHAND). */
	raise(signo);
}

void parser_fault_catch(void)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };
	struct sigaction sa = { .sa_handler = on_fault, .sa_flags = SA_ONSTACK | SA_RESETHAND | SA_NODEFER };

	catching = true;
	parser_work_begin();
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++)
		sigaction(faults[i], &sa, NULL);
}

bool parser_avoids(uint32_t what)
{
	for (size_t i = 0; i < navoid; i++)
		if (avoid[i] == what)
			return true;
	return false;
}

void parser_output_begins(void)
{
	if (shared && catching)
		shared->output = true;
}

const char *parser_fault_name(void)
{
	static char name[NAME_ROOM];

	if (!shared)
		return "";
	memcpy(name, shared->name, sizeof(name));
	name[sizeof(name) - 1] = '\0';
	for (char *p = name; *p; p++)
		if (*p < ' ' || *p > '~')
			*p = '?';
	return name;
}

bool parser_fault_learn(int signo)
{
	const uint32_t what = shared ? shared->what : 0;
	const char *name = parser_fault_name();

	if (!what || shared->output || navoid == AVOID_MAX || parser_avoids(what))
		return false;
	pr_warn("reading '%s' ended the process that reads files of others, by signal %d (%s): beginning again without that file",
		name, signo, strsignal(signo));
	avoid[navoid++] = what;
	shared->what = 0;
	shared->name[0] = '\0';
	return true;
}
