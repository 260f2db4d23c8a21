package dev.holdfast.benchmarks.worker;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** A child JVM that runs one candidate. For the use of one thread. */
public final class WorkerProcess implements AutoCloseable {
    private static final Duration START = Duration.ofMinutes(3);
    private static final long END_SECONDS = 5;

    private final String title;
    private final Process process;
    private final PrintWriter orders;
    private final BufferedReader answers;
    private final Path log;

    private WorkerProcess(String title, Process process, Path log) {
        this.title = title;
        this.process = process;
        this.log = log;
        this.orders = new PrintWriter(new OutputStreamWriter(process.getOutputStream(), StandardCharsets.UTF_8), true);
        this.answers = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    }

    /**
     * Starts a worker and waits until it is connected.
     *
     * @param settings where and how
     * @param store the store's name
     * @param candidate the candidate's name
     * @param address the store's
     * @return the worker
     * @throws IOException if it does not start or cannot connect
     * @throws InterruptedException if interrupted
     */
    public static WorkerProcess start(WorkerSettings settings, String store, String candidate, String address)
            throws IOException, InterruptedException {
        Path log = Files.createTempFile(settings.folder(), store + "-" + candidate + "-", ".log");
        List<String> command = new ArrayList<>(List.of(settings.java().toString()));
        command.addAll(settings.options());
        command.addAll(List.of(
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                "-Djava.awt.headless=true",
                "-cp",
                settings.classPath(),
                Worker.class.getName(),
                store,
                candidate,
                address));
        Process process = new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.to(log.toFile()))
                .start();
        WorkerProcess worker = new WorkerProcess(store + " " + candidate, process, log);
        try {
            worker.answer(START);
            return worker;
        } catch (IOException | InterruptedException | RuntimeException e) {
            worker.close();
            throw e;
        }
    }

    /**
     * Gives an order without waiting for the answer.
     *
     * @param order the order
     */
    public void send(Message order) {
        orders.println(order);
    }

    /**
     * Waits for the answer to the oldest unanswered order.
     *
     * @param patience how long it may take
     * @return what the worker says
     * @throws IOException if it failed or died; the message has the end of its log
     * @throws InterruptedException if interrupted
     */
    public Message answer(Duration patience) throws IOException, InterruptedException {
        CompletableFuture<String> line = new CompletableFuture<>();
        Thread reader = new Thread(() -> {
            try {
                String read = answers.readLine();
                while (read != null && !read.startsWith(Worker.MARK)) {
                    read = answers.readLine();
                }
                line.complete(read);
            } catch (IOException e) {
                line.completeExceptionally(e);
            }
        });
        reader.setDaemon(true);
        reader.start();
        String text;
        try {
            text = line.get(patience.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            throw new IOException(title + ": no answer within " + patience + "; log:\n" + logTail(), e);
        } catch (ExecutionException e) {
            throw new IOException(title + ": died; log:\n" + logTail(), e);
        }
        if (text == null) {
            throw new IOException(title + ": died; log:\n" + logTail());
        }
        Message message = Message.parse(text.substring(Worker.MARK.length()));
        if (!message.word().equals("ok")) {
            throw new IOException(title + ": " + message.text("reason").replace('_', ' ') + "; log:\n" + logTail());
        }
        return message;
    }

    /**
     * Gives an order and waits for the answer.
     *
     * @param order the order
     * @param patience how long it may take
     * @return what the worker says
     * @throws IOException if it failed or died
     * @throws InterruptedException if interrupted
     */
    public Message call(Message order, Duration patience) throws IOException, InterruptedException {
        send(order);
        return answer(patience);
    }

    /**
     * Kills the process (SIGKILL) and waits until it has ended.
     *
     * @return when it was killed, by {@code System.nanoTime}
     * @throws InterruptedException if interrupted
     */
    public long kill() throws InterruptedException {
        long nanos = System.nanoTime();
        process.destroyForcibly();
        process.waitFor();
        return nanos;
    }

    private String logTail() {
        try {
            List<String> lines = Files.readAllLines(log);
            return String.join("\n", lines.subList(Math.max(0, lines.size() - 12), lines.size()));
        } catch (IOException e) {
            return "(no log: " + e.getMessage() + ")";
        }
    }

    /** Ends the process, by force if it does not end at once. Idempotent. */
    @Override
    public void close() {
        orders.close();
        try {
            if (!process.waitFor(END_SECONDS, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public String toString() {
        return title;
    }
}
