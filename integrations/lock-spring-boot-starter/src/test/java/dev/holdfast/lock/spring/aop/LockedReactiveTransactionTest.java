package dev.holdfast.lock.spring.aop;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockTimeoutException;
import dev.holdfast.lock.spring.Locked;
import dev.holdfast.lock.spring.ReactiveLease;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.reactive.AbstractReactiveTransactionManager;
import org.springframework.transaction.reactive.GenericReactiveTransaction;
import org.springframework.transaction.reactive.TransactionSynchronizationManager;
import org.springframework.transaction.reactive.TransactionalOperator;
import reactor.core.publisher.Mono;

/** Publishers within a transaction of their subscription. */
class LockedReactiveTransactionTest {
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private final LockedApplication application = new LockedApplication();
    private final ApplicationContextRunner runner = application.with(Jobs.class);
    private final RecordingTransactions transactions = new RecordingTransactions(application);
    private final TransactionalOperator operator = TransactionalOperator.create(transactions);

    @Test
    void lock_isKept_untilTheTransactionHasCompleted() {
        runner.run(context -> {
            Jobs jobs = context.getBean(Jobs.class);
            Boolean free = jobs.mono(() -> Mono.just("x"))
                    .then(Mono.fromCallable(() -> application.isFree("job")))
                    .as(operator::transactional)
                    .block(PATIENCE);
            assertThat(free).isFalse();
            assertThat(transactions.events).containsExactly("commit, lock free: false");
            assertThat(application.isFree("job")).isTrue();

            assertThatThrownBy(() -> jobs.mono(() -> Mono.error(new IllegalStateException("own")))
                            .as(operator::transactional)
                            .block(PATIENCE))
                    .hasMessage("own");
            assertThat(transactions.events).endsWith("rollback, lock free: false");
            assertThat(application.isFree("job")).isTrue();
        });
    }

    @Test
    void nestedCalls_giveBackEachOfTheirShares() {
        runner.run(context -> {
            Jobs jobs = context.getBean(Jobs.class);
            assertThat(jobs.mono(() -> jobs.mono(() -> Mono.just("x")))
                            .as(operator::transactional)
                            .block(PATIENCE))
                    .isEqualTo("x");
            assertThat(application.isFree("job")).isTrue();
        });
    }

    @Test
    void publishersOfOneTransaction_oneAfterTheOther_shareTheLease() {
        runner.run(context -> {
            Jobs jobs = context.getBean(Jobs.class);
            List<Long> tokens = new CopyOnWriteArrayList<>();
            Mono<Long> token = jobs.token(tokens);
            assertThat(token.then(token).as(operator::transactional).block(PATIENCE))
                    .isNotNull();
            assertThat(tokens).hasSize(2);
            assertThat(tokens.get(0)).isEqualTo(tokens.get(1));
            assertThat(transactions.events).containsExactly("commit, lock free: false");
            assertThat(application.isFree("job")).isTrue();
        });
    }

    @Test
    void publishersOfOneTransaction_atTheSameTime_shareTheLeaseThatTheFirstAcquires() {
        runner.run(context -> {
            Jobs jobs = context.getBean(Jobs.class);
            List<Long> tokens = new CopyOnWriteArrayList<>();
            Mono<Long> token = jobs.token(tokens);
            Mono<Long> all = Mono.when(token, token, token).thenReturn(1L);
            assertThat(all.as(operator::transactional).block(PATIENCE)).isEqualTo(1L);
            assertThat(tokens).hasSize(3);
            assertThat(Set.copyOf(tokens)).hasSize(1);
            assertThat(application.isFree("job")).isTrue();
        });
    }

    @Test
    void publisher_afterOneThatDidNotGetTheLock_asksItself() {
        runner.run(context -> {
            Jobs jobs = context.getBean(Jobs.class);
            LockClient elsewhere = application.store.newClient(LockClientOptions.defaults());
            Lease held = elsewhere.lock("job").acquire();
            Mono<String> first = jobs.once().onErrorReturn(LockTimeoutException.class, "busy");
            Mono<String> second = Mono.fromRunnable(held::close).then(jobs.mono(() -> Mono.just("mine")));
            assertThat(first.zipWhen(busy -> second)
                            .map(both -> both.getT1() + ", then " + both.getT2())
                            .as(operator::transactional)
                            .block(PATIENCE))
                    .isEqualTo("busy, then mine");
            assertThat(transactions.events).containsExactly("commit, lock free: false");
            assertThat(application.isFree("job")).isTrue();
            elsewhere.close();
        });
    }

    @Test
    void commit_isRefused_ifTheLeaseWasLost() {
        runner.run(context -> {
            assertThatThrownBy(() -> context.getBean(Jobs.class)
                            .mono(() -> Mono.just("x"))
                            .doOnNext(any -> context.getBean(LockClient.class).close())
                            .as(operator::transactional)
                            .block(PATIENCE))
                    .isInstanceOf(LeaseLostException.class);
            assertThat(transactions.events).noneMatch(event -> event.startsWith("commit"));
        });
    }

    @Test
    void withinATransaction_itIsRefused_ifThePropertySaysSo() {
        runner.withPropertyValues("holdfast.annotation.in-transaction=fail").run(context -> {
            Mono<String> mono = context.getBean(Jobs.class).mono(() -> Mono.just("x"));
            assertThatThrownBy(() -> mono.as(operator::transactional).block(PATIENCE))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("outside of the transaction");
            assertThat(application.store.commands()).isEqualTo(2); // those of the look at the rollback
            assertThat(mono.block(PATIENCE)).isEqualTo("x");
        });
    }

    static class Jobs {
        @Locked("job")
        public Mono<String> mono(Supplier<Mono<String>> work) {
            return work.get();
        }

        @Locked(name = "job", waitFor = "0s")
        public Mono<String> once() {
            return Mono.just("mine");
        }

        @Locked("job")
        public Mono<Long> token(List<Long> tokens) {
            return ReactiveLease.require().map(Lease::token).doOnNext(tokens::add);
        }
    }

    /** Transactions that only report their completion. */
    private static final class RecordingTransactions extends AbstractReactiveTransactionManager {
        private static final long serialVersionUID = 1L;
        private final transient List<String> events = new CopyOnWriteArrayList<>();
        private final transient LockedApplication application;

        RecordingTransactions(LockedApplication application) {
            this.application = application;
        }

        @Override
        protected Object doGetTransaction(TransactionSynchronizationManager manager) {
            return new Object();
        }

        @Override
        protected Mono<Void> doBegin(
                TransactionSynchronizationManager manager,
                Object transaction,
                @Nullable TransactionDefinition definition) {
            return Mono.empty();
        }

        @Override
        protected Mono<Void> doCommit(TransactionSynchronizationManager manager, GenericReactiveTransaction status) {
            return Mono.fromRunnable(() -> events.add("commit, lock free: " + application.isFree("job")));
        }

        @Override
        protected Mono<Void> doRollback(TransactionSynchronizationManager manager, GenericReactiveTransaction status) {
            return Mono.fromRunnable(() -> events.add("rollback, lock free: " + application.isFree("job")));
        }
    }
}
