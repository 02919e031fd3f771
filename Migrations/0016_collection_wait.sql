-- Since when leases have kept gc from running; no row: they haven't. All times are in milliseconds since 1970.
CREATE TABLE collection_wait (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  since INTEGER NOT NULL,
  last_attempt INTEGER NOT NULL
) STRICT;
