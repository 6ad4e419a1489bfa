-- What the servers of one installation share besides threads and runs. Each function is one round trip to the database, and commits by
-- itself: under SERIALIZABLE, in a group with other work, servers that count would make each other's groups run again.
CREATE TABLE processes (
  process TEXT COLLATE "C" PRIMARY KEY,
  capacity BIGINT NOT NULL, -- how many runs it drives at once; 0: it takes none
  hears TEXT COLLATE "C" NOT NULL, -- by what it hears of events: 'postgres' or 'redis'
  alive_until DOUBLE PRECISION NOT NULL -- from then on it counts for nothing
);
CREATE TABLE open_streams (
  owner TEXT COLLATE "C" NOT NULL,
  process TEXT COLLATE "C" NOT NULL,
  streams BIGINT NOT NULL,
  PRIMARY KEY (owner, process)
);
-- What is limited per time window: wrong keys from an address, requests about a tenant's files.
CREATE TABLE occurrences (
  name TEXT COLLATE "C" PRIMARY KEY,
  ends DOUBLE PRECISION NOT NULL, -- when it is counted anew
  number BIGINT NOT NULL
);
CREATE INDEX occurrences_ends ON occurrences (ends);
-- Facts about the installation as a whole.
CREATE TABLE installation (
  name TEXT COLLATE "C" PRIMARY KEY,
  value TEXT COLLATE "C" NOT NULL
);

-- A process's heartbeat. Returns whether the process was unknown (then it must report its streams again), and whether some process learns
-- of events only through Postgres. Deletes dead processes.
CREATE FUNCTION process_lives(
  this TEXT, drives BIGINT, listens TEXT, now DOUBLE PRECISION, until DOUBLE PRECISION, OUT fresh BOOLEAN, OUT notify BOOLEAN)
LANGUAGE plpgsql AS $$
BEGIN
  UPDATE processes SET capacity = drives, hears = listens, alive_until = until WHERE process = this;
  fresh := NOT FOUND;
  IF fresh THEN
    INSERT INTO processes (process, capacity, hears, alive_until) VALUES (this, drives, listens, until);
  END IF;
  IF EXISTS (SELECT 1 FROM processes WHERE alive_until <= now) THEN
    DELETE FROM open_streams USING processes
    WHERE processes.process = open_streams.process AND processes.alive_until <= now;
    DELETE FROM processes WHERE alive_until <= now;
  END IF;
  DELETE FROM occurrences WHERE ends <= now;
  notify := EXISTS (SELECT 1 FROM processes WHERE hears = 'postgres');
END $$;
-- Records a process's open streams for an owner, if all of them together stay within `most`. Returns whether they do.
CREATE FUNCTION take_stream(whose TEXT, this TEXT, mine BIGINT, most BIGINT, now DOUBLE PRECISION) RETURNS BOOLEAN
LANGUAGE plpgsql AS $$
DECLARE others BIGINT;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended(whose, 5354));
  SELECT COALESCE(SUM(s.streams), 0) INTO others FROM open_streams AS s JOIN processes AS p ON p.process = s.process
  WHERE s.owner = whose AND s.process <> this AND p.alive_until > now;
  IF others + mine > most THEN
    RETURN FALSE;
  END IF;
  PERFORM keep_streams(whose, this, mine);
  RETURN TRUE;
END $$;
CREATE FUNCTION keep_streams(whose TEXT, this TEXT, mine BIGINT) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF mine = 0 THEN
    DELETE FROM open_streams WHERE owner = whose AND process = this;
  ELSE
    INSERT INTO open_streams (owner, process, streams) VALUES (whose, this, mine)
    ON CONFLICT (owner, process) DO UPDATE SET streams = excluded.streams;
  END IF;
END $$;

-- A process that announces its events by other means says so in its session, and then does all announcing itself.
DROP TRIGGER thread_says ON threads;
CREATE TRIGGER thread_says AFTER UPDATE OF last_seq ON threads FOR EACH ROW
WHEN (OLD.last_seq <> NEW.last_seq AND current_setting('stepwell.quiet', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION thread_says();
