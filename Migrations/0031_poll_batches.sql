-- Where a shared cache answers the polls, their numbers are worked out from the batches of counts that devices report.

-- How many batches; 0 where the polls themselves were counted.
ALTER TABLE poll_count ADD COLUMN batches INTEGER NOT NULL DEFAULT 0 CHECK (batches >= 0);

-- The sum of the squares of the polls that each batch stands for: how far the number may be from the truth.
ALTER TABLE poll_count ADD COLUMN squares REAL NOT NULL DEFAULT 0 CHECK (squares >= 0);
