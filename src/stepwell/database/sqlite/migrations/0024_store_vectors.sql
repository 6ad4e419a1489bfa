-- What a search by meaning compares. Without an index (`store.index` in langgraph.json) the last two stay null.
ALTER TABLE store_items ADD COLUMN index_fields TEXT;    -- JSON: the fields to embed, or false; null is what the index says
ALTER TABLE store_items ADD COLUMN embedder TEXT;        -- which index made the vectors; those of another are not compared
ALTER TABLE store_items ADD COLUMN vectors BLOB;         -- one after the other, each of length 1, as 32-bit floats, little-endian
