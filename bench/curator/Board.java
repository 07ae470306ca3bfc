import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** What the processes that want one lock share: see driver/board.hpp. System.nanoTime() is their common clock. */
final class Board {
    private static final VarHandle WORDS =
        MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());
    private static final int START = 0;
    private static final int RELEASED = 8;
    private static final int HOLDER = 16;
    private final ByteBuffer memory;
    private final long self;

    Board(CuratorDriver.Request asked) throws IOException {
        try (FileChannel file = FileChannel.open(
                 Path.of(asked.text("board")), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            memory = file.map(FileChannel.MapMode.READ_WRITE, 0, 24);
        }
        self = asked.number("process") + 1;
    }

    long start() {
        return (long) WORDS.getVolatile(memory, START);
    }

    /** How long after its release in another process; negative if this one, or nobody, had the lock before. */
    long granted(long now) {
        long before = (long) WORDS.getVolatile(memory, HOLDER);
        return before == 0 || before == self ? -1 : Math.max(now - (long) WORDS.getVolatile(memory, RELEASED), 0);
    }

    void releasing() {
        WORDS.setVolatile(memory, HOLDER, self);
        WORDS.setVolatile(memory, RELEASED, System.nanoTime());
    }
}
