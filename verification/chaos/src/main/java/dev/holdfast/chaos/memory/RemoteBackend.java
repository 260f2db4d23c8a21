package dev.holdfast.chaos.memory;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.BackendInfo;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A backend on a {@link MemoryServer}. One connection, made again by the next request after it broke; requests that were in flight
 * then has an unknown outcome. Thread-safe.
 */
public final class RemoteBackend implements LockBackend {
    /** What the store's address begins with; its port follows. */
    public static final String SCHEME = "memory-tcp:";

    /** What asks for a lock's holder; the name follows, and a byte and more if there is one are the answer. */
    public static final int HOLDER = Wire.HOLDER;

    /** Rarely enough to show a wake-up that does not come, and before the store drops waiters that do not ask again. */
    private static final long POLL_MILLIS = 2_700;

    /** More often: what is handed over is counted from the latest attempt. */
    private static final long HANDED_POLL_MILLIS = 1_000;

    /** A waiter's latest attempt. */
    private record Latest(long round, AcquireRequest request) {}

    /** The handle of a grant that was handed over: its first renewal gives it the lease that was asked for. */
    private record AskedLease(long millis) {}

    private final int port;
    private final BackendInfo info;
    private final AtomicLong rounds = new AtomicLong();
    private final Map<OwnerId, Latest> latest = new ConcurrentHashMap<>();
    private final ReentrantLock lock = new ReentrantLock();
    private final Map<OwnerId, Runnable> subscriptions = new ConcurrentHashMap<>();
    private @Nullable RemoteConnection connection;
    private final RemoteConnection.Listener listener = new Heard();
    private boolean closed;

    /**
     * Makes a backend; connects with the first request.
     *
     * @param port of the server on this machine
     */
    public RemoteBackend(int port) {
        this(port, false);
    }

    /**
     * Makes a backend; connects with the first request.
     *
     * @param port of the server on this machine
     * @param handsOver whether the server makes waiters the holders and notifies them
     */
    public RemoteBackend(int port, boolean handsOver) {
        this.port = port;
        long pollMillis = handsOver ? HANDED_POLL_MILLIS : POLL_MILLIS;
        this.info = BackendInfo.named("memory-tcp")
                .fifo(true)
                .minLeaseMillis(1)
                .pollMinMillis(pollMillis)
                .pollMaxMillis(pollMillis)
                .handsOver(handsOver)
                .demands(EnumSet.allOf(Demand.Kind.class))
                .build();
    }

    @Override
    public BackendInfo info() {
        return info;
    }

    @Override
    public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
        OwnerId owner = request.acquisition().owner();
        long round = rounds.incrementAndGet();
        boolean takesOver = request.onHandOver() != null && request.demand() instanceof Demand.Exclusive;
        if (takesOver) {
            latest.put(owner, new Latest(round, request));
        } else {
            latest.remove(owner);
        }
        return send(
                Wire.ATTEMPT,
                out -> {
                    Wire.write(out, request.acquisition());
                    out.writeLong(request.leaseMillis());
                    out.writeLong(request.waitMillis());
                    out.writeBoolean(request.fair());
                    out.writeBoolean(request.ticket() != null);
                    out.writeLong(request.timeoutMillis());
                    out.writeUTF(request.identity().encoded());
                    out.writeLong(takesOver ? round : 0);
                },
                (status, in) -> switch (status) {
                    case Wire.GRANTED ->
                        new AcquireResult.Granted(
                                new Grant(request.acquisition(), in.readLong(), in.readLong(), in.readInt(), null));
                    case Wire.OTHER_LIMIT -> new AcquireResult.OtherLimit(in.readInt());
                    case Wire.BUSY -> new AcquireResult.Busy(in.readLong(), null);
                    case Wire.BUSY_WITH_TICKET ->
                        new AcquireResult.Busy(in.readLong(), new RemoteTicket(request.acquisition()));
                    default -> throw unexpected(status);
                });
    }

    @Override
    public Subscription subscribe(Ticket ticket, Runnable onMaybeFree) {
        AcquisitionId acquisition = ((RemoteTicket) ticket).acquisition();
        subscriptions.put(acquisition.owner(), onMaybeFree);
        RemoteConnection.Body<Void> nothing = (status, in) -> null;
        send(Wire.SUBSCRIBE, out -> Wire.write(out, acquisition), nothing);
        return () -> {
            if (subscriptions.remove(acquisition.owner(), onMaybeFree)) {
                send(Wire.UNSUBSCRIBE, out -> Wire.write(out, acquisition), nothing);
            }
        };
    }

    @Override
    public CompletionStage<Void> abandon(AcquisitionId acquisition, long timeoutMillis) {
        latest.remove(acquisition.owner());
        RemoteConnection.Body<Void> nothing = (status, in) -> null;
        return send(Wire.ABANDON, out -> Wire.write(out, acquisition), nothing);
    }

    @Override
    public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
        return send(
                Wire.RENEW,
                out -> {
                    out.writeInt(grants.size());
                    for (Grant grant : grants) {
                        Wire.write(out, full(grant));
                    }
                },
                (status, in) -> {
                    List<RenewResult> results = new ArrayList<>();
                    for (int i = 0; i < grants.size(); i++) {
                        results.add(readRenewal(in));
                    }
                    return results;
                });
    }

    private static Grant full(Grant grant) {
        return grant.handle() instanceof AskedLease asked
                ? new Grant(grant.acquisition(), grant.token(), asked.millis(), grant.slot(), null)
                : grant;
    }

    private static RenewResult readRenewal(DataInputStream in) throws IOException {
        int result = in.readByte();
        return switch (result) {
            case Wire.RENEWED -> new RenewResult.Renewed(in.readLong());
            case Wire.LOST -> new RenewResult.Lost(LossReason.REVOKED, in.readUTF());
            default -> new RenewResult.Unknown("no answer", null);
        };
    }

    @Override
    public CompletionStage<ReleaseResult> release(Grant grant, long timeoutMillis) {
        return send(
                Wire.RELEASE,
                out -> Wire.write(out, grant),
                (status, in) -> status == Wire.RELEASED ? ReleaseResult.RELEASED : ReleaseResult.NOT_HELD);
    }

    @Override
    public CompletionStage<Optional<HolderInfo>> holder(String name, long timeoutMillis) {
        return send(
                Wire.HOLDER,
                out -> out.writeUTF(name),
                (status, in) -> status == Wire.NOBODY
                        ? Optional.empty()
                        : Optional.of(new HolderInfo("", "", 0, Instant.EPOCH, in.readLong())));
    }

    private static IOException unexpected(int status) {
        return new IOException("memory server answered with " + status);
    }

    private <T> CompletionStage<T> send(int what, Writer writer, RemoteConnection.Body<T> body) {
        try {
            return connection().send(what, writer, body);
        } catch (IOException e) {
            return CompletableFuture.failedStage(new LockUnavailableException(
                    "memory server at port " + port + " cannot be reached: " + e.getMessage(), e));
        }
    }

    private RemoteConnection connection() throws IOException {
        lock.lock();
        try {
            if (closed) {
                throw new IOException("closed");
            }
            RemoteConnection open = connection;
            if (open == null || open.isBroken()) {
                open = RemoteConnection.open(port, listener);
                connection = open;
            }
            return open;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void close() {
        RemoteConnection open;
        lock.lock();
        try {
            closed = true;
            open = connection;
        } finally {
            lock.unlock();
        }
        subscriptions.clear();
        if (open != null) {
            open.close();
        }
    }

    private final class Heard implements RemoteConnection.Listener {
        @Override
        public void signalled(OwnerId owner) {
            Runnable onMaybeFree = subscriptions.get(owner);
            if (onMaybeFree != null) {
                onMaybeFree.run();
            }
        }

        /** Counts for the latest attempt only; the answer to a later one decides. */
        @Override
        public void handed(OwnerId owner, long round, long token, long leaseMillis) {
            Latest asked = latest.get(owner);
            Consumer<Grant> onHandOver = asked == null ? null : asked.request().onHandOver();
            if (asked == null || onHandOver == null || asked.round() != round || !latest.remove(owner, asked)) {
                signalled(owner);
                return;
            }
            AcquireRequest request = asked.request();
            onHandOver.accept(
                    new Grant(request.acquisition(), token, leaseMillis, 0, new AskedLease(request.leaseMillis())));
        }

        /** Places are lost with the connection: every waiter should ask again. */
        @Override
        public void broken() {
            subscriptions.values().forEach(Runnable::run);
        }
    }

    /** Writes a request's fields. */
    @FunctionalInterface
    interface Writer {
        void write(DataOutputStream out) throws IOException;
    }
}
