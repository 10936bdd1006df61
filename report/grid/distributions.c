#include "grid/distributions.h"

#include <math.h>

double dist_normal(double z)
{
	return erfc(-z / M_SQRT2) / 2;
}

/* The continued fraction of the incomplete beta function (DLMF 8.17.22), by Lentz's method. */
static double beta_fraction(double a, double b, double x)
{
	const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1), h;

	d = 1 / (fabs(d) < tiny ? tiny : d);
	h = d;
	for (int m = 1; m < 1000; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double step;

		d = 1 + even * d;
		c = 1 + even / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		h *= d * c;
		d = 1 + odd * d;
		c = 1 + odd / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		step = d * c;
		h *= step;
		if (fabs(step - 1) < 1e-14)
			break;
	}
	return h;
}

/* I_x(a, b); @rest is 1 - x, which the caller has without cancellation. */
static double beta_part(double a, double b, double x, double rest)
{
	double front;

	if (x <= 0)
		return 0;
	if (rest <= 0)
		return 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(rest));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, rest) / b;
}

double dist_t_tails(double t, double df)
{
	double t2 = t * t;

	if (!(df > 0))
		return NAN;
	if (isinf(t))
		return 0;
	if (df > 1e6)
		return erfc(fabs(t) / M_SQRT2);
	return beta_part(df / 2, 0.5, df / (df + t2), t2 / (df + t2));
}

double dist_t_limit(double p, double df)
{
	double lo = 0, hi = 1;

	if (!(p > 0 && p < 1 && df > 0))
		return NAN;
	while (dist_t_tails(hi, df) > p && hi < 1e15)
		hi *= 2;
	for (int i = 0; i < 200 && hi - lo > 1e-12 * hi; i++) {
		double mid = (lo + hi) / 2;

		if (dist_t_tails(mid, df) > p)
			lo = mid;
		else
			hi = mid;
	}
	return (lo + hi) / 2;
}

double dist_f_tail(double f, double df1, double df2)
{
	double whole = df1 * f + df2;

	if (!(df1 > 0 && df2 > 0))
		return NAN;
	if (!(f > 0))
		return 1;
	if (isinf(f))
		return 0;
	return beta_part(df2 / 2, df1 / 2, df2 / whole, df1 * f / whole);
}

/*
 * digamma and trigamma: recurrence up to where the asymptotic series (DLMF 5.11.2, 5.15.8) is exact
 * to 1e-12.
 */
double dist_digamma(double x)
{
	double sum = 0, y;

	if (!(x > 0))
		return NAN;
	while (x < 12) {
		sum -= 1 / x;
		x += 1;
	}
	y = 1 / (x * x);
	return sum + log(x) - 1 / (2 * x) - y * (1.0 / 12 - y * (1.0 / 120 - y * (1.0 / 252 - y / 240)));
}

double dist_trigamma(double x)
{
	double sum = 0, y;

	if (!(x > 0))
		return NAN;
	while (x < 12) {
		sum += 1 / (x * x);
		x += 1;
	}
	y = 1 / (x * x);
	return sum + 1 / x + y / 2 + y / x * (1.0 / 6 - y * (1.0 / 30 - y * (1.0 / 42 - y / 30)));
}

double dist_trigamma_inverse(double y)
{
	double lo = 1e-8, hi = 1e8;

	if (!(y > 0))
		return NAN;
	/* It falls from y = 1e16 to 1e-8 within these bounds. */
	for (int i = 0; i < 200; i++) {
		double mid = sqrt(lo * hi);

		if (dist_trigamma(mid) > y)
			lo = mid;
		else
			hi = mid;
	}
	return sqrt(lo * hi);
}
