package dev.holdfast.chaos;

import dev.holdfast.chaos.check.Pace;
import dev.holdfast.chaos.history.Interval;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;

/** Counts the requests that clients send, about a second at a time. */
final class RequestWatch implements AutoCloseable {
    private static final long SPAN_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final Clients clients;
    private final long originNanos;
    private final List<Pace.Requests> seen = new CopyOnWriteArrayList<>();
    private final Thread thread = new Thread(this::watch, "chaos-requests");

    private RequestWatch(Clients clients, long originNanos) {
        this.clients = clients;
        this.originNanos = originNanos;
    }

    static RequestWatch start(Clients clients, long originNanos) {
        RequestWatch watch = new RequestWatch(clients, originNanos);
        watch.thread.setDaemon(true);
        watch.thread.start();
        return watch;
    }

    List<Pace.Requests> seen() {
        return List.copyOf(seen);
    }

    private List<Long> counts() {
        List<Long> counts = new ArrayList<>();
        for (int client = 0; client < clients.size(); client++) {
            counts.add(clients.requests(client));
        }
        return counts;
    }

    private void watch() {
        long start = System.nanoTime();
        List<Long> before = counts();
        try {
            while (true) {
                TimeUnit.NANOSECONDS.sleep(SPAN_NANOS);
                long end = System.nanoTime();
                List<Long> after = counts();
                Interval time = new Interval("requests", start - originNanos, end - originNanos);
                for (int client = 0; client < after.size(); client++) {
                    seen.add(new Pace.Requests(client, time, after.get(client) - before.get(client)));
                }
                start = end;
                before = after;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void close() {
        thread.interrupt();
    }
}
