package dev.holdfast.lock.testkit.support;

import dev.holdfast.lock.AttemptOutcome;
import dev.holdfast.lock.LockListener;
import dev.holdfast.lock.LossReason;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Stream;

/** Records the events of a client. Thread-safe. */
public final class Recorder implements LockListener {
    private final Queue<Event> events = new ConcurrentLinkedQueue<>();

    /** What happened, to which lock, with which token (0 if none), and what else was reported. */
    public record Event(String kind, String name, long token, String detail, Thread thread) {}

    public List<Event> of(String name) {
        return events.stream().filter(event -> event.name().equals(name)).toList();
    }

    public List<String> kinds(String name) {
        return of(name).stream().map(Event::kind).toList();
    }

    public long count(String kind, String name) {
        return kinds(name).stream().filter(kind::equals).count();
    }

    /** How many attempts have begun and not ended. */
    public long openAttempts(String name) {
        return count("attempted", name) - count("acquired", name) - count("gaveUp", name);
    }

    /** The tokens that were granted and neither released nor lost. */
    public List<Long> openGrants(String name) {
        return tokens(name, "acquired")
                .filter(token -> endsOf(name, token) == 0)
                .toList();
    }

    /** Empty, or how many attempts began and ended. */
    public List<String> attemptsThatDoNotAddUp(String name) {
        long attempted = count("attempted", name);
        long acquired = count("acquired", name);
        long gaveUp = count("gaveUp", name);
        return attempted == acquired + gaveUp
                ? List.of()
                : List.of(attempted + " attempted, " + acquired + " acquired, " + gaveUp + " gave up");
    }

    /** The tokens that were granted or ended otherwise than once. */
    public List<String> grantsThatDoNotAddUp(String name) {
        return tokens(name, "acquired", "released", "lost")
                .distinct()
                .filter(token ->
                        tokens(name, "acquired").filter(token::equals).count() != 1 || endsOf(name, token) != 1)
                .map(token -> "token " + token + ": " + endsOf(name, token) + " ends")
                .toList();
    }

    private long endsOf(String name, Long token) {
        return tokens(name, "released", "lost").filter(token::equals).count();
    }

    private Stream<Long> tokens(String name, String... kinds) {
        return of(name).stream()
                .filter(event -> List.of(kinds).contains(event.kind()))
                .map(Event::token);
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
    public void lost(String name, long token, Duration held, LossReason reason) {
        add("lost", name, token, reason.name());
    }

    private void add(String kind, String name, long token, String detail) {
        events.add(new Event(kind, name, token, detail, Thread.currentThread()));
    }
}
