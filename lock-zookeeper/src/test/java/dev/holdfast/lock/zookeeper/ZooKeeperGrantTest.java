package dev.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.testkit.BackendDriver;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The conditions of a grant, apart from the order of the queue: a token, a living session, a lease. No server. */
class ZooKeeperGrantTest {
    private final LocalTree tree = new LocalTree();
    private final LocalClient first = new LocalClient(tree, true);
    private final LocalClient second = new LocalClient(tree, true);

    ZooKeeperGrantTest() throws Exception {}

    @AfterEach
    void close() {
        first.close();
        second.close();
    }

    @Test
    void zxid_upTo53Bits_isAToken() {
        first.use("a");
        first.use("b");
        tree.zxid = (1L << 53) - 2;
        assertThat(first.driver("a").acquire().token()).isEqualTo((1L << 53) - 1);
        assertThatThrownBy(() -> first.driver("b").acquire())
                .isInstanceOf(LockConfigurationException.class)
                .hasMessageMatching(
                        "the ensemble's zxid 0x2000000000000[0-9a-f] has an epoch beyond 2\\^21, too large for a"
                                + " fencing token; move the locks to an ensemble with fewer elections behind it");
        assertThat(first.queue("b")).isEmpty();
    }

    @Test
    void session_endsWhileItIsGranted_isUnavailable() {
        first.use("a");
        first.zk.onCreated = path -> first.zk.state = ZooKeeper.States.CLOSED;
        assertThatThrownBy(() -> first.driver("a").acquire())
                .isInstanceOf(LockUnavailableException.class)
                .hasMessage("the session ended while it was granted");
    }

    /** A lease is never longer than requested, nor than the session is certain to live. */
    @Test
    void grant_isNoLongerThanItsLease() {
        first.use("a");
        Grant grant = BackendDriver.of(first.backend, "a", 1_234).acquire();
        assertThat(grant.leaseMillis()).isEqualTo(1_234);
        second.zk.sessionMillis = 1;
        assertThatThrownBy(() -> second.driver("never").acquire()).hasMessage("the session ended while it was granted");
    }
}
