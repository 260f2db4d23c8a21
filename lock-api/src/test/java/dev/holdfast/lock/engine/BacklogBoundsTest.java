package dev.holdfast.lock.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.LockException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Pending removals: how many there may be, and which are not retried. */
class BacklogBoundsTest {
    private final HandledBacklog lasting = new HandledBacklog(false);
    private final HandledBacklog expiring = new HandledBacklog(true);

    private static List<Integer> done(List<Removal<Void>> removals) {
        return IntStream.range(0, removals.size())
                .filter(i -> removals.get(i).isDone())
                .boxed()
                .toList();
    }

    // ---- bounds

    @ParameterizedTest
    @EnumSource
    void isFull_fromTheCapacityOn_whateverItsKind_ifNothingEndsByItself(Removal.Kind kind) {
        lasting.add(Backlog.CAPACITY - 1, kind);
        assertThat(lasting.backlog.isFull()).isFalse();
        List<Removal<Void>> last = lasting.add(2, kind);
        assertThat(lasting.backlog.isFull()).isTrue();
        assertThat(lasting.backlog.size()).isEqualTo(Backlog.CAPACITY + 1);
        assertThat(last).as("nothing is dropped").noneMatch(Removal::isDone);

        expiring.add(Backlog.CAPACITY + 1, kind);
        assertThat(expiring.backlog.isFull()).isFalse();
    }

    @ParameterizedTest
    @EnumSource(names = "RELEASE", mode = EnumSource.Mode.EXCLUDE)
    void oldestAbandonment_givesWay_andNoRelease(Removal.Kind kind) {
        List<Removal<Void>> releases = expiring.add(3, Removal.Kind.RELEASE);
        List<Removal<Void>> abandonments = expiring.add(Backlog.CAPACITY, kind);
        assertThat(done(abandonments)).isEmpty();
        assertThat(expiring.backlog.size()).isEqualTo(Backlog.CAPACITY + 3);

        List<Removal<Void>> more = expiring.add(2, kind);
        assertThat(done(abandonments)).containsExactly(0, 1);
        assertThat(expiring.backlog.size()).isEqualTo(Backlog.CAPACITY + 3);
        assertThat(releases).noneMatch(Removal::isDone);
        assertThat(more).noneMatch(Removal::isDone);
    }

    @Test
    void oldestOfAll_givesWay_ifThereAreTooManyReleases() {
        List<Removal<Void>> releases = expiring.add(Backlog.MAX_SIZE, Removal.Kind.RELEASE);
        assertThat(done(releases)).isEmpty();
        expiring.add(1, Removal.Kind.RELEASE);
        assertThat(done(releases)).containsExactly(0);
        expiring.add(1, Removal.Kind.ABANDON);
        assertThat(done(releases)).containsExactly(0, 1);
        assertThat(expiring.backlog.size()).isEqualTo(Backlog.MAX_SIZE);
    }

    @Test
    void nothingIsDropped_ifItDoesNotEndByItself() {
        List<Removal<Void>> abandonments = lasting.add(Backlog.MAX_SIZE + 1, Removal.Kind.ABANDON);
        assertThat(done(abandonments)).isEmpty();
        assertThat(lasting.backlog.size()).isEqualTo(Backlog.MAX_SIZE + 1);
    }

    @Test
    void whatIsConfirmed_makesRoom() {
        expiring.add(Backlog.CAPACITY, Removal.Kind.ABANDON);
        expiring.answer = request -> request.answered().accept(null);
        expiring.pass(1_000);
        assertThat(expiring.sent).hasSize(Backlog.CAPACITY);
        assertThat(expiring.backlog.size()).isZero();
        expiring.answer = null;
        assertThat(done(expiring.add(Backlog.CAPACITY, Removal.Kind.ABANDON))).isEmpty();
    }

    // ---- which removals are retried

    private static LockException failure(String kind) {
        return switch (kind) {
            case "unavailable" -> OutageBackend.unreachable();
            case "refused" -> OutageBackend.noPermission();
            default -> new LockClosedException("closed");
        };
    }

    @ParameterizedTest
    @CsvSource({
        "unavailable, ABANDON, true",
        "unavailable, ABANDON_REFUSED, true",
        "refused, RELEASE, true",
        "refused, ABANDON, true",
        "refused, ABANDON_REFUSED, false",
        "closed, RELEASE, false",
        "closed, ABANDON, false"
    })
    void failure_isWorthAnotherTry_orEndsIt(String failure, Removal.Kind kind, boolean again) {
        for (HandledBacklog each : List.of(lasting, expiring)) {
            Removal<Void> removal = each.removal("n", kind);
            assertThat(each.backlog.add(removal, failure(failure))).isEqualTo(again);
            assertThat(removal.isDone()).isEqualTo(!again);
            assertThat(each.backlog.size()).isEqualTo(again ? 1 : 0);
            assertThat(each.requests.isIdle()).isEqualTo(!again);
            assertThat(each.backlog.isDown()).isEqualTo(failure.equals("unavailable"));
        }
    }

    /** The next try is in a second; a lease that has expired by then needs none. */
    @ParameterizedTest
    @CsvSource({"true, 0, false", "true, 1, true", "false, 0, true", "false, -1, true"})
    void refusal_isNotWorthAnotherTry_whenTheLeaseEndsBefore(boolean ends, long nanosMore, boolean again) {
        HandledBacklog it = ends ? expiring : lasting;
        Removal<Void> removal = it.abandonment("n");
        removal.worthUntilNanos = it.nanos() + 1_000 * HandledBacklog.MILLI + nanosMore;
        assertThat(it.backlog.add(removal, OutageBackend.noPermission())).isEqualTo(again);
        assertThat(removal.isDone()).isEqualTo(!again);
    }

    @ParameterizedTest
    @CsvSource({"true, 0, false", "true, 1, true", "false, 0, true"})
    void whatHasEndedWithItsLease_isNotSent(boolean ends, long nanosMore, boolean isSent) {
        HandledBacklog it = ends ? expiring : lasting;
        Removal<Void> removal = it.abandonment("n");
        removal.worthUntilNanos = it.nanos() + nanosMore;
        it.backlog.add(removal);
        it.pass(0);
        assertThat(it.sent).hasSize(isSent ? 1 : 0);
        assertThat(removal.isDone()).isEqualTo(!isSent);
        assertThat(it.backlog.size()).isEqualTo(isSent ? 1 : 0);
    }

    @Test
    void whatIsDone_isNotSent_andWhatIsNotDueIsSentAllTheSame() {
        Removal<Void> refused = lasting.abandonment("refused");
        lasting.backlog.add(refused, OutageBackend.noPermission());
        Removal<Void> over = lasting.abandonment("over");
        lasting.backlog.add(over);
        over.giveUp();
        lasting.pass(999);
        assertThat(lasting.sent).isEmpty();
        assertThat(lasting.backlog.size()).isEqualTo(1);
        lasting.pass(1);
        assertThat(lasting.names()).containsExactly("refused");
    }

    @Test
    void storeIsNotDeadAnyMore_whenNothingWaits() {
        Removal<Void> other = lasting.abandonment("other");
        lasting.backlog.add(other, OutageBackend.noPermission());
        Removal<Void> removal = lasting.abandonment("n");
        lasting.backlog.add(removal, OutageBackend.unreachable());
        assertThat(lasting.backlog.isDown()).isTrue();
        removal.giveUp();
        lasting.pass(500);
        assertThat(lasting.backlog.size()).isEqualTo(1);
        assertThat(lasting.backlog.isDown()).as("the other one waits").isTrue();
        other.giveUp();
        lasting.pass(500);
        assertThat(lasting.backlog.size()).isZero();
        assertThat(lasting.backlog.isDown()).isFalse();
        assertThat(lasting.openTimers).isZero();
    }

    // ---- the end

    @ParameterizedTest
    @ValueSource(strings = {"confirmed", "unavailable", "refused", "closed"})
    void close_givesUpWhatWaits_andWhatIsUnderWayWhenItIsAnswered(String answer) {
        List<Removal<Void>> removals = lasting.add(RoundPace.MIN_SIZE + 2, Removal.Kind.ABANDON);
        lasting.pass(0);
        assertThat(lasting.sent).hasSize(RoundPace.MIN_SIZE);
        lasting.backlog.close();
        assertThat(done(removals)).as("the waiting ones").containsExactly(0, 1);
        assertThat(lasting.backlog.size()).isZero();
        lasting.sent.forEach(each -> each.answered().accept(answer.equals("confirmed") ? null : failure(answer)));
        assertThat(removals).allMatch(Removal::isDone);
        assertThat(lasting.backlog.size()).isZero();
        assertThat(lasting.openTimers).isZero();
        assertThat(lasting.requests.isIdle()).isTrue();
    }

    @Test
    void afterTheClose_nothingIsKept() {
        lasting.add(1, Removal.Kind.ABANDON);
        assertThat(lasting.openTimers).isEqualTo(1);
        lasting.backlog.close();
        assertThat(lasting.openTimers).isZero();
        Removal<Void> fresh = lasting.abandonment("fresh");
        lasting.backlog.add(fresh);
        Removal<Void> failed = lasting.abandonment("failed");
        assertThat(lasting.backlog.add(failed, OutageBackend.unreachable())).isFalse();
        assertThat(List.of(fresh, failed)).allMatch(Removal::isDone);
        assertThat(lasting.backlog.size()).isZero();
        lasting.pass(60_000);
        assertThat(lasting.sent).isEmpty();
    }

    @Test
    void whatIsConfirmedOrClosed_isDone_andWhatFailsIsNot() {
        List<Removal<Void>> removals = lasting.add(3, Removal.Kind.ABANDON);
        lasting.pass(0);
        lasting.sent.get(0).answered().accept(null); // the newest
        lasting.sent.get(1).answered().accept(failure("closed"));
        lasting.sent.get(2).answered().accept(OutageBackend.unreachable());
        assertThat(done(removals)).containsExactly(1, 2);
        assertThat(lasting.backlog.size()).isEqualTo(1);
    }

    @Test
    void timerThatRunsAfterTheClose_sendsNothing() {
        lasting.timersRunAlthoughClosed = true;
        lasting.add(1, Removal.Kind.ABANDON);
        lasting.backlog.close();
        lasting.pass(60_000);
        assertThat(lasting.sent).isEmpty();
        assertThat(lasting.backlog.size()).isZero();
    }

    /** After each call another thread would be used, which never runs. */
    @Test
    void noCall_leavesTheOthersWaiting() {
        List<Runnable> calls = List.of(
                () -> lasting.add(1, Removal.Kind.ABANDON),
                () -> lasting.backlog.add(lasting.abandonment("failed"), OutageBackend.unreachable()),
                () -> lasting.backlog.add(lasting.abandonment("refused"), OutageBackend.noPermission()),
                () -> lasting.pass(100), // a round
                () -> lasting.sent.forEach(each -> each.answered().accept(null)),
                lasting.backlog::close,
                () -> lasting.backlog.add(lasting.abandonment("late"), OutageBackend.unreachable()));
        calls.forEach(call -> {
            call.run();
            CompletableFuture.runAsync(() -> lasting.add(1, Removal.Kind.RELEASE))
                    .orTimeout(20, TimeUnit.SECONDS)
                    .join();
        });
        assertThat(lasting.sent).isNotEmpty();
    }
}
