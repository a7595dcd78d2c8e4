// SPDX-License-Identifier: Apache-2.0
/* Owns what standard output can show: UTF-8 or not, colours or not, and the writing to it.
 * Must not know what is shown. */
#pragma once

#include "picture.h"

/* UTF-8 by the locale; colours on a terminal, unless NO_COLOR is set. */
struct picture_style show_style(void);
int must_check show(const struct buf *text, struct err *e);
