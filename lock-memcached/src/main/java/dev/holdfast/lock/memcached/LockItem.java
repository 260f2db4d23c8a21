package dev.holdfast.lock.memcached;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.OwnerId;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The value of a lock's item. Immutable.
 *
 * @param owner the owner id
 * @param token its token, or 0 in an item that was never renewed: then the token is the start of the server plus the
 *     item's cas id
 * @param sinceMillis the time of the attempt by the holder's wall clock, for display
 * @param identity the encoded holder
 */
record LockItem(String owner, long token, long sinceMillis, String identity) {
    private static final String MARK = "holdfast1";
    private static final Pattern FORM =
            Pattern.compile(MARK + " ([0-9a-f]{32}) (\\d{1,16}) (\\d{1,18}) (.*)", Pattern.DOTALL);

    static LockItem asked(OwnerId owner, Identity identity) {
        return new LockItem(owner.toString(), 0, System.currentTimeMillis(), identity.encoded());
    }

    boolean isOf(OwnerId other) {
        return owner.equals(other.toString());
    }

    LockItem withToken(long known) {
        return new LockItem(owner, known, sinceMillis, identity);
    }

    byte[] encoded() {
        return (MARK + " " + owner + " " + token + " " + sinceMillis + " " + identity).getBytes(UTF_8);
    }

    /** Whether a value is the item of a lock with that owner; false also for other values. */
    static boolean isOf(byte[] value, OwnerId other) {
        Matcher matcher = FORM.matcher(new String(value, UTF_8));
        return matcher.matches() && matcher.group(1).equals(other.toString());
    }

    /**
     * Parses a value.
     *
     * @throws LockConfigurationException if it is not the item of a lock
     */
    static LockItem decode(byte[] value) {
        Matcher matcher = FORM.matcher(new String(value, UTF_8));
        if (!matcher.matches()) {
            throw new LockConfigurationException(
                    "the lock's key holds something else; choose another prefix for the locks");
        }
        return new LockItem(
                matcher.group(1), Long.parseLong(matcher.group(2)), Long.parseLong(matcher.group(3)), matcher.group(4));
    }
}
