package dev.holdfast.examples.election;

/**
 * What the claims prove.
 *
 * @param result the short answer
 * @param text the answer in words, for the last line of the demo
 */
record Verdict(Result result, String text) {

    /** The short answer. */
    enum Result {
        /** There were leaders, and never two at once. */
        GOOD,
        /** Two led at once, a token fell, or a late write was let through. */
        BAD,
        /** The evidence is not enough to say either. */
        NOT_JUDGED
    }

    boolean isGood() {
        return result == Result.GOOD;
    }
}
