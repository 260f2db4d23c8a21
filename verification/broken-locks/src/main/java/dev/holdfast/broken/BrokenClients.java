package dev.holdfast.broken;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockListener;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.testkit.fault.ForwardingClient;
import dev.holdfast.lock.testkit.fault.ForwardingLease;
import dev.holdfast.lock.testkit.fault.ForwardingLock;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiFunction;
import java.util.function.UnaryOperator;

/** Clients with one thing wrong. Asynchronous leases are as they should be. */
public final class BrokenClients {
    private BrokenClients() {}

    public static LockClient deadlineFromResponse(LockClient client) {
        return withLeases(client, (lock, lease) -> {
            long untilNanos = System.nanoTime() + lock.options().lease().toNanos();
            AtomicBoolean closed = new AtomicBoolean();
            return new ForwardingLease(lease) {
                @Override
                public boolean isValid() {
                    return !closed.get() && (super.isValid() || untilNanos - System.nanoTime() > 0);
                }

                @Override
                public void close() {
                    closed.set(true);
                    super.close();
                }
            };
        });
    }

    /** Counts by a clock that was set back by an hour right after each grant. */
    public static LockClient wallClock(LockClient client) {
        return withLeases(client, (lock, lease) -> {
            long deadlineMillis =
                    System.currentTimeMillis() + lock.options().lease().toMillis();
            long backMillis = TimeUnit.HOURS.toMillis(1);
            return new ForwardingLease(lease) {
                @Override
                public boolean isValid() {
                    return System.currentTimeMillis() - backMillis < deadlineMillis;
                }
            };
        });
    }

    public static LockClient lossNeverTold(LockClient client) {
        return withLeases(client, (lock, lease) -> new ForwardingLease(lease) {
            @Override
            public CompletionStage<LossReason> lost() {
                return new CompletableFuture<>();
            }
        });
    }

    public static LockClient unlockSwallows(LockClient client) {
        return withLocks(client, lock -> new ForwardingLock(lock) {
            @Override
            public void unlock() {
                quietly(super::unlock);
            }

            @Override
            protected Lease wrap(Lease lease) {
                return new ForwardingLease(lease) {
                    @Override
                    public void close() {
                        quietly(super::close);
                    }
                };
            }
        });
    }

    private static void quietly(Runnable action) {
        try {
            action.run();
        } catch (LockException | IllegalMonitorStateException e) {
            // This is what is wrong with it.
        }
    }

    public static LockClient tokenOnReentry(LockClient client) {
        return withLocks(client, lock -> new ForwardingLock(lock) {
            private final AtomicInteger reentries = new AtomicInteger();

            @Override
            public boolean tryLock() {
                reentries.addAndGet(isHeldByCurrentThread() ? 1 : 0);
                return super.tryLock();
            }

            @Override
            public Optional<Lease> held() {
                int more = reentries.get();
                return super.held().map(held -> new ForwardingLease(held) {
                    @Override
                    public long token() {
                        return super.token() + more;
                    }
                });
            }
        });
    }

    public static LockClient tokenOfServerOnly(LockClient client) {
        return withLeases(client, (lock, lease) -> new ForwardingLease(lease) {
            @Override
            public long token() {
                return super.token() >> 10 << 10;
            }
        });
    }

    public static LockClient closeLeavesLocks(LockClient client) {
        return new ForwardingClient(client) {
            @Override
            public void close() {
                // This is what is wrong with it.
            }
        };
    }

    public static LockClient lossToldTwice(LockClient client) {
        return new ForwardingClient(client) {
            @Override
            public void addListener(LockListener listener) {
                super.addListener(listener);
                super.addListener(new LockListener() {
                    @Override
                    public void lost(String name, long token, Duration held, LossReason reason) {
                        listener.lost(name, token, held, reason);
                    }
                });
            }
        };
    }

    public static LockClient leaseOwnedByItsThread(LockClient client) {
        return withLocks(client, lock -> new ForwardingLock(lock) {
            @Override
            public Optional<Lease> tryAcquire() {
                return super.tryLock() ? held().map(held -> unlocking(this, held)) : Optional.empty();
            }
        });
    }

    private static Lease unlocking(DistributedLock lock, Lease held) {
        return new ForwardingLease(held) {
            @Override
            public void close() {
                lock.unlock();
            }
        };
    }

    public static LockClient viewReleases(LockClient client) {
        return withLocks(client, lock -> new ForwardingLock(lock) {
            @Override
            public Optional<Lease> held() {
                return super.held().map(held -> unlocking(this, held));
            }
        });
    }

    public static LockClient unlockByAnybody(LockClient client) {
        Map<String, Lease> held = new ConcurrentHashMap<>();
        return withLocks(client, lock -> new ForwardingLock(lock) {
            @Override
            public void lock() {
                held.put(name(), super.acquireAsync(Duration.ofMinutes(1)).join());
            }

            @Override
            public void unlock() {
                Lease lease = held.remove(name());
                if (lease == null) {
                    throw new IllegalMonitorStateException(name());
                }
                lease.close();
            }
        });
    }

    public static LockClient interruptIgnored(LockClient client) {
        return withLocks(client, lock -> new ForwardingLock(lock) {
            @Override
            public void lockInterruptibly() {
                lock();
            }
        });
    }

    public static LockClient flagForgotten(LockClient client) {
        return withLocks(client, lock -> new ForwardingLock(lock) {
            @Override
            public void lock() {
                super.lock();
                Thread.interrupted();
            }
        });
    }

    public static LockClient neverWaits(LockClient client) {
        return withLocks(client, lock -> new ForwardingLock(lock) {
            @Override
            public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
                return super.tryLock(0, unit);
            }
        });
    }

    private static LockClient withLocks(LockClient client, UnaryOperator<DistributedLock> wrap) {
        return new ForwardingClient(client) {
            @Override
            protected DistributedLock wrap(DistributedLock lock) {
                return wrap.apply(lock);
            }
        };
    }

    private static LockClient withLeases(LockClient client, BiFunction<DistributedLock, Lease, Lease> wrap) {
        return withLocks(client, lock -> new ForwardingLock(lock) {
            @Override
            protected Lease wrap(Lease lease) {
                return wrap.apply(lock, lease);
            }
        });
    }
}
