package dev.holdfast.lock.jdbc.internal.sql;

import dev.holdfast.lock.spi.LockName;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/**
 * The numbers under which the database's own locks keep a name: 64 bits each of a hash of table and name. Names whose numbers
 * are equal exclude each other; no name ever has two holders because of that.
 *
 * @param lock the lock itself
 * @param turn held by the first waiter in line while it waits for the lock
 */
public record SessionKey(long lock, long turn) {

    /** The key of a name, for the table as the database names it. */
    public static SessionKey of(String place, String name) {
        try {
            MessageDigest hash = MessageDigest.getInstance("SHA-256");
            hash.update(beforeName(place));
            ByteBuffer bytes = ByteBuffer.wrap(hash.digest(LockName.utf8(name)));
            return new SessionKey(bytes.getLong(), bytes.getLong());
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }

    /** What is hashed before the name. */
    public static byte[] beforeName(String place) {
        return (place + '\0').getBytes(StandardCharsets.UTF_8);
    }
}
