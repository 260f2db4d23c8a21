package dev.holdfast.lock.consul;

import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.OwnerId;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Base64;

/**
 * The value of a lock's key: {@code <owner> <milliseconds> <identity>}. Immutable.
 *
 * @param owner the owner id as text; empty if another program wrote the value
 * @param sinceMillis the time of the attempt by the holder's wall clock, for display
 * @param identity the holder
 */
record ConsulValue(String owner, long sinceMillis, Identity identity) {

    static ConsulValue of(OwnerId owner, Identity identity) {
        return new ConsulValue(owner.toString(), System.currentTimeMillis(), identity);
    }

    String base64() {
        String text = owner + " " + sinceMillis + " " + identity.encoded();
        return Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
    }

    static ConsulValue decode(String base64) {
        String text = new String(Base64.getDecoder().decode(base64), StandardCharsets.UTF_8);
        String[] parts = text.split(" ", 3);
        if (parts.length == 3 && parts[0].matches("[0-9a-f]{32}") && parts[1].matches("\\d{1,16}")) {
            return new ConsulValue(parts[0], Long.parseLong(parts[1]), Identity.decode(parts[2]));
        }
        return new ConsulValue("", 0, Identity.decode(text));
    }

    boolean isOf(OwnerId other) {
        return owner.equals(other.toString());
    }

    HolderInfo holder(long token) {
        return identity.holderInfo(token, Instant.ofEpochMilli(sinceMillis));
    }
}
