package dev.holdfast.benchmarks.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.benchmarks.candidate.NamedLock;
import dev.holdfast.benchmarks.candidate.Session;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
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
}
