CREATE TABLE project_name_counts (
  owner   TEXT PRIMARY KEY,
  started INTEGER NOT NULL,
  most    INTEGER
);
