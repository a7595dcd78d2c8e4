-- SPDX-License-Identifier: Apache-2.0
-- Owns the first form of what the controller remembers. Must not use what SQLite 3.34 or PostgreSQL 13 lack; times are
-- Unix seconds, 0 is "not yet", truths are 0 and 1, enums are the words of the headers.

CREATE TABLE IF NOT EXISTS tokens (
    hash TEXT NOT NULL PRIMARY KEY, -- SHA-256 of the token; the token itself is nowhere
    host TEXT NOT NULL,
    cluster TEXT NOT NULL,
    expires BIGINT NOT NULL,
    used BIGINT NOT NULL,
    request TEXT NOT NULL,     -- SHA-256 of the certificate request that used it
    certificate TEXT NOT NULL  -- what was answered, for an answer that got lost
);

CREATE TABLE IF NOT EXISTS hosts (
    name TEXT NOT NULL PRIMARY KEY,
    cluster TEXT NOT NULL,
    enrolled BIGINT NOT NULL,
    retired BIGINT NOT NULL,
    epoch BIGINT NOT NULL,   -- of the newest order; rises for ever
    rollout TEXT NOT NULL,   -- the newest one that it is or was a member of
    seen BIGINT NOT NULL,
    report TEXT NOT NULL     -- the last one, as it is sent; '' before
);

CREATE TABLE IF NOT EXISTS rollouts (
    name TEXT NOT NULL PRIMARY KEY,
    serial BIGINT NOT NULL UNIQUE,
    directive TEXT NOT NULL, -- the exact signed bytes
    signature TEXT NOT NULL,
    state TEXT NOT NULL,
    reason TEXT NOT NULL,
    waiting TEXT NOT NULL,
    wave BIGINT NOT NULL,
    paused BIGINT NOT NULL,
    abort_wanted BIGINT NOT NULL,
    approved BIGINT NOT NULL,
    started BIGINT NOT NULL,
    ended BIGINT NOT NULL,
    verdict TEXT NOT NULL,
    verdict_reason TEXT NOT NULL,
    comparison_json TEXT NOT NULL,
    comparison_text TEXT NOT NULL
);

CREATE TABLE IF NOT EXISTS members (
    rollout TEXT NOT NULL,
    host TEXT NOT NULL,
    cluster TEXT NOT NULL,
    role TEXT NOT NULL,
    wave BIGINT NOT NULL,
    last_epoch BIGINT NOT NULL, -- of its newest order in this rollout; 0: none
    staged BIGINT NOT NULL,
    tried BIGINT NOT NULL,
    proved BIGINT NOT NULL,
    applied BIGINT NOT NULL,
    committed BIGINT NOT NULL,
    reverted BIGINT NOT NULL,
    failed_reverts BIGINT NOT NULL,
    measured_old BIGINT NOT NULL,
    measured_new BIGINT NOT NULL,
    soak_since BIGINT NOT NULL,
    release_before TEXT NOT NULL,
    build_id_before TEXT NOT NULL,
    default_before TEXT NOT NULL,
    release_after TEXT NOT NULL,
    default_after TEXT NOT NULL,
    started BIGINT NOT NULL,
    ended BIGINT NOT NULL,
    PRIMARY KEY (rollout, host)
);

CREATE TABLE IF NOT EXISTS boots (
    rollout TEXT NOT NULL,
    host TEXT NOT NULL,
    boot_id TEXT NOT NULL,
    number BIGINT NOT NULL, -- in the order in which they were first reported
    PRIMARY KEY (rollout, host, boot_id)
);

CREATE TABLE IF NOT EXISTS orders (
    host TEXT NOT NULL,
    epoch BIGINT NOT NULL,
    rollout TEXT NOT NULL,
    verb TEXT NOT NULL,
    arm TEXT NOT NULL,
    boot BIGINT NOT NULL,
    target_new BIGINT NOT NULL,
    outcome TEXT NOT NULL,
    reason TEXT NOT NULL,
    granted BIGINT NOT NULL,
    ended BIGINT NOT NULL,
    PRIMARY KEY (host, epoch)
);
-- Never two orders out to one host, whatever the program believes.
CREATE UNIQUE INDEX IF NOT EXISTS orders_out ON orders (host) WHERE ended = 0;

CREATE TABLE IF NOT EXISTS recordings (
    rollout TEXT NOT NULL,
    host TEXT NOT NULL,
    arm TEXT NOT NULL,
    boot BIGINT NOT NULL,
    epoch BIGINT NOT NULL,
    boot_id TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (rollout, host, arm, boot)
);

CREATE TABLE IF NOT EXISTS events (
    id INTEGER NOT NULL PRIMARY KEY,
    at BIGINT NOT NULL,
    rollout TEXT NOT NULL,
    host TEXT NOT NULL,
    text TEXT NOT NULL
);
