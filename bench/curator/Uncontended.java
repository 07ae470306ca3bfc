import org.apache.curator.framework.recipes.locks.InterProcessMutex;

/** One path, one client: acquire, then release, and again. */
final class Uncontended extends Workload {
    private InterProcessMutex lock;

    Uncontended(CuratorDriver.Request asked) {
        super(asked);
    }

    @Override
    void setUp() throws Exception {
        super.setUp();
        lock = lock(0, path());
        cycles(asked.number("warm_up_ms", 100) * 1_000_000);
    }

    @Override
    Report measure() throws Exception {
        return cycles(measuredNs());
    }

    private Report cycles(long ns) throws Exception {
        Report report = new Report("acquire", "cycle");
        var acquires = report.latencies.get("acquire");
        var cycles = report.latencies.get("cycle");
        long start = System.nanoTime();
        for (long now = start; now - start < ns;) {
            lock.acquire();
            acquires.record(System.nanoTime() - now);
            lock.release();
            long end = System.nanoTime();
            cycles.record(end - now);
            report.elapsedNs = end - start;
            report.operations.incrementAndGet();
            now = end;
        }
        return report;
    }
}
