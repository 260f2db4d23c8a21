package dev.holdfast.lock.jdbc;

/** What the column {@code owner} contains if the owner is not a single exclusive lock. */
final class RowOwners {
    /** The owner of a row that several readers or permits hold. */
    static final String SHARED = "shared";

    /** The prefix of a single reader's owner, and of {@link #SHARED}. Owners of exclusive locks are hexadecimal. */
    static final String READER = "s";

    private RowOwners() {}
}
