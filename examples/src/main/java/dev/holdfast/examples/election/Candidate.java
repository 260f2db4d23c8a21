package dev.holdfast.examples.election;

import dev.holdfast.lock.Election;
import dev.holdfast.lock.Leadership;
import dev.holdfast.lock.LockClient;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * One process that stands for election. It reads {@code go}, {@code yield}, {@code think}, {@code finish} and {@code stop} on
 * its standard input. While it leads, it says so every few milliseconds, and writes to the {@link Ledger} now and then. It
 * ends when its input does, so that it never outlives the program that started it.
 */
final class Candidate {

    private static final long CLAIM_MILLIS = 5;
    private static final int CLAIMS_BETWEEN_WRITES = 20;
    private static final Duration YIELD = Duration.ofSeconds(2);

    private final CandidateConfig config;
    private final PrintStream out;
    private final CountDownLatch go = new CountDownLatch(1);
    private final Semaphore finish = new Semaphore(0);
    private final CountDownLatch stop = new CountDownLatch(1);
    private volatile boolean resign;
    private volatile boolean think;

    private Candidate(CandidateConfig config, PrintStream out) {
        this.config = config;
        this.out = out;
    }

    /**
     * Runs a candidate.
     *
     * @param arguments none; see {@link CandidateConfig}
     */
    public static void main(String[] arguments) {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        int status = 0;
        try {
            new Candidate(CandidateConfig.read(System.getenv()), out).run();
        } catch (Exception e) {
            out.println("error " + oneLine(e));
            status = 1;
        }
        System.exit(status);
    }

    private void run() throws InterruptedException, SQLException {
        Thread orders = new Thread(this::obey, "orders");
        orders.setDaemon(true);
        orders.start();
        try (LockClient client = config.connect();
                Ledger ledger = Ledger.open(config.ledger())) {
            out.println("ready");
            go.await();
            out.println("stands " + MachineClock.micros());
            try (Election election = client.election(config.election())
                    .options(config.options())
                    .onElected(leadership -> lead(leadership, ledger))
                    .onRevoked(leadership -> out.println("revoked " + leadership.token()))
                    .start()) {
                stopOrYield(election);
            }
        }
        out.println("done");
    }

    private void stopOrYield(Election election) throws InterruptedException {
        while (!stop.await(CLAIM_MILLIS, TimeUnit.MILLISECONDS)) {
            if (resign) {
                resign = false;
                election.yield(YIELD);
            }
        }
    }

    /** Leads until the leadership is over: each claim has a time from before the question whether it is still valid. */
    private void lead(Leadership leadership, Ledger ledger) throws InterruptedException, SQLException {
        think = false; // an order that came too late for an earlier leadership
        long micros = MachineClock.micros();
        for (long i = 0; leadership.isValid(); i++) {
            out.println("leads " + leadership.token() + " " + micros);
            if (i % CLAIMS_BETWEEN_WRITES == 0) {
                write(leadership, ledger);
            }
            if (think) {
                think = false;
                writeWithoutAnotherLook(leadership, ledger);
            }
            TimeUnit.MILLISECONDS.sleep(CLAIM_MILLIS);
            micros = MachineClock.micros();
        }
    }

    private void write(Leadership leadership, Ledger ledger) throws SQLException {
        out.println((ledger.write(leadership.token()) ? "wrote " : "refused ") + leadership.token());
    }

    /**
     * The case that no leader can rule out: it checks whether it leads, pauses, and writes. In this demo it pauses between
     * {@code think} and {@code finish}, and is paused meanwhile. The interrupt of a lost lease does not end the wait: on a busy
     * machine it may come before the process is paused, and the write would be none of a former leader.
     */
    private void writeWithoutAnotherLook(Leadership leadership, Ledger ledger) throws SQLException {
        if (!leadership.isValid()) {
            return;
        }
        finish.drainPermits();
        out.println("thinks " + leadership.token());
        finish.acquireUninterruptibly();
        boolean interrupted = Thread.interrupted(); // the write goes on, as if the request had been sent
        write(leadership, ledger);
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void obey() {
        try (BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String order = orders.readLine(); order != null; order = orders.readLine()) {
                switch (order) {
                    case "go" -> go.countDown();
                    case "yield" -> resign = true;
                    case "think" -> think = true;
                    case "finish" -> finish.release();
                    default -> stop.countDown();
                }
            }
        } catch (IOException e) {
            out.println("error " + oneLine(e));
        }
        Runtime.getRuntime().halt(2);
    }

    private static String oneLine(Throwable failure) {
        return String.valueOf(failure).replaceAll("\\s+", " ");
    }
}
