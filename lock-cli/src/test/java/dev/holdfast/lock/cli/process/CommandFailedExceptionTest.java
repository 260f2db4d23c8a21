package dev.holdfast.lock.cli.process;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import org.junit.jupiter.api.Test;

class CommandFailedExceptionTest {

    @Test
    void status_isThatOfAShell_andTheReasonThatOfTheSystem() {
        CommandFailedException missing =
                failed("Cannot run program \"x\" (in directory \".\"): error=2, No such file or directory");
        assertThat(missing).hasMessage("cannot run x: No such file or directory");
        assertThat(missing.status()).isEqualTo(127);
        CommandFailedException refused = failed("Cannot run program \"x\": error=13, Permission denied");
        assertThat(refused).hasMessage("cannot run x: Permission denied");
        assertThat(refused.status()).isEqualTo(126);
        assertThat(failed("error=20, Not a directory").status()).isEqualTo(126);
        assertThat(failed("something else")).hasMessage("cannot run x: something else");
        assertThat(failed(null)).hasMessage("cannot run x: null");
        assertThat(failed(null).status()).isEqualTo(126);
    }

    private static CommandFailedException failed(String message) {
        return new CommandFailedException("x", new IOException(message));
    }

    @Test
    void signals_haveTheStatusOfAShell() {
        assertThat(PosixSignal.HUP.status()).isEqualTo(129);
        assertThat(PosixSignal.INT.status()).isEqualTo(130);
        assertThat(PosixSignal.KILL.status()).isEqualTo(137);
        assertThat(PosixSignal.TERM.status()).isEqualTo(143);
    }
}
