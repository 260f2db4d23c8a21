package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.LockName;
import java.nio.charset.StandardCharsets;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;

/** Binds a statement's parameters one after the other. */
final class Bind {
    private static final int HOLDER_LENGTH = 500;

    private final PreparedStatement statement;
    private int index;

    Bind(PreparedStatement statement) {
        this.statement = statement;
    }

    Bind name(String name) throws SQLException {
        statement.setBytes(++index, LockName.utf8(name));
        return this;
    }

    Bind bytes(byte[] bytes) throws SQLException {
        statement.setBytes(++index, bytes);
        return this;
    }

    Bind owner(AcquisitionId acquisition) throws SQLException {
        statement.setString(++index, ownerOf(acquisition));
        return this;
    }

    /** The owner of a row that one acquisition has for itself: a reader's is told from a lock's. */
    static String ownerOf(AcquisitionId acquisition) {
        String owner = acquisition.owner().toString();
        return acquisition.demand() instanceof Demand.Shared ? RowOwners.READER + owner : owner;
    }

    Bind text(@Nullable String text) throws SQLException {
        statement.setString(++index, text);
        return this;
    }

    Bind number(long number) throws SQLException {
        statement.setLong(++index, number);
        return this;
    }

    /** Whatever a user's text holds, it fits the column and is valid UTF-8. */
    Bind identity(Identity identity) throws SQLException {
        statement.setString(++index, storable(identity));
        return this;
    }

    /** The text of {@link #identity}. */
    static String storable(Identity identity) {
        String text = identity.encoded();
        if (text.length() > HOLDER_LENGTH) {
            text = text.substring(0, HOLDER_LENGTH);
        }
        byte[] valid = text.replace('\0', ' ').getBytes(StandardCharsets.UTF_8);
        return new String(valid, StandardCharsets.UTF_8);
    }
}
