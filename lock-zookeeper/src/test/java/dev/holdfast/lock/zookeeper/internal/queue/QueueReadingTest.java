package dev.holdfast.lock.zookeeper.internal.queue;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.answer;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.ListedLock;
import dev.holdfast.lock.LockListing;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.zookeeper.LocalTree;
import dev.holdfast.lock.zookeeper.LocalZooKeeper;
import dev.holdfast.lock.zookeeper.internal.session.LocalClient;
import dev.holdfast.lock.zookeeper.internal.session.SequentialNode;
import dev.holdfast.lock.zookeeper.internal.session.Session;
import dev.holdfast.lock.zookeeper.internal.session.StageHelpers;
import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.ZooDefs;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Reading holders and waiters, also while they change. No server. */
class QueueReadingTest {
    private final LocalTree tree = new LocalTree();
    private final LocalClient client = new LocalClient(tree, true);

    QueueReadingTest() throws Exception {}

    @AfterEach
    void close() {
        client.close();
    }

    /** The connection may break between the two, and the next server may lag behind. */
    @Test
    void holder_whoseSyncFails_isUnknown() {
        client.driver("a").acquire();
        client.zk.fail("sync", LocalZooKeeper.Fault.REQUEST_LOST);
        assertThatThrownBy(() -> BackendDriver.holder(client.backend, "a"))
                .isInstanceOf(LockUnavailableException.class);
    }

    @Test
    void holder_isTheFirst_withWhatItStored() {
        Grant grant = client.driver("a").acquire();
        client.driver("a").queueUp();
        client.zk.requests.clear();
        HolderInfo holder = BackendDriver.holder(client.backend, "a").orElseThrow();
        assertThat(holder.who()).isEqualTo("driver");
        assertThat(holder.pid()).isEqualTo(4711);
        assertThat(holder.token()).isEqualTo(grant.token());
        assertThat(holder.since())
                .isEqualTo(Instant.ofEpochMilli(
                        tree.nodes.get(LocalClient.path(grant)).stat.getCtime()));
        assertThat(holder.demand()).isEqualTo(Demand.EXCLUSIVE);
        assertThat(client.zk.requests).containsExactly("sync /b/a", "list /b/a", "read " + LocalClient.path(grant));
        assertThat(BackendDriver.holder(client.backend, "nobody's")).isEmpty();
    }

    /** The holder has gone between the two requests: the next one holds by then. */
    @Test
    void holder_goneMeanwhile_isReadAgain_fiveTimesAtMost() {
        client.use("a");
        for (int i = 0; i < 5; i++) {
            client.driver("a").tryAcquire(60_000);
        }
        List<String> queue = client.queue("a");
        AtomicInteger reads = new AtomicInteger();
        client.zk.onRequest = request -> {
            if (request.startsWith("read") && reads.incrementAndGet() <= 2) {
                tree.delete(request.substring("read ".length()));
            }
        };
        assertThat(BackendDriver.holder(client.backend, "a").orElseThrow().token())
                .isEqualTo(tree.nodes.get(queue.get(2)).stat.getCzxid());
        assertThat(reads).hasValue(3);
        reads.set(Integer.MIN_VALUE);
        for (int i = 0; i < 10; i++) {
            client.driver("a").tryAcquire(60_000);
        }
        assertThat(BackendDriver.holder(client.backend, "a")).isEmpty();
        assertThat(reads).hasValue(Integer.MIN_VALUE + 5);
    }

    @Test
    void list_hasThoseInUse_byTheirNames_aPageAtATime() {
        for (String name : List.of("b/2", "b/1", "c", "free")) {
            client.driver(name).acquire();
        }
        client.driver("b/1").queueUp();
        tree.delete(client.queue("free").get(0));
        tree.create("/b/%zz", new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT, 0);
        LockListing all = answer(client.backend.list("", 10, 1_000));
        assertThat(all.locks()).extracting(ListedLock::name).containsExactly("b/1", "b/2", "c");
        assertThat(all.more()).isFalse();
        assertThat(all.locks().get(0).holders()).hasSize(1);
        assertThat(all.locks().get(0).waiters())
                .singleElement()
                .satisfies(
                        waiter -> assertThat(waiter.token()).as("has none yet").isZero());
        LockListing some = answer(client.backend.list("b/", 1, 1_000));
        assertThat(some.locks()).extracting(ListedLock::name).containsExactly("b/1");
        assertThat(some.more()).isTrue();
        assertThat(answer(client.backend.list("b/", 2, 1_000)).more()).isFalse();
        assertThat(answer(client.backend.list("x", 2, 1_000)).locks()).isEmpty();
    }

    /** Unused names stay for a while: a page reads four names for each lock, and reports that there may be more. */
    @Test
    void list_ofManyNamesOutOfUse_saysThatThereMayBeMore() {
        for (int i = 0; i < 9; i++) {
            client.use("n" + i);
        }
        assertThat(answer(client.backend.list("n", 2, 1_000)).more()).isTrue();
        assertThat(client.zk.requests("list /b/")).hasSize(8);
        tree.delete("/b/n8");
        assertThat(answer(client.backend.list("n", 2, 1_000)).more()).isFalse();
    }

    @Test
    void list_withoutABase_isEmpty() {
        assertThat(answer(client.backend.list("", 10, 1_000))).isEqualTo(new LockListing(List.of(), false));
    }

    /** After an overflow of the sequence, nodes are sorted by creation, and deleted nodes are left out. */
    @Test
    void order_byCreation_whereTheSequenceHasEnded() throws IOException {
        String owner = "0123456789abcdef0123456789abcdef-";
        List<String> created =
                List.of(owner + "-2147483648", owner + "-2147483647", owner + "2147483647", owner + "0000000003");
        tree.create("/q", new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT, 0);
        for (String name : created) {
            tree.create("/q/" + name, new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT, 0);
        }
        List<String> listed = new ArrayList<>(created);
        Collections.reverse(listed);
        listed.add(owner + "0000000005"); // gone
        Session session = client.backend.session();
        assertThat(CreationOrder.of(session, "/q", listed).join())
                .extracting(SequentialNode::name)
                .containsExactlyElementsOf(created);
        client.zk.refuse("exists /q/" + created.get(1), Code.CONNECTIONLOSS);
        assertThat(CreationOrder.of(session, "/q", listed)).isCompletedExceptionally();
        client.zk.requests.clear();
        assertThat(CreationOrder.of(session, "/q", List.of(created.get(3))).join())
                .hasSize(1);
        assertThat(client.zk.requests).as("in order").isEmpty();
    }

    @Test
    void stages_areJoined() {
        KeeperException gone = KeeperException.create(Code.NONODE);
        assertThat(StageHelpers.recover(new CompletionException(gone), Code.NONODE, 7))
                .isEqualTo(7);
        assertThatThrownBy(() -> StageHelpers.recover(new CompletionException(gone), Code.NOAUTH, 7))
                .isInstanceOf(CompletionException.class)
                .hasCause(gone);
        CompletableFuture<Integer> passed = new CompletableFuture<>();
        StageHelpers.pass(CompletableFuture.failedFuture(new CompletionException(gone)), passed);
        assertThat(passed.handle((value, failure) -> failure).join()).isSameAs(gone);
        CompletableFuture<Integer> seven = new CompletableFuture<>();
        StageHelpers.pass(CompletableFuture.completedFuture(7), seven);
        assertThat(seven).isCompletedWithValue(7);

        IOException why = new IOException("why");
        CompletableFuture<Void> cause = CompletableFuture.failedFuture(why);
        CompletableFuture<Void> fine = CompletableFuture.completedFuture(null);
        assertThat(StageHelpers.preferFailure(cause, CompletableFuture.completedFuture(7)))
                .isCompletedWithValue(7);
        assertThatThrownBy(StageHelpers.preferFailure(cause, CompletableFuture.failedFuture(gone))::join)
                .hasCause(why);
        assertThatThrownBy(StageHelpers.preferFailure(fine, CompletableFuture.failedFuture(gone))::join)
                .hasCause(gone);
    }
}
