import java.util.ArrayList;
import java.util.List;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;

/**
 * Very many clients that do nothing. Two have a path each time: the first holds its lock, the second waits for it. One
 * operation is a second of one client.
 */
final class Fleet extends Workload {
    private final List<InterProcessMutex> held = new ArrayList<>();
    private final List<Thread> waiters = new ArrayList<>();

    Fleet(CuratorDriver.Request asked) {
        super(asked);
    }

    @Override
    void setUp() throws Exception {
        super.setUp(); // one after the other, which spreads their pings
        for (int i = 0; i < asked.number("sessions"); ++i) {
            InterProcessMutex lock = lock(i, path() + "/" + i / 2);
            if (i % 2 == 0) {
                lock.acquire();
                held.add(lock);
            } else {
                waiters.add(start(() -> waitInVain(lock)));
            }
        }
        sleepUntil(System.nanoTime() + asked.number("session_ms") * 500_000);
    }

    @Override
    Report measure() throws Exception {
        Report report = new Report();
        long start = System.nanoTime();
        sleepUntil(start + measuredNs());
        report.elapsedNs = System.nanoTime() - start;
        report.operations.set((long) (report.elapsedNs / 1e9 * asked.number("sessions")));
        for (InterProcessMutex lock : held)
            if (!lock.isAcquiredInThisProcess())
                throw new IllegalStateException("a lock was lost");
        for (Thread waiter : waiters)
            if (!waiter.isAlive())
                throw new IllegalStateException("a waiter does not wait");
        return report;
    }

    @Override
    void tearDown() throws Exception {
        for (Thread waiter : waiters)
            waiter.interrupt();
        join();
        for (InterProcessMutex lock : held)
            lock.release();
        super.tearDown();
    }

    private void waitInVain(InterProcessMutex lock) throws Exception {
        try {
            lock.acquire();
        } catch (InterruptedException wanted) {
            // by tearDown()
        }
    }
}
