// SPDX-License-Identifier: Apache-2.0
/* Owns the special functions that the statistics stand on: incomplete beta and gamma functions, zeta, chi-square.
 * Must not know what is computed with them. */
#pragma once

/* The continued fraction of the incomplete beta function I_x(a, b), without its factor x^a (1-x)^b / (a B(a, b)):
 * Abramowitz and Stegun 26.5.8 (NIST DLMF 8.17.22). For x < (a + 1) / (a + b + 2). */
double special_beta_fraction(double x, double a, double b);

/* ln B(a, b), a and b above 0. */
double special_ln_beta(double a, double b);
/* ln of I_x(a, b), the regularised incomplete beta function: a and b above 0, 0 <= x <= 1; NaN outside. */
double special_ln_beta_inc(double x, double a, double b);

/* P(a, x) and Q(a, x) = 1 - P(a, x), the regularised incomplete gamma functions (NIST DLMF 8.7.1, 8.9.2): a above 0,
 * x >= 0; NaN outside. Each keeps its relative accuracy where it is small. */
double special_gamma_p(double a, double x);
double special_gamma_q(double a, double x);

/* Riemann's zeta function for s above 1; NaN otherwise. */
double special_zeta(double s);

/* The p-quantile of chi-square with nu degrees of freedom: 0 < p < 1, nu above 0; NaN outside. */
double special_chi2_quantile(double p, double nu);
