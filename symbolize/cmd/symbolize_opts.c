/* The options that nsprof symbolize and nsprof script share. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "cmd/symbolize_run.h"
#include "debuginfo/debugsource.h"
#include "modules/module.h"
#include "recording/rec_reader.h"

int symbolize_add_debug_dir(void *unused, const char *arg)
{
	(void)unused;
	return debugsource_add_dir(arg) ? -EINVAL : 0;
}

int symbolize_use_debuginfod(void *opts, const char *arg)
{
	struct symbolize_opts *o = opts;

	o->debuginfod = true;
	o->servers = arg;
	return 0;
}

int symbolize_add_filter(void *filter, const char *arg)
{
	return filter_add(filter, arg);
}

int symbolize_add_comms(void *filter, const char *arg)
{
	return filter_add_list(filter, FILTER_COMM, "--comms", arg);
}

int symbolize_add_pids(void *filter, const char *arg)
{
	return filter_add_list(filter, FILTER_PID, "--pid", arg);
}

int symbolize_add_tids(void *filter, const char *arg)
{
	return filter_add_list(filter, FILTER_TID, "--tid", arg);
}

int symbolize_add_span(void *filter, const char *arg)
{
	return filter_add_span(filter, arg);
}

int symbolize_parse(struct symbolize_opts *o, const struct opt_spec *spec, int argc, char **argv)
{
	int first, err = opt_parse(spec, argc, argv, &first);

	if (err)
		return err;
	if (argc - first > 1 || (argc > first && o->input)) {
		pr_err("unexpected argument '%s': only one recording can be read; see --help", argv[argc - 1]);
		return -EINVAL;
	}
	if (argc > first)
		o->input = argv[first];
	if (!o->input)
		o->input = rec_reader_default();
	o->unwinder = unwinder_find(o->unwind);
	if (!o->unwinder) {
		pr_err("unknown unwinder '%s'; --unwind takes cached, libunwind, libdw or fp", o->unwind);
		return -EINVAL;
	}
	if (o->kallsyms && access(o->kallsyms, R_OK)) {
		pr_err("cannot read --kallsyms '%s': %s", o->kallsyms, strerror(errno));
		return -EINVAL;
	}
	modules_use_root(o->symfs);
	return 0;
}
