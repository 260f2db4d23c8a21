package dev.holdfast.lock.etcd.internal.client;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.spi.DemandLine;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.OwnerId;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Holders and waiters as read from keys, including keys with unknown values. */
final class EtcdValueTest {
    private static final Instant SINCE = Instant.ofEpochMilli(1_700_000_000_123L);
    private static final OwnerId OWNER = new OwnerId(1, 2);

    private static KeyValue entry(String key, String value) {
        io.etcd.jetcd.api.KeyValue entry = io.etcd.jetcd.api.KeyValue.newBuilder()
                .setKey(com.google.protobuf.ByteString.copyFromUtf8(key))
                .setValue(com.google.protobuf.ByteString.copyFromUtf8(value))
                .setCreateRevision(42)
                .build();
        return new KeyValue(entry, ByteSequence.EMPTY);
    }

    @Test
    void ours_isReadAsItWasWritten() {
        String value = EtcdValue.of(OWNER, new Identity("me too", "host", 7)).toString(StandardCharsets.UTF_8);
        assertThat(value)
                .startsWith(OWNER + " ")
                .startsWith(EtcdValue.start(OWNER))
                .endsWith(" 7 host me too");
        HolderInfo holder = EtcdValue.holder(entry("p/~queue/a/0001", value));
        assertThat(holder.who()).isEqualTo("me too");
        assertThat(holder.token()).isEqualTo(42);
        assertThat(Duration.between(holder.since(), Instant.now())).isBetween(Duration.ZERO, Duration.ofMinutes(1));
        HolderInfo waiter = EtcdValue.waiter(entry("p/~queue/a/0001", value));
        assertThat(waiter.token()).isZero();
        assertThat(waiter.demand()).isEqualTo(Demand.EXCLUSIVE);
    }

    @ParameterizedTest
    @ValueSource(strings = {"0/3/0", "4/3/1", "1/0/0", "1/9999999/1", "1/3", "x"})
    void impossiblePermits_countAsExclusive(String permits) {
        KeyValue entry = entry("p/~queue/a/p0001", OWNER + " 1700000000123 " + permits + " 7 host me too");
        assertThat(EtcdValue.entry(entry)).isEqualTo(new DemandLine.Place(Demand.EXCLUSIVE, 0));
    }

    @Test
    void permits_areBetweenTimeAndIdentity() {
        ByteSequence value = EtcdKeys.bytes(OWNER + " 1700000000123 7 host me too");
        ByteSequence permits = EtcdValue.ofPermits(value, new Demand.Permits(2, 5), 3);
        assertThat(permits.toString(StandardCharsets.UTF_8)).isEqualTo(OWNER + " 1700000000123 2/5/3 7 host me too");
        KeyValue entry = entry("p/~queue/a/p0001", permits.toString(StandardCharsets.UTF_8));
        assertThat(EtcdValue.entry(entry)).isEqualTo(new DemandLine.Place(new Demand.Permits(2, 5), 3));
        assertThat(EtcdValue.holder(entry))
                .isEqualTo(new HolderInfo("me too", "host", 7, SINCE, 42, new Demand.Permits(2, 5), 3));
        assertThat(EtcdValue.waiter(entry))
                .isEqualTo(new HolderInfo("me too", "host", 7, SINCE, 0, new Demand.Permits(2, 5), 0));
    }

    @Test
    void share_isRecognisedByItsKey() {
        KeyValue entry = entry("p/~queue/a/r0001", OWNER + " 1700000000123 7 host me");
        assertThat(EtcdValue.entry(entry)).isEqualTo(new DemandLine.Place(Demand.SHARED, 0));
        assertThat(EtcdValue.holder(entry)).isEqualTo(new HolderInfo("me", "host", 7, SINCE, 42, Demand.SHARED, 0));
    }

    @Test
    void whatOthersWrote_isTakenForALock_andShownAsItIs() {
        for (String value : new String[] {"by hand", "a b", "a x 7 host me", ""}) {
            KeyValue entry = entry("p/~queue/a/p0001", value);
            assertThat(EtcdValue.entry(entry)).isEqualTo(new DemandLine.Place(Demand.EXCLUSIVE, 0));
            assertThat(EtcdValue.holder(entry)).isEqualTo(new HolderInfo(value, "", 0, Instant.EPOCH, 42));
        }
        KeyValue permitsInALocksKey = entry("p/~queue/a/0001", OWNER + " 1700000000123 2/5/3 7 host me");
        assertThat(EtcdValue.entry(permitsInALocksKey).demand()).isEqualTo(Demand.EXCLUSIVE);
    }

    @ParameterizedTest
    @CsvSource({"1, 1", "1, 5", "5, 5", "1, " + Demand.MAX_PERMITS, Demand.MAX_PERMITS + ", " + Demand.MAX_PERMITS})
    void permits_atTheirBounds_areReadAsTheyWereWritten(int count, int limit) {
        ByteSequence value = EtcdKeys.bytes(OWNER + " 1700000000123 7 host me too");
        Demand.Permits permits = new Demand.Permits(count, limit);
        String written = EtcdValue.ofPermits(value, permits, 1).toString(StandardCharsets.UTF_8);
        assertThat(EtcdValue.entry(entry("p/~queue/a/p0001", written))).isEqualTo(new DemandLine.Place(permits, 1));
    }

    /** Byte for byte, also of an identity that is no text. */
    @Test
    void otherSlot_leavesAllElseAsItIs() {
        byte[] identity = {' ', '7', ' ', 'h', ' ', (byte) 0xFF, ' ', '/', '3'};
        ByteSequence value = ByteSequence.from((OWNER + " 1700000000123 2/5/3"), StandardCharsets.US_ASCII)
                .concat(ByteSequence.from(identity));
        assertThat(EtcdValue.withSlot(value, 17))
                .isEqualTo(ByteSequence.from((OWNER + " 1700000000123 2/5/17"), StandardCharsets.US_ASCII)
                        .concat(ByteSequence.from(identity)));
    }
}
