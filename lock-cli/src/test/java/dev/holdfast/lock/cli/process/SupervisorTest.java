package dev.holdfast.lock.cli.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LossReason;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** On a made-up clock: when a program under a lease gets which signal. */
class SupervisorTest {
    private static final Duration STOP_TIME = Duration.ofSeconds(60);
    private static final Duration GRACE = Duration.ofSeconds(5);

    private final World world = new World();
    private final List<String> messages = new ArrayList<>();

    @Test
    void renewedLease_leavesTheProgramAlone() throws Exception {
        world.renewsUntil(60);
        world.at(30, () -> world.program.ends(7));

        Supervisor.Outcome outcome = supervise(false);

        assertThat(outcome).isEqualTo(new Supervisor.Outcome(7, false));
        assertThat(world.program.signals).isEmpty();
        assertThat(messages).isEmpty();
    }

    @Test
    void leaseWithoutRenewal_termAtGrace() throws Exception {
        world.program.ignoresTerm = false;

        Supervisor.Outcome outcome = supervise(false);

        assertThat(world.program.signals).containsExactly("TERM at 10.0");
        assertThat(outcome).isEqualTo(new Supervisor.Outcome(143, true));
    }

    @Test
    void programThatIgnoresTerm_isDeadBeforeTheLeaseEnds() throws Exception {
        Supervisor.Outcome outcome = supervise(false);

        assertThat(world.program.signals).containsExactly("TERM at 10.0", "KILL at 14.0");
        assertThat(world.program.deadAt).isLessThan(TimeUnit.SECONDS.toNanos(15));
        assertThat(messages)
                .containsExactly(
                        "the lease cannot be kept and ends in 5000 ms: sending TERM to the command",
                        "the lease is about to end: killing the command");
        assertThat(outcome).isEqualTo(new Supervisor.Outcome(137, true));
    }

    @Test
    void childOfTheProgramThatIgnoresTerm_isKilledToo() throws Exception {
        world.program.ignoresTerm = false;
        world.program.orphan = true;

        Supervisor.Outcome outcome = supervise(false);

        assertThat(world.program.signals).containsExactly("TERM at 10.0", "KILL at 14.0");
        assertThat(outcome).isEqualTo(new Supervisor.Outcome(143, true));
    }

    @Test
    void storeThatComesBackAfterTheTerm_doesNotUndoIt() throws Exception {
        world.at(12, () -> world.renewsUntil(100));
        world.at(20, () -> world.program.ends(143));

        Supervisor.Outcome outcome = supervise(false);

        assertThat(world.program.signals).containsExactly("TERM at 10.0");
        assertThat(outcome).isEqualTo(new Supervisor.Outcome(143, true));
    }

    /** It heeds the TERM, and ends as if it had chosen to. */
    @Test
    void programThatEndsWithAStatusOfItsOwnAfterTheTerm_itsChildIsKilledToo() throws Exception {
        world.program.orphan = true;
        world.at(11, () -> world.program.ends(0));

        Supervisor.Outcome outcome = supervise(false);

        assertThat(world.program.signals).containsExactly("TERM at 10.0", "KILL at 14.0");
        assertThat(outcome).isEqualTo(new Supervisor.Outcome(0, true));
    }

    @Test
    void leaseThatTheStoreTookAway_killAtOnce() throws Exception {
        world.renewsUntil(100);
        world.at(30, () -> world.lost.complete(LossReason.REVOKED));

        Supervisor.Outcome outcome = supervise(false);

        assertThat(world.program.signals).hasSize(1).first().asString().startsWith("KILL at 30.");
        assertThat(outcome.lost()).isTrue();
        assertThat(messages).containsExactly("the lease is lost (REVOKED): killing the command");
    }

    @Test
    void programThatEndsInTheMomentOfTheLoss_theLossIsTold() throws Exception {
        world.renewsUntil(100);
        world.at(30, () -> {
            world.program.ends(0);
            world.lost.complete(LossReason.REVOKED);
        });

        Supervisor.Outcome outcome = supervise(false);

        assertThat(world.program.signals).isEmpty();
        assertThat(outcome).isEqualTo(new Supervisor.Outcome(0, true));
        assertThat(messages).containsExactly("the lease was lost (REVOKED) when the command ended");
    }

    @Test
    void leaseInDoubt_countsByWhatWasConfirmedBefore() throws Exception {
        world.renewsUntil(20);
        world.at(21, () -> world.doubted = true);
        world.at(24, () -> {
            world.doubted = false;
            world.renewsUntil(100);
        });
        world.at(50, () -> world.program.ends(0));

        Supervisor.Outcome outcome = supervise(false);

        assertThat(world.program.signals).isEmpty();
        assertThat(outcome).isEqualTo(new Supervisor.Outcome(0, false));
    }

    @Test
    void wallClockThatJumps_endsTheProgram_thoughNothingIsLost() throws Exception {
        world.renewsUntil(20);
        world.at(21, () -> world.jumped = TimeUnit.SECONDS.toNanos(60));

        Supervisor.Outcome outcome = supervise(false);

        assertThat(world.program.signals).first().asString().startsWith("KILL at 21.");
        assertThat(outcome.lost()).isTrue();
    }

    @Test
    void storeThatGrantsLessThanAskedFor_graceIsAtMostHalfOfIt() throws Exception {
        world.until = TimeUnit.SECONDS.toNanos(4);
        world.program.ignoresTerm = false;

        supervise(false);

        assertThat(world.program.signals).containsExactly("TERM at 2.0");
    }

    @Test
    void ignoredLoss_isToldOnceAndEndsNothing() throws Exception {
        world.at(15, () -> world.lost.complete(LossReason.EXPIRED));
        world.at(40, () -> world.program.ends(3));

        Supervisor.Outcome outcome = supervise(true);

        assertThat(world.program.signals).isEmpty();
        assertThat(messages).containsExactly("the lease is lost (EXPIRED); the command goes on, as you asked");
        assertThat(outcome).isEqualTo(new Supervisor.Outcome(3, true));
    }

    @Test
    void interruptedSupervisor_leavesNothingRunning() throws Exception {
        world.at(3, () -> Thread.currentThread().interrupt());
        try {
            supervise(false);
        } catch (InterruptedException e) {
            assertThat(world.program.signals).containsExactly("KILL at 3.0");
            return;
        }
        throw new AssertionError("the interrupt was swallowed");
    }

    @Test
    void interruptedSupervisor_afterTheEndOfTheProgram_killsWhatItStarted() throws Exception {
        world.program.orphan = true;
        world.at(2, () -> {
            world.asked = true;
            world.program.ends(0);
        });
        world.at(3, () -> Thread.currentThread().interrupt());

        assertThatThrownBy(() -> supervise(false)).isInstanceOf(InterruptedException.class);

        assertThat(world.program.signals).containsExactly("KILL at 3.0");
        assertThat(world.program.orphan).isFalse();
    }

    @Test
    void askedToEnd_waitsForWhatTheProgramStarted_andSendsNothing() throws Exception {
        world.renewsUntil(100);
        world.program.orphan = true;
        world.at(10, () -> {
            world.asked = true;
            world.program.ends(143);
        });
        world.at(40, () -> world.program.orphan = false);

        Supervisor.Outcome outcome = supervise(false);

        assertThat(world.program.signals).isEmpty();
        assertThat(outcome).isEqualTo(new Supervisor.Outcome(143, false));
        assertThat(messages).containsExactly("the command has ended; waiting for what it started");
        assertThat(world.now).isBetween(TimeUnit.SECONDS.toNanos(40), TimeUnit.MILLISECONDS.toNanos(40_200));
    }

    @Test
    void askedToEnd_whatStillRunsAfterTheStopTime_isKilled() throws Exception {
        world.renewsUntil(200);
        world.program.orphan = true;
        world.at(10, () -> {
            world.asked = true;
            world.program.ends(0);
        });

        Supervisor.Outcome outcome = supervise(false);

        assertThat(world.program.signals).hasSize(1).first().asString().startsWith("KILL at 70.");
        assertThat(outcome).isEqualTo(new Supervisor.Outcome(0, false));
        assertThat(messages)
                .containsExactly(
                        "the command has ended; waiting for what it started",
                        "what the command started still runs 60 s after it: killing it");
    }

    @Test
    void askedToEnd_leaseThatCannotBeKept_isNotOutlived() throws Exception {
        world.program.orphan = true;
        world.at(2, () -> {
            world.asked = true;
            world.program.ends(143);
        });

        Supervisor.Outcome outcome = supervise(false);

        assertThat(world.program.signals).containsExactly("TERM at 10.0", "KILL at 14.0");
        assertThat(outcome).isEqualTo(new Supervisor.Outcome(143, true));
    }

    @Test
    void programThatASignalOfOthersEnded_whatItStartedGetsTerm() throws Exception {
        world.renewsUntil(100);
        world.program.orphan = true;
        world.at(10, () -> world.program.ends(137));
        world.at(12, () -> world.program.orphan = false);

        Supervisor.Outcome outcome = supervise(false);

        assertThat(world.program.signals).hasSize(1).first().asString().startsWith("TERM at 10.");
        assertThat(outcome).isEqualTo(new Supervisor.Outcome(137, false));
    }

    @Test
    void programThatEndsByItself_leavesWhatItStartedAlone() throws Exception {
        world.renewsUntil(100);
        world.program.orphan = true;
        world.at(10, () -> world.program.ends(1));

        Supervisor.Outcome outcome = supervise(false);

        assertThat(world.program.signals).isEmpty();
        assertThat(outcome).isEqualTo(new Supervisor.Outcome(1, false));
        assertThat(messages).isEmpty();
    }

    private Supervisor.Outcome supervise(boolean ignoreLoss) throws InterruptedException {
        Supervisor.Outcome outcome = new Supervisor(GRACE, STOP_TIME, ignoreLoss, messages::add, world)
                .watch(world, world.program, () -> {}, () -> world.asked);
        assertThat(world.program.rehearsals).as("rehearsals of its end").isEqualTo(1);
        return outcome;
    }

    /** The clock, the lease of 15 s, and what happens when. */
    private static final class World implements Supervisor.Timing, Lease {
        private final List<Event> events = new ArrayList<>();
        final CompletableFuture<LossReason> lost = new CompletableFuture<>();
        final Program program = new Program(this);
        long now;
        long until = TimeUnit.SECONDS.toNanos(15);
        long jumped;
        boolean doubted;
        boolean asked;

        record Event(long nanos, Runnable action) {}

        void at(long seconds, Runnable action) {
            events.add(new Event(TimeUnit.SECONDS.toNanos(seconds), action));
        }

        void renewsUntil(long seconds) {
            for (long second = 0; second <= seconds; second += 5) {
                long end = TimeUnit.SECONDS.toNanos(second + 15);
                at(second, () -> until = Math.max(until, end));
            }
        }

        @Override
        public long nanos() {
            return now;
        }

        @Override
        public long wallNanos() {
            return now + jumped;
        }

        @Override
        public void await(CompletableFuture<?> event, long nanos) throws InterruptedException {
            long end = now + nanos;
            assertThat(end).as("endless").isLessThan(TimeUnit.HOURS.toNanos(1));
            while (now < end && !event.isDone()) {
                now = Math.min(end, now + TimeUnit.MILLISECONDS.toNanos(10));
                events.stream().filter(due -> due.nanos <= now).toList().forEach(due -> {
                    events.remove(due);
                    due.action.run();
                });
                if (Thread.interrupted()) {
                    throw new InterruptedException();
                }
            }
        }

        @Override
        public Duration remaining() {
            return doubted || lost.isDone() ? Duration.ZERO : Duration.ofNanos(Math.max(0, until - now - jumped));
        }

        @Override
        public CompletionStage<LossReason> lost() {
            return lost;
        }

        @Override
        public String name() {
            return "test";
        }

        @Override
        public long token() {
            return 1;
        }

        @Override
        public boolean isValid() {
            return !remaining().isZero();
        }

        @Override
        public void ensure(Duration validity) {
            throw new AssertionError("not called");
        }

        @Override
        public void close() {
            throw new AssertionError("the caller closes it");
        }
    }

    private static final class Program implements Guarded {
        private final World world;
        private final CompletableFuture<Integer> exit = new CompletableFuture<>();
        final List<String> signals = new ArrayList<>();
        boolean ignoresTerm = true;
        boolean orphan;
        long deadAt;
        int rehearsals;

        Program(World world) {
            this.world = world;
        }

        void ends(int status) {
            exit.complete(status);
        }

        @Override
        public CompletableFuture<Integer> exit() {
            return exit;
        }

        @Override
        public boolean anyAlive() {
            return orphan || !exit.isDone();
        }

        @Override
        public void rehearse() {
            assertThat(world.now).as("before anything else").isZero();
            rehearsals++;
        }

        @Override
        public void signal(PosixSignal signal) {
            signals.add(signal + " at " + Math.round(world.now / 1e8) / 10.0);
            if (signal == PosixSignal.KILL) {
                orphan = false;
            }
            if (signal == PosixSignal.KILL || !ignoresTerm) {
                deadAt = world.now;
                exit.complete(signal.status());
            }
        }
    }
}
