package dev.holdfast.lock.jdbc.internal.sql;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.LockName;
import java.nio.charset.StandardCharsets;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** Binds a statement's parameters one after the other. */
public final class StatementBinder {
    private static final int HOLDER_LENGTH = 500;

    /** Before every name. An empty text would be NULL in MariaDB's mode EMPTY_STRING_IS_NULL. */
    private static final byte[] FIRST = {0};

    /** Behind every name: no text has this byte. */
    private static final byte LAST = (byte) 0xff;

    private final PreparedStatement statement;
    private int index;

    public StatementBinder(PreparedStatement statement) {
        this.statement = statement;
    }

    public StatementBinder name(String name) throws SQLException {
        statement.setBytes(++index, LockName.utf8(name));
        return this;
    }

    /** The range of the names with a prefix: from the first value, to below the second. */
    public StatementBinder range(String prefix) throws SQLException {
        byte[] start = LockName.utf8(prefix);
        byte[] end = Arrays.copyOf(start, start.length + 1);
        end[start.length] = LAST;
        return bytes(start.length > 0 ? start : FIRST).bytes(end);
    }

    public StatementBinder bytes(byte[] bytes) throws SQLException {
        statement.setBytes(++index, bytes);
        return this;
    }

    public StatementBinder owner(AcquisitionId acquisition) throws SQLException {
        statement.setString(++index, ownerOf(acquisition));
        return this;
    }

    /** The owner of a row that one acquisition has for itself: a reader's differs from a lock's. */
    public static String ownerOf(AcquisitionId acquisition) {
        String owner = acquisition.owner().toString();
        return acquisition.demand() instanceof Demand.Shared ? RowOwners.READER + owner : owner;
    }

    public StatementBinder text(@Nullable String text) throws SQLException {
        statement.setString(++index, text);
        return this;
    }

    public StatementBinder number(long number) throws SQLException {
        statement.setLong(++index, number);
        return this;
    }

    /** Whatever a user's text holds, it fits the column and is valid UTF-8. */
    public StatementBinder identity(Identity identity) throws SQLException {
        statement.setString(++index, storable(identity));
        return this;
    }

    /** The text of {@link #identity}. */
    public static String storable(Identity identity) {
        String text = identity.encoded();
        if (text.length() > HOLDER_LENGTH) {
            text = text.substring(0, HOLDER_LENGTH);
        }
        byte[] valid = text.replace('\0', ' ').getBytes(StandardCharsets.UTF_8);
        return new String(valid, StandardCharsets.UTF_8);
    }
}
