-- After a restore the versions of a channel's documents leave a gap, as its manifest versions do: devices may know
-- versions that the mirror or the backup doesn't, and a number that they know is one that they don't fetch.

-- The lowest number that the next version of a document may have; no row: 1.
CREATE TABLE document_counter (
  channel_id INTEGER NOT NULL REFERENCES channel,
  name TEXT NOT NULL CHECK (name IN ('policy', 'prefetch')),
  least_next INTEGER NOT NULL CHECK (least_next >= 1),
  PRIMARY KEY (channel_id, name)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER document_numbers_only_rise BEFORE UPDATE ON document_counter
WHEN NEW.least_next < OLD.least_next OR NEW.channel_id <> OLD.channel_id OR NEW.name <> OLD.name
BEGIN SELECT RAISE(ABORT, 'the numbers of a document only rise'); END;

CREATE TRIGGER document_numbers_stay BEFORE DELETE ON document_counter
BEGIN SELECT RAISE(ABORT, 'the numbers of a document only rise'); END;

CREATE TRIGGER document_leaves_the_gap BEFORE INSERT ON document
WHEN NEW.version < (SELECT least_next FROM document_counter
  WHERE channel_id = NEW.channel_id AND name = NEW.name)
BEGIN SELECT RAISE(ABORT, 'document versions only rise'); END;
