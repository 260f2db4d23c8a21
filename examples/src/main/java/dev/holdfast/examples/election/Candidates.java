package dev.holdfast.examples.election;

import dev.holdfast.examples.election.Timeline.Life;
import dev.holdfast.examples.parts.AtExit;
import dev.holdfast.examples.parts.ChildJvm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;

/** The processes that stand for election, numbered from 1 in the order in which they were started. One thread starts and ends them. */
final class Candidates implements AutoCloseable {

    private static final long FAREWELL_SECONDS = 30;

    /** A process, and when it ended; 0 while it runs. */
    private static final class One {
        final int number;
        final ChildJvm child;
        long toMicros;

        One(int number, ChildJvm child) {
            this.number = number;
            this.child = child;
        }
    }

    private final CandidateConfig config;
    private final Path log;
    private final Claims claims;
    private final List<One> all = new CopyOnWriteArrayList<>();
    private volatile boolean killed;
    private final AtExit end = AtExit.run(this::killAll);

    Candidates(CandidateConfig config, Path log, Claims claims) {
        this.config = config;
        this.log = log;
        this.claims = claims;
    }

    /** Starts one more process; returns its number. */
    int start() throws IOException {
        int number = all.size() + 1;
        all.add(new One(
                number,
                ChildJvm.start(
                        Candidate.class, config.environment(), log, (child, line) -> claims.onOutput(number, line))));
        return number;
    }

    /** Lets a process run for election once it is ready. */
    void go(int number) {
        one(number).child.tell("go");
    }

    void kill(int number) {
        one(number).child.kill();
        one(number).toMicros = MachineClock.micros();
    }

    ChildJvm child(int number) {
        return one(number).child;
    }

    /** The processes that ended without being killed by this program. */
    Optional<String> died() {
        return all.stream()
                .filter(one -> !killed && one.toMicros == 0 && !one.child.isAlive())
                .findFirst()
                .map(one -> "candidate " + one.number + " (process " + one.child.pid() + ") ended by itself");
    }

    /** Asks all to resign and end, and waits until all their output has been read. */
    void stop() throws InterruptedException {
        List<One> alive = all.stream().filter(one -> one.toMicros == 0).toList();
        alive.forEach(one -> one.toMicros = MachineClock.micros());
        alive.forEach(one -> one.child.tell("stop"));
        for (One one : all) {
            one.child.awaitEnd(FAREWELL_SECONDS);
        }
    }

    List<Life> lives() {
        List<Life> lives = new ArrayList<>();
        for (One one : all) {
            long end = one.toMicros == 0 ? MachineClock.micros() : one.toMicros;
            lives.add(new Life(
                    one.number, one.child.pid(), claims.stoodFrom(one.number).orElse(end), end));
        }
        return lives;
    }

    /** The last lines that the processes wrote to their log. */
    String lastLines() throws IOException {
        List<String> lines = Files.readAllLines(log);
        return String.join("\n", lines.subList(Math.max(0, lines.size() - 20), lines.size()));
    }

    private One one(int number) {
        return all.get(number - 1);
    }

    private void killAll() {
        killed = true;
        all.forEach(one -> one.child.close());
    }

    @Override
    public void close() {
        end.close();
    }
}
