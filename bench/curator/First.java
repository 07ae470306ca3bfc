/** Each path, which exists, is locked for the first time by this client. */
final class First extends Workload {
    First(CuratorDriver.Request asked) {
        super(asked);
    }

    @Override
    Report measure() throws Exception {
        Report report = new Report("first");
        for (long i = 0; i < asked.number("paths"); ++i) {
            var lock = lock(0, path() + "/" + i);
            long start = System.nanoTime();
            lock.acquire();
            long took = System.nanoTime() - start;
            report.latencies.get("first").record(took);
            report.elapsedNs += took;
            report.operations.incrementAndGet();
            lock.release();
        }
        return report;
    }
}
