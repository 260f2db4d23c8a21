package dev.holdfast.lock.cli.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
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

    /** This process had not noted yet that the program runs. */
    @Test
    void signalToTheGroup_thatReachedTheProgram_isNotSentAgain() throws Exception {
        Signals signals = GivenSignals.none();
        Set<ProcessHandle> before = children();
        try (GuardedProcess program = GuardedProcess.start(List.of("sleep", "60"), Map.of(), Set.of())) {
            try {
                for (ProcessHandle child : children()) {
                    if (!before.contains(child) && isShell(child)) {
                        child.destroy(); // reports the signal, as if the group had got it
                    }
                }
                signals.came(PosixSignal.TERM);
                assertThat(Thread.interrupted()).isTrue();
                signals.forwardTo(program);

                assertThatThrownBy(() -> program.exit().get(3, TimeUnit.SECONDS))
                        .as("the program goes on with what it made of the first one")
                        .isInstanceOf(TimeoutException.class);
            } finally {
                program.signal(PosixSignal.KILL);
            }
        } finally {
            Thread.interrupted();
        }
    }

    private static Set<ProcessHandle> children() {
        return ProcessHandle.current().children().collect(Collectors.toSet());
    }

    private static boolean isShell(ProcessHandle child) {
        return Arrays.asList(child.info().arguments().orElse(new String[0])).contains("warden");
    }
}
