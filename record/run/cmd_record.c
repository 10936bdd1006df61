/* nsprof-record. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "base/signals.h"
#include "base/strbuf.h"
#include "base/xalloc.h"
#include "cli/opt.h"
#include "events/record_opts.h"
#include "run/event_options.h"
#include "run/record_options.h"
#include "run/session.h"

static char *join(int argc, char **argv)
{
	struct strbuf sb = STRBUF_INIT;

	for (int i = 0; i < argc; i++)
		strbuf_addf(&sb, "%s%s", i ? " " : "", argv[i]);
	return sb.s ? sb.s : xstrdup("");
}

/* End by @signo, so that our parent sees the same as from perf. Write no core file. */
static void end_by_signal(int signo)
{
	struct rlimit none = { 0, 0 };
	sigset_t set;

	setrlimit(RLIMIT_CORE, &none);
	signal(signo, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, signo);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(signo);
}

int main(int argc, char **argv)
{
	struct record_cmdline c = {
		.o = { .freq = FREQ_DEFAULT,
		       .callgraph = CALLGRAPH_DWARF,
		       .dump_size = DUMP_SIZE_MAX },
	};
	int first, err, rc, signo;

	log_init("nsprof record");
	signals_init();
	c.o.cmdline = join(argc, argv);
	err = record_options_parse(&c, argc, argv, &first);
	if (err == OPT_HELP || c.build_info) {
		if (err != OPT_HELP)
			puts("record: masked-stacks dwarf zstd libelf");
		rc = err < 0 ? EXIT_USAGE : fflush(stdout) ? 1 : 0;
		goto out;
	}
	if (err) {
		rc = EXIT_USAGE;
		goto out;
	}
	log_set_verbosity(c.quiet ? -1 : c.verbose);
	/* --timestamp-filename: a series of one file. */
	c.o.switch_output |= c.timestamp_name;
	if (first < argc)
		c.o.command = argv + first;
	rc = session_run(&c.o, &signo);
	if (signo) {
		end_by_signal(signo);
		/*
		 * A signal cannot end the first process of a pid namespace: exit as a shell would.
		 */
		rc = 128 + signo;
	}
out:
	free(c.o.cgroups);
	free(c.o.containers);
	free(c.o.pods);
	free(c.o.cgroup_of);
	free(c.o.runtime_roots);
	free(c.o.cmdline);
	free(c.o.toggles_ms);
	event_options_fini(&c);
	return rc;
}
