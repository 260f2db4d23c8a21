package dev.holdfast.lock.zookeeper;

import static dev.holdfast.lock.testkit.BackendDriver.answer;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Counts the requests that the server has received from the sessions of some backends. Starts with a request, so that
 * no ping is due for a while.
 */
final class RequestCount {
    private static final long PING_NANOS = 9_000_000_000L;

    private final ZooKeeperFixture fixture;
    private final List<ZooKeeperLockBackend> backends;
    private final long startNanos = System.nanoTime();
    private final long before;

    RequestCount(ZooKeeperFixture fixture, ZooKeeperLockBackend... backends) throws Exception {
        this.fixture = fixture;
        this.backends = List.of(backends);
        for (ZooKeeperLockBackend backend : backends) {
            answer(backend.holder("warm", 10_000));
        }
        this.before = sum();
    }

    long requests() throws Exception {
        return sum() - before;
    }

    void assertRequests(String what, long expected) throws Exception {
        long requests = requests();
        long pings = backends.size() * ((System.nanoTime() - startNanos) / PING_NANOS);
        assertThat(requests).as(what).isBetween(expected, expected + pings);
    }

    private long sum() throws Exception {
        long sum = 0;
        for (ZooKeeperLockBackend backend : backends) {
            sum += received(backend);
        }
        return sum;
    }

    private long received(ZooKeeperLockBackend backend) throws Exception {
        String session = "0x" + Long.toHexString(backend.session().id());
        Matcher line = Pattern.compile("recved=(\\d+),sent=\\d+,sid=" + session + ",")
                .matcher(fixture.server().admin(0, "cons"));
        assertThat(line.find()).as("connection of session " + session).isTrue();
        return Long.parseLong(line.group(1));
    }
}
