import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import org.apache.kafka.common.utils.internals.Exit;
import org.slf4j.LoggerFactory;

/**
 * Runs Apache Kafka's command-line tools one after the other in one JVM, since starting one for each takes most of the time.
 * A line of standard input is {"main": class, "args": [...]}; the answer is a line that begins with ANSWER, with what the
 * tool printed and its exit code. Other lines of standard output are the logger's.
 */
public final class ToolRunner {
    private static final String ANSWER = "ANSWER ";
    private static final ObjectMapper JSON = new ObjectMapper();

    /** What a tool that wants to end the JVM gets instead. */
    private static final class Ended extends Error {
        private static final long serialVersionUID = 1L;
    }

    private static int exitCode;
    private static boolean ended;

    private ToolRunner() {
    }

    public static void main(String[] arguments) throws IOException {
        PrintStream answers = System.out;
        LoggerFactory.getLogger(ToolRunner.class);  // it keeps the stream that it finds: not that of the first tool
        Exit.setExitProcedure(ToolRunner::end);
        Exit.setHaltProcedure(ToolRunner::end);
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            answers.println(ANSWER + run(JSON.readTree(line)));
            answers.flush();
        }
    }

    /** Some tools catch what they are ended with, complain and end again: only the first time counts. */
    private static void end(int code, String message) {
        if (!ended) {
            ended = true;
            exitCode = code;
            if (message != null) {
                System.err.println(message);
            }
            System.setOut(new PrintStream(OutputStream.nullOutputStream()));
            System.setErr(System.out);
        }
        throw new Ended();
    }

    private static String run(JsonNode request) throws IOException {
        String[] arguments = new String[request.get("args").size()];
        for (int i = 0; i < arguments.length; i++) {
            arguments[i] = request.get("args").get(i).asText();
        }
        PrintStream out = System.out;
        PrintStream err = System.err;
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        ByteArrayOutputStream complained = new ByteArrayOutputStream();
        ended = false;
        exitCode = 0;
        try {
            System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
            System.setErr(new PrintStream(complained, true, StandardCharsets.UTF_8));
            call(request.get("main").asText(), arguments);
        } finally {
            System.setOut(out);
            System.setErr(err);
        }
        ObjectNode answer = JSON.createObjectNode();
        answer.put("out", printed.toString(StandardCharsets.UTF_8));
        answer.put("err", complained.toString(StandardCharsets.UTF_8));
        answer.put("exit", exitCode);
        return JSON.writeValueAsString(answer);
    }

    private static void call(String main, String[] arguments) {
        try {
            Class.forName(main).getMethod("main", String[].class).invoke(null, (Object) arguments);
        } catch (InvocationTargetException wrapped) {
            if (!ended) {
                System.err.println(wrapped.getCause());
                exitCode = 1;
            }
        } catch (ReflectiveOperationException error) {
            throw new IllegalArgumentException(main, error);
        }
    }
}
