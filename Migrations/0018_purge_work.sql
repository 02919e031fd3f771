-- Purges whose rows are deleted, while files with their bytes may still be there: at the origin, or where they were pushed to.
CREATE TABLE purge_work (
  sha256 BLOB PRIMARY KEY REFERENCES purge ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
