package dev.holdfast.lock.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.cli.process.GivenSignals;
import dev.holdfast.lock.cli.process.PosixSignal;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What comes between the acquisition of the lease and the supervision of the program. */
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

    /** As when there is no memory: what runs has no lease to run under, so it may not outlive it. */
    @Test
    void supervisionThatCannotBegin_commandIsDead_beforeTheLeaseIsClosed() {
        LockRunner runner = new LockRunner(new LeaseOptions(), GivenSignals.none(), messages::add);
        AtomicLong runningAtClose = new AtomicLong(-1);
        Lease lease = (Lease) Proxy.newProxyInstance(
                Lease.class.getClassLoader(),
                new Class<?>[] {Lease.class},
                (proxy, method, arguments) -> switch (method.getName()) {
                    case "name" -> "x";
                    case "token" -> 1L;
                    case "isValid" -> true;
                    case "lost" -> {
                        assertThat(running()).hasSize(1);
                        throw new OutOfMemoryError("of this test");
                    }
                    case "close" -> {
                        runningAtClose.set(running().count());
                        yield null;
                    }
                    default -> throw new AssertionError(method);
                });

        try {
            assertThatThrownBy(() -> runner.run(lease, List.of("sleep", "98765")))
                    .hasMessage("of this test");
        } finally {
            running().forEach(ProcessHandle::destroyForcibly);
        }

        assertThat(runningAtClose).hasValue(0);
    }

    private static Stream<ProcessHandle> running() {
        return ProcessHandle.current()
                .children()
                .filter(child -> child.info().commandLine().orElse("").endsWith("sleep 98765"));
    }
}
