#include "procfs/file_writer.h"

#include <stdbool.h>
#include <unistd.h>

#include "base/util.h"
#include "host/clock.h"
#include "host/nsopen.h"
#include "procfs/proc_facts.h"

static const char written_late[] = "it was written to when its process had ended, or ran another program";

/*
 * Most clocks of file systems are late, and none is early: a younger file is the next program's. After
 * an exec, one that may be younger is, too. At an exit it is not: a JVM writes its map then.
 */
struct file_writer file_writer_of(const struct proc_facts *f)
{
	struct file_writer w = FILE_WRITER_ANY;

	if (!f->over_time && !f->outlived) {
		w.pid = f->pid;
		w.start_ticks = f->start_ticks;
		w.image = f->image;
		w.ran = f->first_exit ? clock_wall_ns(f->first_exit) : INT64_MIN;
		if (f->seen)
			w.ran = MAX(w.ran, clock_wall_ns(f->seen) - clock_file_late_ns());
	}
	if (f->over_time)
		w.until = clock_wall_ns(f->over_time) - (f->over_exec ? clock_file_late_ns() : 0);
	return w;
}

static int64_t mtime_ns(const struct stat *st)
{
	return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

const char *file_writer_over(const struct file_writer *w, const struct stat *st)
{
	return mtime_ns(st) > w->until ? written_late : NULL;
}

/* Its exec, or its exit, may be in a record that nobody has read yet. */
static bool still_runs(const struct file_writer *w)
{
	const int procfd = nsopen_process(w->pid);
	bool same;

	if (procfd < 0)
		return false;
	same = proc_facts_same_image(procfd, w->start_ticks, w->image);
	close(procfd);
	return same;
}

const char *file_writer_changed(const struct file_writer *w, int fd)
{
	struct stat st;

	if (nsopen_stat(fd, &st))
		return "its file system does not say when it was written to";
	if (w->pid && mtime_ns(&st) > w->ran && !still_runs(w))
		return written_late;
	return file_writer_over(w, &st);
}
