package dev.holdfast.lock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.reflect.Proxy;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Value types of the API, and the default methods. */
class ValuesTest {
    private static final HolderInfo ONE = new HolderInfo("a", "h", 1, Instant.EPOCH, 1);
    private static final HolderInfo TWO = new HolderInfo("b", "h", 2, Instant.EPOCH, 2, Demand.SHARED, 0);

    @Test
    void listed_hasItsFirstHolder_andCopiesOfTheLists() {
        List<HolderInfo> holders = new ArrayList<>(List.of(ONE, TWO));
        List<HolderInfo> waiters = new ArrayList<>(List.of(TWO));
        ListedLock listed = new ListedLock("n", holders, waiters);
        List<ListedLock> all = new ArrayList<>(List.of(listed));
        LockListing listing = new LockListing(all, true);
        holders.clear();
        waiters.clear();
        all.clear();

        assertThat(listed.holder()).contains(ONE);
        assertThat(listed.holders()).containsExactly(ONE, TWO);
        assertThat(listed.waiters()).containsExactly(TWO);
        assertThat(listing.locks()).containsExactly(listed);
        assertThat(new ListedLock("n", Optional.of(TWO), List.of()).holders()).containsExactly(TWO);
        assertThat(new ListedLock("n", Optional.empty(), List.of()).holder()).isEmpty();
    }

    @Test
    void holder_ofALock_isAloneAndHasNoSlot() {
        assertThat(ONE.demand()).isEqualTo(Demand.EXCLUSIVE);
        assertThat(ONE.slot()).isZero();
        assertThat(TWO.demand()).isEqualTo(Demand.SHARED);
    }

    @Test
    void usage_hasItsFirstHolder_andCopiesOfTheLists() {
        LockUsage.Holder holder =
                new LockUsage.Holder(1, Optional.empty(), true, Instant.EPOCH, Duration.ZERO, Demand.EXCLUSIVE);
        LockUsage.Waiter waiter = new LockUsage.Waiter("t", false, true, Instant.EPOCH, Demand.SHARED);
        List<LockUsage.Holder> holders = new ArrayList<>(List.of(holder));
        List<LockUsage.Waiter> waiters = new ArrayList<>(List.of(waiter));
        LockUsage usage = new LockUsage("n", holders, waiters);
        holders.clear();
        waiters.clear();

        assertThat(usage.holder()).contains(holder);
        assertThat(usage.waiters()).containsExactly(waiter);
        assertThat(new LockUsage("n", List.of(), List.of()).holder()).isEmpty();
    }

    @Test
    void finding_isPrintable() {
        StoreFinding warning = StoreFinding.warning("a\nb", "c\td");
        assertThat(warning).isEqualTo(new StoreFinding(StoreFinding.Grade.WARNING, "a\\nb", "c\\td"));
        assertThat(StoreFinding.ok("fine")).isEqualTo(new StoreFinding(StoreFinding.Grade.OK, "fine", ""));
    }

    /** Calls the default methods; all other methods return null or a recorded value. */
    private static <T> T defaults(Class<T> type, List<String> calls, Object answer) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (proxy, method, args) -> {
            if (method.isDefault()) {
                return java.lang.reflect.InvocationHandler.invokeDefault(proxy, method, args);
            }
            calls.add(method.getName() + (args == null ? "[]" : Arrays.toString(args)));
            return method.getReturnType().isInstance(answer) ? answer : null;
        }));
    }

    @Test
    void semaphore_withoutANumber_meansOnePermit() throws InterruptedException {
        List<String> calls = new ArrayList<>();
        Permit permit = defaults(Permit.class, calls, "");
        DistributedSemaphore alone = defaults(DistributedSemaphore.class, calls, permit);
        DistributedSemaphore optional = defaults(DistributedSemaphore.class, calls, Optional.of(permit));

        assertThat(alone.acquire()).isSameAs(permit);
        assertThat(alone.acquire(Duration.ofSeconds(2))).isSameAs(permit);
        assertThat(optional.tryAcquire()).containsSame(permit);
        assertThat(optional.tryAcquire(Duration.ofSeconds(3))).containsSame(permit);
        assertThat(calls).containsExactly("acquire[1]", "acquire[1, PT2S]", "tryAcquire[1]", "tryAcquire[1, PT3S]");
    }

    @Test
    void clientThatIsWrapped_canNeitherListNorExamine() {
        LockClient client = defaults(LockClient.class, new ArrayList<>(), "");
        assertThatExceptionOfType(LockConfigurationException.class)
                .isThrownBy(() -> client.list("", 1))
                .withMessage("this client cannot list locks; ask the client that it wraps");
        assertThat(client.examine()).isEmpty();
    }

    @Test
    void lock_hasNoConditions() {
        DistributedLock lock = defaults(DistributedLock.class, new ArrayList<>(), "orders");
        assertThatThrownBy(lock::newCondition)
                .isInstanceOf(UnsupportedOperationException.class)
                .hasMessageContaining("'orders'");
    }
}
