-- SPDX-License-Identifier: Apache-2.0
-- Owns what a claim that an order is done is held against. Must not use what SQLite 3.34 or PostgreSQL 13 lack.

ALTER TABLE orders ADD COLUMN boot_before TEXT NOT NULL DEFAULT ''; -- the host's boot when it was granted
ALTER TABLE members ADD COLUMN scale_before BIGINT NOT NULL DEFAULT -2; -- vm.pcp_batch_scale_max; -2: not known
