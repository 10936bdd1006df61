/* Linked with every harness: its program prints no messages, of which each input would cause some. */
#include "base/log.h"
#include "fuzz.h"

static void drop(void *ctx, const char *line, size_t len)
{
	(void)ctx;
	fuzz_read(line, len);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	log_redirect(drop, NULL);
	return 0;
}
