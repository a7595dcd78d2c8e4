-- SPDX-License-Identifier: Apache-2.0
-- Owns how far the brake has looked. Must not use what SQLite 3.34 or PostgreSQL 13 lack.

ALTER TABLE rollouts ADD COLUMN braked BIGINT NOT NULL DEFAULT 0; -- boots of the new arm that it has looked at
