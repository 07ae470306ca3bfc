import java.util.Map;
import java.util.StringJoiner;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;

/** What a workload found out. Threads may record at once. */
final class Report {
    /** As driver/histogram.hpp: exact nanoseconds below 2048, then 1024 steps for each doubling. */
    static final class Histogram {
        private static final int BITS = 11;
        private static final int HALF = 1 << (BITS - 1);
        private final AtomicLongArray counts = new AtomicLongArray((45 - BITS) * HALF);

        void record(long ns) {
            int width = 64 - Long.numberOfLeadingZeros(Math.max(ns, 0));
            int shift = Math.max(width - BITS, 0);
            counts.incrementAndGet((int) (shift * HALF + (Math.max(ns, 0) >> shift)));
        }

        private static long lowest(int step) {
            if (step < 2 * HALF)
                return step;
            int shift = step / HALF - 1;
            return (long) (step - shift * HALF) << shift;
        }

        String json() {
            StringJoiner steps = new StringJoiner(",", "[", "]");
            for (int i = 0; i < counts.length(); ++i)
                if (counts.get(i) != 0)
                    steps.add("[" + lowest(i) + "," + counts.get(i) + "]");
            return steps.toString();
        }
    }

    final AtomicLong operations = new AtomicLong();
    volatile long elapsedNs;
    final Map<String, Histogram> latencies = new TreeMap<>();
    final Map<String, Double> figures = new TreeMap<>();

    Report(String... timed) {
        for (String name : timed)
            latencies.put(name, new Histogram());
    }

    String json() {
        StringJoiner timed = new StringJoiner(",", "{", "}");
        latencies.forEach((name, histogram) -> timed.add("\"" + name + "\":" + histogram.json()));
        StringJoiner others = new StringJoiner(",", "{", "}");
        figures.forEach((name, value) -> others.add("\"" + name + "\":" + value));
        return "{\"operations\":" + operations + ",\"seconds\":" + elapsedNs / 1e9 + ",\"latencies\":" + timed
            + ",\"figures\":" + others + "}";
    }
}
