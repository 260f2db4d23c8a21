package dev.holdfast.chaos.memory;

import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** Serves one client. Its places in the queues end with its connection, its grants do not. */
final class MemoryConnection implements Runnable {
    private static final long TIMEOUT_MILLIS = 1_000;

    private final Socket socket;
    private final LockBackend backend;
    private final ReentrantLock writing = new ReentrantLock();
    private final Map<OwnerId, Ticket> tickets = new ConcurrentHashMap<>();
    private final Map<OwnerId, Subscription> subscriptions = new ConcurrentHashMap<>();
    private final @Nullable HandOvers handOvers;

    MemoryConnection(Socket socket, LockBackend backend) {
        this(socket, backend, 0);
    }

    /** With a lease of that many milliseconds at most for those that it makes holders; 0 if it only calls them. */
    MemoryConnection(Socket socket, LockBackend backend, long handedMillis) {
        this.socket = socket;
        this.backend = backend;
        this.handOvers = handedMillis == 0 ? null : new HandOvers(backend, handedMillis, this::call, this::hand);
    }

    @Override
    public void run() {
        try (socket;
                DataInputStream in = new DataInputStream(new BufferedInputStream(socket.getInputStream()))) {
            while (true) {
                serve(in.readInt(), in.readByte(), in);
            }
        } catch (IOException e) {
            // The client has gone.
        } finally {
            backend.close();
        }
    }

    private void serve(int number, int what, DataInputStream in) throws IOException {
        switch (what) {
            case Wire.ATTEMPT -> tryAcquire(number, in);
            case Wire.ABANDON -> {
                AcquisitionId acquisition = Wire.readAcquisition(in);
                tickets.remove(acquisition.owner());
                answer(number, backend.abandon(acquisition, TIMEOUT_MILLIS), (out, done) -> out.writeByte(Wire.DONE));
            }
            case Wire.RENEW -> {
                int size = in.readInt();
                List<Grant> grants = new ArrayList<>();
                for (int i = 0; i < size; i++) {
                    grants.add(Wire.readGrant(in));
                }
                answer(number, backend.renew(grants, TIMEOUT_MILLIS), MemoryConnection::renewals);
            }
            case Wire.RELEASE ->
                answer(
                        number,
                        backend.release(Wire.readGrant(in), TIMEOUT_MILLIS),
                        (out, result) ->
                                out.writeByte(result == ReleaseResult.RELEASED ? Wire.RELEASED : Wire.NOT_HELD));
            case Wire.HOLDER -> answer(number, backend.holder(in.readUTF(), TIMEOUT_MILLIS), MemoryConnection::holder);
            case Wire.SUBSCRIBE -> subscribe(number, Wire.readAcquisition(in));
            case Wire.UNSUBSCRIBE -> {
                Subscription subscription =
                        subscriptions.remove(Wire.readAcquisition(in).owner());
                if (subscription != null) {
                    subscription.close();
                }
                write(number, out -> out.writeByte(Wire.DONE));
            }
            default -> throw new IOException("unknown request " + what);
        }
    }

    private void tryAcquire(int number, DataInputStream in) throws IOException {
        AcquisitionId acquisition = Wire.readAcquisition(in);
        long leaseMillis = in.readLong();
        long waitMillis = in.readLong();
        boolean fair = in.readBoolean();
        boolean waited = in.readBoolean();
        Ticket ticket = waited ? tickets.get(acquisition.owner()) : null;
        AcquireRequest request = new AcquireRequest(
                acquisition, leaseMillis, waitMillis, fair, ticket, in.readLong(), Identity.decode(in.readUTF()));
        long round = in.readLong();
        CompletionStage<AcquireResult> result =
                handOvers == null ? backend.tryAcquire(request) : handOvers.tryAcquire(request, round);
        answer(number, result, (out, attempt) -> {
            if (attempt instanceof AcquireResult.Granted granted) {
                out.writeByte(Wire.GRANTED);
                out.writeLong(granted.grant().token());
                out.writeLong(granted.grant().leaseMillis());
                out.writeInt(granted.grant().slot());
            } else if (attempt instanceof AcquireResult.Busy busy) {
                Ticket given = busy.ticket();
                if (given != null) {
                    tickets.put(acquisition.owner(), given);
                    if (waited && ticket == null) { // it was subscribed by a connection that has broken
                        subscribe(given, acquisition.owner());
                    }
                }
                out.writeByte(given == null ? Wire.BUSY : Wire.BUSY_WITH_TICKET);
                out.writeLong(busy.remainingMillis());
            } else if (attempt instanceof AcquireResult.OtherLimit other) {
                out.writeByte(Wire.OTHER_LIMIT);
                out.writeInt(other.limit());
            }
        });
    }

    private void subscribe(int number, AcquisitionId acquisition) throws IOException {
        Ticket ticket = tickets.get(acquisition.owner());
        write(number, out -> out.writeByte(Wire.DONE));
        if (ticket == null) {
            signal(acquisition.owner());
        } else {
            subscribe(ticket, acquisition.owner());
        }
    }

    private void subscribe(Ticket ticket, OwnerId owner) {
        subscriptions.put(owner, backend.subscribe(ticket, () -> signal(owner)));
    }

    private void signal(OwnerId owner) {
        if (handOvers == null) {
            call(owner);
        } else {
            handOvers.signal(owner);
        }
    }

    private void hand(OwnerId owner, long round, Grant grant) {
        try {
            write(Wire.HANDED, out -> {
                Wire.write(out, owner);
                out.writeLong(round);
                out.writeLong(grant.token());
                out.writeLong(grant.leaseMillis());
            });
        } catch (IOException e) {
            // The client has gone.
        }
    }

    private void call(OwnerId owner) {
        try {
            write(Wire.SIGNAL, out -> Wire.write(out, owner));
        } catch (IOException e) {
            // The client has gone.
        }
    }

    private static void renewals(DataOutputStream out, List<RenewResult> results) throws IOException {
        out.writeByte(Wire.DONE);
        for (RenewResult result : results) {
            if (result instanceof RenewResult.Renewed renewed) {
                out.writeByte(Wire.RENEWED);
                out.writeLong(renewed.leaseMillis());
            } else if (result instanceof RenewResult.Lost lost) {
                out.writeByte(Wire.LOST);
                out.writeUTF(lost.detail());
            } else {
                out.writeByte(Wire.UNKNOWN);
            }
        }
    }

    private static void holder(DataOutputStream out, Optional<HolderInfo> holder) throws IOException {
        out.writeByte(holder.isPresent() ? Wire.HELD : Wire.NOBODY);
        if (holder.isPresent()) {
            out.writeLong(holder.get().token());
        }
    }

    private <T> void answer(int number, CompletionStage<T> stage, Answer<T> answer) {
        stage.whenComplete((value, failure) -> {
            try {
                write(number, out -> {
                    if (failure == null) {
                        answer.write(out, value);
                    } else {
                        out.writeByte(Wire.FAILED);
                    }
                });
            } catch (IOException e) {
                // The client has gone.
            }
        });
    }

    private void write(int number, RemoteBackend.Writer writer) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream data = new DataOutputStream(bytes);
        data.writeInt(number);
        writer.write(data);
        writing.lock();
        try {
            socket.getOutputStream().write(bytes.toByteArray());
        } finally {
            writing.unlock();
        }
    }

    private interface Answer<T> {
        void write(DataOutputStream out, T value) throws IOException;
    }
}
