-- What `serve --cdn push` has brought to where devices download from, so that bytes that come back needn't be brought again.

-- That place: its name, and for a store the address where it answers. Only what was brought to this one counts.
CREATE TABLE push_place (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  name TEXT NOT NULL CHECK (length(name) > 0),
  endpoint TEXT NOT NULL
) STRICT;

-- The resources whose files are there.
CREATE TABLE pushed_resource (
  resource_id INTEGER PRIMARY KEY REFERENCES resource ON DELETE CASCADE
) STRICT;
