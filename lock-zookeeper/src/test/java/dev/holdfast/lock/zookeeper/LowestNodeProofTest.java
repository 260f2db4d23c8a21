package dev.holdfast.lock.zookeeper;

import static dev.holdfast.lock.testkit.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.BackendDriver.release;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.testkit.BackendDriver;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** What the answer to a creation proves, and what it does not prove. */
class LowestNodeProofTest {

    private static final int TIMES = 100;
    private static final byte[] NOTHING = new byte[0];
    private static ZooKeeperFixture fixture;
    private static ZooKeeperLockBackend first;
    private static ZooKeeperLockBackend second;

    @BeforeAll
    static void start() throws Exception {
        fixture = ZooKeeperFixture.single();
        first = fixture.newBackend(60_000);
        second = fixture.newBackend(60_000);
    }

    @AfterAll
    static void stop() {
        first.close();
        second.close();
        fixture.close();
    }

    @Test
    @DisplayName("The next node of the same container is the lowest; any other may not be")
    void proves_nextOfSameContainer_only() {
        LowestNodeProof lowestNodes = new LowestNodeProof();
        assertThat(lowestNodes.proves("a", lockNode(11, 1_002)))
                .as("without a predecessor")
                .isFalse();

        lowestNodes.released("a", lockNode(10, 1_000));

        assertThat(lowestNodes.proves("a", lockNode(11, 1_002))).as("the next").isTrue();
        assertThat(lowestNodes.proves("a", lockNode(11, 1_010)))
                .as("at the bound")
                .isTrue();
        assertThat(lowestNodes.proves("a", lockNode(11, 1_011)))
                .as("after as many writes as a new container needs")
                .isFalse();
        assertThat(lowestNodes.proves("a", lockNode(11, 990)))
                .as("of older data")
                .isFalse();
        assertThat(lowestNodes.proves("a", lockNode(11, 1_000)))
                .as("of the same write")
                .isFalse();
        assertThat(lowestNodes.proves("a", lockNode(12, 1_002)))
                .as("with one between")
                .isFalse();
        assertThat(lowestNodes.proves("a", lockNode(0, 1_002)))
                .as("of a new container")
                .isFalse();
        assertThat(lowestNodes.proves("b", lockNode(11, 1_002)))
                .as("of another name")
                .isFalse();
        lowestNodes.forget("a");
        assertThat(lowestNodes.proves("a", lockNode(11, 1_002)))
                .as("after forget")
                .isFalse();
    }

    @Test
    @DisplayName("A sequence that is not a count of creations proves nothing")
    void proves_endOfSequence_nothing() {
        LowestNodeProof lowestNodes = new LowestNodeProof();
        lowestNodes.released("a", lockNode(Integer.MAX_VALUE - 1, 1_000));
        assertThat(lowestNodes.proves("a", lockNode(Integer.MAX_VALUE, 1_002))).isFalse();
        lowestNodes.released("a", lockNode(-7, 1_000));
        assertThat(lowestNodes.proves("a", lockNode(-6, 1_002))).isFalse();
    }

    @Test
    @DisplayName("The listing is omitted after two acquisitions in a row")
    void isLikely_twoInARow() {
        LowestNodeProof lowestNodes = new LowestNodeProof();
        lowestNodes.released("a", lockNode(10, 1_000));
        assertThat(lowestNodes.isLikely("a")).isFalse();
        lowestNodes.released("a", lockNode(11, 1_002));
        assertThat(lowestNodes.isLikely("a")).isTrue();
        lowestNodes.released("a", lockNode(13, 1_006));
        assertThat(lowestNodes.isLikely("a")).isFalse();
    }

    @Test
    @DisplayName("The number of stored names is bounded")
    void released_manyNames_bounded() {
        LowestNodeProof lowestNodes = new LowestNodeProof();
        for (int i = 0; i < 100_000; i++) {
            lowestNodes.released("name " + i, lockNode(10, 1_000));
        }
        assertThat(lowestNodes.size()).isBetween(1, 1_000);
    }

    @Test
    @DisplayName("A known name does not count against the bound; one more name clears the others")
    void released_upToTheBound_allAreRemembered() {
        LowestNodeProof lowestNodes = new LowestNodeProof();
        for (int i = 0; i < 1_000; i++) {
            lowestNodes.released("name " + i, lockNode(10, 1_000));
        }
        lowestNodes.released("name 7", lockNode(11, 1_002));
        assertThat(lowestNodes.size()).isEqualTo(1_000);

        lowestNodes.released("another name", lockNode(10, 1_000));

        assertThat(lowestNodes.size()).isEqualTo(1);
    }

    @Test
    @DisplayName("A node created in between is noticed")
    void attempt_otherBetween_busy() throws Exception {
        repeat("between");
        Grant other = acquire(second, "between");

        assertThat(BackendDriver.of(first, "between").tryAcquire(0)).isInstanceOf(AcquireResult.Busy.class);

        release(second, other);
        Grant own = acquire(first, "between");
        assertThat(own.token()).isGreaterThan(other.token());
        release(first, own);
    }

    @Test
    @DisplayName(
            "A node created in between is noticed in a new container that has reached the next sequence")
    void attempt_otherContainerWithNextSequence_busy() throws Exception {
        int last = repeat("anew");
        ZooKeeper administrator = fixture.administrator();
        String parent = ZooKeeperFixture.parent("anew");
        administrator.delete(parent + "/keep", -1);
        administrator.delete(parent, -1);
        administrator.create(parent, NOTHING, ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.CONTAINER);
        for (int i = 0; i < last; i++) {
            administrator.create(
                    parent + "/filler-", NOTHING, ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL_SEQUENTIAL);
        }
        Grant other = acquire(second, "anew");
        assertThat(fixture.queue("anew").get(0).sequence())
                .as("the sequence of the last of the old container")
                .isEqualTo(last);

        assertThat(BackendDriver.of(first, "anew").tryAcquire(0)).isInstanceOf(AcquireResult.Busy.class);

        release(second, other);
    }

    /** Acquires the lock with the first client repeatedly; returns its last sequence. */
    private static int repeat(String name) throws Exception {
        release(first, acquire(first, name));
        fixture.keep(name);
        int last = 0;
        for (int i = 0; i < TIMES; i++) {
            Grant grant = acquire(first, name);
            last = requireNonNull(ZooKeeperAcquisition.of(grant).lockNode).sequence();
            release(first, grant);
        }
        assertThat(first.session().lowestNodes().isLikely(name)).isTrue();
        return last;
    }

    private static LockNode lockNode(int sequence, long czxid) {
        String owner = "0123456789abcdef0123456789abcdef";
        return new LockNode(null, "/base/name/" + owner + "-" + String.format("%010d", sequence), czxid);
    }
}
