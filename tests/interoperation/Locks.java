import java.util.Collection;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.framework.recipes.locks.StandardLockInternalsDriver;
import org.apache.curator.framework.recipes.shared.SharedCount;
import org.apache.curator.framework.recipes.shared.SharedCountListener;
import org.apache.curator.framework.recipes.shared.SharedCountReader;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.utils.ZKPaths;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.recipes.lock.LockListener;
import org.apache.zookeeper.recipes.lock.WriteLock;

/**
 * The recipes: mutex, stock (a mutex with a lock driver and names of its own), any-number (likewise, and it heeds every
 * number), read, write, semaphore (`take` of `permits`, or of as many as the SharedCount `count` says) and
 * leader are Curator's; write-lock is ZooKeeper's own WriteLock. A mutex notes "revoked" when somebody asks it to let
 * go.
 */
final class Locks {
    interface Lock {
        /** The kind of the grant and its node; null when the time is over. For ever if it is negative. */
        List<String> acquire(long waitMs) throws Exception;

        void release() throws Exception;

        /** The node it holds then. */
        default String downgrade() throws Exception {
            throw new UnsupportedOperationException();
        }
    }

    static Lock make(Attempt asked, String recipe, CuratorFramework client, String path) {
        return switch (recipe) {
            case "mutex" -> new Mutex(asked, client, path);
            case "stock" -> new OwnDriver(client, path, false);
            case "any-number" -> new OwnDriver(client, path, true);
            case "read" -> new ReadWrite(client, path, false);
            case "write" -> new ReadWrite(client, path, true);
            case "semaphore" -> new Semaphore(asked, client, path);
            case "leader" -> new Leader(asked, client, path);
            case "write-lock" -> new OfZooKeeper(client, path);
            default -> throw new IllegalArgumentException("there is no recipe " + recipe);
        };
    }

    private static boolean within(InterProcessMutex lock, long waitMs) throws Exception {
        if (waitMs >= 0)
            return lock.acquire(waitMs, TimeUnit.MILLISECONDS);
        lock.acquire();
        return true;
    }

    private static final class Mutex extends InterProcessMutex implements Lock {
        Mutex(Attempt asked, CuratorFramework client, String path) {
            super(client, path);
            if (asked.number("revocable", 0) != 0)
                makeRevocable(of -> asked.note("revoked"));
        }

        @Override
        public List<String> acquire(long waitMs) throws Exception {
            return within(this, waitMs) ? List.of("exclusive", getLockPath()) : null;
        }
    }

    /** Its nodes are called stock- where Curator's are called lock-. */
    private static final class StockDriver extends StandardLockInternalsDriver {
        private static final int DIGITS = 10;
        private final boolean byNumber;

        StockDriver(boolean byNumber) {
            this.byNumber = byNumber;
        }

        @Override
        public String createsTheLock(CuratorFramework client, String path, byte[] data) throws Exception {
            return super.createsTheLock(client, path.substring(0, path.lastIndexOf('/')) + "/stock-", data);
        }

        @Override
        public String fixForSorting(String name, String lockName) {
            return byNumber ? name.substring(name.length() - DIGITS) : super.fixForSorting(name, "stock-");
        }
    }

    private static final class OwnDriver extends InterProcessMutex implements Lock {
        OwnDriver(CuratorFramework client, String path, boolean byNumber) {
            super(client, path, new StockDriver(byNumber));
        }

        @Override
        public List<String> acquire(long waitMs) throws Exception {
            return within(this, waitMs) ? List.of("exclusive", getLockPath()) : null;
        }
    }

    // InterProcessReadWriteLock's two locks, which tell their nodes to subclasses only.
    private static final class NamedWriteLock extends InterProcessReadWriteLock.WriteLock {
        NamedWriteLock(CuratorFramework client, String path) {
            super(client, path, null);
        }

        String node() {
            return getLockPath();
        }
    }

    private static final class NamedReadLock extends InterProcessReadWriteLock.ReadLock {
        NamedReadLock(CuratorFramework client, String path, InterProcessReadWriteLock.WriteLock writing) {
            super(client, path, null, writing);
        }

        String node() {
            return getLockPath();
        }
    }

    private static final class ReadWrite implements Lock {
        private final NamedWriteLock writing;
        private final NamedReadLock reading;
        private InterProcessMutex held;

        ReadWrite(CuratorFramework client, String path, boolean writes) {
            writing = new NamedWriteLock(client, path);
            reading = new NamedReadLock(client, path, writing);
            held = writes ? writing : reading;
        }

        @Override
        public List<String> acquire(long waitMs) throws Exception {
            if (!within(held, waitMs))
                return null;
            return held == writing ? List.of("exclusive", writing.node()) : List.of("shared", reading.node());
        }

        @Override
        public String downgrade() throws Exception {
            reading.acquire();
            writing.release();
            held = reading;
            return reading.node();
        }

        @Override
        public void release() throws Exception {
            held.release();
        }
    }

    /** Curator reads a count that has changed in the background: this notes "permits" when its semaphore was told. */
    private static final class NotedCount extends SharedCount {
        private final Attempt asked;

        NotedCount(Attempt asked, CuratorFramework client, int otherwise) {
            super(client, asked.text("count"), otherwise);
            this.asked = asked;
        }

        @Override
        public void addListener(SharedCountListener listener) {
            super.addListener(new SharedCountListener() {
                @Override
                public void countHasChanged(SharedCountReader count, int now) throws Exception {
                    listener.countHasChanged(count, now);
                    asked.note("permits", String.valueOf(now));
                }

                @Override
                public void stateChanged(CuratorFramework client, ConnectionState now) {
                    listener.stateChanged(client, now);
                }
            });
        }
    }

    private static final class Semaphore implements Lock {
        private final Attempt asked;
        private final String path;
        private final SharedCount maximum;
        private final InterProcessSemaphoreV2 semaphore;
        private Collection<Lease> leases;

        Semaphore(Attempt asked, CuratorFramework client, String path) {
            this.asked = asked;
            this.path = path;
            int permits = (int) asked.number("permits", 1);
            maximum = asked.text("count") == null ? null : new NotedCount(asked, client, permits);
            semaphore = maximum == null ? new InterProcessSemaphoreV2(client, path, permits)
                                        : new InterProcessSemaphoreV2(client, path, maximum);
        }

        @Override
        public List<String> acquire(long waitMs) throws Exception {
            int count = (int) asked.number("take", 1);
            if (maximum != null)
                maximum.start();
            leases = waitMs < 0 ? semaphore.acquire(count) : semaphore.acquire(count, waitMs, TimeUnit.MILLISECONDS);
            if (leases != null)
                return List.of(String.valueOf(count), path + "/leases/" + leases.iterator().next().getNodeName());
            forgetMaximum();
            return null;
        }

        @Override
        public void release() throws Exception {
            semaphore.returnAll(leases);
            forgetMaximum();
        }

        private void forgetMaximum() throws Exception {
            if (maximum != null)
                maximum.close();
        }
    }

    private static final class Leader extends LeaderSelectorListenerAdapter implements Lock {
        private final CuratorFramework client;
        private final String path;
        private final LeaderSelector selector;
        private final CountDownLatch elected = new CountDownLatch(1);
        private final CountDownLatch resigning = new CountDownLatch(1);
        private final CountDownLatch resigned = new CountDownLatch(1);

        Leader(Attempt asked, CuratorFramework client, String path) {
            this.client = client;
            this.path = path;
            selector = new LeaderSelector(client, path, this);
            selector.setId(asked.getName());
        }

        @Override
        public void takeLeadership(CuratorFramework by) throws Exception {
            elected.countDown();
            resigning.await();
        }

        @Override
        public List<String> acquire(long waitMs) throws Exception {
            selector.start();
            elected.await();
            for (String name : client.getChildren().forPath(path)) {
                String node = ZKPaths.makePath(path, name);
                try {
                    if (new String(client.getData().forPath(node)).equals(selector.getId()))
                        return List.of("exclusive", node);
                } catch (KeeperException.NoNodeException e) {
                    // somebody else's, who has gone
                }
            }
            throw new IllegalStateException("the leader has no node");
        }

        @Override
        public void release() throws Exception {
            resigning.countDown();
            while (selector.hasLeadership())
                Thread.sleep(1);
            selector.close();
        }
    }

    /**
     * Where a predecessor goes before it is watched, WriteLock waits for ever unless somebody calls lock() again:
     * that is done when it is the first. Not otherwise: each call leaves a watch that calls lock() when it fires, and
     * one that fires after unlock() makes a node that nobody asked for. For the same reason nobody should give up
     * whose predecessor will go.
     */
    private static final class OfZooKeeper implements Lock, LockListener {
        private final CuratorFramework client;
        private final String path;
        private WriteLock lock;
        private final CountDownLatch acquired = new CountDownLatch(1);

        OfZooKeeper(CuratorFramework client, String path) {
            this.client = client;
            this.path = path;
        }

        @Override
        public void lockAcquired() {
            acquired.countDown();
        }

        @Override
        public void lockReleased() {}

        @Override
        public List<String> acquire(long waitMs) throws Exception {
            lock = new WriteLock(client.getZookeeperClient().getZooKeeper(), path, null, this);
            long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(waitMs);
            lock.lock();
            try {
                while (!acquired.await(100, TimeUnit.MILLISECONDS)) {
                    if (waitMs >= 0 && System.nanoTime() >= until) {
                        lock.unlock();
                        return null;
                    }
                    if (isFirst())
                        lock.lock();
                }
            } catch (InterruptedException e) {
                lock.unlock();
                throw e;
            }
            return List.of("exclusive", lock.getId());
        }

        private boolean isFirst() throws Exception {
            for (String name : client.getChildren().forPath(path))
                if (number(name) < number(lock.getId()))
                    return false;
            return true;
        }

        private static int number(String node) {
            try {
                return Integer.parseInt(node.substring(node.lastIndexOf('-') + 1));
            } catch (NumberFormatException e) {
                return Integer.MAX_VALUE;
            }
        }

        @Override
        public void release() {
            lock.unlock();
        }
    }

    private Locks() {}
}
