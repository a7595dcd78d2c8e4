-- SPDX-License-Identifier: Apache-2.0
-- Owns which certificate a host's newest enrolment has made. Must not use what SQLite 3.34 or PostgreSQL 13 lack.

ALTER TABLE hosts ADD COLUMN fingerprint TEXT NOT NULL DEFAULT ''; -- SHA-256 of its DER form; '': enrolled before
