package dev.holdfast.lock.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.cli.process.GivenSignals;
import dev.holdfast.lock.cli.process.PosixSignal;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What comes between the acquisition of the lease and the start of the program. */
class LockRunnerTest {
    private final List<String> leaseCalls = new ArrayList<>();
    private final List<String> messages = new ArrayList<>();

    private Lease lease() {
        return (Lease) Proxy.newProxyInstance(
                Lease.class.getClassLoader(), new Class<?>[] {Lease.class}, (proxy, method, arguments) -> {
                    String interrupted = Thread.currentThread().isInterrupted() ? ", interrupted" : "";
                    leaseCalls.add(method.getName() + interrupted);
                    return method.getReturnType() == boolean.class ? false : null;
                });
    }

    @Test
    void term_startsNothing_andReleases() throws Exception {
        try {
            LockRunner runner = new LockRunner(new LeaseOptions(), GivenSignals.of(PosixSignal.TERM), messages::add);

            assertThat(runner.run(lease(), List.of("/no such program"))).isEqualTo(143);
        } finally {
            Thread.interrupted();
        }
        assertThat(leaseCalls).containsExactly("close");
        assertThat(messages).isEmpty();
    }

    /** As when the machine was suspended just after the grant. */
    @Test
    void leaseThatHasEnded_startsNothing_79() throws Exception {
        LockRunner runner = new LockRunner(new LeaseOptions(), GivenSignals.none(), messages::add);

        assertThat(runner.run(lease(), List.of("/no such program"))).isEqualTo(79);

        assertThat(leaseCalls).containsExactly("isValid", "close");
        assertThat(messages).containsExactly("the lease ended before the command began");
    }
}
