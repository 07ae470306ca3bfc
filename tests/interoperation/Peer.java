import java.io.BufferedReader;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.api.ACLProvider;
import org.apache.curator.framework.recipes.locks.Revoker;
import org.apache.curator.retry.RetryForever;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.data.ACL;

/**
 * A peer with a session of Curator's; peer.hpp tells what it reads and notes. Arguments: NAME SERVERS
 * SESSION_TIMEOUT_MS JOURNAL. The recipes are in Locks.java.
 */
final class Peer {
    private final String name;
    private final FileOutputStream journal;
    final CuratorFramework client;
    private final Map<String, Attempt> attempts = new HashMap<>();

    private Peer(String name, String servers, int sessionTimeoutMs, String journal) throws IOException {
        this.name = name;
        this.journal = new FileOutputStream(journal, true);
        var builder = CuratorFrameworkFactory.builder().connectString(servers).sessionTimeoutMs(sessionTimeoutMs)
            .connectionTimeoutMs(60_000).retryPolicy(new RetryForever(20));
        if (System.getenv("ZKLOCK_PEER_SASL") != null) // the rest is in a file that the virtual machine is told of
            builder.aclProvider(new OwnNodes());
        client = builder.build();
    }

    /** What it creates is its own. */
    private static final class OwnNodes implements ACLProvider {
        @Override
        public List<ACL> getDefaultAcl() {
            return ZooDefs.Ids.CREATOR_ALL_ACL;
        }

        @Override
        public List<ACL> getAclForPath(String path) {
            return ZooDefs.Ids.CREATOR_ALL_ACL;
        }
    }

    /** One line by one write: where it stands among those of others is when it was noted. */
    void note(String attempt, String what, String... words) {
        StringBuilder line = new StringBuilder(name + " " + attempt + " " + what + " " + System.nanoTime());
        for (String word : words)
            line.append(' ').append(word);
        try {
            synchronized (journal) {
                journal.write(line.append('\n').toString().getBytes());
            }
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private void serve() throws Exception {
        client.start();
        if (!client.blockUntilConnected(60, TimeUnit.SECONDS))
            throw new IllegalStateException("not connected");
        note("-", "ready");
        var in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null && !line.equals("quit");)
            obey(List.of(line.trim().split(" +")));
        client.close();
    }

    private void obey(List<String> words) throws Exception {
        String which = words.get(1);
        switch (words.get(0)) {
            case "acquire" -> {
                var attempt = new Attempt(this, which, words.get(2), words.get(3), words.subList(4, words.size()));
                attempts.put(which, attempt);
                attempt.start();
            }
            case "release", "downgrade" -> attempts.get(which).order(words.get(0));
            case "cancel" -> attempts.get(which).interrupt();
            case "revoke" -> Revoker.attemptRevoke(client, which);
            default -> throw new IllegalArgumentException(words.get(0));
        }
    }

    public static void main(String[] arguments) throws Exception {
        new Peer(arguments[0], arguments[1], Integer.parseInt(arguments[2]), arguments[3]).serve();
        System.exit(0); // whatever threads are left
    }
}
