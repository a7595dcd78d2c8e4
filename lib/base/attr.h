// SPDX-License-Identifier: Apache-2.0
/* Owns the compiler attributes that the whole project writes its contracts in.
 * Must not know any type of the project. */
#pragma once

#include <stddef.h>

#define must_check             __attribute__((warn_unused_result))
#define printf_like(fmt, args) __attribute__((format(printf, fmt, args)))

/* Runs fn(&variable) when the variable leaves its scope; fn must accept an empty (zeroed) one. */
#define _cleanup_(fn) __attribute__((cleanup(fn)))

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Takes the value out of a pointer variable and leaves NULL there, so that its cleanup frees nothing. */
static inline void *steal_ptr_(void *variable)
{
	void **p = variable;
	void *value = *p;
	*p = NULL;
	return value;
}
#define steal_ptr(variable) ((__typeof__(variable))steal_ptr_(&(variable)))
