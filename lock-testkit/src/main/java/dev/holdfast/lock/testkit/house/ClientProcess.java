package dev.holdfast.lock.testkit.house;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.testkit.support.ChildJvm;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** A {@link ClientProgram}, as its test sees it. */
final class ClientProcess implements AutoCloseable {
    private final ChildJvm jvm;

    private ClientProcess(ChildJvm jvm) throws InterruptedException {
        this.jvm = jvm;
        jvm.await("ready");
    }

    /** What it tells of its locks and threads. */
    record Report(
            List<Holding.Report> holdings,
            List<Contention> contentions,
            List<Contender.Claim> claims,
            List<String> threadEnds,
            List<String> failedLines) {
        /** How many lines the log could not write. */
        long failedLogLines() {
            return Long.parseLong(failedLines.get(0));
        }

        Holding.Report holding(String name) {
            return holdings.stream()
                    .filter(each -> each.name().equals(name))
                    .findFirst()
                    .orElseThrow(() -> new AssertionError("no lock '" + name + "' among " + holdings));
        }
    }

    /** What a contender did. */
    record Contention(String name, int claims, long withoutMemory, long failures, String lastFailure) {
        static Contention parse(String line) {
            String[] words = line.split(" ", 5);
            return new Contention(
                    words[0], Integer.parseInt(words[1]), Long.parseLong(words[2]), Long.parseLong(words[3]), words[4]);
        }
    }

    static ClientProcess start(String uri, Duration lease, String... jvmOptions)
            throws IOException, InterruptedException {
        return new ClientProcess(ChildJvm.startWith(List.of(jvmOptions), ClientProgram.class, uri, lease.toString()));
    }

    /** Starts one whose log is on a disk that is full. */
    static ClientProcess startWithFullLog(String uri, Duration lease, boolean throwing)
            throws IOException, InterruptedException {
        return new ClientProcess(ChildJvm.startWithErrorsTo(
                FailingLog.FULL,
                List.of("-D" + FailingLog.THROWS + "=" + throwing),
                ClientProgram.class,
                uri,
                lease.toString()));
    }

    /** Acquires a lock; returns its token. */
    long hold(String name) throws InterruptedException {
        jvm.send("hold " + name);
        return Long.parseLong(jvm.await("held " + name));
    }

    /** Acquires a lock on a thread that is interrupted on loss; returns its token. */
    long lock(String name) throws InterruptedException {
        jvm.send("lock " + name);
        return Long.parseLong(jvm.await("held " + name));
    }

    void awaitEnd(String name) throws InterruptedException {
        jvm.await("ended " + name);
    }

    void waitFor(String name) throws InterruptedException {
        jvm.send("wait " + name);
        jvm.await("waiting " + name);
    }

    /** Waits for the grant of {@link #waitFor}; returns its token. */
    long awaitGrant(String name) throws InterruptedException {
        return Long.parseLong(jvm.await("granted " + name));
    }

    void contend(String name) {
        jvm.send("contend " + name);
    }

    /** Begins so many waits, for permits if the limit is not zero. */
    void crowd(String name, int limit, int count) {
        jvm.send("crowd " + name + " " + limit + " " + count);
    }

    /** Waits until all of {@link #crowd} have begun to wait. */
    void awaitQueued() throws InterruptedException {
        jvm.await("queued");
    }

    /** Waits until all of {@link #crowd} have held and released. */
    void awaitServed() throws InterruptedException {
        assertThat(jvm.await("served")).as("failure of a waiter").isBlank();
    }

    /** The processor time so far, in milliseconds. */
    long processorMillis() throws InterruptedException {
        jvm.send("cpu");
        return Long.parseLong(jvm.await("cpu"));
    }

    /** From now on each event writes a line to its log. */
    void grumble() {
        jvm.send("grumble");
    }

    void rest() throws InterruptedException {
        jvm.send("rest");
        jvm.await("rested");
    }

    /** Keeps its heap full for so long; returns how often there was no memory for a few bytes. */
    int fill(Duration time) throws InterruptedException {
        jvm.send("fill " + time.toMillis());
        return Integer.parseInt(jvm.await("filled"));
    }

    Report report() throws InterruptedException {
        jvm.send("report");
        Report report = new Report(
                new ArrayList<>(), new ArrayList<>(), new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
        while (true) {
            String[] words = jvm.await("").split(" ", 2);
            switch (words[0]) {
                case "holding" -> report.holdings.add(Holding.Report.parse(words[1]));
                case "contender" -> report.contentions.add(Contention.parse(words[1]));
                case "claim" -> report.claims.add(Contender.Claim.parse(words[1]));
                case "thread" -> report.threadEnds.add(words[1]);
                case "log" -> report.failedLines.add(words[1]);
                case "end" -> {
                    return report;
                }
                default -> {} // a line of the log
            }
        }
    }

    /** What it has logged, without the lines of the reports, and what its threads do. */
    List<String> diagnosis() throws InterruptedException {
        jvm.send("stacks");
        jvm.await("end");
        return jvm.seen().stream()
                .filter(line -> !line.matches("(holding|contender|claim|thread|log|end|held|waiting).*"))
                .toList();
    }

    /** Stops it (SIGSTOP). */
    void pause() {
        jvm.pause();
    }

    /** Lets it go on (SIGCONT). */
    void resume() {
        jvm.resume();
    }

    /** Closes its client, which releases what it holds. */
    void closeClient() throws InterruptedException {
        jvm.send("close");
        jvm.await("closed");
    }

    @Override
    public void close() {
        jvm.close();
    }
}
