package dev.holdfast.broken;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.MultiLock;
import dev.holdfast.lock.testkit.fault.ForwardingClient;
import dev.holdfast.lock.testkit.fault.ForwardingLease;
import dev.holdfast.lock.testkit.fault.ForwardingLock;
import java.time.Duration;
import java.util.Collection;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Elections and multi-locks with one thing wrong. */
public final class BrokenRecipes {
    private BrokenRecipes() {}

    /** A lease that seems to last half as long again, so that the leader is notified after its end. */
    public static LockClient leaderToldLate(LockClient client) {
        return new ForwardingClient(client) {
            @Override
            protected DistributedLock wrap(DistributedLock lock) {
                return new ForwardingLock(lock) {
                    @Override
                    protected Lease wrap(Lease lease) {
                        return new LateLease(lease, lock.options().lease().dividedBy(2));
                    }
                };
            }
        };
    }

    /** A lease of which there seems to be so much left that the leader is interrupted at its very end. */
    public static LockClient leaderToldAtTheEnd(LockClient client) {
        return new ForwardingClient(client) {
            @Override
            protected DistributedLock wrap(DistributedLock lock) {
                return new ForwardingLock(lock) {
                    @Override
                    protected Lease wrap(Lease lease) {
                        Duration stopTime = lock.options().lease().dividedBy(3);
                        return new ForwardingLease(lease) {
                            @Override
                            public Duration remaining() {
                                return super.isValid() ? super.remaining().plus(stopTime) : Duration.ZERO;
                            }
                        };
                    }
                };
            }
        };
    }

    private static final class LateLease extends ForwardingLease {
        private final long lateNanos;
        private final Executor later;
        private volatile boolean closed;
        private volatile long endedNanos;
        private volatile boolean ended;

        LateLease(Lease lease, Duration late) {
            super(lease);
            this.lateNanos = late.toNanos();
            this.later = CompletableFuture.delayedExecutor(lateNanos, TimeUnit.NANOSECONDS);
        }

        @Override
        public boolean isValid() {
            if (closed || super.isValid()) {
                return !closed;
            }
            if (!ended) {
                endedNanos = System.nanoTime();
                ended = true;
            }
            return System.nanoTime() - endedNanos < lateNanos;
        }

        @Override
        public Duration remaining() {
            return isValid() ? super.remaining().plusNanos(lateNanos) : Duration.ZERO;
        }

        @Override
        public CompletionStage<LossReason> lost() {
            return super.lost().thenApplyAsync(reason -> reason, later);
        }

        @Override
        public void close() {
            closed = true;
            super.close();
        }
    }

    /** Whoever does not get all locks keeps those that it has. */
    public static LockClient multiLockLeftHalf(LockClient client) {
        return new ForwardingClient(client) {
            @Override
            public MultiLock lockAll(Collection<String> names, LockOptions options) {
                return new Grabbing(client, Set.copyOf(names).size()).lockAll(names, options);
            }
        };
    }

    /** Closes leases only if there are as many as were wanted. For one acquisition. */
    private static final class Grabbing extends ForwardingClient {
        private final int wanted;
        private final AtomicInteger acquired = new AtomicInteger();

        Grabbing(LockClient client, int wanted) {
            super(client);
            this.wanted = wanted;
        }

        @Override
        protected DistributedLock wrap(DistributedLock lock) {
            return new ForwardingLock(lock) {
                @Override
                protected Lease wrap(Lease lease) {
                    acquired.incrementAndGet();
                    return new ForwardingLease(lease) {
                        @Override
                        public void close() {
                            if (acquired.get() == wanted) {
                                super.close();
                            }
                        }
                    };
                }
            };
        }
    }
}
