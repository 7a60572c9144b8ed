import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** Writes events to a file, each when it happens and in one write, so that all are there when the process is killed. */
final class History {
    /** What was polled of one partition, in order. */
    record Records(List<Long> offsets, List<String> values) { }

    private final FileChannel file;
    private String process = "";

    History(String path) throws IOException {
        file = FileChannel.open(Path.of(path), StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }

    /** Whose events follow. */
    void setProcess(String name) {
        process = name;
    }

    String process() {
        return process;
    }

    /** {@code beginning}: with the first record of each partition. */
    void assign(boolean beginning) {
        add("assign", ",\"beginning\":" + beginning);
    }

    void poll(Map<String, Records> polled, String isolation) {
        add("poll", polled(polled) + ",\"isolation\":" + text(isolation));
    }

    void begin(int txn, Map<String, Records> polled, Map<String, List<String>> sent) {
        add("begin", number(txn) + polled(polled) + ",\"sent\":" + object(sent, values -> list(values, History::text)));
    }

    void commit(int txn) {
        add("commit", number(txn));
    }

    void ok(int txn, Map<String, List<Long>> offsets) {
        add("ok", number(txn) + ",\"offsets\":" + object(offsets, each -> list(each, String::valueOf)));
    }

    /** {@code what} is "fail" or "info". */
    void ended(String what, int txn, Object error) {
        add(what, number(txn) + ",\"error\":" + text(String.valueOf(error)));
    }

    private static String number(int txn) {
        return ",\"txn\":" + txn;
    }

    private static String polled(Map<String, Records> polled) {
        return ",\"polled\":" + object(polled, records -> "{\"o\":" + list(records.offsets(), String::valueOf)
            + ",\"v\":" + list(records.values(), History::text) + "}");
    }

    private static <T> String object(Map<String, T> map, java.util.function.Function<T, String> write) {
        return map.entrySet().stream().map(e -> text(e.getKey()) + ":" + write.apply(e.getValue()))
            .collect(Collectors.joining(",", "{", "}"));
    }

    private static <T> String list(List<T> all, java.util.function.Function<T, String> write) {
        return all.stream().map(write).collect(Collectors.joining(",", "[", "]"));
    }

    private static String text(String raw) {
        StringBuilder out = new StringBuilder("\"");
        raw.chars().forEach(c -> {
            if (c == '"' || c == '\\') {
                out.append('\\');
            }
            out.append(c < ' ' ? ' ' : (char) c);
        });
        return out.append('"').toString();
    }

    /** The time is of the system's monotonic clock, which all processes share. */
    private synchronized void add(String what, String fields) {
        String line = "{\"time\":" + System.nanoTime() / 1000 + ",\"process\":" + text(process) + ",\"f\":" + text(what) + fields
            + "}\n";
        try {
            ByteBuffer bytes = ByteBuffer.wrap(line.getBytes(StandardCharsets.UTF_8));
            while (bytes.hasRemaining()) {
                file.write(bytes);
            }
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }
}
