package dev.holdfast.lock.etcd.internal.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.OwnerId;
import io.etcd.jetcd.ByteSequence;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Different pairs of prefix and name never meet, whatever their modes. */
final class EtcdKeysTest {
    private static final String ALPHABET = "ab/%-.~ \u00e4!";
    private static final List<Demand> DEMANDS = List.of(Demand.EXCLUSIVE, Demand.SHARED, new Demand.Permits(1, 3));
    private static final int ROUNDS = 4_000;

    private record Lock(String prefix, String name) {}

    private static String text(Random random, String alphabet, int longest) {
        StringBuilder text = new StringBuilder();
        int length = 1 + random.nextInt(longest);
        for (int i = 0; i < length; i++) {
            text.append(alphabet.charAt(random.nextInt(alphabet.length())));
        }
        return text.toString();
    }

    @Test
    void differentPrefixesAndNames_neverMeet() {
        long seed = Long.getLong("holdfast.seed", 20261122L);
        Random random = new Random(seed);
        ClientKeyPool slots = new ClientKeyPool();
        Map<String, Lock> ranges = new HashMap<>();
        Map<String, Lock> singles = new HashMap<>();
        Map<String, Lock> queueKeys = new HashMap<>();
        Set<String> tombstones = new HashSet<>();
        for (int i = 0; i < ROUNDS; i++) {
            String prefix = text(random, ALPHABET.replace("~", ""), 6) + "/";
            Lock lock = new Lock(prefix, text(random, ALPHABET, 5));
            EtcdKeys keys = new EtcdKeys(prefix);
            assertThat(ranges.put(keys.queue(lock.name()).toString(StandardCharsets.UTF_8), lock))
                    .isIn(null, lock);
            assertThat(singles.put(keys.single(lock.name()).toString(StandardCharsets.UTF_8), lock))
                    .isIn(null, lock);
            for (Demand demand : DEMANDS) {
                queueKeys.put(acquisitionKey(keys, slots, lock.name(), demand).toString(StandardCharsets.UTF_8), lock);
            }
            keys.limits(lock.name()).forEach(limit -> queueKeys.put(limit.toString(StandardCharsets.UTF_8), lock));
            tombstones.add(keys.tombstone(OwnerId.random(), i).toString(StandardCharsets.UTF_8));
        }
        Map<String, Lock> all = new HashMap<>(queueKeys);
        all.putAll(singles);
        assertThat(all).as("seed %d", seed).hasSize(queueKeys.size() + singles.size());
        for (String key : all.keySet()) {
            rangesOf(key).filter(ranges::containsKey).forEach(range -> {
                assertThat(ranges.get(range))
                        .as("'%s' in '%s', seed %d", key, range, seed)
                        .isEqualTo(queueKeys.get(key));
            });
        }
        for (String tombstone : tombstones) {
            assertThat(rangesOf(tombstone).filter(ranges::containsKey))
                    .as(tombstone)
                    .isEmpty();
            assertThat(all).doesNotContainKey(tombstone);
        }
    }

    /** The range of a lock contains all acquisitions but not the limit; that of a share contains no shares, for any key number. */
    @Test
    void ranges_ofAName_haveThePlacesThatTheyAreFor() {
        ClientKeyPool slots = new ClientKeyPool();
        EtcdKeys keys = new EtcdKeys("b/");
        String end = keys.queueEnd("a").toString(StandardCharsets.UTF_8);
        String shares = keys.sharesStart("a").toString(StandardCharsets.UTF_8);
        for (int i = 0; i < ROUNDS; i++) {
            assertThat(acquisitionKey(keys, slots, "a", Demand.EXCLUSIVE).toString())
                    .isLessThan(shares);
            assertThat(acquisitionKey(keys, slots, "a", new Demand.Permits(1, 2))
                            .toString())
                    .isLessThan(shares);
            assertThat(acquisitionKey(keys, slots, "a", Demand.SHARED).toString())
                    .isBetween(shares, end);
        }
        assertThat(keys.limits("a"))
                .allSatisfy(limit -> assertThat(limit.toString()).isGreaterThan(end));
    }

    private static ByteSequence acquisitionKey(EtcdKeys keys, ClientKeyPool slots, String name, Demand demand) {
        return keys.acquisitionKey(new AcquisitionId(name, OwnerId.random(), demand), slots.take(name));
    }

    /** Whatever may be a range that has the key in it. */
    private static java.util.stream.Stream<String> rangesOf(String key) {
        return java.util.stream.IntStream.rangeClosed(1, key.length()).mapToObj(end -> key.substring(0, end));
    }

    @Test
    void ending_isTheSameInEveryNamespace_andTellsKeysApart() {
        ClientKeyPool slots = new ClientKeyPool();
        EtcdKeys keys = new EtcdKeys("b/");
        var key = acquisitionKey(keys, slots, "a", Demand.EXCLUSIVE);
        var inNamespace = EtcdKeys.bytes("some/where/b/").concat(key);

        assertThat(EtcdKeys.ending(inNamespace)).isEqualTo(EtcdKeys.ending(key));
        assertThat(EtcdKeys.ending(acquisitionKey(keys, slots, "a", Demand.EXCLUSIVE)))
                .isNotEqualTo(EtcdKeys.ending(key));
        assertThat(EtcdKeys.ending(acquisitionKey(keys, slots, "b/a", Demand.EXCLUSIVE)))
                .isNotEqualTo(EtcdKeys.ending(key));
        assertThat(EtcdKeys.ending(keys.tombstone(OwnerId.random(), 0xab)))
                .isNotEqualTo(EtcdKeys.ending(keys.single("ab")));
    }

    @Test
    void prefix_thatCouldMeetAnother_isRefused() {
        for (String prefix : List.of("", "app", "a/b", "a~/", "/\n/", "x".repeat(128) + "/")) {
            assertThatThrownBy(() -> new EtcdKeys(prefix))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("'/'");
        }
    }

    @Test
    void prefix_ofTheLongest_isTaken() {
        assertThat(new EtcdKeys("x".repeat(127) + "/").prefix()).hasSize(128);
        assertThat(new EtcdKeys("/").prefix()).isEqualTo("/");
    }

    @Test
    void limit_isDistinguishedFromAnAcquisition() {
        EtcdKeys keys = new EtcdKeys("b/");
        keys.limits("a")
                .forEach(limit -> assertThat(
                                EtcdKeys.isLimit(EtcdKeys.ending(limit).toString(StandardCharsets.UTF_8)))
                        .isTrue());
        assertThat(keys.limits("a").get(0)).isNotEqualTo(keys.limits("a").get(1));
        ByteSequence acquisition = acquisitionKey(keys, new ClientKeyPool(), "a", Demand.EXCLUSIVE);
        assertThat(EtcdKeys.isLimit(EtcdKeys.ending(acquisition).toString(StandardCharsets.UTF_8)))
                .isFalse();
    }

    @Test
    void keys_areWrittenSo() {
        EtcdKeys keys = new EtcdKeys("b/");
        assertThat(keys.queue("x/y").toString(StandardCharsets.UTF_8)).isEqualTo("b/~queue/x%2Fy/");
        assertThat(keys.queueEnd("x").toString(StandardCharsets.UTF_8)).isEqualTo("b/~queue/x/~");
        assertThat(keys.sharesStart("x").toString(StandardCharsets.UTF_8)).isEqualTo("b/~queue/x/r");
        assertThat(keys.single("x/y").toString(StandardCharsets.UTF_8)).isEqualTo("b/x%2Fy");
        OwnerId owner = OwnerId.random();
        assertThat(keys.tombstone(owner, 0xab).toString(StandardCharsets.UTF_8)).isEqualTo("b/~gone/" + owner + "/~ab");
        assertThat(acquisitionKey(keys, new ClientKeyPool(), "x", new Demand.Permits(1, 2))
                        .toString(StandardCharsets.UTF_8))
                .startsWith("b/~queue/x/p");
        assertThat(EtcdKeys.ending(EtcdKeys.bytes("none")).toString(StandardCharsets.UTF_8))
                .isEqualTo("none");
    }
}
