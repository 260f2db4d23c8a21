package dev.holdfast.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** Each small program does what it says. */
class ExamplesIT {

    @FunctionalInterface
    private interface Program {
        void main(String[] arguments) throws Exception;
    }

    @Test
    void firstLock_locksInThreeWays() throws Exception {
        assertThat(run(FirstLock::main))
                .containsExactly(
                        "locked by lock(): true", "locked as a resource: true", "locked because it was free: true");
    }

    @Test
    void fencedWrite_refusesTheLateWriter() throws Exception {
        assertThat(run(FencedWrite::main))
                .containsExactly(
                        "written: true",
                        "written by the next holder: true",
                        "written by the first holder, late: false");
    }

    @Test
    void asyncLock_completesAndCancels() throws Exception {
        assertThat(run(AsyncLock::main))
                .containsExactly("made under the lock: true", "cancelled: true, still held: true");
    }

    @Test
    void onlyOneRuns_secondInstanceStaysOut() throws Exception {
        assertThat(run(OnlyOneRuns::main))
                .containsExactly("first instance: ran it: true", "second instance: somebody else runs it");
    }

    @Test
    void manyWaiters_countExactly() throws Exception {
        assertThat(run(ManyWaiters::main)).containsExactly("counted under the lock: 500");
    }

    private static java.util.List<String> run(Program program) throws Exception {
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
