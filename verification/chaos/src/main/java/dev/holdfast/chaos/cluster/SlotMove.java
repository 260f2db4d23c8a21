package dev.holdfast.chaos.cluster;

import dev.holdfast.lock.testkit.server.RedisServer;
import java.io.IOException;
import java.util.List;

/**
 * A slot of a Redis Cluster that goes to another master, as {@code redis-cli --cluster reshard} moves it: both are informed that
 * it moves, its keys follow one by one, and both are informed of its arrival.
 */
final class SlotMove implements Move {
    private static final long PATIENCE_NANOS = 60_000_000_000L;

    private final RedisSlots slots;
    private final int slot;
    private final RedisServer source;
    private final RedisServer target;

    SlotMove(RedisSlots slots, int slot, RedisServer source, RedisServer target) {
        this.slots = slots;
        this.slot = slot;
        this.source = source;
        this.target = target;
    }

    @Override
    public int from() {
        return slots.indexOf(source);
    }

    @Override
    public int to() {
        return slots.indexOf(target);
    }

    @Override
    public void begin() throws IOException {
        announce(source);
        List<?> keys = keys(source);
        for (Object key : keys.subList(0, keys.size() / 2)) {
            migrate(source, key);
        }
    }

    @Override
    public void finish() throws IOException, InterruptedException {
        long start = System.nanoTime();
        while (true) {
            try {
                end();
                return;
            } catch (IOException e) {
                if (System.nanoTime() - start > PATIENCE_NANOS) {
                    throw e;
                }
                Thread.sleep(100);
            }
        }
    }

    /** From wherever the slot is now: a failover may have come in between. */
    private void end() throws IOException {
        RedisServer owner = slots.master(slot);
        if (owner != target) {
            announce(owner);
            for (List<?> keys = keys(owner); !keys.isEmpty(); keys = keys(owner)) {
                for (Object key : keys) {
                    migrate(owner, key);
                }
            }
        }
        target.command("CLUSTER", "SETSLOT", "" + slot, "NODE", slots.id(target));
        if (owner != target) {
            owner.command("CLUSTER", "SETSLOT", "" + slot, "NODE", slots.id(target));
        }
    }

    private void announce(RedisServer owner) throws IOException {
        target.command("CLUSTER", "SETSLOT", "" + slot, "IMPORTING", slots.id(owner));
        owner.command("CLUSTER", "SETSLOT", "" + slot, "MIGRATING", slots.id(target));
    }

    private List<?> keys(RedisServer owner) throws IOException {
        return owner.list("CLUSTER", "GETKEYSINSLOT", "" + slot, "100");
    }

    private void migrate(RedisServer owner, Object key) throws IOException {
        owner.command("MIGRATE", target.host(), "" + target.port(), String.valueOf(key), "0", "5000");
    }

    @Override
    public String toString() {
        return "slot " + slot + " from server " + from() + " to " + to();
    }
}
