// SPDX-License-Identifier: Apache-2.0
/* Owns planning: how many hosts and boots a margin takes, and how likely a promotion is with those there are.
 * Must not know recordings, files or how plans are written. */
#pragma once

#include <stdint.h>

/* Standard deviations of ln latency, as A/A recordings show them. */
struct power_spread {
	double boot_sd; /* from boot to boot of one kernel on one host */
	double host_sd; /* how differently hosts take to a new kernel */
};

/* Of D_h with so many boots of each kernel: sqrt(host_sd^2 + 2 boot_sd^2 / boots). */
double power_difference_sd(const struct power_spread *s, uint32_t boots);

/* Hosts an arm for which a true ratio is promoted with that power: 2 (z_alpha + z_beta)^2 sigma^2 / (ln(1 + margin) -
 * ln(ratio))^2, rounded up, at least 2. The usual formula, for large groups: what messages of the judge name. NaN for
 * arguments out of range, infinite where ratio is not below 1 + margin. */
double power_hosts_normal(double difference_sd, double margin, double ratio, double alpha, double power);

/* The chance that Welch's bound promotes: P(delta + t(1 - alpha, nu) SE < ln(1 + margin)), D normal with the same
 * standard deviation in both arms, by the noncentral t distribution with Welch's degrees of freedom at their expected
 * place. The second opinion costs a little more. 0 for fewer than 2 hosts in an arm. */
double power_promote(double difference_sd, double canaries, double controls, double margin, double ratio, double alpha);

/* The least number of hosts an arm for which power_promote reaches power; infinite where no number up to 100,000
 * does; at least least (3 where the second opinion is asked for). */
double power_hosts(double difference_sd, double margin, double ratio, double alpha, double power, uint32_t least);
