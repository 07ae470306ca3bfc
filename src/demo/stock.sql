-- The shop's database, shared by every order server. One product, one row.
PRAGMA journal_mode = WAL;

CREATE TABLE stock (
    id         INTEGER PRIMARY KEY CHECK (id = 1),
    units      INTEGER NOT NULL,
    last_token INTEGER NOT NULL DEFAULT 0 -- of the last write, where the stock refuses writes with older tokens
);

CREATE TABLE orders (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    buyer      TEXT    NOT NULL,
    server     TEXT    NOT NULL,
    stock_read INTEGER NOT NULL, -- what the order believed to be in stock
    token      INTEGER,          -- the fencing token of its lock; none without the lock
    session    INTEGER,          -- the session that held the lock; none without it
    waited_ms  REAL    NOT NULL  -- for the lock
);

-- Writes whose token was older than the row's: their holder had lost the lock without knowing it.
CREATE TABLE stale_writes (
    buyer  TEXT    NOT NULL,
    server TEXT    NOT NULL,
    token  INTEGER NOT NULL
);

-- Who takes orders, so that whoever starts a rush knows where to send the buyers. A server that was killed stays here.
CREATE TABLE servers (
    name    TEXT PRIMARY KEY,
    address TEXT NOT NULL
);

-- Rushes that were started from the page: each begins with a stock of its own, and no orders. What became of it is
-- there once all its buyers have an answer.
CREATE TABLE rushes (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    with_lock  INTEGER NOT NULL,
    buyers     INTEGER NOT NULL,
    units      INTEGER NOT NULL, -- in stock at its beginning
    sold       INTEGER,
    left_over  INTEGER,          -- what the stock says at its end
    unanswered INTEGER           -- buyers who were told neither that they have one, nor that there is nothing left
);
