package dev.holdfast.lock.spi.support;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.Test;

/** How many calls run at a time, and in which order. */
final class CallLimitTest {
    private final CallLimit limit = new CallLimit(2);
    private final AtomicBoolean isOver = new AtomicBoolean();
    private final List<CompletableFuture<Integer>> started = new ArrayList<>();

    private CompletableFuture<Integer> call() {
        return limit.run(
                () -> {
                    started.add(new CompletableFuture<>());
                    return started.get(started.size() - 1);
                },
                isOver::get);
    }

    @Test
    void calls_beyondTheLimit_startInTheirOrder_whenOthersHaveEnded() {
        CompletableFuture<Integer> first = call();
        CompletableFuture<Integer> second = call();
        CompletableFuture<Integer> third = call();
        CompletableFuture<Integer> fourth = call();
        assertThat(started).hasSize(2);

        started.get(1).completeExceptionally(new IllegalStateException("by the test"));
        assertThat(second).isCompletedExceptionally();
        started.get(2).complete(3);
        started.get(0).complete(1);
        started.get(3).complete(4);

        assertThat(first).isCompletedWithValue(1);
        assertThat(third).isCompletedWithValue(3);
        assertThat(fourth).isCompletedWithValue(4);
    }

    @Test
    void call_thatThrows_leavesItsPlace() {
        for (int i = 0; i < 5; i++) {
            assertThat(limit.run(
                            () -> {
                                throw new IllegalStateException("by the test");
                            },
                            () -> false))
                    .isCompletedExceptionally();
        }

        call();

        assertThat(started).hasSize(1);
    }

    /** Without memory, even the listener of a call that was made cannot be added. */
    @Test
    void call_thatEndsWithAnError_leavesItsPlace() {
        InternalError error = new InternalError("by the test");
        for (int i = 0; i < 5; i++) {
            CompletableFuture<Integer> result = limit.run(
                    () -> new CompletableFuture<>() {
                        @Override
                        public CompletableFuture<Integer> whenComplete(
                                BiConsumer<? super Integer, ? super Throwable> action) {
                            throw error;
                        }
                    },
                    () -> false);
            assertThat(result).isCompletedExceptionally();
            assertThat(result.handle((value, failure) -> failure)).isCompletedWithValue(error);
        }

        call();
        call();
        call();

        assertThat(started).hasSize(2);
    }

    /** Such an answer may come after the error, and must not leave the place of another call. */
    @Test
    void call_thatEndsWithAnError_andIsAnsweredNevertheless_leavesOnePlace() {
        CompletableFuture<Integer> answered = new CompletableFuture<>() {
            @Override
            public CompletableFuture<Integer> whenComplete(BiConsumer<? super Integer, ? super Throwable> action) {
                super.whenComplete(action);
                throw new InternalError("by the test");
            }
        };
        limit.run(() -> answered, () -> false);
        call();
        call();

        answered.complete(1);
        call();

        assertThat(started).hasSize(2);
    }

    /** Each ends in the one before it. */
    @Test
    void manyCalls_thatEndAtOnce_needNoDeepStack() {
        call();
        call();
        List<CompletableFuture<Integer>> others = new ArrayList<>();
        for (int i = 0; i < 100_000; i++) {
            others.add(limit.run(() -> CompletableFuture.completedFuture(1), () -> false));
        }

        started.get(0).complete(0);

        assertThat(others).allMatch(CompletableFuture::isDone);
    }

    @Test
    void calls_whoseTimeIsOverBeforeTheyStart_areNotMade() {
        call();
        call();
        CompletableFuture<Integer> late = call();
        CompletableFuture<Integer> later = call();
        isOver.set(true);
        started.get(0).complete(1);
        isOver.set(false);

        call();

        assertThat(started).hasSize(3);
        assertThat(late).isNotDone();
        assertThat(later).isNotDone();
    }
}
