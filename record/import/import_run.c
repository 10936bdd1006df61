/* An import from start to end: opens the files, and has a parser read them (import.h). */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "capture/capture.h"
#include "host/clock.h"
#include "host/kept.h"
#include "host/parser.h"
#include "import/import_parse.h"
#include "import/perfdata.h"
#include "procs/hostmap.h"
#include "procs/own_facts.h"
#include "recording/rec_reader.h"

/* Can the input be read twice? */
static bool is_stored(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));
}

/* Exit status. */
static int parse(void *ctx)
{
	struct import_files *files = ctx;

	if (!is_stored(files->fd))
		parser_output_begins();
	return import_parse(files) ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int serve(void *ctx, uint32_t kind, int *value, const char *text, int *fd)
{
	struct import_files *files = ctx;

	if (kind == HOSTMAP_ASK)
		return hostmap_serve(text, fd);
	if (kind == PERFDATA_PART) {
		*fd = perfdata_part_open(files->fd, *value);
		return MIN(*fd, 0);
	}
	return import_output_serve(&files->out, kind, fd);
}

/* What cannot be looked up any more in a parser. */
static void look_ahead(void)
{
	own_facts_keep();
	clock_mono_ns();
	kept_add("/proc/kallsyms");
	kept_add("/proc/sys/kernel/random/boot_id");
	capture_ksyms_prepare();
}

static int confined(struct import_files *files)
{
	const struct parser p = { .temp = true, .kernel_names = true, .input = files->name, .serve = serve, .ctx = files };

	if (files->o->no_sandbox) {
		pr_warn("--no-sandbox: perf.data is read with all rights");
		return parse(files);
	}
	look_ahead();
	return parser_run(&p, parse, files);
}

int import_run(const struct import_opts *o)
{
	struct import_files files = { .o = o };
	const bool in = !strcmp(o->input, "-");
	int status = EXIT_FAILURE;

	/* Standard input may be a terminal, which a parser gets only when it is given one. */
	files.fd = in ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : open(o->input, O_RDONLY | O_CLOEXEC);
	if (files.fd < 0) {
		pr_err("cannot open '%s': %s%s", o->input, strerror(errno),
		       errno == ENOENT ? "; 'perf record' writes one" : rec_reader_open_hint(o->input, errno));
		return EXIT_FAILURE;
	}
	files.name = o->name ? xstrdup(o->name) : in ? xstrdup("standard input") : xasprintf("'%s'", o->input);
	if (!import_output_check(&files.out, o->output))
		status = confined(&files);
	import_output_fini(&files.out);
	free(files.name);
	close(files.fd);
	return status;
}
