/* Made-up trees of sysfs and tracefs, in a folder that is removed at the end. */
#ifndef NSPROF_TEST_EVENT_TREES_H
#define NSPROF_TEST_EVENT_TREES_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char tree_dir[] = "/tmp/nsprof-trees.XXXXXX";
static char tree_pmus[64], tree_hybrid[64], tree_tracefs[64], tree_none[64];

/* Writes @text into the file @path below the tree, and makes its folders. */
static void tree_put(const char *path, const char *text)
{
	char full[512];
	FILE *f;

	snprintf(full, sizeof(full), "%s/%s", tree_dir, path);
	for (char *p = full + strlen(tree_dir) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(full, 0755);
		*p = '/';
	}
	f = fopen(full, "we");
	if (!f || fputs(text, f) < 0 || fclose(f))
		abort();
}

#define TREE_COMMON                                                                                \
	"format:\n"                                                                                \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"             \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static void tree_tracepoint(const char *group, const char *name, const char *id, const char *fields)
{
	char path[256], text[4096];

	snprintf(path, sizeof(path), "tracefs/events/%s/%s/id", group, name);
	tree_put(path, id);
	snprintf(path, sizeof(path), "tracefs/events/%s/%s/format", group, name);
	snprintf(text, sizeof(text), "name: %s\nID: %s\n" TREE_COMMON "%s\nprint fmt: \"x=%%d\", REC->x\n", name, id, fields);
	tree_put(path, text);
}

/* As Intel's of one kind of core, and of two kinds (Alder Lake), print them. */
static void trees_make(void)
{
	if (!mkdtemp(tree_dir))
		abort();
	snprintf(tree_pmus, sizeof(tree_pmus), "%s/one", tree_dir);
	snprintf(tree_hybrid, sizeof(tree_hybrid), "%s/two", tree_dir);
	snprintf(tree_tracefs, sizeof(tree_tracefs), "%s/tracefs", tree_dir);
	snprintf(tree_none, sizeof(tree_none), "%s/none", tree_dir);
	tree_put("one/cpu/type", "4\n");
	tree_put("one/cpu/format/event", "config:0-7\n");
	tree_put("one/cpu/format/umask", "config:8-15\n");
	tree_put("one/cpu/format/inv", "config:23\n");
	tree_put("one/cpu/format/split", "config:0-3,32-35\n");
	tree_put("one/cpu/format/ldlat", "config1:0-15\n");
	tree_put("one/cpu/format/third", "config3:0-15\n");
	tree_put("one/cpu/events/cpu-cycles", "event=0x3c\n");
	tree_put("one/cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n");
	tree_put("one/cpu/events/asks", "event=0x1,umask=?\n");
	tree_put("one/software/type", "1\n");
	tree_put("one/tracepoint/type", "2\n");
	/* Numbers that no PMU of this machine has. */
	tree_put("one/uncore_imc_0/type", "1000014\n");
	tree_put("one/uncore_imc_0/cpumask", "0,18\n");
	tree_put("one/uncore_imc_0/format/event", "config:0-7\n");
	tree_put("one/uncore_imc_0/events/data_reads", "event=0x20\n");
	tree_put("one/uncore_imc_0/events/data_reads.unit", "MiB\n");
	tree_put("one/uncore_imc_0/events/data_reads.scale", "6.103515625e-5\n");
	tree_put("one/uncore_imc_1/type", "1000015\n");
	tree_put("one/uncore_imc_1/cpumask", "0,18\n");
	tree_put("one/uncore_imc_1/format/event", "config:0-7\n");
	tree_put("one/uncore_imc_1/events/data_reads", "event=0x20\n");
	tree_put("two/cpu_atom/type", "10\n");
	tree_put("two/cpu_atom/cpus", "16-23\n");
	tree_put("two/cpu_atom/format/event", "config:0-7\n");
	tree_put("two/cpu_atom/events/slots", "event=0x0\n");
	tree_put("two/cpu_core/type", "4\n");
	tree_put("two/cpu_core/cpus", "0-15\n");
	tree_put("two/cpu_core/format/event", "config:0-7\n");
	tree_put("two/cpu_core/events/slots", "event=0x0\n");
	tree_put("two/cpu_core/events/topdown-retiring", "event=0x80\n");
	tree_tracepoint("sched", "sched_switch", "316\n",
			"\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
			"\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
			"\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n");
	tree_tracepoint("sched", "sched_waking", "317\n",
			"\tfield:pid_t pid;\toffset:8;\tsize:4;\tsigned:1;\n");
	tree_tracepoint("block", "block_rq_issue", "900\n",
			"\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n"
			"\tfield:__data_loc char[] cmd;\toffset:12;\tsize:4;\tsigned:0;\n");
	tree_tracepoint("block", "block_rq_complete", "901\n",
			"\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n");
	tree_put("tracefs/events/enable", "0\n");
	tree_put("tracefs/events/sched/enable", "0\n");
	/* For ftrace itself: no id. */
	tree_put("tracefs/events/ftrace/function/format", "name: function\n" TREE_COMMON);
}

static int tree_remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st;
	(void)type;
	(void)where;
	return remove(path);
}

static void trees_remove(void)
{
	nftw(tree_dir, tree_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

#endif
