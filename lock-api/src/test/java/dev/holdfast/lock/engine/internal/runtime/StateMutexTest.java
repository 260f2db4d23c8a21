package dev.holdfast.lock.engine.internal.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.engine.LogText;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** A failure in one transition must not prevent the next ones. */
class StateMutexTest {
    private final List<String> done = new ArrayList<>();

    /** Logging the failure fails. */
    private static final class Unspeakable extends RuntimeException {
        private static final long serialVersionUID = 1;

        @Override
        public String getMessage() {
            throw new IllegalStateException("on purpose");
        }

        @Override
        public String toString() {
            return getMessage();
        }

        @Override
        public StackTraceElement[] getStackTrace() {
            throw new IllegalStateException("on purpose");
        }
    }

    @Test
    void effect_whoseFailureCannotBeLogged_doesNotKeepLaterEffectsFromBeingRun() {
        StateMutex mutex = new StateMutex(() -> {});
        mutex.run(() -> {
            mutex.afterUnlock(() -> {
                throw new Unspeakable();
            });
            mutex.afterUnlock(() -> done.add("same transition"));
        });
        mutex.run(() -> mutex.afterUnlock(() -> done.add("next transition")));
        assertThat(done).containsExactly("same transition", "next transition");
    }

    @Test
    void transition_whoseEndFails_stillHasItsEffectsRun() {
        List<RuntimeException> failures = new ArrayList<>(List.of(new IllegalStateException("on purpose")));
        StateMutex mutex = new StateMutex(() -> {
            if (!failures.isEmpty()) {
                throw failures.remove(0);
            }
        });
        mutex.run(() -> mutex.afterUnlock(() -> done.add("same transition")));
        mutex.run(() -> mutex.afterUnlock(() -> done.add("next transition")));
        assertThat(done).containsExactly("same transition", "next transition");
    }

    @Test
    void effect_thatFails_leavesTheOthersToBeDone() {
        StateMutex mutex = new StateMutex(() -> {});
        mutex.run(() -> {
            mutex.afterUnlock(() -> {
                throw new IllegalStateException("on purpose");
            });
            mutex.afterUnlock(() -> done.add("next"));
        });
        assertThat(done).containsExactly("next");
    }

    @Test
    void effect_thatFails_isTold() {
        StateMutex mutex = new StateMutex(() -> {});
        String log = LogText.of(() -> mutex.run(() -> mutex.afterUnlock(() -> {
            throw new IllegalStateException("on purpose");
        })));
        assertThat(log)
                .containsOnlyOnce("ERROR")
                .contains("a follow-up action of the lock engine failed; please report this")
                .contains("IllegalStateException: on purpose");
    }

    @Test
    void effects_areRunInTheirOrder_afterTheTransitionAndItsEnd_withTheMutexFree() {
        StateMutex mutex = new StateMutex(() -> done.add("end"));
        mutex.run(() -> {
            mutex.afterUnlock(() -> {
                done.add("first");
                CompletableFuture.runAsync(() -> mutex.run(() -> done.add("another thread's")))
                        .orTimeout(10, TimeUnit.SECONDS)
                        .join();
            });
            mutex.afterUnlock(() -> done.add("second"));
            done.add("transition");
        });
        assertThat(done).containsExactly("transition", "end", "first", "another thread's", "end", "second");
    }

    /** Its own transition runs immediately, and the effects of that one run after the current effect. */
    @Test
    void transition_ofAnEffect_isMadeWithinIt_andItsEffectsBehindTheOthers() {
        StateMutex mutex = new StateMutex(() -> {});
        mutex.run(() -> {
            mutex.afterUnlock(() -> {
                mutex.run(() -> {
                    done.add("inner");
                    mutex.afterUnlock(() -> done.add("of the inner"));
                });
                done.add("first");
            });
            mutex.afterUnlock(() -> done.add("second"));
        });
        assertThat(done).containsExactly("inner", "first", "second", "of the inner");
    }

    @Test
    void submit_whileAnotherThreadHasTheMutex_doesNotWait_andRunsBeforeThatThreadLeaves() throws Exception {
        StateMutex mutex = new StateMutex(() -> {});
        CountDownLatch inside = new CountDownLatch(1);
        CountDownLatch leave = new CountDownLatch(1);
        Thread other = new Thread(() -> mutex.run(() -> {
            inside.countDown();
            awaitUninterruptibly(leave);
            done.add("other");
        }));
        other.start();
        inside.await();

        mutex.submit(() -> done.add("first"));
        mutex.submit(() -> {
            done.add("second");
            mutex.afterUnlock(() -> done.add("effect"));
        });
        assertThat(done).isEmpty();
        leave.countDown();
        other.join();

        assertThat(done).containsExactly("other", "first", "second", "effect");
    }

    /** Also in the moment in which it ends its effects, when nothing else comes after. */
    @Test
    void submit_atAnyMomentOfAnotherThread_isNotForgotten() throws Exception {
        int rounds = 100_000;
        AtomicInteger started = new AtomicInteger();
        AtomicReference<StateMutex> current = new AtomicReference<>(new StateMutex(() -> {}));
        AtomicInteger ended = new AtomicInteger();
        Thread other = new Thread(() -> {
            for (int round = 1; round <= rounds; round++) {
                while (started.get() < round) {
                    Thread.onSpinWait();
                }
                StateMutex mutex = current.get();
                mutex.run(() -> mutex.afterUnlock(() -> {}));
                ended.set(round);
            }
        });
        other.start();
        AtomicInteger ran = new AtomicInteger();
        for (int round = 1; round <= rounds; round++) {
            StateMutex mutex = new StateMutex(() -> {});
            current.set(mutex);
            started.set(round);
            for (int i = round % 64; i > 0; i--) {
                Thread.onSpinWait();
            }
            mutex.submit(ran::incrementAndGet);
            while (ended.get() < round) {
                Thread.onSpinWait();
            }
            assertThat(ran).hasValue(round);
        }
        other.join();
    }

    /** The transition of another thread begins while the effects run, and calls what blocks. */
    @Test
    void submit_whoseEffectsEndWhileAnotherThreadHasTheMutex_doesNotWait_andRunsLaterEffects() throws Exception {
        StateMutex mutex = new StateMutex(() -> {});
        CountDownLatch taken = new CountDownLatch(1);
        CountDownLatch end = new CountDownLatch(1);
        Thread other = new Thread(() -> mutex.run(() -> {
            taken.countDown();
            awaitUninterruptibly(end);
        }));
        CompletableFuture<Void> submitting = CompletableFuture.runAsync(() -> {
            mutex.submit(() -> mutex.afterUnlock(() -> {
                other.start();
                awaitUninterruptibly(taken);
            }));
            end.countDown();
            mutex.run(() -> mutex.afterUnlock(() -> done.add("of the same thread")));
        });
        try {
            submitting.get(10, TimeUnit.SECONDS);
        } finally {
            end.countDown();
        }
        other.join(10_000);
        assertThat(done).containsExactly("of the same thread");
    }

    private static void awaitUninterruptibly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
