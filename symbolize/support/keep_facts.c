#include "support/keep_facts.h"

#include "host/kept.h"
#include "support/process_alive.h"

void keep_facts(void)
{
	alive_prepare();
	kept_add("/proc/sys/kernel/random/boot_id");
	kept_add("/sys/kernel/notes");
	kept_add("/proc/kallsyms");
}
