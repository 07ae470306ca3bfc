import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.zookeeper.client.ZKClientConfig;

/** Something to be measured, in three steps; its clients are connected, and its threads joined, here. */
abstract class Workload {
    final CuratorDriver.Request asked;
    private final List<CuratorFramework> clients = new ArrayList<>();
    private final List<Thread> threads = new ArrayList<>();
    private final AtomicReference<Throwable> failure = new AtomicReference<>();
    volatile boolean stopping;
    volatile Report found = new Report();

    Workload(CuratorDriver.Request asked) {
        this.asked = asked;
    }

    static Workload make(CuratorDriver.Request asked) {
        if (asked.has("processes"))
            return new Apart(asked);
        switch (asked.workload) {
            case "uncontended":
                return new Uncontended(asked);
            case "first":
                return new First(asked);
            case "handoff":
                return new Handoff(asked);
            case "crowd":
            case "independent":
                return new Contenders(asked);
            case "cancel":
            case "memory":
                return new Multitude(asked);
            case "fleet":
                return new Fleet(asked);
            case "arrivals":
                return new Arrivals(asked);
            default:
                throw new IllegalArgumentException("no such workload: " + asked.workload);
        }
    }

    void setUp() throws Exception {
        for (long i = 0; i < asked.number("sessions", 1); ++i) {
            CuratorFramework client = CuratorFrameworkFactory.builder()
                .connectString(asked.text("servers"))
                .sessionTimeoutMs((int) asked.number("session_ms", 30_000))
                .connectionTimeoutMs(15_000)
                .retryPolicy(new ExponentialBackoffRetry(100, 3))
                .zkClientConfig(configuration())
                .build();
            client.start();
            clients.add(client);
            if (!client.blockUntilConnected(15, TimeUnit.SECONDS))
                throw new IllegalStateException("not connected");
        }
    }

    /** With `tls_ca`, the file of an authority, connections use TLS; Netty makes them, which is its only way. */
    private ZKClientConfig configuration() {
        ZKClientConfig config = new ZKClientConfig();
        if (asked.has("tls_ca")) {
            config.setProperty(ZKClientConfig.SECURE_CLIENT, "true");
            config.setProperty(
                ZKClientConfig.ZOOKEEPER_CLIENT_CNXN_SOCKET, "org.apache.zookeeper.ClientCnxnSocketNetty");
            config.setProperty("zookeeper.ssl.trustStore.location", asked.text("tls_ca"));
        }
        return config;
    }

    abstract Report measure() throws Exception;

    void tearDown() throws Exception {
        stopping = true;
        join();
        for (CuratorFramework client : clients)
            start(client::close); // each takes a tenth of a second
        join();
    }

    CuratorFramework client(int i) {
        return clients.get(i);
    }

    InterProcessMutex lock(int client, String path) {
        return new InterProcessMutex(clients.get(client), path);
    }

    String path() {
        return asked.text("path");
    }

    long measuredNs() {
        return asked.number("ms") * 1_000_000;
    }

    interface Body {
        void run() throws Exception;
    }

    /** Each waiter needs a thread of its own: that is how Curator waits. */
    Thread start(Body body) {
        Thread thread = new Thread(null, () -> {
            try {
                body.run();
            } catch (Throwable thrown) {
                failure.compareAndSet(null, thrown);
            }
        }, "contender", 256 * 1024);
        threads.add(thread);
        thread.start();
        return thread;
    }

    void join() throws Exception {
        for (Thread thread : threads)
            thread.join();
        threads.clear();
        if (failure.get() != null)
            throw new IllegalStateException(failure.get());
    }

    /** Lets the threads run for the time that is measured. */
    Report watch(String... timed) {
        found = new Report(timed);
        long start = System.nanoTime();
        sleepUntil(start + measuredNs());
        Report result = found;
        found = new Report(timed);
        result.elapsedNs = System.nanoTime() - start;
        return result;
    }

    static void sleepUntil(long ns) {
        for (long now = System.nanoTime(); now < ns; now = System.nanoTime())
            LockSupport.parkNanos(ns - now);
    }
}
