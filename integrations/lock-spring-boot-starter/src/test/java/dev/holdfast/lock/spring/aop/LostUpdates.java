package dev.holdfast.lock.spring.aop;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.springframework.jdbc.core.JdbcTemplate;

/** Threads that read, add one and write. */
final class LostUpdates {
    private LostUpdates() {}

    static int read(JdbcTemplate jdbc) {
        Integer value = jdbc.queryForObject("SELECT amount FROM account WHERE id = 1", Integer.class);
        assertThat(value).isNotNull();
        return value;
    }

    static void readModifyWrite(JdbcTemplate jdbc) {
        int value = read(jdbc);
        Thread.yield();
        jdbc.update("UPDATE account SET amount = ? WHERE id = 1", value + 1);
    }

    /** Lets threads do it, and expects the sum. */
    static void count(int threads, int rounds, Runnable increment, JdbcTemplate jdbc) throws Exception {
        ExecutorService executor = Executors.newFixedThreadPool(threads);
        try {
            Callable<Void> work = () -> {
                for (int i = 0; i < rounds; i++) {
                    increment.run();
                }
                return null;
            };
            List<Future<Void>> all = executor.invokeAll(
                    IntStream.range(0, threads).mapToObj(i -> work).toList(), 60, TimeUnit.SECONDS);
            for (Future<Void> one : all) {
                one.get();
            }
        } finally {
            executor.shutdownNow();
        }
        assertThat(read(jdbc)).isEqualTo(threads * rounds);
    }
}
