import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.util.HashMap;
import java.util.Map;

/**
 * The driver of Curator: measures what standard input asks for, one line each, in the steps that all drivers have
 * (driver/driver.hpp). A process lives as long as the benchmark, so that its code is compiled once and stays so.
 */
final class CuratorDriver {
    /** A request's parameters. */
    static final class Request {
        final String workload;
        private final Map<String, String> values = new HashMap<>();

        Request(String line) {
            String[] words = line.trim().split(" +");
            workload = words[0];
            for (int i = 1; i < words.length; ++i) {
                int equals = words[i].indexOf('=');
                values.put(words[i].substring(0, equals), words[i].substring(equals + 1));
            }
        }

        String text(String name) {
            String value = values.get(name);
            if (value == null)
                throw new IllegalArgumentException(workload + " needs the parameter " + name);
            return value;
        }

        boolean has(String name) {
            return values.containsKey(name);
        }

        long number(String name) {
            return Long.parseLong(text(name));
        }

        long number(String name, long otherwise) {
            return values.containsKey(name) ? number(name) : otherwise;
        }
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        var system = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        for (String line; (line = in.readLine()) != null;) {
            Workload subject = Workload.make(new Request(line));
            subject.setUp();
            System.out.println("ready");
            expect(in, "go");
            long before = system.getProcessCpuTime();
            Report found = subject.measure();
            found.figures.put("processor_us", (system.getProcessCpuTime() - before) / 1e3);
            System.out.println(found.json());
            expect(in, "end");
            subject.tearDown();
            System.out.println("ended");
        }
        System.exit(0);
    }

    private static void expect(BufferedReader in, String word) throws Exception {
        String line = in.readLine();
        if (!word.equals(line))
            throw new IllegalStateException("expected " + word + ", not " + line);
    }

    private CuratorDriver() {}
}
