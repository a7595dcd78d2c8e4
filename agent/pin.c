// SPDX-License-Identifier: Apache-2.0
/* Owns where a process may run, by masks as long as HOST_CPUS_MAX.
 * Must not know why it should run there. */
#include "pin.h"

#include <errno.h>
#include <sched.h>

/* cpu_set_t ends at 1,024 CPUs; the _S macros take any length. */
union mask {
	cpu_set_t set;
	unsigned long word[HOST_CPUS_MAX / 8 / sizeof(unsigned long)];
};

int pin_self(unsigned cpu, struct err *e)
{
	union mask m;

	CPU_ZERO_S(sizeof(m), &m.set);
	CPU_SET_S(cpu, sizeof(m), &m.set);
	if (sched_setaffinity(0, sizeof(m), &m.set) < 0)
		return err_sys(e, errno, "moving to CPU %u", cpu);
	return 0;
}

int pin_allowed(struct host_cpus *ret, struct err *e)
{
	union mask m;

	CPU_ZERO_S(sizeof(m), &m.set);
	if (sched_getaffinity(0, sizeof(m), &m.set) < 0)
		return err_sys(e, errno, "asking which CPUs this process may use");
	ret->n = 0;
	for (unsigned cpu = 0; cpu < HOST_CPUS_MAX; cpu++)
		if (CPU_ISSET_S(cpu, sizeof(m), &m.set))
			ret->cpu[ret->n++] = cpu;
	return 0;
}
