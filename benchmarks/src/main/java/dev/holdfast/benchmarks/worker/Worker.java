package dev.holdfast.benchmarks.worker;

import dev.holdfast.benchmarks.candidate.Candidates;
import dev.holdfast.benchmarks.candidate.Session;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/**
 * The program of a child JVM: one candidate, one session, and orders on standard input until it ends. Each order is answered by
 * one line that begins with {@code ok} or {@code failed}. It never outlives its parent: standard input ends with it.
 */
public final class Worker {
    /** What an answer begins with. */
    static final String MARK = "> ";

    private final Session session;
    private final Holds holds;

    private Worker(Session session) {
        this.session = session;
        this.holds = new Holds(session);
    }

    /**
     * Runs a worker.
     *
     * @param arguments the store, the candidate, the address
     */
    public static void main(String[] arguments) {
        PrintStream answers = System.out;
        System.setOut(System.err); // what a library prints is no answer
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        int status = 0;
        try {
            Session session = Candidates.find(arguments[0], arguments[1]).open(arguments[2]);
            say(answers, new Message("ok"));
            new Worker(session).obey(orders, answers);
        } catch (Exception e) {
            say(answers, failed(e));
            status = 1;
        }
        System.exit(status);
    }

    private void obey(BufferedReader orders, PrintStream answers) throws IOException {
        for (String line = orders.readLine(); line != null; line = orders.readLine()) {
            try {
                say(answers, answer(Message.parse(line)));
            } catch (Exception e) {
                say(answers, failed(e));
            }
        }
    }

    /** Marked, because the JVM itself may print as well. */
    private static void say(PrintStream answers, Message answer) {
        answers.println(MARK + answer);
        answers.flush();
    }

    private Message answer(Message order) throws Exception {
        return switch (order.word()) {
            case "load" -> new Load(session, order).run();
            case "hold" -> holds.hold(order);
            case "many" -> holds.many(order);
            case "virtual" -> new VirtualThreads(session).run(order);
            case "cpu" -> Holds.cpu();
            case "close" -> {
                session.close();
                yield new Message("ok");
            }
            default -> throw new IllegalArgumentException("unknown order '" + order.word() + "'");
        };
    }

    private static Message failed(Exception e) {
        e.printStackTrace();
        return new Message("failed").with("reason", e.toString().replaceAll("\\s+", "_"));
    }
}
