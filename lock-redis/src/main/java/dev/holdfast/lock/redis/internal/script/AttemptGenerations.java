package dev.holdfast.lock.redis.internal.script;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Which attempt of an acquisition has the last word, where an attempt may take its own grant back. An attempt that was
 * given up may still end after the next one has begun, so attempts have generations, which rise:
 *
 * <ul>
 *   <li>The state on the server has the generation of the last attempt, and an attempt takes back grants of its own and of
 *       earlier generations only, whenever that arrives.
 *   <li>An attempt grants only if no later one has begun, which may have taken back what this one was granted.
 *   <li>Once an attempt has granted, none takes anything back until the acquisition has ended.
 *   <li>An attempt whose grant comes after that end takes it back itself: the abandonment may have come before the grant.
 * </ul>
 *
 * Thread-safe, never blocks.
 */
public final class AttemptGenerations {
    /** What becomes of an attempt that has its grant. */
    public enum Verdict {
        /** It may say so. */
        GRANTED,
        /** A later attempt has begun, and decides. */
        OVERTAKEN,
        /** It is no longer wanted: the attempt must take it back. */
        ENDED
    }

    /**
     * An acquisition that is asked for.
     *
     * @param latest the last generation that has begun
     * @param granted the last generation that has granted, 0 if none has
     */
    private record State(long latest, long granted) {}

    private final Map<String, State> states = new ConcurrentHashMap<>();

    /** An attempt is about to be made. Each ends with {@link #grants} or {@link #takesBack}. */
    public void begin(String owner, long generation) {
        states.merge(
                owner,
                new State(generation, 0),
                (known, begun) -> new State(Math.max(known.latest, generation), known.granted));
    }

    /** An attempt has its grant. */
    public Verdict grants(String owner, long generation) {
        State known = states.computeIfPresent(
                owner,
                (key, state) -> state.granted != 0 || state.latest == generation
                        ? new State(state.latest, Math.max(state.granted, generation))
                        : state);
        if (known == null) {
            return Verdict.ENDED;
        }
        return known.granted != 0 ? Verdict.GRANTED : Verdict.OVERTAKEN;
    }

    /** Whether an attempt that has ended without a grant, or with one that does not count, may take it back. */
    public boolean takesBack(String owner, long generation) {
        State known = states.computeIfPresent(
                owner, (key, state) -> state.granted == 0 && state.latest == generation ? null : state);
        return known == null || known.granted == 0;
    }

    /** Whether an attempt has granted, and the acquisition has not ended since. */
    public boolean isGranted(String owner) {
        State known = states.get(owner);
        return known != null && known.granted != 0;
    }

    /** The acquisition has ended. */
    public void end(String owner) {
        states.remove(owner);
    }

    /** Another caller takes back what attempts up to that generation were granted. */
    public void end(String owner, long generation) {
        states.computeIfPresent(owner, (key, state) -> upTo(state, generation));
    }

    private static @Nullable State upTo(State state, long generation) {
        if (state.granted > generation) {
            return state;
        }
        return state.latest > generation ? new State(state.latest, 0) : null;
    }

    int size() {
        return states.size();
    }
}
