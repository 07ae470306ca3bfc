import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;

/** Many threads wait for a lock that is held: what they cost (memory), and how quickly they are gone (cancel). */
final class Multitude extends Workload {
    private final boolean cancel;
    private final List<Thread> waiters = new ArrayList<>();
    private InterProcessMutex held;
    private volatile long cancelled;

    Multitude(CuratorDriver.Request asked) {
        super(asked);
        cancel = asked.workload.equals("cancel");
    }

    @Override
    void setUp() throws Exception {
        super.setUp();
        found = new Report(cancel ? "cancel" : "call");
        held = lock(0, path());
        held.acquire();
        if (cancel)
            startWaiters();
    }

    @Override
    Report measure() throws Exception {
        if (cancel)
            cancelAll();
        else
            countMemory();
        return found;
    }

    @Override
    void tearDown() throws Exception {
        for (Thread waiter : waiters)
            waiter.interrupt();
        join();
        held.release();
        super.tearDown();
    }

    private void startWaiters() throws Exception {
        long count = asked.number("waiters");
        for (long i = 0; i < count; ++i) {
            long before = System.nanoTime();
            waiters.add(start(this::waitInVain));
            if (!cancel)
                found.latencies.get("call").record(System.nanoTime() - before);
        }
        while (client(0).checkExists().forPath(path()).getNumChildren() <= count)
            sleepUntil(System.nanoTime() + 20_000_000);
        // Their last look at the queue, with the watch, may be under way; this is behind it.
        sleepUntil(System.nanoTime() + 500_000_000);
    }

    private void waitInVain() throws Exception {
        try {
            lock(0, path()).acquire();
        } catch (InterruptedException wanted) {
            if (cancel) {
                found.latencies.get("cancel").record(System.nanoTime() - cancelled);
                found.operations.incrementAndGet();
            }
        }
    }

    private void cancelAll() throws Exception {
        cancelled = System.nanoTime();
        found.figures.put("started_ns", (double) cancelled);
        for (Thread waiter : waiters)
            waiter.interrupt();
        join();
        found.elapsedNs = System.nanoTime() - cancelled;
    }

    private void countMemory() throws Exception {
        double heap = usedHeap(), resident = processStatus("VmRSS"), threads = processStatus("Threads");
        long start = System.nanoTime();
        startWaiters();
        found.elapsedNs = System.nanoTime() - start;
        long count = asked.number("waiters");
        found.operations.set(count);
        found.figures.put("bytes_per_waiter", (usedHeap() - heap) / count);
        found.figures.put("resident_bytes_per_waiter", (processStatus("VmRSS") - resident) * 1024 / count);
        found.figures.put("more_threads", processStatus("Threads") - threads);
    }

    private static double usedHeap() {
        System.gc();
        Runtime runtime = Runtime.getRuntime();
        return runtime.totalMemory() - runtime.freeMemory();
    }

    private static double processStatus(String name) throws Exception {
        for (String line : Files.readAllLines(Path.of("/proc/self/status")))
            if (line.startsWith(name + ":"))
                return Double.parseDouble(line.substring(name.length() + 1).trim().split(" ")[0]);
        throw new IllegalStateException("/proc/self/status has no " + name);
    }
}
