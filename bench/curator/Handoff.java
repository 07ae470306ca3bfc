/** Several sessions want one lock all the time. From the call of a release to the next holder's grant. */
final class Handoff extends Workload {
    private volatile int lastHolder; // written by the holder only
    private volatile long released = System.nanoTime();

    Handoff(CuratorDriver.Request asked) {
        super(asked);
    }

    @Override
    void setUp() throws Exception {
        super.setUp();
        found = new Report("handoff");
        for (int i = 0; i < asked.number("sessions"); ++i) {
            int self = i;
            start(() -> contend(self));
        }
        sleepUntil(System.nanoTime() + 100_000_000);
    }

    @Override
    Report measure() {
        return watch("handoff");
    }

    private void contend(int self) throws Exception {
        var lock = lock(self, path());
        long holdNs = asked.number("hold_us") * 1_000;
        while (!stopping) {
            lock.acquire();
            Report report = found;
            if (lastHolder != self) {
                report.latencies.get("handoff").record(System.nanoTime() - released);
                report.operations.incrementAndGet();
            }
            if (holdNs != 0)
                sleepUntil(System.nanoTime() + holdNs);
            lastHolder = self;
            released = System.nanoTime();
            lock.release();
        }
    }
}
