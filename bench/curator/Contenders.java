import java.util.concurrent.atomic.AtomicLong;

/** crowd: many threads on one path. independent: as many, each on a path of its own. They never pause. */
final class Contenders extends Workload {
    private final AtomicLong grants = new AtomicLong();

    Contenders(CuratorDriver.Request asked) {
        super(asked);
    }

    @Override
    void setUp() throws Exception {
        super.setUp();
        found = new Report("acquire", "cycle");
        boolean crowd = asked.workload.equals("crowd");
        long count = asked.number(crowd ? "waiters" : "paths");
        for (long i = 0; i < count; ++i) {
            String path = crowd ? path() : path() + "/" + i;
            start(() -> contend(path));
        }
        long limit = System.nanoTime() + asked.number("warm_up_ms", 3_000) * 1_000_000;
        while (grants.get() < count && System.nanoTime() < limit)
            sleepUntil(System.nanoTime() + 20_000_000);
    }

    @Override
    Report measure() {
        return watch("acquire", "cycle");
    }

    private void contend(String path) throws Exception {
        var lock = lock(0, path);
        while (!stopping) {
            long start = System.nanoTime();
            lock.acquire();
            Report report = found;
            report.latencies.get("acquire").record(System.nanoTime() - start);
            report.operations.incrementAndGet();
            grants.incrementAndGet();
            lock.release();
            found.latencies.get("cycle").record(System.nanoTime() - start);
        }
    }
}
