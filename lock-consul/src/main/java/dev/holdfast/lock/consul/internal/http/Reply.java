package dev.holdfast.lock.consul.internal.http;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;

/**
 * The answer of an agent. Immutable.
 *
 * @param status the HTTP status
 * @param index the header {@code X-Consul-Index}; 0 without one
 * @param body the text
 */
public record Reply(int status, long index, String body) {
    public static final int OK = 200;
    public static final int FORBIDDEN = 403;
    public static final int NOT_FOUND = 404;
    public static final int CONFLICT = 409;

    /** Throws unless the status is one of those that the request expects. */
    public Reply expect(int... expected) throws ConsulException {
        for (int each : expected) {
            if (status == each) {
                return this;
            }
        }
        throw new ConsulException(status, body);
    }

    public JsonElement json() {
        return JsonParser.parseString(body);
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
    public record Entry(String key, long createIndex, long modifyIndex, String session, String value) {
        public static Entry of(JsonObject json) {
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
