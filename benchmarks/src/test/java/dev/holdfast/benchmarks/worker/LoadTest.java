package dev.holdfast.benchmarks.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.benchmarks.candidate.NamedLock;
import dev.holdfast.benchmarks.candidate.ReadWrite;
import dev.holdfast.benchmarks.candidate.Session;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LoadTest {

    @TempDir
    Path folder;

    @Test
    void aLock_isCounted() throws Exception {
        Lock lock = new ReentrantLock(true);
        Path file = folder.resolve("sections");
        Message order = order(4).with("sections", 1).with("file", file);

        Message answer = new Load(session(NamedLock.of(lock)), order).run();

        assertThat(answer.number("all")).isPositive().isGreaterThanOrEqualTo(answer.number("in-time"));
        assertThat(answer.number("intrusions")).isZero();
        assertThat(answer.histogram("waits").getTotalCount())
                .isEqualTo(answer.histogram("pairs").getTotalCount())
                .isLessThanOrEqualTo(answer.number("all"));
        List<Sections.Section> sections = Sections.read(List.of(file));
        assertThat(sections).hasSize((int) answer.number("all"));
        assertThat(sections)
                .allSatisfy(section -> assertThat(section.releasing()).isGreaterThanOrEqualTo(section.acquired()));
    }

    @Test
    void whatDoesNotExclude_isNoticed() throws Exception {
        NamedLock none = new NamedLock() {
            @Override
            public void lock() {}

            @Override
            public void unlock() {}
        };

        Message answer = new Load(session(none), order(4).with("hold-micros", 1_000)).run();

        assertThat(answer.number("intrusions")).isPositive();
    }

    @Test
    void readers_areBesideEachOther_andWritersAlone() throws Exception {
        ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
        Path file = folder.resolve("sections");
        Message order = order(4).with("percent-reads", 50)
                .with("hold-micros", 200)
                .with("sections", 1)
                .with("file", file);

        Message answer = new Load(readWrite(lock.readLock(), lock.writeLock()), order).run();

        assertThat(answer.number("intrusions")).isZero();
        assertThat(answer.histogram("write-waits").getTotalCount()).isPositive();
        assertThat(Sections.read(List.of(file))).as("the writers").isNotEmpty().hasSizeLessThan((int)
                answer.number("all"));
    }

    @Test
    void aWriterBesideReaders_isNoticed() throws Exception {
        ReentrantReadWriteLock lock = new ReentrantReadWriteLock();

        Message answer = new Load(
                        readWrite(lock.readLock(), new ReentrantLock()),
                        order(4).with("percent-reads", 50).with("hold-micros", 1_000))
                .run();

        assertThat(answer.number("intrusions")).isPositive();
    }

    @Test
    void permits_areCountedUpToTheLimit() throws Exception {
        Semaphore two = new Semaphore(2);
        Message order = order(4).with("limit", 2).with("hold-micros", 1_000);

        assertThat(new Load(semaphore(two), order).run().number("intrusions")).isZero();

        two.release(); // a third one
        assertThat(new Load(semaphore(two), order).run().number("intrusions")).isPositive();
    }

    private static Message order(int threads) {
        return new Message("load")
                .with("name", "n")
                .with("threads", threads)
                .with("millis", 60)
                .with("one-name", 1);
    }

    private static Session session(NamedLock lock) {
        return new Session() {
            @Override
            public NamedLock lock(String name) {
                return lock;
            }

            @Override
            public void close() {}
        };
    }

    private static Session readWrite(Lock read, Lock write) {
        return new Session() {
            @Override
            public ReadWrite readWrite(String name) {
                return new ReadWrite(NamedLock.of(read), NamedLock.of(write));
            }

            @Override
            public void close() {}
        };
    }

    private static Session semaphore(Semaphore permits) {
        return new Session() {
            @Override
            public NamedLock semaphore(String name, int limit) {
                return new NamedLock() {
                    @Override
                    public void lock() throws InterruptedException {
                        permits.acquire();
                    }

                    @Override
                    public void unlock() {
                        permits.release();
                    }
                };
            }

            @Override
            public void close() {}
        };
    }
}
