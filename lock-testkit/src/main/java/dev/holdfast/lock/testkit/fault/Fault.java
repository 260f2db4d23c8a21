package dev.holdfast.lock.testkit.fault;

/** What can go wrong with one request. */
public enum Fault {
    /** The request never reaches the server, and fails at once. */
    REFUSED,
    /** The server does it; the request fails as if the connection broke before the reply. */
    LOST_REPLY,
    /** The server does it; there is never an answer. */
    SILENCE,
    /** The request never reaches the server; there is never an answer. */
    BLACK_HOLE,
    /** The server does it twice in a row; the first answer arrives, when both have been given. */
    DUPLICATE
}
