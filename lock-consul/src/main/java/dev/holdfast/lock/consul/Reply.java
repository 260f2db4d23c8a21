package dev.holdfast.lock.consul;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import org.jspecify.annotations.Nullable;

/**
 * The answer of an agent. Immutable.
 *
 * @param status the HTTP status
 * @param index the header {@code X-Consul-Index}; 0 without one
 * @param body the text
 */
record Reply(int status, long index, String body) {
    static final int OK = 200;
    static final int FORBIDDEN = 403;
    static final int NOT_FOUND = 404;
    static final int CONFLICT = 409;

    /** Throws unless the status is one of those that the request expects. */
    Reply expect(int... expected) throws ConsulException {
        for (int each : expected) {
            if (status == each) {
                return this;
            }
        }
        throw new ConsulException(status, body);
    }

    JsonElement json() {
        return JsonParser.parseString(body);
    }

    /** The only entry of a read key, or null if the key does not exist. */
    @Nullable Entry entry() {
        if (status == NOT_FOUND) {
            return null;
        }
        JsonArray entries = json().getAsJsonArray();
        return entries.isEmpty() ? null : Entry.of(entries.get(0).getAsJsonObject());
    }

    /**
     * An entry of the key-value store.
     *
     * @param key the key
     * @param createIndex the raft index of the transaction that created it
     * @param modifyIndex the raft index of its last change
     * @param session the session that holds it; empty if none does
     * @param value the value, as Consul encodes it
     */
    record Entry(String key, long createIndex, long modifyIndex, String session, String value) {
        static Entry of(JsonObject json) {
            return new Entry(
                    text(json, "Key"),
                    json.get("CreateIndex").getAsLong(),
                    json.get("ModifyIndex").getAsLong(),
                    text(json, "Session"),
                    text(json, "Value"));
        }

        private static String text(JsonObject json, String name) {
            JsonElement element = json.get(name);
            return element == null || element.isJsonNull() ? "" : element.getAsString();
        }
    }
}
