package dev.holdfast.examples.file;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.LockName;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The file of one name, opened for exclusive use. The file bears the name's SHA-256, since a name of 512 bytes
 * does not fit in a file name, and many file systems do not distinguish {@code A} from {@code a}.
 */
final class LockFile {
    private static final int SIZE = 1024;
    /**
     * The operating system locks files for processes, not for threads, and drops a process's lock as soon as that process
     * closes the file anywhere. So only one thread of this JVM has a file open.
     */
    private static final ReentrantLock[] IN_THIS_JVM = new ReentrantLock[64];

    static {
        for (int i = 0; i < IN_THIS_JVM.length; i++) {
            IN_THIS_JVM[i] = new ReentrantLock();
        }
    }

    private final FileChannel channel;

    private LockFile(FileChannel channel) {
        this.channel = channel;
    }

    /** What is done with the file. */
    @FunctionalInterface
    interface Action<T> {
        T apply(LockFile file) throws IOException;
    }

    /** Does something with the file of a name, excluding all threads and processes that come here. */
    static <T> T with(Path folder, String name, long timeoutMillis, Action<T> action) {
        Path path = folder.resolve(hash(LockName.requireValid(name)));
        long deadlineNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
        ReentrantLock mutex = IN_THIS_JVM[path.getFileName().hashCode() & (IN_THIS_JVM.length - 1)];
        mutex.lock();
        try (FileChannel channel = FileChannel.open(
                        path, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
                FileLock exclusive = lock(channel, deadlineNanos)) {
            return action.apply(new LockFile(exclusive.channel()));
        } catch (IOException e) {
            throw new LockUnavailableException("its file " + path + " cannot be used, " + e, e);
        } finally {
            mutex.unlock();
        }
    }

    private static FileLock lock(FileChannel channel, long deadlineNanos) throws IOException {
        FileLock lock = channel.tryLock();
        while (lock == null) {
            if (System.nanoTime() - deadlineNanos > 0) {
                throw new LockUnavailableException("its file is locked; see which process stopped");
            }
            LockSupport.parkNanos(TimeUnit.MICROSECONDS.toNanos(100));
            lock = channel.tryLock();
        }
        return lock;
    }

    LockRecord read() throws IOException {
        ByteBuffer buffer = ByteBuffer.allocate(SIZE);
        channel.read(buffer, 0);
        return LockRecord.decode(UTF_8.decode(buffer.flip()).toString());
    }

    /** One write of constant size: a process that is killed leaves the old record or the new one. */
    void write(LockRecord next) throws IOException {
        ByteBuffer buffer = ByteBuffer.allocate(SIZE);
        buffer.put(UTF_8.encode(next.encoded())); // then zeros
        channel.write(buffer.clear(), 0);
        channel.force(false); // tokens rise even after a power failure
    }

    private static String hash(String name) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(LockName.utf8(name)));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has SHA-256", e);
        }
    }
}
