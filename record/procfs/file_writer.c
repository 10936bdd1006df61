#include "procfs/file_writer.h"

#include "host/clock.h"
#include "host/nsopen.h"
#include "procfs/proc_facts.h"

/*
 * Most clocks of file systems are late, and none is early: a younger file is the next program's. After
 * an exec, one that may be younger is, too. At an exit it is not: a JVM writes its map then.
 */
struct file_writer file_writer_of(const struct proc_facts *f)
{
	struct file_writer w = FILE_WRITER_ANY;

	if (f->over_time)
		w.until = proc_facts_wall(f->over_time) - (f->over_exec ? clock_file_late_ns() : 0);
	return w;
}

const char *file_writer_over(const struct file_writer *w, const struct stat *st)
{
	const int64_t mtime = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;

	return mtime > w->until ? "it was written to when its process had ended, or ran another program" : NULL;
}

const char *file_writer_changed(const struct file_writer *w, int fd)
{
	struct stat st;

	if (nsopen_stat(fd, &st))
		return "its file system does not say when it was written to";
	return file_writer_over(w, &st);
}
