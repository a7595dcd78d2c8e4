#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Owns the way of the numbered migrations into the program: prints them as the C array schema_steps, in the order of the
# arguments. Must not know what is in them.
set -eu

echo '/* Made by rollout/schema/embed.sh. */'
echo 'static const char *const schema_steps[] = {'
for file; do
    sed -e 's/[\\"]/\\&/g' -e 's/.*/    "&\\n"/' -- "$file"
    echo '    ,'
done
echo '};'
