package dev.holdfast.lock.consul.internal.session;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import dev.holdfast.lock.consul.internal.http.ConsulException;
import dev.holdfast.lock.consul.internal.http.Reply;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** A transaction of Consul: all of its operations are carried out, or none. Not thread-safe. */
public final class Transaction {
    /** What one transaction may have in all supported versions. */
    public static final int MAX_OPERATIONS = 64;

    /** Consul reports these like an unmet condition. Key names contain no blanks. */
    private static final Pattern DENIED = Pattern.compile("Permission denied|ACL not found");

    /** Consul's messages for unmet conditions. */
    private static final Pattern REFUSED = Pattern.compile("^key .* exists$"
            + "|^key .* doesn't exist$"
            + "|^failed (index check for|to check index,) key "
            + "|^failed to delete key .*, index is stale$"
            + "|^failed to lock key .*(, lock is already held| due to lock delay)$"
            + "|^invalid session");

    private final JsonArray operations = new JsonArray();

    public Transaction get(String key) {
        return add("get", key);
    }

    public Transaction checkAbsent(String key) {
        return add("check-not-exists", key);
    }

    public Transaction checkIndex(String key, long index) {
        add("check-index", key);
        last().addProperty("Index", index);
        return this;
    }

    public Transaction lock(String key, String session, String base64) {
        add("lock", key);
        last().addProperty("Session", session);
        last().addProperty("Value", base64);
        return this;
    }

    public Transaction delete(String key, long index) {
        add("delete-cas", key);
        last().addProperty("Index", index);
        return this;
    }

    private Transaction add(String verb, String key) {
        JsonObject operation = new JsonObject();
        operation.addProperty("Verb", verb);
        operation.addProperty("Key", key);
        JsonObject wrapped = new JsonObject();
        wrapped.add("KV", operation);
        operations.add(wrapped);
        return this;
    }

    private JsonObject last() {
        return operations.get(operations.size() - 1).getAsJsonObject().getAsJsonObject("KV");
    }

    String body() {
        return operations.toString();
    }

    /**
     * The outcome of a transaction.
     *
     * @param entries the keys that operations have written, or have checked and found; empty if it was refused
     * @param refusals the reason of each refused operation, by its number; empty if it was executed
     */
    public record Outcome(List<Reply.Entry> entries, Map<Integer, String> refusals) {

        /**
         * Parses an answer.
         *
         * @throws ConsulException if Consul did not evaluate the conditions: the token lacks a right, or the message is
         *     unknown
         */
        static Outcome of(Reply reply) throws ConsulException {
            JsonObject json = reply.json().getAsJsonObject();
            List<Reply.Entry> entries = new ArrayList<>();
            for (JsonElement result : list(json, "Results")) {
                entries.add(Reply.Entry.of(result.getAsJsonObject().getAsJsonObject("KV")));
            }
            Map<Integer, String> refusals = new TreeMap<>();
            for (JsonElement error : list(json, "Errors")) {
                JsonObject each = error.getAsJsonObject();
                refusals.put(each.get("OpIndex").getAsInt(), each.get("What").getAsString());
            }
            for (String what : refusals.values()) {
                if (DENIED.matcher(what).find()) {
                    throw new ConsulException(Reply.FORBIDDEN, what);
                }
            }
            boolean allKnown = refusals.values().stream()
                    .allMatch(what -> REFUSED.matcher(what).find());
            if (!allKnown || (reply.status() == Reply.CONFLICT && refusals.isEmpty())) {
                throw new ConsulException(reply.status(), reply.body());
            }
            return new Outcome(entries, refusals);
        }

        private static JsonArray list(JsonObject json, String name) {
            JsonElement element = json.get(name);
            return element == null || element.isJsonNull() ? new JsonArray() : element.getAsJsonArray();
        }

        /** The entry that an executed transaction has written for a key. */
        public Reply.Entry written(String key) {
            return entries.stream()
                    .filter(entry -> entry.key().equals(key))
                    .reduce((first, last) -> last)
                    .orElseThrow(() -> new IllegalStateException("a transaction that has written nothing"));
        }

        /**
         * The entry that a transaction of one {@code get} has read; null if the key does not exist.
         *
         * @throws ConsulException if the token may not read the key, whose entry Consul leaves out then
         */
        public Reply.@Nullable Entry read() throws ConsulException {
            if (!done()) {
                return null;
            }
            if (entries.isEmpty()) {
                throw new ConsulException(Reply.FORBIDDEN, "Permission denied");
            }
            return entries.get(0);
        }

        public boolean done() {
            return refusals.isEmpty();
        }

        public boolean says(String part) {
            return refusals.values().stream().anyMatch(what -> what.contains(part));
        }
    }
}
