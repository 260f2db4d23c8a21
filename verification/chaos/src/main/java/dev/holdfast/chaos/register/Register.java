package dev.holdfast.chaos.register;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The resource that the locks guard, in the controller: two counters a name. The guarded one refuses who comes with an
 * older token than it has seen, or, from a reader, than one who writes has shown it, as {@code docs} advise; the unguarded one accepts every write and is the positive control.
 * A holder reads both, and writes each as one more than it read. No fault ever touches it. The clients' control connections
 * end here as well. Thread-safe.
 */
public final class Register implements AutoCloseable {
    /** The client's number in a holder's. */
    public static final int CLIENT_SHIFT = 48;

    /** A client says which process it is. */
    public static final int HELLO = 1;

    /** A holder reads. */
    public static final int READ = 2;

    /** A holder writes. */
    public static final int WRITE = 3;

    /** The answer to {@link #HELLO} when the run is over. */
    public static final int STOP = 4;

    /** A sharer of the lock reads, or reads again. */
    public static final int READ_SHARED = 5;

    /** What a first-time reader has read before. */
    public static final long NOTHING = -1;

    private static final int SLOT_SHIFT = 16;

    /**
     * An access to a guarded counter, in the order in which they happened.
     *
     * @param name the lock's number
     * @param token the holder's token
     * @param holder the holder's operation
     * @param write false for a read
     * @param shared whether others may have the lock as well, who do not write either
     * @param accepted whether it was allowed
     * @param base what the writer, or the reader before, had read; {@link #NOTHING} for a first read
     * @param before what the counter had
     */
    public record Access(
            int name,
            long token,
            long holder,
            boolean write,
            boolean shared,
            boolean accepted,
            long base,
            long before) {

        /**
         * Makes an access of a holder that is alone.
         *
         * @param name the lock's number
         * @param token the holder's token
         * @param holder the holder's operation
         * @param write false for a read
         * @param accepted whether it was allowed
         * @param base what the writer had read
         * @param before what the counter had
         */
        public Access(int name, long token, long holder, boolean write, boolean accepted, long base, long before) {
            this(name, token, holder, write, false, accepted, base, before);
        }

        /**
         * Says what was accessed.
         *
         * @return the lock's number, and the slot if there are any
         */
        public String place() {
            int slot = name >> SLOT_SHIFT;
            return "name " + (name & (1 << SLOT_SHIFT) - 1) + (slot == 0 ? "" : " slot " + slot);
        }
    }

    /**
     * Numbers what a slot of a semaphore guards.
     *
     * @param name the lock's number
     * @param slot the slot
     * @return the number of a name of its own
     */
    public static int place(int name, int slot) {
        return slot << SLOT_SHIFT | name;
    }

    /** Which clients stay in their critical sections, and until when. */
    private record Stay(Set<Integer> clients, long untilNanos) {
        long millis(int client) {
            return clients.contains(client)
                    ? Math.max(0, TimeUnit.NANOSECONDS.toMillis(untilNanos - System.nanoTime()))
                    : 0;
        }
    }

    private static final class Counter {
        final ReentrantLock lock = new ReentrantLock();
        final List<Access> accesses = new ArrayList<>();
        long token;
        long writeToken;
        long guarded;
        long unguarded;
        long unguardedWrites;
        long unguardedLost;
    }

    private final ServerSocket listener;
    private final Map<Integer, Counter> counters = new ConcurrentHashMap<>();
    private final Map<Integer, Socket> clients = new ConcurrentHashMap<>();
    private final Map<Integer, Integer> incarnations = new ConcurrentHashMap<>();
    private final AtomicLong reads = new AtomicLong();
    private final ReentrantLock stopping = new ReentrantLock();
    private volatile Stay stay = new Stay(Set.of(), 0);

    /** Starts to listen. */
    public Register() throws IOException {
        listener = new ServerSocket(0, 1_024, InetAddress.getLoopbackAddress());
        daemon(this::accept, "chaos-register");
    }

    private static void daemon(Runnable task, String name) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        thread.start();
    }

    /** The port that clients connect to, on the loopback address. */
    public int port() {
        return listener.getLocalPort();
    }

    /** How many critical sections have begun. */
    public long reads() {
        return reads.get();
    }

    /** The process of a client that said hello last; -1 if none did. */
    public int incarnation(int client) {
        return incarnations.getOrDefault(client, -1);
    }

    /** Registers clients that enter a critical section from now on, if it is of one of these clients, to stay for some time from now. */
    public void stay(Collection<Integer> who, long millis) {
        stay = new Stay(Set.copyOf(who), System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis));
    }

    /** Tells all clients to stop. */
    public void stopClients() {
        stopping.lock();
        try {
            clients.values().forEach(Register::stop);
        } finally {
            stopping.unlock();
        }
    }

    private static void stop(Socket socket) {
        try {
            socket.getOutputStream().write(STOP);
            socket.getOutputStream().flush();
        } catch (IOException e) {
            // The client was killed and gets no answer.
        }
    }

    private void accept() {
        while (!listener.isClosed()) {
            try {
                Socket socket = listener.accept();
                socket.setTcpNoDelay(true);
                daemon(() -> serve(socket), "chaos-register-" + socket.getPort());
            } catch (IOException e) {
                // Closed.
            }
        }
    }

    private void serve(Socket socket) {
        try (socket) {
            DataInputStream in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
            DataOutputStream out = new DataOutputStream(new BufferedOutputStream(socket.getOutputStream()));
            for (int what = in.read(); what >= 0; what = in.read()) {
                if (what == HELLO) {
                    int client = in.readInt();
                    clients.put(client, socket);
                    incarnations.put(client, in.readInt());
                } else {
                    access(what, in, out);
                    out.flush();
                }
            }
        } catch (IOException e) {
            // The client was killed.
        }
    }

    private void access(int what, DataInputStream in, DataOutputStream out) throws IOException {
        boolean write = what == WRITE;
        boolean shared = what == READ_SHARED;
        int name = in.readInt();
        long token = in.readLong();
        long holder = in.readLong();
        long guardedBase = write || shared ? in.readLong() : NOTHING;
        long unguardedBase = write ? in.readLong() : 0;
        Counter counter = counters.computeIfAbsent(name, any -> new Counter());
        counter.lock.lock();
        try {
            boolean accepted = token >= (shared ? counter.writeToken : counter.token);
            counter.accesses.add(
                    new Access(name, token, holder, write, shared, accepted, guardedBase, counter.guarded));
            counter.token = Math.max(counter.token, token);
            counter.writeToken = shared ? counter.writeToken : Math.max(counter.writeToken, token);
            out.writeBoolean(accepted);
            if (write) {
                if (accepted) {
                    counter.guarded = guardedBase + 1;
                }
                counter.unguardedWrites++;
                if (counter.unguarded != unguardedBase) {
                    counter.unguardedLost++;
                }
                counter.unguarded = unguardedBase + 1;
            } else {
                reads.addAndGet(guardedBase == NOTHING ? 1 : 0);
                out.writeLong(counter.guarded);
                out.writeLong(counter.unguarded);
                out.writeLong(stay.millis((int) (holder >>> CLIENT_SHIFT)));
            }
        } finally {
            counter.lock.unlock();
        }
    }

    /** All accesses to guarded counters, for each name in their order. */
    public Map<Integer, List<Access>> accesses() {
        Map<Integer, List<Access>> all = new HashMap<>();
        counters.forEach((name, counter) -> {
            counter.lock.lock();
            try {
                all.put(name, List.copyOf(counter.accesses));
            } finally {
                counter.lock.unlock();
            }
        });
        return all;
    }

    /** How many writes the unguarded counters took, and how many of them overwrote what their writer had not seen. */
    public long[] unguarded() {
        long writes = 0;
        long lost = 0;
        for (Counter counter : counters.values()) {
            counter.lock.lock();
            try {
                writes += counter.unguardedWrites;
                lost += counter.unguardedLost;
            } finally {
                counter.lock.unlock();
            }
        }
        return new long[] {writes, lost};
    }

    @Override
    public void close() throws IOException {
        listener.close();
        for (Socket socket : clients.values()) {
            socket.close();
        }
    }
}
