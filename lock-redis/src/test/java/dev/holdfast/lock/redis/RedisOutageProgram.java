package dev.holdfast.lock.redis;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.engine.LockEngine;
import dev.holdfast.lock.testkit.fault.CountingBackend;
import dev.holdfast.lock.testkit.fault.Request;
import dev.holdfast.lock.testkit.server.RedisServer;
import io.lettuce.core.RedisURI;
import java.util.Locale;
import java.util.concurrent.locks.LockSupport;

/**
 * What an outage costs on a real server: 200,000 failed {@code tryLock()}s against a Redis that was stopped, then a minute
 * of nothing, then its recovery. Prints heap and requests; the log shows the warnings. Run by hand:
 *
 * <pre>java -cp [test class path of lock-redis] dev.holdfast.lock.redis.RedisOutageProgram [tries]</pre>
 */
final class RedisOutageProgram {
    private static final long SECOND = 1_000_000_000L;

    private RedisOutageProgram() {}

    public static void main(String[] arguments) throws Exception {
        int tries = arguments.length == 0 ? 200_000 : Integer.parseInt(arguments[0]);
        try (RedisServer server = RedisServer.start()) {
            CountingBackend backend =
                    new CountingBackend(RedisLocks.builder(RedisURI.create(server.host(), server.port()))
                            .backend());
            try (LockClient client = LockEngine.client(backend, LockClientOptions.defaults())) {
                DistributedLock lock = client.lock("job");
                lock.lock();
                lock.unlock();
                server.process().kill();
                long heap = heap();
                long removals = backend.count(Request.ABANDON);
                long begun = System.nanoTime();
                long failed = 0;
                for (int i = 0; i < tries; i++) {
                    failed += fails(lock) ? 1 : 0;
                }
                report("%d of %d tryLock() failed", failed, tries);
                perSecond(backend, removals, begun);
                report("heap has grown by %.1f MB", (heap() - heap) / 1e6);

                removals = backend.count(Request.ABANDON);
                begun = System.nanoTime();
                LockSupport.parkNanos(60 * SECOND);
                perSecond(backend, removals, begun);

                server.process().start();
                begun = System.nanoTime();
                while (fails(lock)) {
                    LockSupport.parkNanos(SECOND / 100);
                }
                report("locked %.1f s after the restart", (System.nanoTime() - begun) / 1e9);
                lock.unlock();
            }
        }
    }

    private static boolean fails(DistributedLock lock) {
        try {
            return !lock.tryLock();
        } catch (LockException down) {
            return true;
        }
    }

    private static void perSecond(CountingBackend backend, long before, long sinceNanos) {
        double seconds = (System.nanoTime() - sinceNanos) / 1e9;
        long count = backend.count(Request.ABANDON) - before;
        report("%d removals sent in %.1f s: %.1f a second", count, seconds, count / seconds);
    }

    private static long heap() {
        System.gc();
        Runtime runtime = Runtime.getRuntime();
        return runtime.totalMemory() - runtime.freeMemory();
    }

    private static void report(String format, Object... values) {
        System.out.println(String.format(Locale.ROOT, format, values));
    }
}
