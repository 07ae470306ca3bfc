import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/** One who acquires, holds and releases: a thread, because Curator's locks belong to threads. */
final class Attempt extends Thread {
    private final Peer peer;
    private final String recipe;
    private final String path;
    private final Map<String, String> options = new HashMap<>();
    private final BlockingQueue<String> orders = new LinkedBlockingQueue<>();

    Attempt(Peer peer, String name, String recipe, String path, List<String> options) {
        super(name);
        this.peer = peer;
        this.recipe = recipe;
        this.path = path;
        for (String option : options)
            this.options.put(option.substring(0, option.indexOf('=')), option.substring(option.indexOf('=') + 1));
        setDaemon(true);
    }

    void order(String word) {
        orders.add(word);
    }

    void note(String what, String... words) {
        peer.note(getName(), what, words);
    }

    long number(String option, long otherwise) {
        return options.containsKey(option) ? Long.parseLong(options.get(option)) : otherwise;
    }

    /** Null if it is not given. */
    String text(String option) {
        return options.get(option);
    }

    @Override
    public void run() {
        try {
            for (long i = number("times", 1); i > 0; --i)
                turn();
            note("done");
        } catch (Exception e) {
            note("failed", e.toString().replace('\n', ' '));
        }
    }

    private void turn() throws Exception {
        Locks.Lock lock = Locks.make(this, recipe, peer.client, path);
        List<String> granted;
        try {
            granted = lock.acquire(number("wait", -1));
        } catch (InterruptedException e) {
            note("gave-up", "cancelled");
            return;
        }
        if (granted == null) {
            note("gave-up", "timed-out");
            return;
        }
        note("granted", granted.toArray(new String[0]));
        if (options.containsKey("hold"))
            Thread.sleep(number("hold", 0));
        else
            for (String order; !(order = orders.take()).equals("release");) {
                note("downgrading");
                note("downgraded", lock.downgrade());
            }
        note("leaving");
        lock.release();
        note("released");
    }
}
