package dev.holdfast.lock.consul;

import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.OwnerId;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Base64;

/**
 * What a lock's key says: {@code <owner> <milliseconds> <identity>}. Immutable.
 *
 * @param owner the acquisition, as text; empty if this library did not write the value
 * @param sinceMillis when it was asked for, by the holder's wall clock, for people
 * @param identity who holds
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

    boolean isOf(OwnerId anyone) {
        return owner.equals(anyone.toString());
    }

    HolderInfo holder(long token) {
        return identity.holderInfo(token, Instant.ofEpochMilli(sinceMillis));
    }
}
