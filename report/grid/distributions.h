/*
 * Probability distributions for tests and intervals. Nothing here allocates or fails; arguments out
 * of range give NAN.
 */
#ifndef NSPROF_DISTRIBUTIONS_H
#define NSPROF_DISTRIBUTIONS_H

/* P(Z <= z) for the standard normal distribution. */
double dist_normal(double z);
/*
 * P(|T| >= |t|) for Student's t with @df > 0 degrees of freedom, not necessarily whole; INFINITY:
 * the normal distribution.
 */
double dist_t_tails(double t, double df);
/* The t with P(|T| >= t) = @p, 0 < @p < 1. */
double dist_t_limit(double p, double df);
/* P(F >= f) for the F distribution with @df1 and @df2 degrees of freedom. */
double dist_f_tail(double f, double df1, double df2);
/* First and second derivative of log gamma, @x > 0; the inverse of the second. */
double dist_digamma(double x);
double dist_trigamma(double x);
double dist_trigamma_inverse(double y);

#endif
