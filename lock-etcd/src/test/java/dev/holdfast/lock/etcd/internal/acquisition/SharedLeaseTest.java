package dev.holdfast.lock.etcd.internal.acquisition;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Demand;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** What is certain about a lease, and when it takes no more keys. */
final class SharedLeaseTest {
    private final SharedLease lease = TestAcquisitions.lease(0x1f);

    private static boolean usable(SharedLease lease) {
        return lease.isUsable(System.nanoTime());
    }

    private static EtcdAcquisition placeWithKeyOf(int bytes) {
        int rest = TestAcquisitions.create("", Demand.EXCLUSIVE).key().size();
        EtcdAcquisition acquisition = TestAcquisitions.create("n".repeat(bytes - rest), Demand.EXCLUSIVE);
        assertThat(acquisition.key().size()).isEqualTo(bytes);
        return acquisition;
    }

    /** etcd lists a lease's keys in one message, which gRPC bounds. */
    @Test
    void keysOfAMegabyte_areEnough_andEachCountsOnce() {
        EtcdAcquisition most = placeWithKeyOf(999_900);
        EtcdAcquisition rest = placeWithKeyOf(100);
        lease.join(most);
        lease.join(most);
        assertThat(lease.isFull()).isFalse();

        lease.join(rest);
        assertThat(lease.isFull()).isTrue();
        assertThat(lease.members()).containsExactlyInAnyOrder(most, rest);

        lease.leave(rest);
        lease.leave(rest);
        assertThat(lease.isFull()).isFalse();
        lease.join(rest);
        assertThat(lease.isFull()).as("a second leaving counts nothing").isTrue();
    }

    /** Tombstones are not removed otherwise than by its end. */
    @Test
    void leaseWith64Tombstones_isToEnd_butWhatIsOnItMayStay() {
        for (int i = 0; i < 63; i++) {
            lease.addTombstone();
        }
        assertThat(lease.isRetired()).isFalse();
        assertThat(usable(lease)).isTrue();

        lease.addTombstone();

        assertThat(lease.isRetired()).isTrue();
        assertThat(usable(lease)).isFalse();
        assertThat(lease.isCondemned()).isFalse();
    }

    @Test
    void condemned_isRetired_andNotUsable() {
        lease.condemn();

        assertThat(lease.isCondemned()).isTrue();
        assertThat(lease.isRetired()).isTrue();
        assertThat(usable(lease)).isFalse();
    }

    @Test
    void end_isNewsOnce() {
        assertThat(lease.isGone()).isFalse();
        assertThat(lease.end()).isTrue();
        assertThat(lease.end()).isFalse();
        assertThat(lease.isGone()).isTrue();
        assertThat(usable(lease)).isFalse();
    }

    @Test
    void usable_whileMoreThanAThirdIsCertain() {
        assertThat(usable(TestAcquisitions.lease(7, 30, Duration.ofSeconds(16))))
                .isTrue();
        assertThat(usable(TestAcquisitions.lease(7, 30, Duration.ofSeconds(20))))
                .isFalse();
        assertThat(usable(TestAcquisitions.lease(7, 30, Duration.ofSeconds(40))))
                .isFalse();
    }

    @Test
    void certain_isWhatIsLeftSinceTheLatestSending_whateverOrderTheAnswersComeIn() {
        LeaseRequestTime now = LeaseRequestTime.now();
        SharedLease old = TestAcquisitions.lease(7, 30, Duration.ofSeconds(25));
        old.confirm(now);
        old.confirm(new LeaseRequestTime(now.nanos() - Duration.ofSeconds(10).toNanos(), now.wallAheadNanos()));

        assertThat(old.ageNanos(System.nanoTime()))
                .isLessThan(Duration.ofSeconds(5).toNanos());
        assertThat(old.certainNanos(now.nanos()))
                .isBetween(
                        Duration.ofSeconds(29).toNanos(), Duration.ofSeconds(30).toNanos());
        assertThat(TestAcquisitions.lease(7, 30, Duration.ofSeconds(40)).certainNanos(System.nanoTime()))
                .as("for how long nothing is certain any more")
                .isLessThanOrEqualTo(-Duration.ofSeconds(10).toNanos());
    }

    /** The clock was set back. The monotonic clock continues. */
    @Test
    void wallClockThatIsSetBack_makesNothingYounger() {
        LeaseRequestTime now = LeaseRequestTime.now();
        long second = TimeUnit.SECONDS.toNanos(1);
        LeaseRequestTime back = new LeaseRequestTime(now.nanos() - 5 * second, now.wallAheadNanos() + 3_600 * second);

        assertThat(back.ageNanos(now.nanos())).isEqualTo(5 * second);
        assertThat(back.or(now)).isSameAs(now);
        assertThat(now.or(back)).isSameAs(now);
    }

    @Test
    void text_isTheIdAsEtcdctlShowsIt() {
        assertThat(lease).hasToString("etcd lease 1f");
        assertThat(lease.id()).isEqualTo(0x1f);
        assertThat(lease.ttlNanos()).isEqualTo(Duration.ofSeconds(30).toNanos());
    }
}
