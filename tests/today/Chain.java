// main -> outerWork -> middleWork -> leafWork; -XX:CompileCommand=dontinline keeps them apart. Chain SECONDS
public class Chain {
	static long leafWork(long n)
	{
		long s = n | 1;
		for (int i = 0; i < 400000; i++)
			s = s * 6364136223846793005L + (s >>> 7);
		return s;
	}

	static long middleWork(long n)
	{
		return leafWork(n) + 1;
	}

	static long outerWork(long end)
	{
		long t = 0;
		while (System.nanoTime() < end)
			t += middleWork(t);
		return t;
	}

	static long rounds(long end)
	{
		long t = 0;
		// Each round is short, so that every method soon runs compiled.
		while (System.nanoTime() < end)
			t += outerWork(Math.min(end, System.nanoTime() + 10_000_000L));
		return t;
	}

	public static void main(String[] args)
	{
		System.out.println(rounds(System.nanoTime() + (long)(1e9 * Double.parseDouble(args[0]))));
	}
}
