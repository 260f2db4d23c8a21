package dev.holdfast.lock.testkit;

import dev.holdfast.lock.AttemptOutcome;
import dev.holdfast.lock.LockListener;
import dev.holdfast.lock.LossReason;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/** Records the events of a client. Thread-safe. */
final class Recorder implements LockListener {
    private final Queue<Event> events = new ConcurrentLinkedQueue<>();

    /** What happened, to which lock, with which token (0 if none), and what else was told. */
    record Event(String kind, String name, long token, String detail, Thread thread) {}

    List<Event> of(String name) {
        return events.stream().filter(event -> event.name().equals(name)).toList();
    }

    List<String> kinds(String name) {
        return of(name).stream().map(Event::kind).toList();
    }

    long count(String kind, String name) {
        return kinds(name).stream().filter(kind::equals).count();
    }

    @Override
    public void attempted(String name) {
        add("attempted", name, 0, "");
    }

    @Override
    public void acquired(String name, long token, Duration waited, boolean handedOff) {
        add("acquired", name, token, (handedOff ? "handed off after " : "granted after ") + waited);
    }

    @Override
    public void gaveUp(String name, Duration waited, AttemptOutcome outcome) {
        add("gaveUp", name, 0, outcome.name());
    }

    @Override
    public void released(String name, long token, Duration held) {
        add("released", name, token, "after " + held);
    }

    @Override
    public void renewed(String name, long token) {
        add("renewed", name, token, "");
    }

    @Override
    public void suspect(String name, long token, String detail) {
        add("suspect", name, token, detail);
    }

    @Override
    public void lost(String name, long token, LossReason reason) {
        add("lost", name, token, reason.name());
    }

    private void add(String kind, String name, long token, String detail) {
        events.add(new Event(kind, name, token, detail, Thread.currentThread()));
    }
}
