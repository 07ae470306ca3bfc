import java.util.concurrent.atomic.AtomicLong;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;

/**
 * Arrivals by the clock, whatever became of those before; timed from the moment they were due. A pool of threads, one
 * for each path, takes them in turn: when all are busy, an arrival waits, and its time counts.
 */
final class Arrivals extends Workload {
    private InterProcessMutex[] locks;

    Arrivals(CuratorDriver.Request asked) {
        super(asked);
    }

    @Override
    void setUp() throws Exception {
        super.setUp();
        locks = new InterProcessMutex[(int) asked.number("paths")];
        for (int i = 0; i < locks.length; ++i)
            locks[i] = lock(0, path() + "/" + i);
        arrive(200_000_000);
    }

    @Override
    Report measure() throws Exception {
        return arrive(measuredNs());
    }

    private Report arrive(long ns) throws Exception {
        Report report = new Report("acquire");
        long interval = 1_000_000_000 / asked.number("arrivals_per_s");
        AtomicLong next = new AtomicLong();
        long start = System.nanoTime();
        for (int i = 0; i < locks.length; ++i)
            start(() -> {
                for (long k = next.getAndIncrement(); k * interval < ns; k = next.getAndIncrement()) {
                    long due = start + k * interval;
                    sleepUntil(due);
                    var lock = locks[(int) (k % locks.length)];
                    lock.acquire();
                    report.latencies.get("acquire").record(System.nanoTime() - due);
                    report.operations.incrementAndGet();
                    lock.release();
                }
            });
        join();
        report.elapsedNs = System.nanoTime() - start;
        return report;
    }
}
