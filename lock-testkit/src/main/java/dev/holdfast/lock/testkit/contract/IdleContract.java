package dev.holdfast.lock.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.testkit.fault.Request;
import dev.holdfast.lock.testkit.fixture.ContractContext;
import dev.holdfast.lock.testkit.fixture.CountedClient;
import dev.holdfast.lock.testkit.fixture.Need;
import dev.holdfast.lock.testkit.fixture.TestIf;
import dev.holdfast.lock.testkit.support.Waits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

public abstract class IdleContract extends ClientGroup {

    public IdleContract(ContractContext context) {
        super(context);
    }

    @Test
    @DisplayName("is one attempt and one release for an uncontended acquisition, and no request besides")
    void cost_uncontended_isTwoRequests() throws Exception {
        CountedClient own = client(ContractContext.clientOptions().build());
        for (int i = 0; i < 10; i++) {
            own.client().lock(newName()).acquire().close();
        }

        assertThat(own.counts().count(Request.ATTEMPT)).as("attempts").isEqualTo(10);
        assertThat(own.counts().count(Request.RELEASE)).as("releases").isEqualTo(10);
        assertThat(own.counts().total()).as("requests").isEqualTo(20);
    }

    @Test
    @DisplayName("is nothing while no lock is held or waited for")
    void cost_idle_isNothing() throws Exception {
        CountedClient own = client(ContractContext.clientOptions()
                .lockOptions(LockOptions.builder().lease(fixture().shortLease()).build())
                .build());
        List<String> names = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            String name = newName();
            names.add(name);
            own.client().lock(name).lock();
            own.client().lock(name).unlock();
        }
        try (Lease held = second().lock(names.get(0)).acquire()) {
            assertThat(own.client().lock(names.get(0)).tryLock()).isFalse();
            Optional<Lease> vain = own.client().lock(names.get(0)).tryAcquire(Duration.ofMillis(50));
            assertThat(vain).isEmpty();
            assertThat(held.isValid()).isTrue();
            Waits.until("clean-up", () -> isQuiet(own));
            long requests = requestsDuring(own, 1);
            // Of the clean-up, which a machine that pauses delays.
            for (int leases = 2; leases <= 4 && requests > 0; leases *= 2) {
                requests = requestsDuring(own, leases);
            }
            assertThat(requests).as("requests of an idle client").isZero();
        }
    }

    private long requestsDuring(CountedClient client, int leases) {
        long before = client.counts().total();
        long startNanos = System.nanoTime();
        Waits.until(
                leases + " leases",
                () -> System.nanoTime() - startNanos
                        > leases * fixture().shortLease().toNanos());
        return client.counts().total() - before;
    }

    /** No request for a tenth of a second. */
    private static boolean isQuiet(CountedClient client) {
        long requests = client.counts().total();
        long startNanos = System.nanoTime();
        while (System.nanoTime() - startNanos < 100_000_000) {
            LockSupport.parkNanos(10_000_000);
        }
        return client.counts().total() == requests;
    }

    @TestIf(Need.ENTRIES)
    @DisplayName("is no entry on the server for a name that was used")
    void cost_idle_isNoEntry() throws Exception {
        List<String> names = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            String name = newName();
            names.add(name);
            try (Lease lease = first().lock(name).acquire()) {
                assertThat(lease.isValid()).isTrue();
                assertThat(second().lock(name).tryLock()).isFalse();
            }
        }
        for (String name : names) {
            assertEntries(name, 0);
        }
    }
}
