package dev.holdfast.examples.file;

import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.testkit.fixture.Capability;
import dev.holdfast.lock.testkit.fixture.LockFixture;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Set;
import java.util.stream.Stream;

/** A folder of lock files, for the contract. */
final class FileFixture implements LockFixture {
    private static final long TIMEOUT_MILLIS = 10_000;

    private final Path folder;

    FileFixture() throws IOException {
        folder = Files.createTempDirectory("holdfast-file-locks");
    }

    @Override
    public String name() {
        return "files, the worked example";
    }

    @Override
    public LockBackend newBackend() {
        return new FileLockBackend(folder);
    }

    @Override
    public Duration shortLease() {
        return Duration.ofSeconds(1);
    }

    @Override
    public Set<Capability> capabilities() {
        return EnumSet.of(Capability.EXPIRE, Capability.LAPSE, Capability.ENTRIES);
    }

    @Override
    public void expire(String name) {
        LockFile.with(folder, name, TIMEOUT_MILLIS, file -> {
            file.write(file.read().until(0));
            return true;
        });
    }

    @Override
    public long entries(String name) {
        return LockFile.with(
                folder, name, TIMEOUT_MILLIS, file -> file.read().isHeld(System.currentTimeMillis()) ? 1L : 0L);
    }

    @Override
    public void close() {
        try (Stream<Path> files = Files.list(folder)) {
            for (Path file : files.toList()) {
                Files.delete(file);
            }
            Files.delete(folder);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
