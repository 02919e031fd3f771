-- What an origin knows for itself moves out of the tables that acts write: when it read a file back, when it saw a token used, which
-- problems it sees. A changeset's DELETE compares every old column, so a row that several origins have must be the same in all of them
-- (Sources/Origin/Store/README.md, "Changesets"). No table that acts write refers to one of those.

-- When a file's bytes were last read back and compared with its name (step 9). A blob in quarantine has no row: there is nothing to read.
CREATE TABLE blob_check (
  blob_id INTEGER PRIMARY KEY REFERENCES blob ON DELETE CASCADE,
  checked_at INTEGER NOT NULL
) STRICT;

INSERT INTO blob_check (blob_id, checked_at) SELECT id, checked_at FROM blob WHERE quarantined_at IS NULL ORDER BY id;
CREATE INDEX blob_check_by_time ON blob_check (checked_at);

DROP INDEX blob_by_check;
ALTER TABLE blob DROP COLUMN checked_at;

-- When a token, session or job was last used, as far as this origin saw it; no row: it never did.
CREATE TABLE token_use (
  token_id TEXT PRIMARY KEY REFERENCES token ON DELETE CASCADE,
  last_used_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO token_use (token_id, last_used_at) SELECT id, last_used_at FROM token WHERE last_used_at IS NOT NULL;
ALTER TABLE token DROP COLUMN last_used_at;

-- Who said that a problem is known. That is an act, so all origins have it; that the problem exists, each finds for itself (step 36).
CREATE TABLE acknowledgement (
  -- The channel; 0: the origin's own.
  place INTEGER NOT NULL CHECK (place >= 0),
  code TEXT NOT NULL CHECK (length(code) BETWEEN 1 AND 64),
  subject TEXT NOT NULL CHECK (length(subject) <= 1024),
  author TEXT NOT NULL CHECK (length(author) > 0),
  at INTEGER NOT NULL,
  reason TEXT NOT NULL CHECK (length(reason) > 0),
  until INTEGER NOT NULL CHECK (until > at),
  PRIMARY KEY (place, code, subject)
) STRICT, WITHOUT ROWID;

INSERT INTO acknowledgement (place, code, subject, author, at, reason, until)
SELECT coalesce(channel_id, 0), code, subject, known_by, known_at, known_reason, known_until FROM problem
WHERE known_by IS NOT NULL;

CREATE TABLE kept_problem AS SELECT id, channel_id, code, subject, severity, since FROM problem;
DROP TABLE problem;

CREATE TABLE problem (
  id INTEGER PRIMARY KEY,
  -- NULL: the origin's own.
  channel_id INTEGER REFERENCES channel,
  code TEXT NOT NULL CHECK (length(code) BETWEEN 1 AND 64),
  -- Which of several problems of that code in that place, such as a webhook's id; empty: the only one.
  subject TEXT NOT NULL CHECK (length(subject) <= 1024),
  severity TEXT NOT NULL CHECK (severity IN ('error', 'warning')),
  -- When it began, as far as that is known, else when it was first seen.
  since INTEGER NOT NULL
) STRICT;

INSERT INTO problem (id, channel_id, code, subject, severity, since)
SELECT id, channel_id, code, subject, severity, since FROM kept_problem;
DROP TABLE kept_problem;

CREATE UNIQUE INDEX problem_by_place ON problem (coalesce(channel_id, 0), code, subject);

-- A row that is older than one of its columns is stored without it, and the session extension takes such a value for NULL instead of the
-- column's default (seen with SQLite 3.40.1): its changesets would conflict everywhere else. Writing the rows once more stores all of
-- them; blob and token were written above.
UPDATE channel SET approval_share = approval_share;
UPDATE scheduled_act SET overrides_freezes = overrides_freezes, approvals = approvals, is_gated = is_gated;
UPDATE rollout_plan SET network_cap = network_cap;
UPDATE webhook SET waiting = waiting;
