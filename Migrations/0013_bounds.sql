-- What would grow without end: acts that a token may repeat as often as it likes, and versions of documents.

-- How often a token did an act on a day. Some of these acts have a row of the audit trail each; the others are counted
-- into the next row.
CREATE TABLE act_count (
  owner TEXT NOT NULL,
  act TEXT NOT NULL,
  -- Days since 1970.
  day INTEGER NOT NULL,
  acts INTEGER NOT NULL CHECK (acts >= 0),
  -- Acts since the last row.
  unrecorded INTEGER NOT NULL CHECK (unrecorded >= 0),
  -- When the last row was written, in hours since 1970.
  recorded_in INTEGER NOT NULL,
  PRIMARY KEY (owner, act)
) STRICT, WITHOUT ROWID;

-- When a version of a document ceased to be the newest, where gc removed its successor: what devices had afterwards
-- isn't known any more. No row: until the next version that is there.
CREATE TABLE document_end (
  channel_id INTEGER NOT NULL,
  name TEXT NOT NULL,
  version INTEGER NOT NULL,
  -- Of the successor.
  at INTEGER NOT NULL,
  manifest_version INTEGER NOT NULL CHECK (manifest_version >= 0),
  PRIMARY KEY (channel_id, name, version),
  FOREIGN KEY (channel_id, name, version) REFERENCES document (channel_id, name, version) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- A script that is stored once more is as new as one that wasn't there: gc leaves it until a policy names it.
DROP TRIGGER policy_script_is_immutable;
CREATE TRIGGER policy_script_is_immutable BEFORE UPDATE OF sha256, bytes ON policy_script
BEGIN SELECT RAISE(ABORT, 'a script never changes'); END;
