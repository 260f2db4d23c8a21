package dev.holdfast.lock.consul;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** A transaction of Consul: all of its operations are carried out, or none. Not thread-safe. */
final class Transaction {
    /** What one transaction may have in all supported versions. */
    static final int MAX_OPERATIONS = 64;

    private final JsonArray operations = new JsonArray();

    Transaction checkAbsent(String key) {
        return add("check-not-exists", key);
    }

    Transaction checkIndex(String key, long index) {
        add("check-index", key);
        last().addProperty("Index", index);
        return this;
    }

    Transaction lock(String key, String session, String base64) {
        add("lock", key);
        last().addProperty("Session", session);
        last().addProperty("Value", base64);
        return this;
    }

    Transaction delete(String key, long index) {
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
     * What became of a transaction.
     *
     * @param entries the keys that operations have written, or have checked and found; empty if it was refused
     * @param refusals why each operation was refused, by its number; empty if it was carried out
     */
    record Outcome(List<Reply.Entry> entries, Map<Integer, String> refusals) {

        static Outcome of(Reply reply) {
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
            if (reply.status() == Reply.CONFLICT && refusals.isEmpty()) {
                throw new IllegalStateException("a refused transaction without a reason");
            }
            return new Outcome(entries, refusals);
        }

        private static JsonArray list(JsonObject json, String name) {
            JsonElement element = json.get(name);
            return element == null || element.isJsonNull() ? new JsonArray() : element.getAsJsonArray();
        }

        /** What a transaction that was carried out has written there. */
        Reply.Entry written(String key) {
            return entries.stream()
                    .filter(entry -> entry.key().equals(key))
                    .reduce((first, last) -> last)
                    .orElseThrow(() -> new IllegalStateException("a transaction that has written nothing"));
        }

        boolean done() {
            return refusals.isEmpty();
        }

        boolean says(String part) {
            return refusals.values().stream().anyMatch(what -> what.contains(part));
        }
    }
}
