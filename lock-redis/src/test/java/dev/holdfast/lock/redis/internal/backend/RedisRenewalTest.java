package dev.holdfast.lock.redis.internal.backend;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.redis.internal.connection.RedisCalls;
import dev.holdfast.lock.redis.internal.script.RedisDemandScripts;
import dev.holdfast.lock.redis.internal.script.RedisScript;
import dev.holdfast.lock.redis.internal.script.ScriptedMaster;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.RenewResult;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.cluster.SlotHash;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** How renewals go together, and what is made of their answers: without a server. */
final class RedisRenewalTest {
    private static final long TIMEOUT_MILLIS = 600_000;

    private final List<String> ended = new ArrayList<>();
    private ScriptedMaster server = new ScriptedMaster();

    private CompletableFuture<List<RenewResult>> renew(List<Grant> grants) {
        AcquireSender sender = new AcquireSender() {
            @Override
            public CompletableFuture<List<Object>> tryAcquire(RedisAttempt attempt, long timeoutMillis) {
                throw new UnsupportedOperationException();
            }

            @Override
            public void ended(String owner) {
                ended.add(owner);
            }
        };
        RedisSettings settings = new RedisSettings("p", 60_000, true, false, 50, 1_000, null);
        return new RedisRenewal(settings, server.cluster(), new RedisCalls(server), sender)
                .renew(grants, TIMEOUT_MILLIS)
                .toCompletableFuture();
    }

    private static List<RenewResult> done(CompletableFuture<List<RenewResult>> renewed) {
        assertThat(renewed).isCompleted();
        return renewed.join();
    }

    private static Grant grant(String name, Demand demand, @Nullable Object handle) {
        int slot = demand instanceof Demand.Permits ? 1 : 0;
        return new Grant(new AcquisitionId(name, OwnerId.random(), demand), 77, 30_000, slot, handle);
    }

    private static Grant lock(String name) {
        return grant(name, Demand.EXCLUSIVE, null);
    }

    private static Grant share(String name) {
        return grant(name, Demand.SHARED, null);
    }

    private static String owner(Grant grant) {
        return grant.acquisition().owner().toString();
    }

    private List<String> names(int asked) {
        return server.asked.get(asked).keys().stream()
                .map(key -> key.replaceAll("^p:\\{(.*)}$", "$1"))
                .toList();
    }

    private void give(int asked, Object... answers) {
        server.asked.get(asked).answer().complete(List.of(answers));
    }

    @Test
    void hundredGrants_goTogether_locksAndSharesApart_andAnswersAreInTheirOrder() {
        List<Grant> grants = new ArrayList<>();
        for (int i = 0; i < 201; i++) {
            grants.add(i % 50 == 0 ? share("n" + i) : lock("n" + i));
        }
        CompletableFuture<List<RenewResult>> renewed = renew(grants);
        assertThat(server.asked).extracting(asked -> asked.keys().size()).containsExactly(5, 100, 96);
        assertThat(server.asked)
                .extracting(asked -> asked.script().name())
                .containsExactly("renew-in-line", "renew", "renew");
        assertThat(names(0)).containsExactly("n0", "n100", "n150", "n200", "n50");
        assertThat(names(1)).startsWith("n1", "n2").endsWith("n101", "n102");
        assertThat(names(2)).startsWith("n103", "n104").endsWith("n198", "n199");
        for (int i = 1; i < 3; i++) {
            give(
                    i,
                    IntStream.range(0, server.asked.get(i).keys().size())
                            .mapToObj(each -> 1L)
                            .toArray());
        }
        assertThat(renewed).as("while one is open").isNotDone();
        give(0, 1L, 1L, 1L, 0L, 1L);

        assertThat(done(renewed).subList(0, 200)).containsOnly(new RenewResult.Renewed(30_000));
        assertThat(done(renewed).get(200)).isInstanceOf(RenewResult.Lost.class);
    }

    @Test
    void hundredAndOneLocks_areTwoCommands() {
        renew(IntStream.range(0, 101).mapToObj(i -> lock("n" + i)).toList());
        assertThat(server.asked).extracting(asked -> asked.keys().size()).containsExactly(100, 1);
    }

    @Test
    void arguments_areMemory_thenOwnerWholeLeaseAndTokenOfEach() {
        Grant one = lock("one");
        Grant longer = new Grant(lock("two").acquisition(), 77, 50_000, null);
        CompletableFuture<List<RenewResult>> renewed = renew(List.of(one, longer));
        assertThat(server.asked.get(0).args())
                .containsExactly("60000", owner(one), "30000", "77", owner(longer), "50000", "77");
        give(0, 1L, 1L);
        assertThat(done(renewed)).containsExactly(new RenewResult.Renewed(30_000), new RenewResult.Renewed(50_000));
    }

    @Test
    void inACluster_eachSlotHasACommand() {
        server = new ScriptedMaster(true);
        String same = twoOfASlot()[1];
        renew(List.of(lock("a"), lock("b"), share("a"), lock(same)));
        assertThat(List.of(names(0), names(1), names(2)))
                .containsExactly(List.of("a", same), List.of("b"), List.of("a"));
    }

    private static String[] twoOfASlot() {
        int slot = SlotHash.getSlot("p:{a}");
        String same = IntStream.iterate(0, i -> i + 1)
                .mapToObj(i -> "a" + i)
                .filter(name -> SlotHash.getSlot("p:{" + name + "}") == slot)
                .findFirst()
                .orElseThrow();
        return new String[] {"a", same};
    }

    @Test
    void permitsOfOneName_followEachOtherByToken_andAreRefusedTogether() {
        List<Grant> grants = List.of(permit("b", 3), permit("a", 5), permit("b", 2), permit("a", 1));
        CompletableFuture<List<RenewResult>> renewed = renew(grants);
        assertThat(names(0)).containsExactly("a", "a", "b", "b");
        assertThat(server.asked.get(0).args())
                .filteredOn(arg -> arg.length() == 1)
                .containsExactly("1", "5", "2", "3");
        refuse(0, "WRONGTYPE made up by the test");
        assertThat(List.of(names(1), names(2))).containsExactly(List.of("a", "a"), List.of("b", "b"));
        refuse(1, "WRONGTYPE made up by the test");
        give(2, 0L, 1L);
        assertThat(server.asked).hasSize(3);
        assertThat(done(renewed).get(0)).isEqualTo(new RenewResult.Renewed(30_000));
        assertThat(done(renewed).get(1)).isInstanceOf(RenewResult.Unknown.class);
        assertThat(done(renewed).get(2)).isInstanceOf(RenewResult.Lost.class);
        assertThat(done(renewed).get(3)).isInstanceOf(RenewResult.Unknown.class);
    }

    private static Grant permit(String name, long token) {
        return new Grant(new AcquisitionId(name, OwnerId.random(), new Demand.Permits(1, 9)), token, 30_000, 1, null);
    }

    @Test
    void inACluster_aSlotWithManyGrants_hasACommandForEachHundred() {
        server = new ScriptedMaster(true);
        renew(IntStream.range(0, 250).mapToObj(i -> permit("a", i + 1)).toList());
        assertThat(server.asked).extracting(asked -> asked.keys().size()).containsExactly(100, 100, 50);
    }

    @Test
    void lost_saysWhatIsThere_andEndsTheAcquisition() {
        List<Grant> grants = List.of(lock("a"), lock("b"), lock("c"), lock("d"));
        CompletableFuture<List<RenewResult>> renewed = renew(grants);
        give(0, 0L, 2L, 3L, 1L);
        assertThat(done(renewed))
                .containsExactly(
                        lost("its key is gone: deleted, expired, evicted, or lost with the server's data"),
                        lost("its key belongs to another owner"),
                        lost("it is no longer among the holders: its lease has ended, or somebody has ended it"),
                        new RenewResult.Renewed(30_000));
        assertThat(ended).containsExactly(owner(grants.get(0)), owner(grants.get(1)), owner(grants.get(2)));
    }

    private static RenewResult lost(String detail) {
        return new RenewResult.Lost(LossReason.REVOKED, detail);
    }

    @Test
    void failure_leavesItOpen_forEachOfItsCommand_andSaysWhy() {
        server.answers(RedisScript.RENEW, "failed");
        server.answers(RedisDemandScripts.RENEW, "1");
        List<RenewResult> results = done(renew(List.of(lock("a"), share("b"), lock("c"))));
        assertThat(results.get(1)).isEqualTo(new RenewResult.Renewed(30_000));
        for (int i : new int[] {0, 2}) {
            assertThat(results.get(i)).isInstanceOfSatisfying(RenewResult.Unknown.class, unknown -> {
                assertThat(unknown.detail()).startsWith("renewal: ").contains("made up by the test");
                assertThat(unknown.cause()).isInstanceOf(LockUnavailableException.class);
            });
        }
        assertThat(ended).isEmpty();
    }

    /** While their slot moves, one may be at one server and the next at the other. */
    @Test
    void refusedWhileTheirSlotMoves_goOneByOne_once() {
        server = new ScriptedMaster(true);
        String[] names = twoOfASlot();
        CompletableFuture<List<RenewResult>> renewed = renew(List.of(lock(names[0]), lock(names[1])));
        refuse(0, "TRYAGAIN made up by the test");
        assertThat(server.asked).extracting(asked -> asked.keys().size()).containsExactly(2, 1, 1);
        give(2, 1L);
        assertThat(renewed).isNotDone();
        refuse(1, "TRYAGAIN made up by the test");
        assertThat(server.asked).hasSize(3);
        assertThat(done(renewed).get(0)).isInstanceOf(RenewResult.Unknown.class);
        assertThat(done(renewed).get(1)).isEqualTo(new RenewResult.Renewed(30_000));
    }

    /** The texts are those of Redis 6, 7 and 8. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "WRONGTYPE Operation against a key holding the wrong kind of value script: 1f, on @user_script:4.",
                "ERR Error running script (call to f_1f): @user_script:2: WRONGTYPE Operation against a key",
                "NOPERM this user has no permissions to access one of the keys used as arguments",
                "NOPERM No permissions to access a key",
                "ERR user_script:12: attempt to compare number with nil"
            })
    void refusedBecauseOfOneKey_goOneByOne_andTheOthersAreRenewed(String refusal) {
        CompletableFuture<List<RenewResult>> renewed = renew(List.of(share("a"), share("b"), share("c")));
        refuse(0, refusal);
        assertThat(server.asked).extracting(asked -> asked.keys().size()).containsExactly(3, 1, 1, 1);
        give(1, 1L);
        refuse(2, refusal);
        give(3, 1L);
        assertThat(server.asked).hasSize(4);
        assertThat(done(renewed).get(0)).isEqualTo(new RenewResult.Renewed(30_000));
        assertThat(done(renewed).get(1)).isInstanceOf(RenewResult.Unknown.class);
        assertThat(done(renewed).get(2)).isEqualTo(new RenewResult.Renewed(30_000));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "OOM made up by the test",
                "LOADING Redis is loading the dataset in memory",
                "NOPERM User locks has no permissions to run the 'evalsha' command",
                "ERR Error running script (call to f_1f): @user_script:2: The user executing the script can't run this command"
            })
    void refusedForAnyKey_isOpen(String refusal) {
        CompletableFuture<List<RenewResult>> renewed = renew(List.of(lock("a"), lock("b")));
        refuse(0, refusal);
        assertThat(server.asked).hasSize(1);
        assertThat(done(renewed)).hasSize(2).hasOnlyElementsOfType(RenewResult.Unknown.class);
    }

    private void refuse(int asked, String why) {
        server.asked.get(asked).answer().completeExceptionally(new RedisCommandExecutionException(why));
    }

    @Test
    void noAnswer_isOpenByTheTimeOut() {
        RedisSettings settings = new RedisSettings("p", 60_000, true, false, 50, 1_000, null);
        AcquireSender sender = (attempt, timeoutMillis) -> new CompletableFuture<>();
        assertThat(new RedisRenewal(settings, false, new RedisCalls(server), sender).renew(List.of(lock("a")), 20))
                .succeedsWithin(Duration.ofSeconds(15))
                .asInstanceOf(InstanceOfAssertFactories.LIST)
                .singleElement()
                .isInstanceOf(RenewResult.Unknown.class);
    }

    @Test
    void nothing_isNoCommand() {
        assertThat(done(renew(List.of()))).isEmpty();
        assertThat(server.asked).isEmpty();
    }
}
