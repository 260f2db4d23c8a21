package dev.holdfast.lock.jdbc.internal.sql;

/** What the column {@code owner} contains if the owner is not a single exclusive lock. */
public final class RowOwners {
    /** The owner of a row that several readers or permits hold. */
    public static final String SHARED = "shared";

    /** The prefix of a single reader's owner, and of {@link #SHARED}. Owners of exclusive locks are hexadecimal. */
    public static final String READER = "s";

    private RowOwners() {}
}
