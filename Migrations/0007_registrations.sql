-- Whose a registration or a lease is, so that no token undoes what another one holds.

-- The id of the token that asked; 'local': a run with the data folder in hand. NULL, of before: nobody's.
ALTER TABLE mirror ADD COLUMN owner TEXT;
ALTER TABLE lease ADD COLUMN owner TEXT;

CREATE INDEX mirror_by_owner ON mirror (owner);
CREATE INDEX lease_by_owner ON lease (owner);
