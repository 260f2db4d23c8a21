package dev.holdfast.lock.etcd.internal.queue;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.ListedLock;
import dev.holdfast.lock.LockListing;
import dev.holdfast.lock.StoreFinding;
import dev.holdfast.lock.etcd.internal.acquisition.EtcdAcquisition;
import dev.holdfast.lock.etcd.internal.acquisition.TestAcquisitions;
import dev.holdfast.lock.etcd.internal.client.EtcdCalls;
import dev.holdfast.lock.etcd.internal.client.EtcdExamination;
import dev.holdfast.lock.etcd.internal.client.EtcdKeys;
import dev.holdfast.lock.etcd.internal.client.ScriptedEtcd;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.api.KeyValue;
import io.etcd.jetcd.api.Member;
import io.etcd.jetcd.cluster.MemberListResponse;
import io.etcd.jetcd.maintenance.StatusResponse;
import io.etcd.jetcd.options.GetOption;
import io.grpc.Status;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What is read for those who look at locks and at the store, and what is made of it: without a server. */
final class EtcdReadsTest {
    private static final long TIMEOUT = 60_000;
    private static final EtcdProtocol QUEUE = new QueueProtocol(TestAcquisitions.KEYS);
    private static final EtcdProtocol SINGLE = new SingleKeyProtocol(TestAcquisitions.KEYS);

    private final ScriptedEtcd etcd = new ScriptedEtcd();
    private final EtcdCalls calls = etcd.calls();

    @AfterEach
    void close() {
        etcd.close();
    }

    private static KeyValue entry(String name, Demand demand, int slot, long created) {
        EtcdAcquisition acquisition = TestAcquisitions.create(name, demand);
        return ScriptedEtcd.entry(acquisition.key(), acquisition.value(slot), created, created, 7);
    }

    private static KeyValue lock(String name, long created) {
        return entry(name, Demand.EXCLUSIVE, 0, created);
    }

    private LockListing listed(EtcdProtocol protocol, String prefix, int limit, boolean more, KeyValue... keys) {
        CompletableFuture<LockListing> list = EtcdListing.list(calls, protocol, prefix, limit, TIMEOUT);
        etcd.next("get").answers(ScriptedEtcd.found(20, more, keys));
        return BackendDriver.answer(list);
    }

    private GetOption lastOption() {
        return (GetOption) lastRead().arguments().get(1);
    }

    private ScriptedEtcd.Request lastRead() {
        return etcd.requests.get(etcd.requests.size() - 1);
    }

    private static List<String> names(LockListing listing) {
        return listing.locks().stream().map(ListedLock::name).toList();
    }

    /** Waiters have keys of their own; of a single key they have none. */
    @Test
    void list_readsTenKeysALock_andOneMoreLockThanIsAskedFor() {
        listed(QUEUE, "a/", 4, false);
        assertThat(lastRead().key()).isEqualTo("b/~queue/a%2F");
        assertThat(lastOption().isPrefix()).isTrue();
        assertThat(lastOption().getLimit()).isEqualTo(50);

        listed(SINGLE, "a/", 4, false);
        assertThat(lastRead().key()).isEqualTo("b/a%2F");
        assertThat(lastOption().getLimit()).isEqualTo(5);
    }

    @Test
    void list_hasTheLocksByName_asManyAsAreAskedFor() {
        KeyValue[] keys = {lock("c", 3), lock("a", 4), lock("b", 5), lock("a", 2)};

        LockListing all = listed(QUEUE, "", 3, false, keys);
        assertThat(names(all)).containsExactly("a", "b", "c");
        assertThat(all.more()).isFalse();
        assertThat(all.locks().get(0).holders()).extracting(HolderInfo::token).containsExactly(2L);
        assertThat(all.locks().get(0).waiters()).hasSize(1);

        LockListing some = listed(QUEUE, "", 2, false, keys);
        assertThat(names(some)).containsExactly("a", "b");
        assertThat(some.more()).isTrue();
    }

    /** The last name's other keys may come behind, its holder's among them. */
    @Test
    void list_thatWasCut_leavesOutTheLastName_unlessItIsTheOnlyOne() {
        LockListing cut = listed(QUEUE, "", 9, true, lock("a", 1), lock("b", 2));
        assertThat(names(cut)).containsExactly("a");
        assertThat(cut.more()).isTrue();

        LockListing only = listed(QUEUE, "", 9, true, lock("a", 1));
        assertThat(names(only)).containsExactly("a");
        assertThat(only.more()).isTrue();
    }

    /** A prefix of dots alone is encoded otherwise than what follows it, so the range may have other names. */
    @Test
    void list_leavesOutWhatIsNoLockOrOfAnotherPrefix() {
        KeyValue limit = ScriptedEtcd.entry(TestAcquisitions.KEYS.limits("..a").get(0), EtcdKeys.bytes("3"), 1, 1, 0);
        KeyValue strange = ScriptedEtcd.entry(EtcdKeys.bytes("b/~queue/%zz/0"), ByteSequence.EMPTY, 1, 1, 0);
        LockListing listing = listed(QUEUE, "..", 9, false, limit, strange, lock("..b", 1), lock("other", 2));

        assertThat(names(listing)).containsExactly("..b");
    }

    @Test
    void list_hasNoMoreWaitersThanItMay() {
        KeyValue[] line = new KeyValue[102];
        for (int i = 0; i < line.length; i++) {
            line[i] = lock("a", 1 + i);
        }
        assertThat(listed(QUEUE, "", 9, false, line).locks().get(0).waiters()).hasSize(100);
    }

    @Test
    void name_isFoundInItsKey_inANamespaceToo_andInNoOther() {
        for (String namespace : List.of("", "b/", "x/b/~queue/")) {
            assertThat(QUEUE.nameOf(namespace + "b/~queue/a%2Fb/0001-0"))
                    .as(namespace)
                    .contains("a%2Fb");
            assertThat(QUEUE.nameOf(namespace + "b/~queue/a/~limit-a"))
                    .as(namespace)
                    .isEmpty();
            assertThat(SINGLE.nameOf(namespace + "b/a%2Fb")).as(namespace).contains("a%2Fb");
        }
        for (String other : List.of("b/", "b/~queue/a/0", "b/c/a", "b/~gone/0/~7", "x/a")) {
            assertThat(SINGLE.nameOf(other)).as(other).isEmpty();
        }
        assertThat(QUEUE.nameOf("none")).isEmpty();
        assertThat(QUEUE.nameOf("b/none")).isEmpty();
    }

    @Test
    void holders_areThoseOfTheOldestKeysThatHold() {
        CompletableFuture<List<HolderInfo>> read = EtcdHolders.of(calls, QUEUE, "n", 5, TIMEOUT);
        assertThat(lastRead().key()).isEqualTo("b/~queue/n/");
        assertThat(lastOption().getEndKey().map(end -> end.toString(StandardCharsets.UTF_8)))
                .contains("b/~queue/n/~");
        assertThat(lastOption().getSortField()).isEqualTo(GetOption.SortTarget.CREATE);
        assertThat(lastOption().getSortOrder()).isEqualTo(GetOption.SortOrder.ASCEND);
        assertThat(lastOption().getLimit()).isEqualTo(5);
        assertThat(lastOption().isKeysOnly()).isFalse();
        etcd.next("get")
                .answers(ScriptedEtcd.found(
                        20,
                        false,
                        entry("n", new Demand.Permits(1, 2), 0, 9),
                        entry("n", new Demand.Permits(1, 2), 2, 8),
                        entry("n", new Demand.Permits(1, 2), 1, 7)));

        assertThat(BackendDriver.answer(read))
                .extracting(HolderInfo::token, HolderInfo::slot)
                .containsExactly(
                        org.assertj.core.groups.Tuple.tuple(7L, 1), org.assertj.core.groups.Tuple.tuple(8L, 2));

        EtcdHolders.of(calls, SINGLE, "n", 5, TIMEOUT);
        assertThat(lastRead().key()).isEqualTo("b/n");
    }

    @Test
    void members_belowThree_areAWarning() {
        for (int members = 1; members < 6; members++) {
            StoreFinding finding = EtcdExamination.count(members);
            assertThat(finding.observation()).startsWith("members: " + members);
            assertThat(finding.grade())
                    .as("%d", members)
                    .isEqualTo(members < 3 ? StoreFinding.Grade.WARNING : StoreFinding.Grade.OK);
            assertThat(finding.remedy()).isEqualTo(members < 3 ? "run three: etcdctl member add" : "");
        }
    }

    private CompletableFuture<List<StoreFinding>> examined(String... addresses) {
        CompletableFuture<List<StoreFinding>> findings = EtcdExamination.examine(calls, TIMEOUT);
        var members = io.etcd.jetcd.api.MemberListResponse.newBuilder().addMembers(Member.getDefaultInstance());
        for (String address : addresses) {
            members.addMembers(Member.newBuilder().addClientURLs(address));
        }
        etcd.next("listMember").answers(new MemberListResponse(members.build()));
        return findings;
    }

    /** A learner, or a new member, has no address yet. */
    @Test
    void examine_tellsTheVersionOfTheFirstMemberWithAnAddress() {
        CompletableFuture<List<StoreFinding>> findings = examined("http://n1:2379", "http://n2:2379");
        assertThat(etcd.next("statusMember").arguments()).containsExactly("http://n1:2379");
        etcd.next("statusMember")
                .answers(new StatusResponse(io.etcd.jetcd.api.StatusResponse.newBuilder()
                        .setVersion("3.5.16")
                        .build()));

        assertThat(BackendDriver.answer(findings))
                .containsExactly(StoreFinding.ok("etcd 3.5.16"), StoreFinding.ok("members: 3"));
    }

    @Test
    void examine_whatIsNotKnown_isNoProblem() {
        CompletableFuture<List<StoreFinding>> unreachable = examined("http://n1:2379");
        etcd.next("statusMember").fails(Status.UNAVAILABLE);
        assertThat(BackendDriver.answer(unreachable))
                .first()
                .isEqualTo(StoreFinding.ok("the version is unknown: member http://n1:2379 cannot be reached directly"));
        assertThat(BackendDriver.answer(examined()))
                .first()
                .isEqualTo(StoreFinding.ok("its members report no client address"));

        CompletableFuture<List<StoreFinding>> refused = EtcdExamination.examine(calls, TIMEOUT);
        etcd.next("listMember").fails(Status.PERMISSION_DENIED.withDescription("no"));
        List<String> said = new ArrayList<>();
        BackendDriver.answer(refused).forEach(finding -> {
            assertThat(finding.grade()).isEqualTo(StoreFinding.Grade.OK);
            said.add(finding.observation());
        });
        assertThat(said)
                .containsExactly(
                        "the members could not be read (etcd reports 'PERMISSION_DENIED: no'; grant the user read"
                                + " and write permission on the prefix); locks do not need them");
    }
}
