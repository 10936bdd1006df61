// C++ with deep, varying recursion and std::regex below it: deep [--chain] SECONDS [DEPTH]. The
// chain it declares: main -> Walker::run -> Walker::down (repeated) -> Walker::work
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <regex>
#include <string>

struct Walker {
	unsigned long total = 0;
	std::regex re{"([a-z]+)([0-9]+)(.*)x"};

	__attribute__((noinline)) void work(int n)
	{
		std::string s = "abcdef" + std::to_string(n) + "-some-text-to-match-x";
		std::smatch m;

		if (std::regex_match(s, m, re))
			total += m[2].length();
	}

	__attribute__((noinline)) int down(int n, int depth)
	{
		volatile char pad[64];
		int r;

		pad[n & 63] = static_cast<char>(depth);
		if (depth <= 0) {
			work(n);
			return n + pad[n & 63];
		}
		r = down(n + 1, depth - 1);
		asm volatile("" ::: "memory");
		return r + pad[n & 63];
	}

	__attribute__((noinline)) void run(double seconds, int depth)
	{
		auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
		int n = 0;

		while (std::chrono::steady_clock::now() < end) {
			total += static_cast<unsigned long>(down(n, depth / 2 + n % (depth / 2 + 1)));
			n++;
		}
	}
};

int main(int argc, char **argv)
{
	Walker w;

	if (argc > 1 && !strcmp(argv[1], "--chain")) {
		puts("main;Walker::run(double, int);Walker::down(int, int);Walker::down(int, int)");
		return 0;
	}
	w.run(argc > 1 ? atof(argv[1]) : 1, argc > 2 ? atoi(argv[2]) : 40);
	return w.total == 42;
}
