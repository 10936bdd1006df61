// The program that the demo profiles: shop SECONDS [table]. It does the work of a small server,
// with names a reader can follow. With "table" its checksum is faster.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

// A function under its own name, not a clone.
#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noipa))
#endif

struct Item {
	std::string name;
	unsigned price;
};

class Shop {
	std::map<std::string, unsigned> stock;
	std::vector<uint32_t> table;
	uint64_t sum = 0;

	static uint32_t eight_bits(uint32_t c)
	{
		for (int k = 0; k < 8; k++)
			c = c & 1 ? (c >> 1) ^ 0xedb88320u : c >> 1;
		return c;
	}

	NOINLINE uint32_t checksum(const std::string &s)
	{
		uint32_t c = ~0u;

		for (char ch : s) {
			uint32_t low = (c ^ static_cast<unsigned char>(ch)) & 0xff;

			c = c >> 8 ^ (table.empty() ? eight_bits(low) : table[low]);
		}
		return ~c;
	}

	NOINLINE std::vector<Item> parse_order(unsigned n)
	{
		std::vector<Item> items;

		for (unsigned i = 0; i < 60; i++)
			items.push_back({"item-" + std::to_string((n * 7919 + i * 104729) % 5000), (n ^ i) % 997});
		return items;
	}

	NOINLINE void reserve_stock(const std::vector<Item> &items)
	{
		for (const Item &it : items)
			stock[it.name] += it.price;
	}

	NOINLINE void sort_by_price(std::vector<Item> &items)
	{
		std::sort(items.begin(), items.end(), [](const Item &a, const Item &b) { return a.price < b.price; });
	}

	NOINLINE void sign_receipt(const std::vector<Item> &items)
	{
		std::string receipt;

		for (const Item &it : items)
			receipt += it.name + ": " + std::to_string(it.price) + "\n";
		sum += checksum(receipt);
	}

	NOINLINE void handle_order(unsigned n)
	{
		std::vector<Item> items = parse_order(n);

		reserve_stock(items);
		sort_by_price(items);
		sign_receipt(items);
	}

public:
	void use_table()
	{
		for (uint32_t i = 0; i < 256; i++)
			table.push_back(eight_bits(i));
	}

	NOINLINE uint64_t serve(double seconds)
	{
		auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);

		for (unsigned n = 0; std::chrono::steady_clock::now() < end; n++)
			handle_order(n);
		return sum;
	}
};

int main(int argc, char **argv)
{
	Shop shop;

	if (argc > 2 && !strcmp(argv[2], "table"))
		shop.use_table();
	return shop.serve(argc > 1 ? atof(argv[1]) : 1) == 42;
}
