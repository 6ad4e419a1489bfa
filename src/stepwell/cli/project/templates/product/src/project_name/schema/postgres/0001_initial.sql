CREATE TABLE project_name_counts (
  owner   TEXT COLLATE "C" PRIMARY KEY,
  started BIGINT NOT NULL,
  most    BIGINT
);
