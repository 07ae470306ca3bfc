-- The shop's database, shared by every order server. One product, one row.
PRAGMA journal_mode = WAL;

CREATE TABLE stock (
    id         INTEGER PRIMARY KEY CHECK (id = 1),
    units      INTEGER NOT NULL,
    last_token INTEGER NOT NULL DEFAULT 0 -- of the last write under a lock: older ones are refused
);

CREATE TABLE orders (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    buyer      TEXT    NOT NULL,
    server     TEXT    NOT NULL,
    stock_read INTEGER NOT NULL, -- what the order believed to be in stock
    token      INTEGER,          -- the fencing token it wrote with; none without the lock
    waited_ms  REAL    NOT NULL  -- for the lock
);

-- Writes whose token was older than the row's: their holder had lost the lock without knowing it.
CREATE TABLE stale_writes (
    buyer  TEXT    NOT NULL,
    server TEXT    NOT NULL,
    token  INTEGER NOT NULL
);
