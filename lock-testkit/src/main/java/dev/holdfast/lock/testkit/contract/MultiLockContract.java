package dev.holdfast.lock.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockTimeoutException;
import dev.holdfast.lock.MultiLease;
import dev.holdfast.lock.MultiLock;
import dev.holdfast.lock.Renewal;
import dev.holdfast.lock.testkit.fixture.ContractContext;
import dev.holdfast.lock.testkit.fixture.Need;
import dev.holdfast.lock.testkit.fixture.TestIf;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

public abstract class MultiLockContract extends ClientGroup {
    private static final int ROUNDS = 12;
    private static final int ACTORS = 4;

    public MultiLockContract(ContractContext context) {
        super(context);
    }

    private static List<String> newNames(int count) {
        String base = newName();
        return IntStream.range(0, count).mapToObj(i -> base + "/" + i).toList();
    }

    private void assertFree(String name) throws InterruptedException {
        second().lock(name).acquire(PATIENCE).close();
    }

    @Test
    @DisplayName("holds all of its locks, each with its token, and releases all")
    void multiLock_heldAndReleased() throws Exception {
        List<String> names = newNames(3);
        MultiLock locks = first().lockAll(names.get(2), names.get(0), names.get(1), names.get(0));

        assertThat(locks.names()).as("sorted, duplicates once").isEqualTo(names);
        try (MultiLease leases = locks.acquire()) {
            assertThat(leases.isValid()).isTrue();
            assertThat(leases.remaining()).isPositive();
            leases.ensure(Duration.ofSeconds(1));
            for (String name : names) {
                assertThat(second().lock(name).tryLock()).as("free: " + name).isFalse();
                assertHolderToken(name, second().holder(name), leases.token(name));
            }
            assertThatThrownBy(() -> leases.token("another")).isInstanceOf(IllegalArgumentException.class);
        }
        for (String name : names) {
            assertFree(name);
        }
    }

    @Test
    @DisplayName("holds none of its locks if one cannot be had, at once and after its one deadline")
    void multiLock_oneIsBusy_noneIsHeld() throws Exception {
        List<String> names = newNames(3);
        MultiLock locks = first().lockAll(names.toArray(String[]::new));
        try (Lease busy = second().lock(names.get(1)).acquire()) {
            assertThat(locks.tryAcquire()).isEmpty();
            assertThat(locks.tryAcquire(Duration.ofMillis(50))).isEmpty();
            assertThatThrownBy(() -> locks.acquire(Duration.ofMillis(50)))
                    .isInstanceOf(LockTimeoutException.class)
                    .hasMessageContaining(names.get(1));
            assertThatThrownBy(() -> locks.acquire(Duration.ofMillis(-1))).isInstanceOf(IllegalArgumentException.class);
            Actor waiter = actor();
            CompletableFuture<MultiLease> interrupted = waiter.start(() -> locks.acquire());
            waiter.awaitBlocked();
            waiter.interrupt();
            assertThat(Actor.failure(interrupted)).isInstanceOf(InterruptedException.class);
            assertFree(names.get(0));
            assertFree(names.get(2));
            assertThat(busy.isValid()).isTrue();
        }
        locks.acquire(PATIENCE).close();
    }

    @TestIf(Need.EXPIRE)
    @DisplayName("is lost with its first lock, says which, and releases the others")
    void multiLock_oneIsLost_allEnd() throws Exception {
        List<String> names = newNames(2);
        MultiLease leases = first().lockAll(names, shortLease(Renewal.AUTO)).acquire();

        fixture().expire(names.get(1));
        MultiLease.Loss loss = leases.lost().toCompletableFuture().get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);

        assertThat(loss.name()).isEqualTo(names.get(1));
        assertThat(leases.isValid()).isFalse();
        assertThat(leases.remaining()).isZero();
        assertThatThrownBy(() -> leases.ensure(Duration.ZERO)).isInstanceOf(LeaseLostException.class);
        assertThatThrownBy(leases::close).isInstanceOf(LeaseLostException.class).hasMessageContaining(names.get(1));
        leases.close();
        assertFree(names.get(0));
    }

    @Test
    @DisplayName("neither deadlocks nor starves with any other sets of the same names, and excludes them")
    void multiLock_randomSets_allGetThem() throws Exception {
        long seed = ThreadLocalRandom.current().nextLong();
        List<String> names = newNames(4);
        Map<String, AtomicInteger> inside = new HashMap<>();
        names.forEach(name -> inside.put(name, new AtomicInteger()));
        List<CompletableFuture<Boolean>> done = new ArrayList<>();
        for (int i = 0; i < ACTORS; i++) {
            LockClient client = i % 2 == 0 ? first() : second();
            Random random = new Random(seed + i);
            done.add(actor().start(() -> {
                for (int round = 0; round < ROUNDS; round++) {
                    List<String> set = new ArrayList<>(names);
                    Collections.shuffle(set, random);
                    set = set.subList(0, 1 + random.nextInt(names.size()));
                    try (MultiLease leases =
                            client.lockAll(set.toArray(String[]::new)).acquire()) {
                        for (String name : leases.names()) {
                            assertThat(count(inside, name).incrementAndGet())
                                    .as("holders of %s, seed %d", name, seed)
                                    .isEqualTo(1);
                        }
                        leases.names().forEach(name -> count(inside, name).decrementAndGet());
                    }
                }
            }));
        }
        for (CompletableFuture<Boolean> each : done) {
            assertThat(Actor.result(each)).as("seed " + seed).isTrue();
        }
    }

    private static AtomicInteger count(Map<String, AtomicInteger> inside, String name) {
        return Objects.requireNonNull(inside.get(name));
    }
}
