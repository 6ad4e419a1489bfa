-- JSON that a thread writes again and again, stored as its changes: see stepwell.database.documents.book.
CREATE TABLE documents (
  thread_id TEXT NOT NULL,
  number    INTEGER NOT NULL,
  base      INTEGER,                          -- the document that it changes; null: it is whole
  changes   BLOB NOT NULL,
  PRIMARY KEY (thread_id, number)
);
-- If one of these names a document, `data`, `values` and `result` are not the text: events.data is empty, or says which part of the
-- document is used and what replaces the rest.
ALTER TABLE events ADD COLUMN document INTEGER;
ALTER TABLE thread_values ADD COLUMN document INTEGER;
ALTER TABLE runs ADD COLUMN result_document INTEGER;
DROP VIEW whole_threads;                     -- it showed values that are text only
