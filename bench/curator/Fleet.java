import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;

/**
 * Very many clients that do nothing. One or two have a path each time: the first holds its lock, the second waits for
 * it. One operation is a second of one client. With `outage` they may lose their sessions, which are counted.
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
            long each = asked.number("sessions") / asked.number("paths");
            InterProcessMutex lock = lock(i, path() + "/" + i / each);
            if (i % each == 0) {
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
        List<Long> before = sessionIds();
        long start = System.nanoTime();
        sleepUntil(start + measuredNs());
        report.elapsedNs = System.nanoTime() - start;
        report.operations.set((long) (report.elapsedNs / 1e9 * asked.number("sessions")));
        List<Long> after = sessionIds();
        report.figures.put("sessions_lost",
            (double) IntStream.range(0, after.size()).filter(i -> !before.get(i).equals(after.get(i))).count());
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
        super.tearDown(); // with the sessions, all is given back
    }

    private List<Long> sessionIds() throws Exception {
        List<Long> ids = new ArrayList<>();
        for (int i = 0; i < asked.number("sessions"); ++i)
            ids.add(client(i).getZookeeperClient().getZooKeeper().getSessionId());
        return ids;
    }

    private void waitInVain(InterProcessMutex lock) throws Exception {
        try {
            lock.acquire();
        } catch (InterruptedException wanted) {
            // by tearDown()
        }
    }
}
