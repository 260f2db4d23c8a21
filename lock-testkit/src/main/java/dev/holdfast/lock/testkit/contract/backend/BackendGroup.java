package dev.holdfast.lock.testkit.contract.backend;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.contract.ContractGroup;
import dev.holdfast.lock.testkit.fixture.ContractContext;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/** Tests of the backend itself, below the engine. Whatever an acquisition of a test leaves behind is abandoned. */
abstract class BackendGroup extends ContractGroup {
    /** For many steps, which together take a minute and more on a busy machine. */
    static final long LONG_LEASE_MILLIS = 600_000;

    BackendGroup(ContractContext context) {
        super(context);
    }

    /** One of two backends that all tests share; do not close it. */
    final LockBackend first() {
        return context.firstBackend();
    }

    /** The other of two backends that all tests share; do not close it. */
    final LockBackend second() {
        return context.secondBackend();
    }

    /** Starts an acquisition through a backend; it is abandoned when the test is over. */
    final BackendDriver driver(LockBackend backend, String name) {
        return driver(backend, name, BackendDriver.LEASE_MILLIS);
    }

    final BackendDriver driver(LockBackend backend, String name, long leaseMillis) {
        return closing(BackendDriver.of(backend, name, leaseMillis));
    }

    final BackendDriver driver(LockBackend backend, String name, Demand demand) {
        return driver(backend, name, demand, BackendDriver.LEASE_MILLIS);
    }

    final BackendDriver driver(LockBackend backend, String name, Demand demand, long leaseMillis) {
        return closing(BackendDriver.of(backend, name, demand, leaseMillis));
    }

    /** A grant of a demand that there is room for now. */
    final Grant granted(LockBackend backend, String name, Demand demand) {
        return driver(backend, name, demand).acquire();
    }

    /** Counts the calls to a waiter that has got a ticket. */
    final Semaphore calls(BackendDriver waiter) {
        Semaphore calls = new Semaphore(0);
        closing(waiter.backend().subscribe(waiter.ticket(), calls::release)::close);
        return calls;
    }

    static void assertCalled(Semaphore calls, String when) throws InterruptedException {
        assertThat(calls.tryAcquire(PATIENCE.toMillis(), TimeUnit.MILLISECONDS))
                .as("the waiter was called back " + when)
                .isTrue();
    }

    final Grant granted(LockBackend backend, String name) {
        return driver(backend, name).acquire();
    }

    static void assertHeld(LockBackend backend, Grant grant) {
        assertThat(BackendDriver.renew(backend, grant))
                .as(
                        "renewal of lock '%s' with token %d, which is held",
                        grant.acquisition().name(), grant.token())
                .isInstanceOf(RenewResult.Renewed.class);
    }

    static void assertLost(RenewResult result, String when) {
        assertThat(result).as("renewal " + when).isInstanceOf(RenewResult.Lost.class);
    }
}
