/* Settings and command lines of runtimes: TOML text, and words with a NUL between them. */
#include "../words.h"
#include "containers/state_hints.h"

static void hint(void *ctx, enum state_hint what, const char *path)
{
	(void)ctx;
	(void)what;
	fuzz_read_text(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = { "dockerd", "containerd", "conmon", "crio", "podman" };
	char *text = fuzz_text(data, size), out[100];
	struct words w;

	if (state_toml(text, "storage", "graphroot", out, sizeof(out)))
		fuzz_read_text(out);
	if (state_toml(text, "", "state", out, sizeof(out)))
		fuzz_read_text(out);
	if (state_hint_bundle(text, out, sizeof(out)))
		fuzz_read_text(out);
	state_hint_is_runtime(text);
	words_init(&w, data, size);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		state_hint_args(names[i], (const char *const *)w.argv, (size_t)w.argc, hint, NULL);
	words_fini(&w);
	free(text);
	return 0;
}
