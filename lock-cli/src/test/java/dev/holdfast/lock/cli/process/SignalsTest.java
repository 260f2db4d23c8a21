package dev.holdfast.lock.cli.process;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Signals that come while the program is being started. */
class SignalsTest {

    @Test
    void signalThatCameBeforeTheProgram_endsTheProgram_andInterruptsNoLongerItsStarter() throws Exception {
        Signals signals = GivenSignals.of(PosixSignal.TERM);
        boolean interrupted = true;
        try (GuardedProcess program = GuardedProcess.start(List.of("sleep", "60"), Map.of(), Set.of())) {
            try {
                signals.forwardTo(program);
                interrupted = Thread.interrupted();
                assertThat(program.exit().get(30, TimeUnit.SECONDS)).isEqualTo(PosixSignal.TERM.status());
            } finally {
                program.signal(PosixSignal.KILL);
            }
        } finally {
            Thread.interrupted(); // of the next test, if the start fails
        }
        assertThat(interrupted).isFalse();
    }
}
