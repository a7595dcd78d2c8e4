-- SPDX-License-Identifier: Apache-2.0
-- Owns which events no host can push out. Must not use what SQLite 3.34 or PostgreSQL 13 lack.

ALTER TABLE events ADD COLUMN kept BIGINT NOT NULL DEFAULT 0; -- 1: of an operator or of the rollout itself
