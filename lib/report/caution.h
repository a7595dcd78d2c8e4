// SPDX-License-Identifier: Apache-2.0
/* Owns what a reader of a comparison should know beside the verdict, and what can be done about it.
 * Must not know how it is shown, nor have a part in the verdict. */
#pragma once

#include "compare.h"

#define CAUTION_MAX      4
#define CAUTION_TEXT_MAX 640

/* Whole sentences, in ret[0..n); returns n. */
unsigned caution_list(const struct comparison *c, char ret[CAUTION_MAX][CAUTION_TEXT_MAX]);
