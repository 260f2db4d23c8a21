package dev.holdfast.examples.election;

import dev.holdfast.examples.election.TakeOvers.Why;
import dev.holdfast.examples.election.Timeline.Mark;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * One run of the election: lets leaders lead for a while, and ends their leaderships in turn, each in another way. Prints what
 * happens, and at the end the timeline and the verdict. Used once, by one thread.
 */
final class ElectionRun {

    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(60);
    private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final List<Why> TURNS = List.of(Why.KILL, Why.YIELD, Why.PAUSE, Why.KILL);

    /** Why there is no leader now, and since when. */
    private record Gap(Why why, Term before, long micros) {}

    private final Duration lease;
    private final int count;
    private final Duration length;
    private final PrintStream out;
    private final Claims claims = new Claims(this::elected);
    private final Candidates candidates;
    private final TakeOvers takeOvers = new TakeOvers();
    private final MachineClock clock = new MachineClock();
    private final List<Mark> marks = new ArrayList<>();
    private volatile @Nullable Gap gap;
    private volatile long beginMicros;
    private @Nullable Term last; // of the calls of elected

    ElectionRun(CandidateConfig config, int count, Duration length, Path log, PrintStream out) {
        this.lease = Duration.ofMillis(config.leaseMillis());
        this.count = count;
        this.length = length;
        this.out = out;
        this.candidates = new Candidates(config, log, claims);
    }

    /** Runs the election. What was claimed until a failure is judged, too. */
    Verdict run() throws IOException, InterruptedException {
        try (candidates) {
            elect();
        } catch (IOException e) {
            if (!claims.terms().isEmpty()) {
                report();
            }
            throw e;
        }
        return report();
    }

    private void elect() throws IOException, InterruptedException {
        for (int i = 0; i < count; i++) {
            candidates.start();
        }
        await("all candidates have started", () -> claims.ready() == count);
        beginMicros = MachineClock.micros();
        for (int i = 1; i <= count; i++) {
            candidates.go(i);
        }
        long endNanos = System.nanoTime() + length.toNanos();
        await("somebody leads", () -> claims.latest().isPresent());
        int turn = 0;
        while (turn < Why.values().length || System.nanoTime() < endNanos) {
            rule();
            if (end(claims.latest().orElseThrow(), TURNS.get(turn % TURNS.size()))) {
                turn++;
            }
        }
        rule();
        say("all are asked to stop");
        candidates.stop();
        clock.look();
        failOnError();
    }

    /** Lets the leader lead for three quarters of a lease, and keeps looking at the clock. */
    private void rule() throws IOException, InterruptedException {
        long endNanos = System.nanoTime() + lease.toNanos() * 3 / 4;
        while (System.nanoTime() < endNanos) {
            look(() -> false, endNanos - System.nanoTime());
        }
    }

    /** False if a later term began before this could be done: on a busy machine, a leader may lose its lease by itself. */
    private boolean end(Term leader, Why why) throws IOException, InterruptedException {
        if (why == Why.PAUSE) {
            beginWrite(leader);
        }
        long micros = MachineClock.micros();
        gap = new Gap(why, leader, micros); // before the look: what follows a look that finds nothing is a take-over
        if (isFollowed(leader)) {
            gap = null;
            candidates.child(leader.candidate()).tell("finish");
            return false;
        }
        switch (why) {
            case KILL -> kill(leader, micros);
            case YIELD -> resign(leader, micros);
            case PAUSE -> pause(leader, micros);
        }
        return true;
    }

    private void kill(Term leader, long micros) throws IOException, InterruptedException {
        say(
                "candidate %d gets SIGKILL; its lease has %s or less to go",
                leader.candidate(), TakeOvers.seconds(lease.toNanos() / 1_000));
        candidates.kill(leader.candidate());
        marks.add(new Mark(leader.candidate(), Timeline.KILLED, micros, micros));
        candidates.go(candidates.start());
        awaitNext(leader);
    }

    private void resign(Term leader, long micros) throws IOException, InterruptedException {
        say("candidate %d is asked to resign", leader.candidate());
        candidates.child(leader.candidate()).tell("yield");
        marks.add(new Mark(leader.candidate(), Timeline.RESIGNED, micros, micros));
        awaitNext(leader);
    }

    private void beginWrite(Term leader) throws IOException, InterruptedException {
        candidates.child(leader.candidate()).tell("think");
        await("the leader begins a write", () -> claims.thinking() == leader.token() || isFollowed(leader));
    }

    private void pause(Term leader, long micros) throws IOException, InterruptedException {
        if (!Pause.isPossible()) {
            gap = null;
            say("this system has no SIGSTOP: no leader is paused");
            candidates.child(leader.candidate()).tell("finish");
            return;
        }
        say("candidate %d gets SIGSTOP between its last look and a write", leader.candidate());
        long longest = 10 + 4 * (1 + lease.toSeconds());
        int refused = claims.refused();
        Pause pause = Pause.of(candidates.child(leader.candidate()), longest);
        try (pause) {
            awaitNext(leader);
            await("the next leader writes", () -> claims.highestWritten() > leader.token());
            claims.lateFromNow(leader.token());
            candidates.child(leader.candidate()).tell("finish");
        }
        marks.add(new Mark(leader.candidate(), Timeline.PAUSED, micros, MachineClock.micros()));
        say("candidate %d gets SIGCONT, and writes with its token %d", leader.candidate(), leader.token());
        await("the late write is answered", () -> claims.refused() > refused || claims.lateWrites() > 0);
        say(
                claims.lateWrites() > 0
                        ? "its write was LET THROUGH"
                        : "its write is refused: a higher token was there before");
    }

    private void awaitNext(Term leader) throws IOException, InterruptedException {
        await("somebody else leads", () -> isFollowed(leader));
    }

    private boolean isFollowed(Term leader) {
        return claims.latest().orElseThrow().token() > leader.token();
    }

    /** Called with the first claim of each term, one call at a time. */
    private void elected(Term term) {
        Gap before = gap;
        String when = "";
        if (before != null && term.token() > before.before().token()) {
            takeOvers.add(before.why(), term.firstMicros() - before.micros());
            when = ", " + TakeOvers.seconds(Math.max(0, term.firstMicros() - before.micros())) + " later";
            gap = null;
        } else if (last != null) {
            when = ", though nobody has ended the term of candidate " + last.candidate();
        }
        last = term;
        if (claims.terms().stream().anyMatch(other -> !other.equals(term) && other.overlaps(term))) {
            when = " BESIDE ANOTHER ONE";
        }
        sayAt(term.firstMicros(), "candidate %d leads, token %d%s", term.candidate(), term.token(), when);
    }

    private void await(String what, BooleanSupplier condition) throws IOException, InterruptedException {
        long patienceNanos = PATIENCE_NANOS + 4 * lease.toNanos();
        long endNanos = System.nanoTime() + patienceNanos;
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() > endNanos) {
                throw new IOException("waited " + TimeUnit.NANOSECONDS.toSeconds(patienceNanos) + " s in vain until "
                        + what + ". The candidates say:\n" + candidates.lastLines());
            }
            look(condition, LOOK_NANOS);
        }
    }

    private void look(BooleanSupplier condition, long nanos) throws IOException, InterruptedException {
        claims.await(Math.min(nanos, LOOK_NANOS), condition);
        clock.look();
        failOnError();
    }

    private void failOnError() throws IOException {
        Verdict verdict = judge();
        if (verdict.result() == Verdict.Result.BAD) {
            throw new IOException("the run ends early: " + verdict.text());
        }
        if (claims.error().isPresent()) {
            throw new IOException("a candidate failed: " + claims.error().get().replaceFirst("^error ", ""));
        }
        if (candidates.died().isPresent()) {
            throw new IOException(candidates.died().get() + ". The candidates say:\n" + candidates.lastLines());
        }
    }

    private Verdict report() {
        List<Term> terms = claims.terms();
        out.println();
        new Timeline(beginMicros, MachineClock.micros())
                .draw(candidates.lives(), terms, marks)
                .forEach(out::println);
        out.println("    # leads   . stands   X SIGKILL   y resigns   p paused (SIGSTOP to SIGCONT)");
        out.println();
        for (Why why : Why.values()) {
            takeOvers.line(why).ifPresent(out::println);
        }
        out.println("late writes refused:           " + claims.refused());
        Verdict verdict = judge();
        out.println(verdict.text());
        return verdict;
    }

    private Verdict judge() {
        return Judge.judge(claims.terms(), claims.lateWrites(), clock.fault());
    }

    private void say(String text, Object... arguments) {
        sayAt(MachineClock.micros(), text, arguments);
    }

    private void sayAt(long micros, String text, Object... arguments) {
        out.printf(
                Locale.ROOT,
                "%6.2f s  %s%n",
                (micros - beginMicros) / 1e6,
                String.format(Locale.ROOT, text, arguments));
    }
}
