package dev.holdfast.examples.election;

/**
 * A leadership as its leader claimed it. A leader claims that it leads by {@code Leadership.isValid()}, every few
 * milliseconds, with a time that it read before it asked; once invalid, a leadership stays so. So all between the first and the
 * last claim is claimed.
 *
 * @param candidate the number of the candidate, from 1
 * @param token its fencing token
 * @param firstMicros its first claim, by the machine's clock
 * @param lastMicros its last claim
 * @param claims how many there were
 */
record Term(int candidate, long token, long firstMicros, long lastMicros, int claims) {

    Term {
        if (lastMicros < firstMicros) {
            throw new IllegalArgumentException("token " + token + " is claimed until before it began");
        }
    }

    Term claimed(long micros) {
        return new Term(candidate, token, Math.min(firstMicros, micros), Math.max(lastMicros, micros), claims + 1);
    }

    boolean overlaps(Term other) {
        return firstMicros <= other.lastMicros && other.firstMicros <= lastMicros;
    }
}
