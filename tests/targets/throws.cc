// C++ that spends its time throwing: throws [--chain] SECONDS. main -> Thrower::run ->
// Thrower::outer -> Thrower::inner -> Thrower::burn, and below inner the throw itself, through a
// std::function, a destructor and a rethrow.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>

struct Guard {
	unsigned long &count;
	~Guard() { count++; }
};

struct Thrower {
	unsigned long total = 0;

	__attribute__((noinline)) void burn(int n)
	{
		unsigned long x = static_cast<unsigned long>(n) | 1;

		for (int i = 0; i < 20000; i++) {
			x = x * 6364136223846793005ul + 1442695040888963407ul;
			asm volatile("" : "+r"(x));
		}
		total += x;
	}

	__attribute__((noinline)) void inner(int n)
	{
		std::function<void()> f = [this, n] {
			Guard g{total};

			if (n % 3)
				throw std::runtime_error(std::to_string(n));
		};

		burn(n);
		for (int i = 0; i < 30; i++) {
			try {
				f();
			} catch (const std::runtime_error &e) {
				total += strlen(e.what());
			}
		}
		if (n % 2)
			throw n;
	}

	__attribute__((noinline)) void outer(int n)
	{
		Guard g{total};

		try {
			inner(n);
		} catch (int) {
			total++;
			throw;
		}
	}

	__attribute__((noinline)) void run(double seconds)
	{
		auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);

		for (int n = 0; std::chrono::steady_clock::now() < end; n++) {
			try {
				outer(n);
			} catch (int m) {
				total += static_cast<unsigned long>(m);
			}
		}
	}
};

int main(int argc, char **argv)
{
	Thrower t;

	if (argc > 1 && !strcmp(argv[1], "--chain")) {
		puts("main;Thrower::run(double);Thrower::outer(int);Thrower::inner(int);Thrower::burn(int)");
		return 0;
	}
	t.run(argc > 1 ? atof(argv[1]) : 1);
	return t.total == 42;
}
