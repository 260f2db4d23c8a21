package dev.holdfast.lock.etcd.internal.acquisition;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.etcd.internal.client.EtcdKeys;
import dev.holdfast.lock.etcd.internal.client.MadeUpWatch;
import dev.holdfast.lock.etcd.internal.client.ScriptedEtcd;
import dev.holdfast.lock.etcd.internal.permit.PermitLine;
import io.etcd.jetcd.KeyValue;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Many waiters of one name on one watch: who is notified, and what is read. */
final class PermitWatchTest {
    private static final int WAITERS = 60;
    private static final Demand ONE_OF_TWO = new Demand.Permits(1, 2);

    private final MadeUpWatch etcd = new MadeUpWatch();
    private final List<EtcdAcquisition> queue = new ArrayList<>();
    private final List<KeyValue> keys = new ArrayList<>();
    private final List<Integer> notified = new ArrayList<>();
    private final PermitWatch watch;

    /** The first two hold; all others wait. */
    PermitWatchTest() {
        keys.add(ScriptedEtcd.asRead(ScriptedEtcd.entry(
                TestAcquisitions.KEYS.limits(TestAcquisitions.NAME).get(0), EtcdKeys.bytes("2"), 5, 5, 0)));
        for (int i = 0; i < WAITERS; i++) {
            EtcdAcquisition acquisition = TestAcquisitions.create(TestAcquisitions.NAME, ONE_OF_TWO);
            queue.add(acquisition);
            keys.add(ScriptedEtcd.asRead(
                    ScriptedEtcd.entry(acquisition.key(), acquisition.value(i < 2 ? i + 1 : 0), 10 + i, 10 + i, 7)));
        }
        PermitLine line = new PermitLine(keys, 100).head(2);
        watch = new PermitWatch(etcd.calls(), ticket(2, line));
        for (int i = 2; i < WAITERS; i++) {
            int number = i;
            watch.add(ticket(i, line), () -> notified.add(number));
        }
        watch.open();
    }

    private PermitTicket ticket(int number, PermitLine line) {
        return PermitTicket.of(queue.get(number), TestAcquisitions.KEYS, line);
    }

    private void deleted(int number, long at) {
        watch.onEvents(MadeUpWatch.deleted(queue.get(number).key(), at));
    }

    @AfterEach
    void close() {
        watch.close();
        etcd.close();
    }

    @Test
    void deletion_notifiesWhoeverHasRoom_once() {
        deleted(0, 101);
        assertThat(notified).containsExactly(2);

        deleted(1, 102);
        assertThat(notified).containsExactly(2, 3);
    }

    /** Also of one that is behind the head. */
    @Test
    void deletionOfItsKey_notifiesTheWaiter() {
        deleted(59, 101);

        assertThat(notified).containsExactly(59);
    }

    /** Then one that is behind it may be next. */
    @Test
    void headFromWhichMostHaveLeft_isReadAgain_once() {
        for (int i = 0; i < 31; i++) {
            deleted(i, 101 + i);
        }
        assertThat(etcd.requests).as("reads").hasValue(0);
        deleted(31, 140);
        deleted(32, 141);
        assertThat(etcd.requests).as("reads").hasValue(1);

        watch.onRead(keys.stream().skip(34).toList(), 150);

        assertThat(notified).contains(33, 34).doesNotContain(35);
    }

    /** Its own key is read by each poll. */
    @Test
    void polls_ofAllWaiters_readTheQueueOnce() {
        PermitTicket polled = ticket(2, watch.line());

        assertThat(polled.isRead()).as("a line from just now is read").isTrue();
        assertThat(polled.mayProceed()).isFalse();
    }

    /** It is not behind the head: it is gone. */
    @Test
    void read_withoutAWaitersKey_notifiesIt() {
        watch.onRead(keys.subList(0, WAITERS), 150);

        assertThat(notified).containsExactly(59);
    }
}
