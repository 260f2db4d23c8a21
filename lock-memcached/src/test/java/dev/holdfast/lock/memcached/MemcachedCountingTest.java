package dev.holdfast.lock.memcached;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.answer;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.newAcquisition;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.renew;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.tryAcquire;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** The cost of operations, counted by the server: items written, and keys read. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class MemcachedCountingTest {
    private MemcachedFixture fixture;
    private LockBackend backend;

    @BeforeAll
    void start() throws Exception {
        fixture = MemcachedFixture.start();
        backend = fixture.newBackend();
        release(backend, acquire(backend, "first")); // reads the start of the server
    }

    @AfterAll
    void stop() {
        backend.close();
        fixture.close();
    }

    @Test
    void acquire_isAddAndGets_releaseIsCas() throws Exception {
        List<Grant> held = new ArrayList<>();
        assertThat(cost(() -> held.add(acquire(backend, "plain")))).isEqualTo("1 written, 1 read");
        assertThat(cost(() -> release(backend, held.get(0)))).isEqualTo("1 written, 0 read");
    }

    @Test
    void acquire_busy_isTheSame() throws Exception {
        Grant held = acquire(backend, "busy");
        assertThat(cost(() -> tryAcquire(backend, "busy"))).isEqualTo("1 written, 1 read");
        release(backend, held);
    }

    @Test
    void renew_many_isOneCasAndOneKeyForEach() throws Exception {
        List<Grant> held = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            held.add(acquire(backend, "many-" + i));
        }
        assertThat(cost(() -> renew(backend, held))).isEqualTo("40 written, 40 read");
        assertThat(cost(() -> renew(backend, held))).isEqualTo("40 written, 40 read");
        assertThat(cost(() -> release(backend, held.get(0)))).isEqualTo("1 written, 0 read");
        held.subList(1, 40).forEach(grant -> release(backend, grant));
    }

    @Test
    void abandon_ofNothing_isOneRead() throws Exception {
        assertThat(cost(() -> answer(backend.abandon(newAcquisition("none"), BackendDriver.TIMEOUT_MILLIS))))
                .isEqualTo("0 written, 1 read");
    }

    private String cost(Callable<?> request) throws Exception {
        long written = fixture.server().stat("cmd_set");
        long read = fixture.server().stat("cmd_get");
        request.call();
        return (fixture.server().stat("cmd_set") - written) + " written, "
                + (fixture.server().stat("cmd_get") - read) + " read";
    }
}
