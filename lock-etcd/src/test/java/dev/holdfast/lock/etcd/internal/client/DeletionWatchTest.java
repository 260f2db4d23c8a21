package dev.holdfast.lock.etcd.internal.client;

import static org.assertj.core.api.Assertions.assertThat;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.options.GetOption;
import io.etcd.jetcd.options.WatchOption;
import io.etcd.jetcd.watch.WatchResponse;
import io.grpc.Status;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** When a watch reads, when it is opened again, and when it is silent: without a server. */
final class DeletionWatchTest {
    private static final ByteSequence KEY = EtcdKeys.bytes("watched");
    private static final GetOption READ = GetOption.builder().withLimit(3).build();

    private final ScriptedEtcd etcd = new ScriptedEtcd();
    private final EtcdCalls calls = etcd.calls();
    private final AtomicInteger told = new AtomicInteger();
    private final DeletionWatch watch = new DeletionWatch(calls, new OneKey(), told::incrementAndGet);

    /** Waits for one key, which it has seen at revision 10. */
    private static final class OneKey implements WatchTarget {
        @Override
        public ByteSequence watched() {
            return KEY;
        }

        @Override
        public WatchOption watchOption() {
            return DeletionWatch.deletions().build();
        }

        @Override
        public GetOption readOption() {
            return READ;
        }

        @Override
        public long revision() {
            return 10;
        }

        @Override
        public boolean onEvents(WatchResponse heard) {
            return !heard.getEvents().isEmpty();
        }

        @Override
        public boolean onRead(List<KeyValue> read, long at) {
            return read.isEmpty() && at == 20;
        }
    }

    @AfterEach
    void close() {
        etcd.close();
    }

    private void hears(WatchResponse response) {
        etcd.listeners.get(etcd.listeners.size() - 1).onNext(response);
    }

    private void breaks() {
        etcd.listeners.get(etcd.listeners.size() - 1).onError(new IllegalStateException("by the test"));
        etcd.settle();
    }

    /** In how long it is opened again; lets it be. */
    private long nextOpening() {
        List<Long> delays = etcd.delays();
        assertThat(delays).hasSize(1);
        int before = etcd.listeners.size();
        etcd.pass();
        assertThat(etcd.listeners).hasSize(before + 1);
        return delays.get(0);
    }

    /** Only by the leader's word, which a member that is cut off does not have. */
    @Test
    void watch_isForDeletions_saysWhenItBegins_andNeedsALeader() {
        watch.open();

        assertThat(etcd.watchOptions).singleElement().satisfies(option -> {
            assertThat(option.isNoPut()).isTrue();
            assertThat(option.isNoDelete()).isFalse();
            assertThat(option.isCreatedNotify()).isTrue();
            assertThat(option.withRequireLeader()).isTrue();
            assertThat(option.getRevision()).as("from now on").isZero();
        });
    }

    @Test
    void beginningThatMissedNothing_needsNoRead() {
        watch.open();
        hears(MadeUpWatch.begun(10));

        assertThat(etcd.requests).isEmpty();
        hears(MadeUpWatch.deleted(KEY, 12));
        assertThat(told).hasValue(1);
    }

    @Test
    void beginningAfterWhatIsKnown_isFollowedByARead() {
        for (long at : new long[] {19, 20}) {
            told.set(0);
            watch.open();
            hears(MadeUpWatch.begun(11));
            ScriptedEtcd.Request read = etcd.next("get");
            assertThat(read.arguments()).containsExactly(KEY, READ);

            read.answers(ScriptedEtcd.found(at, false));

            assertThat(told).as("read at %d", at).hasValue(at == 20 ? 1 : 0);
        }
        assertThat(etcd.planned).isEmpty();
    }

    @Test
    void termsOfItsAnswers_areNoted() {
        watch.open();
        hears(new WatchResponse(io.etcd.jetcd.api.WatchResponse.newBuilder()
                .setHeader(ScriptedEtcd.header(11, 4))
                .setCreated(true)
                .build()));
        assertThat(calls.latestTerm()).isEqualTo(4);

        etcd.next("get")
                .answers(new io.etcd.jetcd.kv.GetResponse(
                        io.etcd.jetcd.api.RangeResponse.newBuilder()
                                .setHeader(ScriptedEtcd.header(12, 5))
                                .build(),
                        ByteSequence.EMPTY));
        assertThat(calls.latestTerm()).isEqualTo(5);
    }

    /** A server that is down is not to be asked without end; and not all its clients at the same time. */
    @Test
    void watchThatBreaks_isOpenedAgain_withPausesThatDouble_untilItIsHeard() {
        watch.open();
        long pause = 50;
        for (int i = 0; i < 9; i++) {
            breaks();
            assertThat(etcd.closedWatches).as("the broken one is ended").hasValue(i + 1);
            assertThat(nextOpening()).isBetween(pause / 2, pause * 3 / 2);
            pause = Math.min(2 * pause, 2_000);
        }
        hears(MadeUpWatch.begun(10));
        breaks();

        assertThat(nextOpening()).as("after its event").isBetween(25L, 75L);
    }

    @Test
    void pauses_differ() {
        List<Long> pauses = new ArrayList<>();
        watch.open();
        for (int i = 0; i < 20; i++) {
            breaks();
            pauses.add(nextOpening());
        }
        assertThat(pauses.stream().skip(6).distinct().count())
                .as("of two seconds or so: %s", pauses)
                .isGreaterThan(2);
    }

    /** jetcd reports some errors twice, and then its end. */
    @Test
    void errorsOfOneWatch_areFollowedByOneOpening() {
        watch.open();
        etcd.listeners.get(0).onError(new IllegalStateException("one"));
        etcd.listeners.get(0).onError(new IllegalStateException("two"));
        etcd.listeners.get(0).onCompleted();
        etcd.settle();

        nextOpening();
        assertThat(etcd.planned).isEmpty();
        assertThat(etcd.listeners).hasSize(2);
    }

    /** It goes on by itself perhaps, and what it says may have gaps. */
    @Test
    void watchThatWasReplaced_isNotHeard_norItsRead() {
        watch.open();
        hears(MadeUpWatch.begun(11));
        breaks();
        nextOpening();

        etcd.listeners.get(0).onNext(MadeUpWatch.deleted(KEY, 12));
        etcd.next("get").answers(ScriptedEtcd.found(20, false));

        assertThat(told).hasValue(0);
        etcd.listeners.get(0).onError(new IllegalStateException("late"));
        etcd.settle();
        assertThat(etcd.planned).as("the new one goes on").isEmpty();
    }

    @Test
    void readThatFails_hasAnotherWatchOpened() {
        watch.open();
        hears(MadeUpWatch.begun(11));
        etcd.next("get").fails(Status.UNAVAILABLE);
        etcd.settle();

        nextOpening();
        hears(MadeUpWatch.begun(11));
        assertThat(etcd.count("get")).isEqualTo(2);
    }

    @Test
    void closed_isSilent_andIsNotOpenedAgain() {
        watch.open();
        hears(MadeUpWatch.begun(11));
        watch.close();
        assertThat(etcd.closedWatches).hasValue(1);

        hears(MadeUpWatch.deleted(KEY, 12));
        etcd.next("get").answers(ScriptedEtcd.found(20, false));
        breaks();
        watch.open();

        assertThat(told).hasValue(0);
        assertThat(etcd.planned).isEmpty();
        assertThat(etcd.listeners).hasSize(1);
    }

    @Test
    void closedDuringAPause_isNotOpenedAgain() {
        watch.open();
        breaks();
        watch.close();

        etcd.pass();

        assertThat(etcd.listeners).hasSize(1);
    }

    /** Its errors come on jetcd's threads, under a lock of jetcd's. */
    @Test
    void clientIsClosed_noErrorHasAnythingDone() {
        watch.open();
        etcd.executor.shutdownNow();

        breaks();
        watch.open();

        assertThat(etcd.planned).isEmpty();
        assertThat(etcd.listeners).as("it is closed").hasSize(1);
    }

    /** It is normal for the first one, on a member that lags. */
    @Test
    void beginningAgain_beforeWhatIsKnown_notifiesTheWaiter() {
        watch.open();
        hears(MadeUpWatch.begun(9));
        assertThat(told).hasValue(0);

        breaks();
        nextOpening();
        hears(MadeUpWatch.begun(10));
        assertThat(told).hasValue(0);

        breaks();
        nextOpening();
        hears(MadeUpWatch.begun(9));
        assertThat(told).hasValue(1);
    }
}
