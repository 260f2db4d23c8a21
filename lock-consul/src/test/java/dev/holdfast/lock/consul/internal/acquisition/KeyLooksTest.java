package dev.holdfast.lock.consul.internal.acquisition;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.consul.internal.session.Transaction;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.Test;

/** An Error, as without memory, fails the looks that it concerns; those that follow are made. */
final class KeyLooksTest {
    private final Error error = new InternalError("by the test");
    private final Queue<Runnable> rounds = new ArrayDeque<>();
    private int refusedRounds;
    private int requests;
    /** The number of the request to whose answer nothing can be added; none at first. */
    private int brokenRequest;

    private Runnable whileAsked = () -> {};

    private final KeyLooks looks = new KeyLooks(unused -> answer(), round -> {
        if (refusedRounds > 0) {
            refusedRounds--;
            throw error;
        }
        rounds.add(round);
    });

    private CompletableFuture<Transaction.Outcome> answer() {
        Transaction.Outcome absent = new Transaction.Outcome(List.of(), Map.of());
        requests++;
        whileAsked.run();
        return requests != brokenRequest
                ? CompletableFuture.completedFuture(absent)
                : new CompletableFuture<>() {
                    @Override
                    public CompletableFuture<Transaction.Outcome> whenComplete(
                            BiConsumer<? super Transaction.Outcome, ? super Throwable> action) {
                        throw error;
                    }
                };
    }

    private void runRounds() {
        for (Runnable round = rounds.poll(); round != null; round = rounds.poll()) {
            round.run();
        }
    }

    private void assertFailed(CompletableFuture<Boolean> look) {
        assertThat(look).isCompletedExceptionally();
        assertThat(look.handle((absent, failure) -> failure.getCause())).isCompletedWithValue(error);
    }

    private void assertLooks(String key) {
        CompletableFuture<Boolean> look = looks.isAbsent(key);
        runRounds();
        assertThat(look).isCompletedWithValue(true);
    }

    @Test
    void noThreadForARound_failsItsLooks() {
        refusedRounds = 1;
        assertFailed(looks.isAbsent("a"));
        assertLooks("a");
        assertLooks("b");
    }

    /** The next round is planned when the answers of the present one are there. */
    @Test
    void noThreadForTheNextRound_failsItsLooks() {
        CompletableFuture<Boolean> one = looks.isAbsent("a");
        Runnable round = rounds.remove();
        List<CompletableFuture<Boolean>> next = new ArrayList<>();
        whileAsked = () -> next.add(looks.isAbsent("b"));
        refusedRounds = 1;

        round.run();

        whileAsked = () -> {};
        assertThat(one).isCompletedWithValue(true);
        assertThat(next).singleElement().satisfies(this::assertFailed);
        assertLooks("b");
    }

    @Test
    void requestThatEndsWithAnError_failsItsLooks() {
        brokenRequest = 1;
        CompletableFuture<Boolean> look = looks.isAbsent("a");
        runRounds();
        assertFailed(look);
        assertLooks("a");
    }

    /** A round of more keys than a transaction can have is several requests. */
    @Test
    void secondRequestOfARoundEndsWithAnError_failsItsLooksAlone() {
        brokenRequest = 2;
        List<CompletableFuture<Boolean>> all = new ArrayList<>();
        for (int i = 0; i < Transaction.MAX_OPERATIONS + 1; i++) {
            all.add(looks.isAbsent("n" + i));
        }

        runRounds();

        assertThat(requests).isEqualTo(2);
        assertThat(all.subList(0, Transaction.MAX_OPERATIONS)).allMatch(look -> look.getNow(false));
        assertFailed(all.get(Transaction.MAX_OPERATIONS));
        assertLooks("a");
    }
}
