package dev.holdfast.lock.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockProvider;
import dev.holdfast.lock.testkit.fault.Request;
import dev.holdfast.lock.testkit.fixture.ContractContext;
import dev.holdfast.lock.testkit.fixture.Need;
import dev.holdfast.lock.testkit.fixture.TestIf;
import dev.holdfast.lock.testkit.support.NastyNames;
import java.time.Duration;
import java.util.List;
import java.util.ServiceLoader;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

public abstract class BadInputContract extends ClientGroup {

    public BadInputContract(ContractContext context) {
        super(context);
    }

    @Test
    @DisplayName(
            "as a name (blank, NUL, an unpaired surrogate, more than 512 bytes) is refused before the server is asked")
    void name_invalid_isRefused() {
        long requests = firstCounts().count(Request.HOLDER);
        List<String> invalid = List.of(
                "",
                " ",
                "\t\n",
                "a\0b",
                "\0",
                "a\ud800",
                "\udc00a",
                "x".repeat(513),
                "\u00e9".repeat(257),
                "\u754c".repeat(171));
        for (String name : invalid) {
            assertThatThrownBy(() -> first().lock(name))
                    .as("lock of %s", NastyNames.visible(name))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("lock name");
            assertThatThrownBy(() -> first().holder(name))
                    .as("holder of %s", NastyNames.visible(name))
                    .isInstanceOf(IllegalArgumentException.class);
        }
        assertThat(firstCounts().count(Request.HOLDER)).as("requests").isEqualTo(requests);
    }

    @Test
    @DisplayName("of other languages and signs is no bad input: such names work")
    void name_unusual_works() throws Exception {
        for (String name : List.of("x".repeat(512), "auftrag/größe/42", "注文 42", "\ud83d\ude00", "{a}'\"\\%_*\n")) {
            String own = name.length() == 512 ? name : name + newName();
            try (var lease = first().lock(own).acquire()) {
                assertThat(lease.name()).isEqualTo(own);
                assertThat(second().lock(own).tryLock())
                        .as(NastyNames.visible(own))
                        .isFalse();
            }
        }
    }

    @Test
    @DisplayName("as a name that would forge a line of a log stays within its line in messages")
    void name_withControls_isEscapedInMessages() throws Exception {
        String name = newName() + "'\n10:00 WARN forged\u001b[2K\u202e";
        try (Lease lease = second().lock(name).acquire()) {
            List<Throwable> seen = List.of(
                    catchThrowable(() -> first().lock(name).acquire(Duration.ofMillis(50))),
                    catchThrowable(() -> first().lock(name).unlock()),
                    catchThrowable(() -> first().lock(name).acquire(Duration.ofMillis(-1))),
                    catchThrowable(() -> lease.ensure(Duration.ofDays(1))));
            assertThat(seen)
                    .allSatisfy(failure -> assertThat(failure.getMessage())
                            .contains("'\\n10:00 WARN forged\\u001b[2K\\u202e")
                            .hasLineCount(1));
            assertThat(lease + " " + first().lock(name)).hasLineCount(1);
        }
    }

    @Test
    @DisplayName("as a negative time limit is refused")
    void timeout_negative_isRefused() {
        DistributedLock lock = first().lock(newName());
        Duration negative = Duration.ofMillis(-1);
        assertThatThrownBy(() -> lock.acquire(negative)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> lock.tryAcquire(negative)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> lock.acquireAsync(negative)).isInstanceOf(IllegalArgumentException.class);
        assertThat(lock.tryLock()).isTrue();
        lock.unlock();
    }

    @TestIf(Need.LEASE_FLOOR)
    @DisplayName("as a lease below the backend's floor is refused, and the floor itself is not")
    void lease_belowFloor_isRefused() {
        long floorMillis = context.firstBackend().info().minLeaseMillis();
        String name = newName();

        assertThatThrownBy(() -> first().lock(name, leaseOf(floorMillis - 1)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(Long.toString(floorMillis));

        DistributedLock lock = first().lock(name, leaseOf(floorMillis));
        try {
            lock.lock();
            lock.unlock();
        } catch (LeaseLostException tooShortForABusyMachine) {
            assertThat(tooShortForABusyMachine).hasMessageContaining(name);
        }
    }

    @TestIf(Need.NO_ORDER)
    @DisplayName("as the wish for an order that the backend does not have is refused, not ignored")
    void fair_withoutOrder_isRefused() {
        LockOptions fair = LockOptions.builder().fair(true).build();
        long requests = firstCounts().count(Request.ATTEMPT);

        assertThatThrownBy(() -> first().lock(newName(), fair))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("fair")
                .hasMessageContaining(context.firstBackend().info().name());

        assertThat(firstCounts().count(Request.ATTEMPT)).as("requests").isEqualTo(requests);
    }

    @TestIf(Need.FIFO)
    @DisplayName("as the wish for an order that the backend has is none: it works")
    void fair_withOrder_works() {
        DistributedLock lock =
                first().lock(newName(), LockOptions.builder().fair(true).build());
        lock.lock();
        lock.unlock();
    }

    private static LockOptions leaseOf(long millis) {
        return LockOptions.builder().lease(Duration.ofMillis(millis)).build();
    }

    @Test
    @DisplayName("as a URI of an unknown scheme is refused, and the schemes that are served are named")
    void uri_unknownScheme_isRefused() {
        String[] served = ServiceLoader.load(LockProvider.class).stream()
                .flatMap(provider -> provider.get().schemes().stream())
                .toArray(String[]::new);
        assertThat(served).isNotEmpty();
        assertThatThrownBy(() -> LockClient.connect("nosuchstore://user:s3cret@host/"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("nosuchstore")
                .hasMessageContainingAll(served)
                .message()
                .doesNotContain("s3cret");
        assertThatThrownBy(() -> LockClient.connect("no scheme")).isInstanceOf(IllegalArgumentException.class);
    }
}
