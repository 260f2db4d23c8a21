package dev.holdfast.chaos.history;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class HistoryTest {
    @TempDir
    private Path folder;

    @Test
    void isReadAsItWasWritten_butForATornEnd() throws Exception {
        Path file = folder.resolve(History.file(new Operation.Process(3, 1)));
        try (EventLog log = EventLog.create(file)) {
            int number = log.nextOperation();
            log.write(Kind.INVOKE, OpKind.LOCK.ordinal(), 5, 7, number, 1_010, 0);
            log.write(Kind.ACQUIRED, 0, 5, 7, number, 1_020, 42);
            log.write(Kind.CONFIRM, 0, 5, 7, number, 1_030, 0);
            log.write(Kind.REENTER_CALL, 0, 5, 7, number, 1_031, 0);
            log.write(Kind.REENTER, 0, 5, 7, number, 1_032, 42);
            log.write(Kind.EXIT, 0, 5, 7, number, 1_033, 0);
            log.write(Kind.LOST, 0, 5, 7, number, 1_035, 0);
            log.write(Kind.RELEASE, 0, 5, 7, number, 1_040, 0);
            log.write(Kind.RELEASED, Outcome.LOST.ordinal(), 5, 7, number, 1_050, 0);
            log.write(Kind.HICCUP, 0, 127, 0, EventLog.NO_OPERATION, 1_100, 500);
        }
        Files.write(file, new byte[] {1, 2, 3}, StandardOpenOption.APPEND);

        History history = History.read(folder, 1_000);
        assertThat(history.operations()).hasSize(1);
        Operation operation = history.operations().get(0);
        assertThat(operation.process).isEqualTo(new Operation.Process(3, 1));
        assertThat(operation.kind).isEqualTo(OpKind.LOCK);
        assertThat(operation.name).isEqualTo(7);
        assertThat(operation.invoked).isEqualTo(10);
        assertThat(operation.acquired).isEqualTo(20);
        assertThat(operation.token).isEqualTo(42);
        assertThat(operation.confirmed).isEqualTo(30);
        assertThat(operation.lost).isEqualTo(35);
        assertThat(operation.reentries).containsExactly(new Operation.Reentry(31, 32, 42, 33));
        assertThat(operation.releaseOutcome).isEqualTo(Outcome.LOST);
        assertThat(history.hiccups().get(operation.process).get(0).end()).isEqualTo(600);
    }
}
