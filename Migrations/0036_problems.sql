-- What needs attention, since when, and who said that they know: so that a restart forgets none of it.

CREATE TABLE problem (
  id INTEGER PRIMARY KEY,
  -- NULL: the origin's own.
  channel_id INTEGER REFERENCES channel,
  code TEXT NOT NULL CHECK (length(code) BETWEEN 1 AND 64),
  -- Which of several problems of that code in that place, such as a webhook's id; empty: the only one.
  subject TEXT NOT NULL CHECK (length(subject) <= 1024),
  severity TEXT NOT NULL CHECK (severity IN ('error', 'warning')),
  -- Milliseconds since 1970, as all times: when it began, as far as that is known, else when it was first seen.
  since INTEGER NOT NULL,
  -- Who said that it is known, when, why, and until when; NULL: nobody.
  known_by TEXT CHECK (length(known_by) > 0),
  known_at INTEGER CHECK ((known_at IS NULL) = (known_by IS NULL)),
  known_reason TEXT CHECK ((known_reason IS NULL) = (known_by IS NULL)) CHECK (length(known_reason) > 0),
  known_until INTEGER CHECK ((known_until IS NULL) = (known_by IS NULL)) CHECK (known_until > known_at)
) STRICT;

CREATE UNIQUE INDEX problem_by_place ON problem (coalesce(channel_id, 0), code, subject);
