package dev.holdfast.chaos.history;

import dev.holdfast.lock.Demand;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Appends events to a file, each with one write of {@link #BYTES} bytes, so that what was written outlives a SIGKILL of the
 * writer. An interrupt of the writer does not close the file, as it would a channel. Instants are {@code System.nanoTime},
 * which processes of one Linux host share. Thread-safe.
 */
public final class EventLog implements AutoCloseable {
    /** The size of an event. */
    public static final int BYTES = 24;

    /** The operation of events that belong to none. */
    public static final int NO_OPERATION = 0;

    private final ReentrantLock lock = new ReentrantLock();
    private final ByteBuffer buffer = ByteBuffer.allocate(BYTES);
    private final OutputStream file;
    private final AtomicInteger operations = new AtomicInteger();

    private EventLog(OutputStream file) {
        this.file = file;
    }

    /**
     * Creates a log.
     *
     * @param path does not exist yet
     * @return the log, empty
     * @throws IOException if the file cannot be created
     */
    public static EventLog create(Path path) throws IOException {
        return new EventLog(new FileOutputStream(Files.createFile(path).toFile()));
    }

    /**
     * Numbers an operation.
     *
     * @return a number that no other operation of this process has
     */
    public int nextOperation() {
        return operations.incrementAndGet();
    }

    /**
     * Writes an event.
     *
     * @param kind what it reports
     * @param code an {@link OpKind} or {@link Outcome}, or 0
     * @param thread of the worker
     * @param name the lock's number
     * @param operation what it belongs to
     * @param nanos when
     * @param value as the kind says
     */
    public void write(Kind kind, int code, int thread, int name, int operation, long nanos, long value) {
        lock.lock();
        try {
            buffer.clear();
            buffer.put((byte) kind.ordinal())
                    .put((byte) code)
                    .put((byte) thread)
                    .put((byte) name);
            buffer.putInt(operation).putLong(nanos).putLong(value);
            file.write(buffer.array());
        } catch (IOException e) {
            throw new UncheckedIOException("cannot write the history", e);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Writes what an operation asks for, if that is not a lock for one holder alone.
     *
     * @param thread of the worker
     * @param name the lock's number
     * @param operation whose demand it is
     * @param demand what it asks for
     */
    public void demand(int thread, int name, int operation, Demand demand) {
        if (demand != Demand.EXCLUSIVE) {
            write(Kind.DEMAND, 0, thread, name, operation, System.nanoTime(), Demands.number(demand));
        }
    }

    @Override
    public void close() throws IOException {
        file.close();
    }
}
