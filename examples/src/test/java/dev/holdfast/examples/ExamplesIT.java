package dev.holdfast.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Each small program does what it says. */
class ExamplesIT {

    @FunctionalInterface
    private interface Program {
        void main(String[] arguments) throws Exception;
    }

    /** The first connection loads the driver and the pool, which on a busy machine takes longer than the default time-out. */
    @BeforeAll
    static void loadDriver() {
        LockClientOptions patient = LockClientOptions.builder()
                .requestTimeout(Duration.ofSeconds(20))
                .build();
        LockClient.connect("jdbc:h2:mem:first", patient).close();
    }

    @Test
    void firstLock_locksInThreeWays() throws Exception {
        assertThat(run(FirstLock::main))
                .containsExactly(
                        "locked by lock(): true", "locked as a resource: true", "locked because it was free: true");
    }

    @Test
    void guardedWrite_refusesTheLateWriter() throws Exception {
        assertThat(run(GuardedWrite::main))
                .containsExactly("rows written by the holder: 1", "rows written by the earlier holder, late: 0");
    }

    @Test
    void asyncLock_completesAndCancels() throws Exception {
        assertThat(run(AsyncLock::main))
                .containsExactly("made under the lock: true", "cancelled: true, still held: true");
    }

    @Test
    void scheduledJob_runsOnceInTheCluster() throws Exception {
        assertThat(run(ScheduledJob::main)).containsExactly("exactly one instance ran it: true", "runs: 1");
    }

    @Test
    void manyWaiters_countExactly() throws Exception {
        assertThat(run(ManyWaiters::main)).containsExactly("counted under the lock: 500");
    }

    @Test
    void leaderElection_oneLeadsAndAnotherFollows() throws Exception {
        assertThat(run(LeaderElection::main))
                .containsExactly(
                        "node 1 leads: true",
                        "node 2 leads beside it: false",
                        "node 1 was revoked: true",
                        "node 2 follows with a higher token: true",
                        "a late write of node 1 is accepted: false");
    }

    @Test
    void manyReaders_readAtOnceAndWriteAlone() throws Exception {
        assertThat(run(ManyReaders::main))
                .containsExactly(
                        "two read at once: true",
                        "one writes beside them: false",
                        "one writes after them, with a higher token: true",
                        "one reads beside it: false");
    }

    @Test
    void limitedConcurrency_keepsTheLimit() throws Exception {
        assertThat(run(LimitedConcurrency::main))
                .containsExactly(
                        "exports beside two others at most, alone in their slot: 12",
                        "another limit is accepted: false",
                        "another limit is accepted after changeLimit: true");
    }

    @Test
    void severalLocks_endWithoutADeadlock() throws Exception {
        assertThat(run(SeveralLocks::main))
                .containsExactly(
                        "transfers: 40",
                        "balances: 100 and 100",
                        "one of them is free meanwhile: false",
                        "tokens: one each, true");
    }

    @Test
    @Tag("virtual-threads")
    void virtualThreads_countExactly() throws Exception {
        assertThat(run(VirtualThreads::main)).containsExactly("counted by virtual threads: 1000");
    }

    @Test
    void everyProgram_withoutAnAddress_saysWhatToGive() {
        List<Program> programs = List.of(
                FirstLock::main,
                GuardedWrite::main,
                AsyncLock::main,
                ScheduledJob::main,
                ManyWaiters::main,
                LeaderElection::main,
                ManyReaders::main,
                LimitedConcurrency::main,
                SeveralLocks::main,
                VirtualThreads::main);
        assertThat(programs)
                .allSatisfy(program -> assertThatThrownBy(() -> program.main(new String[0]))
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessageContainingAll("address of the lock store", "redis://"));
    }

    private static List<String> run(Program program) throws Exception {
        String uri = "jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1";
        PrintStream before = System.out;
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        System.setOut(new PrintStream(bytes, true, StandardCharsets.UTF_8));
        try {
            program.main(new String[] {uri});
        } finally {
            System.setOut(before);
        }
        return bytes.toString(StandardCharsets.UTF_8).lines().toList();
    }
}
