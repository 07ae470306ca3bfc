import java.util.concurrent.atomic.AtomicLong;

/** handoff and crowd with contenders in other processes, too: see zklock/apart.cpp and driver/board.hpp. */
final class Apart extends Workload {
    private final boolean handoff;
    private final AtomicLong grants = new AtomicLong();
    private final AtomicLong passedOn = new AtomicLong();
    private final AtomicLong all = new AtomicLong();
    private Board board;
    private volatile long end;

    Apart(CuratorDriver.Request asked) {
        super(asked);
        handoff = asked.workload.equals("handoff");
    }

    @Override
    void setUp() throws Exception {
        super.setUp();
        board = new Board(asked);
        contendFrom(System.nanoTime(), 100_000_000);
    }

    @Override
    Report measure() throws Exception {
        contendFrom(board.start(), measuredNs());
        found.elapsedNs = measuredNs();
        found.operations.set((handoff ? passedOn : grants).get());
        found.figures.put("all_operations", (double) all.get());
        found.figures.put("grants", (double) grants.get());
        found.figures.put("passed_on", (double) passedOn.get());
        return found;
    }

    /** Returns when nobody of this process wants the lock any more. */
    private void contendFrom(long first, long ns) throws Exception {
        found = new Report("acquire", "handoff");
        end = first + ns;
        for (AtomicLong counter : new AtomicLong[] {grants, passedOn, all})
            counter.set(0);
        long share = handoff ? 1 : asked.number("waiters") / asked.number("processes");
        for (long i = 0; i < share; ++i)
            start(() -> contend(first));
        join();
    }

    private void contend(long first) throws Exception {
        var lock = lock(0, path());
        long holdNs = asked.number("hold_us", 0) * 1_000;
        sleepUntil(first);
        for (long askedAt = System.nanoTime(); askedAt < end; askedAt = System.nanoTime()) {
            lock.acquire();
            long now = System.nanoTime();
            count(askedAt, now);
            if (holdNs != 0)
                sleepUntil(now + holdNs);
            board.releasing();
            lock.release();
        }
    }

    private void count(long askedAt, long now) {
        long sinceRelease = board.granted(now);
        if (sinceRelease >= 0 || !handoff)
            all.incrementAndGet();
        if (now >= end)
            return;
        grants.incrementAndGet();
        found.latencies.get("acquire").record(now - askedAt);
        if (sinceRelease >= 0) {
            passedOn.incrementAndGet();
            found.latencies.get("handoff").record(sinceRelease);
        }
    }
}
